"""Random worlds in which one of two campaigns has its old events moved out of its store.

python -m tests.live.seal_worlds 1000
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.live import Conflict, Place, Unknown
from evenhand.live.log.events import encode
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.batches import Deciding
from tests.live.schedules import same_fold
from tests.polling import Clock

PROBLEM = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 80),),
    outcomes=(
        eh.Outcome("visit"),
        eh.Outcome("cents", known={"letter": 80, "call": 200}),
        eh.Outcome("minutes", high=9.0),
    ),
    maximize="visit",
    subject_to=(eh.Budget("cents", total=9000, hard=True), eh.Budget("minutes", total=800, hard=True)),
    horizon=400,
)
_PREDICTORS = eh.PerAction.of(PROBLEM)
POLICIES = (
    eh.resolving(PROBLEM, _PREDICTORS, warmup=6),
    eh.resolving(PROBLEM, _PREDICTORS, holdout=eh.Holdout(0.2)),
)
_MINUTE = 60 * 10**6


class World:
    """Two campaigns that are asked the same; one is sealed, and the other only notes it.

    Args:
        seed: of what is asked.
        folder: of the segments.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.luck, self.folder, self.clock = np.random.default_rng(seed), folder, Clock(1_900_000_000 * 10**6)
        self.stores = MemoryStore(self.clock), MemoryStore(self.clock)
        self.stores[1].whole = True  # as nothing is moved out of it
        fate = str(self.luck.choice(["hold", "fallback", "release"]))
        policy = self.luck.choice(len(POLICIES))
        fate = "release" if fate == "fallback" else fate
        self.terms = {"patience": 3600.0, "on_expiry": fate, "seed": seed}
        self.policy, self.each = POLICIES[policy], list[eh.Campaign]()
        self.open()
        self.ids, self.seals, self.refused = list[int](), 0, 0

    def open(self) -> None:
        """Open both campaigns in a new process, so to speak."""
        self.each = [eh.Campaign.open(store, "shop", self.policy, **self.terms) for store in self.stores]
        for z in self.each:
            z._worker._ask_at = 10**9  # corrections are learned when they are told to, as the time depends on snapshots

    def step(self) -> None:
        """Ask both campaigns for something."""
        self.clock.now += int(self.luck.integers(3 * _MINUTE))
        kinds = [
            "decide",
            "batch",
            "observe",
            "revise",
            "cancel",
            "wait",
            "seal",
            "snapshot",
            "open",
            "erase",
            "relearn",
        ]
        share = [0.38, 0.03, 0.37, 0.06, 0.02, 0.01, 0.03, 0.02, 0.03, 0.02, 0.03]
        getattr(self, f"_{self.luck.choice(kinds, p=share)}")()

    def both(self, call) -> None:
        """Make a call of both; the other is not asked where the sealed one refuses it, as something is in a segment."""
        first = _told(call, self.each[0])
        if "is in segment" in str(first):
            self.refused += 1
            for z in self.each:  # what is overdue expires at either request
                z.status()
        else:
            assert first == _told(call, self.each[1])

    def check(self) -> None:
        """Require that both are in the same state, and say the same; and so do audits."""
        same_fold(*self.each)
        assert self.each[0].report() == self.each[1].report()
        found = [
            eh.live.audit(Place(self.stores[0], self.folder), "shop", [self.policy]),
            eh.live.audit(self.stores[1], "shop", [self.policy]),
        ]
        facts = [(z.events, z.decisions, z.differing, z.unknown, z.erased, z.between, z.faults) for z in found]
        assert facts[0] == facts[1], facts
        assert found[0].clean
        rest = eh.live.audit(self.stores[0], "shop", [self.policy])
        assert rest.clean, str(rest)
        assert rest.decisions + rest.sealed == found[0].decisions

    def _decide(self) -> None:
        case, key = {"age": float(self.luck.integers(20, 81))}, f"key {len(self.ids)}"
        if self.luck.random() < 0.1 and self.ids:
            key = f"key {self.luck.integers(len(self.ids))}"
            self.both(lambda z: z.decide(case, key))
            return
        said = [z.decide(case, key) for z in self.each]
        assert said[0] == said[1]
        self.ids.append(said[0].id)

    def _some(self, recent: int = 10**9) -> int | None:
        return int(self.luck.choice(self.ids[-recent:])) if self.ids else None

    def _batch(self) -> None:
        """Decide some cases at one state."""
        cases = [Deciding({"age": 20.0 + z}, f"key {len(self.ids) + z}", frozen=True) for z in range(4)]
        said = [z.many(cases) for z in self.each]
        assert said[0] == said[1]
        self.ids += [z.id for z in said[0]]

    def _observe(self) -> None:
        waits = list(self.each[0]._worker.fold.pending)
        if waits:
            self._told(int(self.luck.choice(waits)), revise=False)

    def _revise(self) -> None:
        if (ref := self._some(40)) is not None:
            self._told(ref, revise=True)

    def _told(self, ref: int, *, revise: bool) -> None:
        stated = {"visit": int(self.luck.integers(2)), "minutes": float(self.luck.integers(10))}
        self.both(lambda z: z.observe(ref, stated, revise=revise))

    def _cancel(self) -> None:
        if (ref := self._some(20)) is not None:
            self.both(lambda z: z.cancel(ref))

    def _wait(self) -> None:
        self.clock.now += 90 * _MINUTE

    def _seal(self) -> None:
        one, other = self.each
        one._worker.relearn()
        other._worker.relearn()
        end = int(self.luck.integers(1, one.head().seq + 2))
        found = one.seal(self.folder, by="ada", why="size", before=end)
        if found.segment is not None:
            self.seals += 1
            body = encode({"last": 0, "before": [], "state": False})
            other._worker.one(lambda log: other._worker.enter(log, "sealed", body))

    def _snapshot(self) -> None:
        for z in self.each:
            z.snapshot()

    def _open(self) -> None:
        self.open()

    def _relearn(self) -> None:
        assert len({z.relearn() for z in self.each}) == 1

    def _erase(self) -> None:
        self._relearn()  # as an erasure does, also one that is refused
        if self.ids:
            key = f"key {self.luck.integers(max(len(self.ids) - 15, 0), len(self.ids))}"
            self.both(lambda z: z.erase([key], by="a clerk", why="asked to"))


def _told(call, campaign):
    """The result of a call, or why it was refused."""
    try:
        return call(campaign)
    except (Conflict, Unknown) as error:
        return str(error)


def live(seed: int, folder: Path, steps: int = 150) -> World:
    """Run a world to its end, with a look at it now and then."""
    world = World(seed, folder)
    for i in range(steps):
        world.step()
        if i % 50 == 49:
            world.check()
    return world


if __name__ == "__main__":
    worlds = seals = refused = 0
    for seed in range(*map(int, sys.argv[1:])):
        with tempfile.TemporaryDirectory() as folder:
            try:
                world = live(seed, Path(folder))
            except Exception:
                print("seed", seed)
                raise
        worlds, seals, refused = worlds + 1, seals + world.seals, refused + world.refused
    print(f"{worlds} worlds, {seals} seals, {refused} requests refused")
