"""Servers that are killed at random moments while others switch, each started again by its first command.

By hand: `python -m tests.live.start_kills 500 [SEED [sqlite | postgresql | URL]]`, as `tests.live.kills`.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Conflict, Paused, Unknown, backup, open_campaign, switch_campaign
from evenhand.live.campaigns.commands import audit_files
from evenhand.live.log.events import is_erased
from evenhand.live.stores.opening import connect, whole
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_under_load import with_action
from tests.live.kill_checks import of_seals, often_erased, refuse_sealed, segments
from tests.live.killers import forked, kill_workers, replies, teller
from tests.live.kills import stored

WORKERS = 4
VERBS = ("pause", "change", "change", "erase", "seal", "seal", "back up", "snapshot", "switch", "switch")
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

    tell = teller(folder, name)
    with patch("evenhand.live.http.start.serve", serve), redirect_stdout(io.StringIO()), redirect_stderr(said):
        status = main(["serve", str(folder / "first.toml"), "--store", url])
    raise RuntimeError(f"status {status}: {said.getvalue()}")


def work(campaign, folder, url, name, luck, tell):
    """Decide and tell outcomes, and do what an operator does now and then."""
    said, own = {"by": name, "why": "chance"}, []  # `own`: what this server decided
    while True:
        try:
            ask(campaign, name, luck, tell, own)
            if luck.random() < 0.1:
                campaign.refresh()  # erases what the rule of retention says
            if luck.random() < 0.35:
                verb = luck.choice(VERBS)
                tell(f"tried {verb}", 0)
                operate(verb, campaign, folder, url, said, luck, tell, own)
        except Paused:
            if luck.random() < 0.3:
                tell("resumed", int(campaign.resume(**said)))
        except Busy:
            tell("busy", 0)


def ask(campaign, name, luck, tell, own):
    """Decide a case, at times one that was decided before, and tell, correct or cancel an outcome."""
    case = {"age": luck.randrange(20, 60), "town": luck.choice(("north", "south"))}
    if own and luck.random() < 0.15:
        ref, key, case = luck.choice(own)
        try:
            tell("repeated", campaign.decide(case, key=key).id, ref)
        except Conflict as error:
            tell("moved" if "is in segment" in str(error) else f"{error}", 0, key)
        return
    reply = campaign.decide(case, key=f"{name} {luck.random()}")
    tell("decided", reply.id, reply.action)
    own.append((reply.id, reply.key, case))
    with suppress(Conflict):  # it expired, was cancelled or erased, or is in a segment by now
        if luck.random() < 0.75 and reply.action is not None:
            if luck.random() < 0.1:
                tell("cancelled", reply.id, campaign.cancel(reply.id))
            else:
                tell("observed", reply.id, campaign.observe(reply.id, {"visit": luck.randrange(2)}))
        if luck.random() < 0.2:
            ref, *_ = luck.choice(own)
            tell("observed", ref, campaign.observe(ref, {"visit": luck.randrange(2)}, revise=True))


def operate(verb, campaign, folder, url, said, luck, tell, own):
    """Do what a verb says, and tell what was replied."""
    if verb == "pause":
        tell("paused", int(campaign.pause(**said)))
    elif verb == "change":
        new = {"retention": luck.choice((2e-5, 2e-5, "off")), "patience": luck.choice((0.5, 60.0))}
        tell("changed", int(campaign.change(on_expiry=luck.choice(("hold", "release")), **new, **said)))
    elif verb == "erase" and own:
        with suppress(Unknown, Conflict):  # it was erased by the rule, waits, or is in a segment
            tell("erased", *campaign.erase([own.pop(luck.randrange(len(own)))[1]], **said).decisions)
    elif verb == "seal":
        before = max(campaign.head().seq - luck.choice((0, 4, 16)), 1)
        tell("sealed", int(campaign.seal(segments(folder), before=before, **said).segment is not None))
    elif verb == "back up":
        place = folder / f"{said['by']} {luck.random()}.backup"
        backup(url, place)
        tell("backup", 0, place.name)
    elif verb == "snapshot":
        campaign.snapshot()
    elif verb == "switch":
        appended = "c" in campaign.policy.problem.actions or luck.random() < 0.1
        file = folder / f"{'appended' if appended else 'plain'} {luck.choice([*FILES])}.toml"
        try:
            switch_campaign(url, campaign.name, file, by=said["by"], why=file.stem).close()
            tell("switched", 0)
        except Conflict:  # somebody else was first
            pass
        except InvalidInput:  # somebody else appended the action since this server last read the log
            campaign.refresh()
            if appended or "c" not in campaign.policy.problem.actions:
                raise


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

    segments(folder).mkdir()
    with often_erased():
        kill_workers(folder, kills, luck, [start] * WORKERS, pauses=(0.02, 0.3, 0.6), rest=1.0)
    return {"kills": kills, **check(folder, url), "seconds": round(time.monotonic() - began, 1)}


def spent(log):
    """What decisions cost by raw events: what is cancelled, or released and not observed afterwards, costs nothing."""
    each = {}
    for event in log:
        body = json.loads(event.body)
        if event.kind == "decided":
            each[event.seq] = body["a"][0] > 0, body["a"][0] > 0
        elif event.kind in ("observed", "revised"):
            each[event.ref] = each[event.ref][0], each[event.ref][0]
        elif event.kind == "cancelled" or (event.kind == "expired" and body.get("on_expiry") == "release"):
            each[event.ref] = each[event.ref][0], False
    return sum(now for _, now in each.values())


def check(folder, url):
    """Compare replies with the log, and audit it; a start by the name alone has the last file."""
    with open_campaign(url, "first") as campaign:
        log = {event.seq: event for event in campaign.events(segments(folder))}
        assert [*log] == list(range(1, len(log) + 1))
        keys = [e.key for e in log.values() if e.kind == "decided" and not is_erased(e)]
        assert len(set(keys)) == len(keys), "a key has one decision, unless it was erased"
        found, moved, settled = Counter(), set(), Counter()
        for kind, ref, *rest in replies(folder):
            found[kind] += 1
            if kind == "started":
                found["superseded"] += rest[0]
            elif kind == "decided":
                play = json.loads(log[ref].body)["a"][0]
                assert rest == [campaign.policy.problem.actions[play] if play >= 0 else None]
            elif kind == "repeated":
                assert ref == rest[0] or is_erased(log[rest[0]]), f"decision {rest[0]} was decided again, as {ref}"
            elif kind in ("observed", "cancelled"):
                settled[ref, kind] += rest[0]
            elif kind == "moved":
                moved.add(rest[0])
            elif kind == "erased":
                assert is_erased(log[ref])
            elif kind == "backup":
                copied = list(whole(connect(f"sqlite:///{folder / rest[0]}"), segments(folder)).scan("first"))
                facts = [
                    [(e.seq, e.at, e.kind, e.body) for e in z] for z in (copied, list(log.values())[: len(copied)])
                ]
                assert facts[0] == facts[1], f"{rest[0]} has another log"
                audited = audit_files(f"sqlite:///{folder / rest[0]}", segments=segments(folder))
                assert audited.clean, f"{rest[0]}: {audited}"
            elif kind in ("paused", "resumed", "changed", "sealed"):
                found[kind] += ref - 1  # those that did it
            else:
                assert kind.split()[0] in ("tried", "switched", "busy"), kind
        about = Counter((e.ref, "observed" if e.kind == "revised" else e.kind) for e in log.values())
        assert settled <= about, f"{settled - about}"
        for kind in ("paused", "resumed", "changed", "sealed"):
            assert found[kind] <= sum(e.kind == kind for e in log.values()), kind
        switches = [event for event in log.values() if event.kind == "switched"]
        assert found["switched"] <= len(switches) + found["started"]  # one to the present file is none
        assert not switches or campaign._worker.fold.mark == json.loads(switches[-1].body)["mark"]
        campaign.status()  # what is overdue expires
        log = {event.seq: event for event in campaign.events(segments(folder))}
        posted = spent(log.values())
        told = campaign.report()["budgets"]["post"]
        assert (told["spent"], told["held"]) == (posted, 0.0), f"{told}, and {posted} in the log"
        found["refused as sealed"] = refuse_sealed(campaign, log.values(), moved)
    for place in (segments(folder), None):
        audited = audit_files(url, segments=place)
        assert audited.clean, f"{audited}"
    return found | {"switches": len(switches), "events": len(log), "log": of_seals(log.values())}


if __name__ == "__main__":
    count, seed, kind = [*sys.argv[1:], *("0", "sqlite")[len(sys.argv) - 2 :]]
    with TemporaryDirectory() as place, stored(kind) as found:
        print(json.dumps(kill_many(Path(place), int(count), int(seed), found)))
