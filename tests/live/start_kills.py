"""Servers that are killed at random moments while others switch, each started again by its first command.

By hand: `python -m tests.live.start_kills 500 [SEED [sqlite | postgresql | URL]]`, as `tests.live.kills`.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from evenhand.cli import main
from evenhand.live import Busy, Conflict, open_campaign, switch_campaign
from evenhand.live.campaigns.commands import audit_files
from tests.live.killing import forked, kill_workers, replies
from tests.live.kills import stored
from tests.live.test_files import STATED
from tests.live.test_switched_under_load import with_action

WORKERS = 4
FIRST = STATED.replace("horizon = 300", "horizon = 1000000")
FILES = {  # one of them appends an action, so that the log is folded anew and never has another one since
    "first": FIRST,
    **{f"rate {x}": FIRST.replace("rate = 0.3", f"rate = {x}") for x in (0.2, 0.25)},
    "resolving": FIRST.replace("[policy]", '[policy]\nname = "resolving"').replace("step = 0.01", ""),
}
APPENDED = {name: with_action(text) for name, text in FILES.items()}


def served(folder, url, name, seed):
    """Start as on the first day, and decide, observe and switch in place of the server until killed."""
    said = io.StringIO()

    def serve(found, **_):
        tell("started", 0, said.getvalue().count("is superseded"))
        work(found[0], folder, url, name, random.Random(seed), tell)

    told = os.open(folder / f"{name}.replies", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(*line):
        os.write(told, (json.dumps(line) + "\n").encode())
        os.fsync(told)

    with patch("evenhand.live.http.start.serve", serve), redirect_stdout(io.StringIO()), redirect_stderr(said):
        status = main(["serve", str(folder / "first.toml"), "--store", url])
    raise RuntimeError(f"status {status}: {said.getvalue()}")


def work(campaign, folder, url, name, luck, tell):
    while True:
        case = {"age": luck.randrange(20, 60), "town": luck.choice(("north", "south"))}
        with suppress(Busy):
            reply = campaign.decide(case, key=f"{name} {luck.random()}")
            tell("decided", reply.id, reply.action)
            if luck.random() < 0.7 and reply.action is not None:
                tell("observed", reply.id, campaign.observe(reply.id, {"visit": luck.randrange(2)}))
                if luck.random() < 0.005:
                    tell("erased", campaign.erase([reply.key], by=name, why="chance").decisions[0])
            if luck.random() < 0.1:
                appended = "c" in campaign.policy.problem.actions or luck.random() < 0.1
                file = folder / f"{'appended' if appended else 'plain'} {luck.choice([*FILES])}.toml"
                with suppress(Conflict):  # somebody else was first
                    made = switch_campaign(url, campaign.name, file, by=name, why=file.stem)
                    made.close()
                    tell("switched", 0)


def kill_many(folder, kills, seed=0, url=None):
    """Kill servers at random moments, each started again; returns what came of it in numbers."""
    luck, began, url = random.Random(seed), time.monotonic(), url or f"sqlite:///{folder}/log.db"
    for kind, each in (("plain", FILES), ("appended", APPENDED)):
        for name, text in each.items():
            (folder / f"{kind} {name}.toml").write_text(text)
    (folder / "first.toml").write_text(FIRST)
    with open_campaign("memory://", "warm", folder / "first.toml") as campaign:  # compiles before processes are forked
        for i in range(3):
            campaign.observe(campaign.decide({"age": 30, "town": "north"}, key=f"{i}").id, {"visit": 1})

    def start(name, seed):
        return forked(folder, name, served, folder, url, name, seed)

    kill_workers(folder, kills, luck, [start] * WORKERS, pauses=(0.02, 0.3, 0.6), rest=1.0)
    return {"kills": kills, **check(folder, url), "seconds": round(time.monotonic() - began, 1)}


def check(folder, url):
    """Compare replies with the log, and audit it; a start by the name alone has the last file."""
    with open_campaign(url, "first") as campaign:
        log = {event.seq: event for event in campaign.events()}
        observed = {event.ref for event in log.values() if event.kind == "observed"}
        found = dict.fromkeys(("started", "superseded", "decided", "observed", "switched", "erased"), 0)
        for kind, ref, *rest in replies(folder):
            found[kind] += 1
            if kind == "started":
                found["superseded"] += rest[0]
            elif kind == "decided":
                play = json.loads(log[ref].body)["a"][0]
                assert rest == [campaign.policy.problem.actions[play] if play >= 0 else None]
            elif kind == "observed":
                assert ref in observed
        switches = [event for event in log.values() if event.kind == "switched"]
        assert found["switched"] <= len(switches) + found["started"]  # one to the present file is none
        assert not switches or campaign._worker.fold.mark == json.loads(switches[-1].body)["mark"]
    audited = audit_files(url)
    assert audited.clean, f"{audited}"
    return found | {"switches": len(switches), "events": len(log)}


if __name__ == "__main__":
    count, seed, kind = [*sys.argv[1:], *("0", "sqlite")[len(sys.argv) - 2 :]]
    with TemporaryDirectory() as place, stored(kind) as found:
        print(json.dumps(kill_many(Path(place), int(count), int(seed), found)))
