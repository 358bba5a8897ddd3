"""Running sums of a run, kept at a grid of steps, and every play if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, World
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem
from evenhand.run.gathering import Gathering
from evenhand.run.meter import Meter
from evenhand.run.plays import Plays
from evenhand.run.trace import Trace

_POINTS = 100


# Where each replica stands: one record per replica, which a kernel takes as a single argument. (A NamedTuple of arrays
# costs several microseconds per call.)
_CLOCK = np.dtype(
    [
        ("elapsed", float),  # rounds
        ("under_way", float),  # rounds that were played and whose outcomes have not arrived, and parts of such rounds
        ("offered_steps", float),  # steps in which something could be played
        ("last", float),  # the last round that was played
        ("stuck", bool),  # whether nothing could be played since
        ("whole", float),  # the last round in which nothing that was offered was masked
        ("masked", bool),  # whether something was masked since
    ]
)


_EVERY_PLAY = np.zeros((0, 0), bool)  # stands for a mask that is true everywhere
_NO_TRUTH = np.zeros((0, 0, 0))  # stands for true means that nobody knows


@kernel
def _count(
    plays: Ints, counted: Floats, restricted: Floats, t: Floats, horizon: float, counts_idle_steps: bool, clock: Any
) -> None:
    """Count decided rounds, and idle ones if they count; note since when a replica is stuck or masked."""
    for r in range(len(counted)):
        now = clock[r]
        now.offered_steps += 1.0 if plays[r, 0] >= 0 else 0.0
        if plays[r, 0] < 0 and t[r] < horizon:
            now.elapsed += 1.0 if counts_idle_steps else 0.0
            now.stuck = True
        elif counted[r] > 0.0:
            now.elapsed += counted[r]
            now.last = now.elapsed
            now.stuck = False
            now.masked = restricted[r] > 0.0
            if not now.masked:
                now.whole = now.elapsed


@kernel
def _sum(
    plays: Ints,
    counted: Floats,
    groups: Ints,
    exposed: Bools,
    z: Floats,
    sure: Bools,
    which: Bools,
    column: int,
    sums: Floats,
) -> None:
    """Add outcomes z of the plays that count to the columns from `column` on: sure ones, and those of exposed plays."""
    for r in range(len(plays)):
        if counted[r] == 0.0:
            continue
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            shown = len(exposed) == 0 or exposed[r, p]
            for m in range(z.shape[2]):
                if which[m] and (shown or sure[m]) and not np.isnan(z[r, p, m]):
                    sums[r, 0, column + m] += z[r, p, m]
                    for g in range(groups.shape[2]):
                        sums[r, 1 + groups[r, p if groups.shape[1] > 1 else 0, g], column + m] += z[r, p, m]


@kernel
def _enter_decision(
    decided: Ints,
    restricted: Floats,
    t: Floats,
    horizon: float,
    counts_idle_steps: bool,
    clock: Any,
    plays: Ints,
    counted: Floats,
    groups: Ints,
    known: Floats,
    at_once: Bools,
    expected: Floats,
    outcomes: int,
    sums: Floats,
) -> None:
    """Enter a decision as it was taken: rounds, what it settles at once, and true means where they are known."""
    _count(decided, counted, restricted, t, horizon, counts_idle_steps, clock)
    for r in range(len(counted)):
        clock[r].under_way += counted[r]
    every, first = np.zeros((0, 0), np.bool_), outcomes - known.shape[2]
    _sum(plays, counted, groups, every, known, at_once, at_once, first, sums)
    if len(expected) > 0:
        every_outcome = np.ones(expected.shape[2], np.bool_)
        _sum(plays, counted, groups, every, expected, every_outcome, every_outcome, outcomes, sums)


@kernel
def _enter_outcomes(
    plays: Ints,
    counted: Floats,
    groups: Ints,
    exposed: Bools,
    y: Floats,
    known: Floats,
    share: Floats,
    sure: Bools,
    later: Bools,
    outcomes: int,
    clock: Any,
    sums: Floats,
) -> None:
    """Enter outcomes that arrived, with their share of a round, and known ones that waited for exposure."""
    for r in range(len(share)):
        clock[r].under_way -= share[r]
    first = outcomes - known.shape[2]
    _sum(plays, counted, groups, exposed, y, sure, np.ones(len(sure), np.bool_), 0, sums)
    _sum(plays, counted, groups, exposed, known, ~later, later, first, sums)


@dataclass
class Books:
    """All that a recorder has to remember of a run, except its plays.

    Sums are of outcomes, then of the true means of the observed ones of all plays, whether or not they arrived; the
    first line of them is of everybody, the others of the groups. Learned outcomes count times their factors.
    """

    sums: Floats  # (R, 1 + C, M + L + observed)
    clock: Any  # (R,) of _CLOCK
    sums_at: Floats  # (G, R, 1 + C, M + L + observed) at the points of the grid
    rounds_at: Floats  # (G, R, C) rounds of every group
    clock_at: Any  # (G, R)
    measured: Floats  # (R, 2, k) sums of measures, of outcomes that arrived and of the true means of all plays
    measured_at: Floats  # (G, R, 2, k)
    truth: bool = True  # whether all true means were known
    steps: int = 0  # done
    reached: int = 0  # the next point of the grid


def empty(problem: Problem, n_replicas: int, steps: int) -> Books:
    """Nothing recorded yet, of a run of so many steps."""
    columns, points = len(problem.columns), len(_grid(steps))
    sums = np.zeros((n_replicas, 1 + columns, len(problem.names) + len(problem.observed)))
    measured = np.zeros((n_replicas, 2, len(problem.measures)))
    return Books(
        sums=sums,
        clock=np.zeros(n_replicas, _CLOCK),
        sums_at=np.zeros((points, *sums.shape)),
        rounds_at=np.zeros((points, n_replicas, columns)),
        clock_at=np.zeros((points, n_replicas), _CLOCK),
        measured=measured,
        measured_at=np.zeros((points, *measured.shape)),
    )


def _grid(steps: int) -> Ints:
    """The numbers of steps after which sums are kept, `->(G)`: evenly spaced logarithms, and 1, 2, 5, 10, 20, 50, ...

    The round numbers are those at which runs of different lengths are compared.
    """
    even = np.geomspace(1, steps, min(_POINTS, steps)).round().astype(np.int64)
    named = np.outer(10 ** np.arange(len(str(steps))), (1, 2, 5))
    return np.union1d(even, named[named <= steps])


class Recorder:
    """Adds up what happens in R replicas, step by step."""

    def __init__(self, policy: Policy, state: PolicyState, world: World, books: Books, everything: bool) -> None:
        problem, count, steps = policy.problem, len(state.t), world.steps
        self._policy, self._problem, self._state, self._books = policy.name, problem, state, books
        self._horizon, self._counts_idle_steps = float(problem.horizon), world.counts_idle_steps
        self._times, self._outcomes = _grid(steps), len(problem.names)
        room = steps if everything else 0  # else 5,000,000 rounds of rankings would take gigabytes
        plays = Plays.empty(room, count, policy.choice.n_plays, len(problem.names), len(problem.groups))
        self._plays = plays if everything else None
        self._at_once = problem.sure & ~problem.is_noisy  # known outcomes that a decision settles
        self._later = ~problem.sure & ~problem.is_noisy  # those that wait for exposure
        noisy = problem.sure[problem.is_noisy]
        self._sure = np.concatenate([np.zeros(len(problem.learned), bool), noisy])  # outcomes that need no exposure
        self._meter, self._gathering = Meter(problem, self._sure), Gathering()

    def add(
        self, step: int, decision: Decision, taken: Decision, arrivals: Sequence[Arrival], expected: Floats | None
    ) -> None:
        """Enter one step, which the state has been through.

        Raises:
            InvalidInput: true means of another shape than the outcomes of the plays.
        """
        if expected is not None and expected.shape != (*taken.plays.shape, len(self._sure)):
            shape = (*taken.plays.shape, len(self._sure))
            raise InvalidInput("World.expected", f"means of all plays, of shape {shape}", expected.shape)
        books = self._books
        if expected is not None:
            expected = self._problem.amounts(taken.known, expected)
        _enter_decision(
            decision.plays,
            decision.restricted,
            self._state.t,
            self._horizon,
            self._counts_idle_steps,
            books.clock,
            taken.plays,
            taken.counted,
            taken.groups,
            taken.known,
            self._at_once,
            _NO_TRUTH if expected is None else expected,
            self._outcomes,
            books.sums,
        )
        if self._meter and expected is not None:
            self._meter.add(taken, expected, _EVERY_PLAY, books.measured[:, 1])
        for a in arrivals:
            self._arrive(a)
        books.truth = books.truth and expected is not None
        if self._plays is not None:
            self._plays.enter(step, taken, len(self._sure))
        books.steps = step + 1
        if books.steps == self._times[books.reached]:
            self._keep()

    def _arrive(self, a: Arrival) -> None:
        """Enter outcomes that arrive, times their factors: sums at once, measures when the round is whole."""
        a = a._replace(y=self._problem.amounts(a.decision.known, a.y))
        books, d, share, whole = self._books, a.decision, a.decision.counted, a
        if (a.pending is not None or self._gathering) and d.counted.any():
            part, whole = self._gathering.add(a)
            d, share = part.decision, part.share
        exposed = _EVERY_PLAY if a.exposed is None else a.exposed
        arrays, masks = (d.plays, d.counted, d.groups, exposed, a.y, d.known, share), (self._sure, self._later)
        _enter_outcomes(*arrays, *masks, self._outcomes, books.clock, books.sums)
        if self._meter:
            shown = _EVERY_PLAY if whole.exposed is None else whole.exposed
            self._meter.add(whole.decision, whole.y, shown, books.measured[:, 0])
        if self._plays is not None:
            mask = True if whole.exposed is None else whole.exposed[:, :, None] | self._sure
            y = np.where(mask, whole.y, np.nan)
            counted = d.counted[:, None, None] > 0
            self._plays.outcomes[a.step, ..., : len(self._sure)] = np.where(counted, y, np.nan)

    @property
    def all_arrived(self) -> bool:
        """Whether the outcomes of all rounds so far have arrived."""
        return not self._books.clock["under_way"].any()

    def idle(self) -> None:
        """No replica will play any more: let the remaining steps pass, if idle steps count as rounds."""
        books, waiting = self._books, self._state.t < self._problem.horizon
        books.clock["stuck"] |= waiting
        if self._counts_idle_steps and waiting.any():
            for time in self._times[self._times > books.steps]:
                books.clock["elapsed"] += waiting * float(time - books.steps)
                books.steps = int(time)
                self._keep()

    def _keep(self) -> None:
        books, i = self._books, self._books.reached
        books.sums_at[i], books.rounds_at[i], books.clock_at[i] = books.sums, self._state.seen, books.clock
        books.measured_at[i] = books.measured
        books.reached = min(i + 1, len(self._times) - 1)

    def trace(self, seed: int, finished: bool) -> Trace:
        """Everything that was recorded, with a last point where the run ended."""
        books, times, n, clock = self._books, self._times, self._outcomes, self._books.clock
        kept = int(np.searchsorted(times, books.steps, side="right"))
        if not kept or times[kept - 1] < books.steps:  # it ended between two points of the grid
            books.reached = kept
            self._keep()
            times = np.concatenate([times[:kept], [books.steps]])
            kept += 1
        sums, clocks, measured = books.sums_at[:kept], books.clock_at[:kept], books.measured_at[:kept]
        return Trace(
            problem=self._problem,
            policy=self._policy,
            seed=seed,
            replicas=self._state.replicas,
            finished=finished,
            times=times[:kept],
            elapsed=clocks["elapsed"].copy(),
            totals=sums[:, :, 0, :n].copy(),
            group_totals=sums[:, :, 1:, :n].copy(),
            group_rounds=books.rounds_at[:kept],
            expected=sums[:, :, 0, n:].copy() if books.truth else None,
            group_expected=sums[:, :, 1:, n:].copy() if books.truth else None,
            measured=measured[:, :, 0].copy(),
            measured_expected=measured[:, :, 1].copy() if books.truth else None,
            under_way=clocks["under_way"].copy(),
            offered_steps=clock["offered_steps"].copy(),
            stopped=np.where(clock["stuck"], clock["last"], np.nan),
            restricted_after=np.where(clock["masked"] & ~clock["stuck"], clock["whole"], np.nan),
            plays=None if self._plays is None else self._plays.until(books.steps),
        )
