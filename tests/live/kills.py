"""Workers on one store that are killed at random moments; by hand: `python -m tests.live.kills 500 [SEED [URL]]`."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from evenhand.live import Busy, Campaign, Conflict, Paused
from evenhand.live.stores.opening import connect
from tests.live.schedules import WORST, plain, same_fold

WORKERS, TOTAL = 4, 150.0
PATIENCE = 0.3  # seconds


def policy():
    return plain("killed", TOTAL, 10**6)


def serve(folder, url, name, seed):
    """Decide and observe until killed; every reply is on disk before the next question."""
    luck = random.Random(seed)
    told = os.open(folder / f"{name}.replies", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(*line):
        os.write(told, (json.dumps(line) + "\n").encode())
        os.fsync(told)

    campaign = Campaign.open(url, "one", policy(), patience=PATIENCE, on_expiry="fallback")
    known = []
    while True:
        n = max(int(campaign._worker.fold.state.t[0]) + luck.randrange(-3, 5), 0)  # other workers ask for the same
        try:
            reply = campaign.decide({"age": 20 + n % 30}, key=f"key {n}")
            tell("decided", reply.id, reply.key, reply.action, reply.at)
            if reply.action is not None:
                known.append((reply.id, reply.action))
            if known and luck.random() < 0.8:
                ref, action = known.pop(luck.randrange(len(known)))
                with suppress(Conflict):  # another worker was told something else
                    if luck.random() < 0.1:
                        tell("cancelled", ref, campaign.cancel(ref))
                    else:
                        cents = 0 if action == "none" else luck.choice((0, 0, 0, 0, 1))
                        new = campaign.observe(ref, {"answer": 0, "cents": cents}, revise=luck.random() < 0.02)
                        tell("observed", ref, new)
            if luck.random() < 0.03:
                campaign.snapshot()
            if luck.random() < 0.02:
                tell("paused", campaign.pause(by=name, why="chance"))
            if luck.random() < 0.02:
                fate = luck.choice(("hold", "fallback", "release"))
                tell("changed", campaign.change(on_expiry=fate, by=name, why="chance"))
        except Paused:
            if luck.random() < 0.3:
                tell("resumed", campaign.resume(by=name, why="chance"))
        except Busy as error:
            tell("busy", str(error))


def start(folder, url, name, seed):
    """A worker in a process of its own, which has everything imported and compiled."""
    number = os.fork()
    if number == 0:
        try:
            serve(folder, url, name, seed)
        except BaseException:
            (folder / f"{name}.error").write_text(traceback.format_exc())
        finally:
            os._exit(1)
    return number


def warm_up():
    """Compile kernels before processes are forked."""
    campaign = Campaign.open("memory://", "warm", policy(), on_expiry="release", patience=1e-6)
    for i in range(3):
        reply = campaign.decide({"age": 20}, key=str(i))
        campaign.observe(reply.id, {"answer": 0, "cents": 0}, revise=True)
    campaign.snapshot()
    campaign.status()


def kill_many(folder, kills, seed=0, url=None):
    """Kill workers at random moments, each replaced by a new one; returns what came of it in numbers."""
    luck, began, url = random.Random(seed), time.monotonic(), url or f"sqlite:///{folder}/log.db"
    warm_up()
    team = {i: start(folder, url, f"{i}-0", i) for i in range(WORKERS)}
    try:
        for n in range(1, kills + 1):
            time.sleep(luck.choice((0.02, 0.3)) * luck.random())
            i = luck.randrange(WORKERS)
            os.kill(team[i], signal.SIGKILL)
            _, status = os.waitpid(team.pop(i), 0)
            assert os.WIFSIGNALED(status), f"a worker ended by itself: {errors(folder)}"
            team[i] = start(folder, url, f"{i}-{n}", 1000 * n + i)
        time.sleep(1.0)
    finally:
        for number in team.values():
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
    assert not errors(folder), errors(folder)
    return {"kills": kills, **check(folder, url), "seconds": round(time.monotonic() - began, 1)}


def errors(folder):
    return "".join(path.read_text() for path in folder.glob("*.error"))


def replies(folder):
    """Every line that is whole; the last one of a worker may be cut off."""
    for path in sorted(folder.glob("*.replies")):
        for line in path.read_text().split("\n")[:-1]:
            yield json.loads(line)


def check(folder, url):
    """Compare replies with the log, the log with the budget, and folds with each other."""
    store = connect(url)
    log = list(store.scan("one"))
    assert [e.seq for e in log] == list(range(1, len(log) + 1))
    decided = {e.seq: e for e in log if e.kind == "decided"}
    assert len({e.key for e in decided.values()}) == len(decided), "a key has one decision"
    first: dict[tuple[str, int], int] = {}
    told = busy = 0
    said = {"paused": 0, "resumed": 0, "changed": 0}  # what workers were told that they did
    for kind, ref, *rest in replies(folder):
        if kind == "busy":
            busy += 1
            continue
        if kind in said:
            said[kind] += ref
            continue
        assert ref in decided, f"decision {ref} was replied, and is in no log"
        told += 1
        if kind == "decided":
            actions = policy().problem.actions
            play = json.loads(decided[ref].body)["a"][0]
            assert [decided[ref].key, actions[play] if play >= 0 else None, decided[ref].at] == rest
        elif rest[0]:
            first[kind, ref] = first.get((kind, ref), 0) + 1
    for (kind, ref), times in first.items():
        kinds = ("observed", "revised") if kind == "observed" else (kind,)
        found = sum(e.ref == ref and e.kind in kinds for e in log if e.ref is not None) if times > 1 else 1
        assert times <= found, f"decision {ref} was {kind} {times} times"
    for kind, times in said.items():
        found = sum(e.kind == kind for e in log)
        assert times <= found, f"{times} were told that they {kind} the campaign, and the log has {found}"
    _paused_decides_nothing(log)
    about = {(e.kind, e.ref) for e in log}
    assert all((kind, ref) in about for kind, ref in first), "what was taken in is in the log"
    kept, last = 0, store.snapshot("one", policy().fingerprint())
    while last is not None:
        kept, last = kept + 1, store.snapshot("one", policy().fingerprint(), before=last[0])
    within_budget(log)
    resumed = Campaign.open(store, "one", policy())
    resumed.refresh()
    store.snapshot = lambda campaign, mark, before=None: None
    whole = Campaign.open(store, "one", policy())
    whole.refresh()
    resumed.refresh()
    whole.refresh()
    same_fold(resumed, whole)
    return {"replies": told, **said, "events": len(log), "decisions": len(decided), "snapshots": kept, "busy": busy}


def _paused_decides_nothing(log):
    paused = False
    for event in log:
        paused = event.kind == "paused" or (paused and event.kind != "resumed")
        assert not (paused and event.kind == "decided"), f"decision {event.seq} was made while the campaign was paused"


def within_budget(log):
    """What was spent and what may yet be spent never exceeds the total by a decision."""
    spent, held = {}, {}
    sums = [0.0, 0.0]  # of the two

    def put(ref, cents, worst):
        sums[0] += cents - spent.get(ref, 0.0)
        sums[1] += worst - held.get(ref, 0.0)
        spent[ref], held[ref] = cents, worst

    for event in log:
        if event.kind == "decided":
            if json.loads(event.body)["a"][0] > 0:
                put(event.seq, 0.0, WORST)
                assert sum(sums) <= TOTAL + 1e-6, f"decision {event.seq} may spend {sum(sums)} of {TOTAL}"
        elif event.kind in ("observed", "revised"):
            put(event.ref, float(json.loads(event.body)["y"]["cents"]), 0.0)
        elif event.kind == "cancelled":
            put(event.ref, 0.0, 0.0)
        elif event.kind == "expired" and held.get(event.ref):
            fate = json.loads(event.body).get("on_expiry", "fallback")
            if fate != "hold":
                put(event.ref, 1.0 if fate == "fallback" else 0.0, 0.0)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        print(json.dumps(kill_many(Path(place), int(sys.argv[1]), *map(int, sys.argv[2:3]), *sys.argv[3:])))
