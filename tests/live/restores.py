"""Random restores, with clients that go on by id and by key at every copy of a log, also at those that were lost.

`python -m tests.live.restores 1000` makes so many restores and says what came of it in numbers. What a client may
expect follows from raw events alone: a decision is in a log if its event is, by its hash.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

import evenhand as eh
from evenhand.live import Conflict, Lost, Unknown
from evenhand.live.campaigns.history import History
from evenhand.live.log.proof import prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.schedules import same_fold

NAME = "coins"
COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=500, n_plays=1)
POLICY = eh.uniform(COIN, 1)
_RESTORES = 12  # of a world, from one log that is begun
_STEPS = 12  # requests between two of them
_PARTS = 2**20  # an outcome is a count of these, so that it says who reported it


class Told(NamedTuple):
    """A decision as its client knows it."""

    id: int
    key: str
    hash: bytes  # of its event, which the client does not know


@dataclass
class World:
    """All copies of one log, and what clients were told."""

    rng: np.random.Generator
    folder: Path
    found: Counter[str]
    logs: list[eh.Campaign] = field(default_factory=list)
    backups: list[Path] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    reports: dict[float, Told | str] = field(default_factory=dict)  # by outcome: of which decision, or key

    def store(self):
        self.found["stores"] += 1
        if self.rng.random() < 0.9:
            return MemoryStore()
        return SqliteStore(self.folder / f"{self.found['stores']}.db")

    def begin(self):
        self.logs.append(eh.Campaign.open(self.store(), NAME, POLICY, seed=int(self.rng.integers(1000))))

    def back_up(self, campaign):
        path = self.folder / f"backup {len(self.backups)} of {self.found['worlds']}.db"
        eh.live.backup(campaign.store, path)
        self.backups.append(path)

    def restore(self):
        store = self.store()
        eh.live.restore(self.backups[self.rng.integers(len(self.backups))], store, by="ada", why="disk lost")
        self.found["restores"] += 1
        self.logs.append(eh.Campaign.open(store, NAME, POLICY))

    def step(self, campaign):
        """One request of a client that knows nothing of restores."""
        if not self.told or self.rng.random() < 0.4:
            self.decide(campaign, f"order {self.rng.integers(100)}")
            return
        told = self.told[self.rng.integers(len(self.told))]
        present = {event.hash: event for event in campaign.events()}
        ends = {e.ref: e for e in present.values() if e.kind in ("observed", "cancelled")}
        own = present.get(told.hash)
        by_key = next((e for e in present.values() if e.key == told.key), None)
        by, target = ("key", by_key) if self.rng.random() < 0.4 else ("id", own)
        which, y = (told.key if by == "key" else told.id), len(self.reports) / _PARTS
        self.reports[y] = told if by == "id" else told.key
        self.found[f"{by}: {'there' if target else 'not there'}"] += 1
        verb = self.rng.choice(["observe", "cancel", "find"], p=[0.7, 0.1, 0.2])
        said = _asked(campaign, verb, which, y)
        if target is None:
            assert isinstance(said, Unknown), f"{verb} of a lost decision: {said}"
            restored = any(e.kind == "restored" for e in present.values())
            assert isinstance(said, Lost) or ("may be missing" in str(said)) is restored
            self.found["refused as lost"] += isinstance(said, Lost)
        elif verb == "find":
            assert said["key"] == told.key
        else:
            assert said is False or isinstance(said, Conflict) if target.seq in ends else said is True
            self.found["accepted"] += said is True

    def decide(self, campaign, key):
        reply = campaign.decide({}, key=key)
        event = next(e for e in campaign.events() if e.key == key)
        told = Told(reply.id, key, event.hash)
        assert all((z.id == told.id) == (z.hash == told.hash) for z in self.told), "an id was given out twice"
        if told not in self.told:
            self.told.append(told)
            self.found["decisions"] += 1

    def check(self):
        """Whatever a log entered is of the decision that the client named; it proves itself and can be folded again."""
        for campaign in self.logs:
            events = {e.seq: e for e in campaign.events()}
            for e in events.values():
                if e.kind == "observed":
                    meant, decided = self.reports[json.loads(e.body)["y"]["gain"]], events[e.ref]
                    right = decided.key == meant if isinstance(meant, str) else decided.hash == meant.hash
                    assert right, "an outcome was entered for another decision"
                    self.found["outcomes"] += 1
            assert prove(campaign.store, NAME).faults == ()
        last = self.logs[-1]
        assert eh.live.audit(last.store, NAME, [POLICY]).clean
        same_fold(eh.Campaign.open(last.store, NAME, POLICY), last)
        ids = {t.hash: t.id for t in self.told}
        decided = last.store.scan(NAME, kinds=("decided",))
        for row, event in zip(History.of(last.store, NAME), decided, strict=True):
            assert row["id"] == ids[event.hash]


def _asked(campaign, verb, which, y):
    """What a campaign says to a request: its answer or its error."""
    try:
        return campaign.observe(which, {"gain": y}) if verb == "observe" else getattr(campaign, verb)(which)
    except (Conflict, Unknown) as error:
        return error


def run(restores, seed=0):
    """Make random restores of many worlds; returns what came of it."""
    found = Counter[str]()
    while found["restores"] < restores:
        found["worlds"] += 1
        with tempfile.TemporaryDirectory() as folder:
            world = World(np.random.default_rng([seed, found["worlds"]]), Path(folder), found)
            world.begin()
            for _ in range(min(_RESTORES, restores - found["restores"])):
                for i in range(_STEPS):
                    at = -1 if world.rng.random() < 0.7 else world.rng.integers(len(world.logs))
                    world.step(world.logs[at])
                    if i == 0 or world.rng.random() < 0.1:
                        world.back_up(world.logs[at])
                world.restore()
            for _ in range(_STEPS):
                world.step(world.logs[-1])
            world.check()
    return found


if __name__ == "__main__":
    began = perf_counter()
    print(dict(sorted(run(int(sys.argv[1])).items())), f"{perf_counter() - began:.0f} s")
