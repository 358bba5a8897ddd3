"""Workers on one store that are killed at random moments, whatever they were doing.

By hand: `python -m tests.live.kills 500 [SEED [sqlite | postgresql | URL]]`; a server of PostgreSQL is started for it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from evenhand.live import Busy, Campaign, Conflict, Paused, Unknown, backup
from evenhand.live.worker.batches import Deciding
from tests.live.kill_checks import POLICIES, check, often_erased, segments
from tests.live.killers import forked, kill_workers, teller
from tests.live.servers import running, schema

WORKERS = 4
PATIENCE = 0.3  # seconds


def opened(url):
    """A campaign of the policy that decides at present, whichever of the two that is."""
    while True:
        for policies in (POLICIES, POLICIES[::-1]):
            with suppress(Conflict, Busy):  # the other one decides, or one that hardly gets a core holds the lock
                return Campaign.open(url, "one", policies, patience=PATIENCE, on_expiry="fallback")


def decided(campaign, first, count):
    """Decisions at one state, or one alone, by key; None where a segment has the key."""
    calls = [Deciding({"age": 20 + n % 30}, f"key {n}", frozen=True) for n in range(first, first + count)]
    found = dict(zip((z.key for z in calls), campaign.many(calls), strict=True))
    for key, reply in found.items():
        if type(reply) is Conflict and "is in segment" in str(reply):
            found[key] = None
        elif isinstance(reply, Exception):
            raise reply
    return found


def serve(folder, url, name, seed):
    """Decide and observe until killed; every reply is on disk before the next question."""
    luck, tell = random.Random(seed), teller(folder, name)
    campaign, copies, switches, ahead = opened(url), 0, 0, 0
    known, done = [], []
    while True:
        n = max(int(campaign._worker.fold.state.t[0]) + ahead + luck.randrange(-3, 5), 0)  # others ask for the same
        try:
            for key, reply in decided(campaign, n, luck.choice((1, 1, 8))).items():
                if reply is None:
                    ahead += 1
                    tell("moved", 0, key)
                    continue
                tell("decided", reply.id, reply.key, reply.action, reply.at)
                if reply.action is not None:
                    known.append((reply.id, reply.action, reply.key))
            if known and luck.random() < 0.8:
                ref, action, key = known.pop(luck.randrange(len(known)))
                with suppress(Conflict):  # another worker was told something else
                    if luck.random() < 0.1:
                        tell("cancelled", ref, campaign.cancel(ref))
                    else:
                        cents = 0 if action == "none" else luck.choice((0, 0, 0, 0, 1))
                        new = campaign.observe(ref, {"answer": 0, "cents": cents}, revise=luck.random() < 0.02)
                        tell("observed", ref, new)
                        done.append(key)
            if luck.random() < 0.03:
                campaign.snapshot()
            if luck.random() < 0.02:
                tell("paused", campaign.pause(by=name, why="chance"))
            if luck.random() < 0.02:
                fate, days = luck.choice(("hold", "fallback", "release")), luck.choice((2e-5, 2e-5, "off"))
                tell("changed", campaign.change(on_expiry=fate, retention=days, by=name, why="chance"))
            if luck.random() < 0.1:
                campaign.refresh()  # erases what the rule of retention says
            if luck.random() < 0.01:
                other = luck.choice(POLICIES)
                with suppress(Conflict):  # another worker switched first, or corrections came before an erasure
                    switches += 1
                    campaign.switch(other, by=name, why=f"chance {switches}")
                    tell("switched", 1, other.name, name, f"chance {switches}")
            if done and luck.random() < 0.02:
                with suppress(Unknown, Conflict):  # another worker erased it, or it waits again
                    erased = campaign.erase([done.pop()], by=name, why="chance").decisions
                    tell("erased", len(erased), *erased)
            if luck.random() < 0.06:
                before = max(campaign.head().seq - luck.choice((0, 4, 16, 64)), 1)
                with suppress(Busy):  # another worker reads the file, or one seals, erases and revises beside it
                    moved = campaign.seal(segments(folder), by=name, why="chance", before=before)
                    tell("sealed", moved.segment is not None)
            if luck.random() < 0.02:
                copies += 1
                place = folder / f"{name}-{copies}.backup"
                tell("copying", 1)
                backup(url, place)
                tell("backup", place.name)
        except Paused:
            if luck.random() < 0.3:
                tell("resumed", campaign.resume(by=name, why="chance"))
        except Busy as error:
            tell("busy", str(error))


def warm_up():
    """Compile kernels before processes are forked."""
    campaign = Campaign.open("memory://", "warm", POLICIES, on_expiry="release", patience=1e-6)
    for i in range(3):
        reply = campaign.decide({"age": 20}, key=str(i))
        campaign.observe(reply.id, {"answer": 0, "cents": 0}, revise=True)
    campaign.snapshot()
    campaign.status()


def kill_many(folder, kills, seed=0, url=None):
    """Kill workers at random moments, each replaced by a new one; returns what came of it in numbers."""
    luck, began, url = random.Random(seed), time.monotonic(), url or f"sqlite:///{folder}/log.db"
    warm_up()
    segments(folder).mkdir(exist_ok=True)

    def start(name, seed):
        return forked(folder, name, serve, folder, url, name, seed)

    with often_erased():
        kill_workers(folder, kills, luck, [start] * WORKERS, pauses=(0.02, 0.3), rest=1.0)
    return {"kills": kills, **check(folder, url), "seconds": round(time.monotonic() - began, 1)}


@contextmanager
def stored(kind):
    """The URL of a new store of a kind, None for a file beside the replies."""
    if kind == "postgresql":
        with running() as server:
            yield schema(server, "kills")
    else:
        yield None if kind == "sqlite" else kind


if __name__ == "__main__":
    count, seed, kind = [*sys.argv[1:], *("0", "sqlite")[len(sys.argv) - 2 :]]
    with TemporaryDirectory() as place, stored(kind) as found:
        print(json.dumps(kill_many(Path(place), int(count), int(seed), found)))
