"""Running sums of a run, kept at a log-spaced grid of steps, and every play if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, World
from evenhand.policy.entries import believe
from evenhand.policy.policy import Policy
from evenhand.run.trace import Plays, Trace

_POINTS = 100


class Sums(NamedTuple):
    """Running sums of R replicas; with a leading axis of G points, the sums at these points."""

    elapsed: Floats  # (R,) rounds
    totals: Floats  # (R, M + L) of outcomes, learned ones first
    by_group: Floats  # (R, C, M + L)
    in_group: Floats  # (R, C) rounds
    expected: Floats  # (R, M + B) of true means of the observed outcomes of all plays, whether or not they arrived
    expected_by_group: Floats  # (R, C, M + B)
    under_way: Floats  # (R,) rounds that were played and whose outcomes have not arrived

    @staticmethod
    def zeros(*shape: int, n_observed: int, n_outcomes: int, n_columns: int) -> Sums:
        return Sums(
            np.zeros(shape),
            np.zeros((*shape, n_outcomes)),
            np.zeros((*shape, n_columns, n_outcomes)),
            np.zeros((*shape, n_columns)),
            np.zeros((*shape, n_observed)),
            np.zeros((*shape, n_columns, n_observed)),
            np.zeros(shape),
        )


# Where each replica stands: one record per replica, which a kernel takes as a single argument. (A NamedTuple of arrays
# costs several microseconds per call.)
_CLOCK = np.dtype(
    [
        ("elapsed", float),  # rounds
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
    totals: Floats,
    by_group: Floats,
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
                    totals[r, column + m] += z[r, p, m]
                    for g in range(groups.shape[2]):
                        by_group[r, groups[r, p if groups.shape[1] > 1 else 0, g], column + m] += z[r, p, m]


@kernel
def _enter_decision(
    decided: Ints,
    restricted: Floats,
    t: Floats,
    horizon: float,
    counts_idle_steps: bool,
    clock: Any,
    cases: Ints,
    offered: Bools,
    plays: Ints,
    counted: Floats,
    groups: Ints,
    known: Floats,
    at_once: Bools,
    expected: Floats,
    in_group: Floats,
    under_way: Floats,
    totals: Floats,
    by_group: Floats,
    true_totals: Floats,
    true_by_group: Floats,
) -> None:
    """Enter a decision as it was taken: rounds, what it settles at once, and true means where they are known."""
    _count(decided, counted, restricted, t, horizon, counts_idle_steps, clock)
    believe(cases, offered, counted, in_group)
    for r in range(len(counted)):
        under_way[r] += counted[r]
    every, first = np.zeros((0, 0), np.bool_), totals.shape[1] - known.shape[2]
    _sum(plays, counted, groups, every, known, at_once, at_once, first, totals, by_group)
    if len(expected) > 0:
        every_outcome = np.ones(expected.shape[2], np.bool_)
        _sum(plays, counted, groups, every, expected, every_outcome, every_outcome, 0, true_totals, true_by_group)


@kernel
def _enter_outcomes(
    plays: Ints,
    counted: Floats,
    groups: Ints,
    exposed: Bools,
    y: Floats,
    known: Floats,
    sure: Bools,
    later: Bools,
    under_way: Floats,
    totals: Floats,
    by_group: Floats,
) -> None:
    """Enter outcomes that arrived, and known ones that waited for exposure."""
    for r in range(len(counted)):
        under_way[r] -= counted[r]
    first = totals.shape[1] - known.shape[2]
    _sum(plays, counted, groups, exposed, y, sure, np.ones(len(sure), np.bool_), 0, totals, by_group)
    _sum(plays, counted, groups, exposed, known, ~later, later, first, totals, by_group)


class Recorder:
    """Adds up what happens in R replicas, step by step."""

    def __init__(self, policy: Policy, replicas: Ints, world: World, everything: bool) -> None:
        problem, count, steps = policy.problem, len(replicas), world.steps
        self._policy, self._problem, self._replicas = policy.name, problem, replicas
        self._horizon, self._counts_idle_steps = float(problem.horizon), world.counts_idle_steps
        self._times = np.unique(np.geomspace(1, steps, min(_POINTS, steps)).round().astype(np.int64))
        sizes = {
            "n_observed": len(problem.observed),
            "n_outcomes": len(problem.names),
            "n_columns": len(problem.columns),
        }
        self._now, self._at = Sums.zeros(count, **sizes), Sums.zeros(len(self._times), count, **sizes)
        room = Plays.empty(steps, count, policy.choice.n_plays, len(problem.names), len(problem.groups))
        self._plays = room if everything else None
        self._clock = np.zeros(count, _CLOCK)
        self._at_once = problem.sure & ~problem.is_noisy  # known outcomes that a decision settles
        self._later = ~problem.sure & ~problem.is_noisy  # those that wait for exposure
        noisy = problem.sure[problem.is_noisy]
        self._sure = np.concatenate([np.zeros(len(problem.learned), bool), noisy])  # outcomes that need no exposure
        self._truth = True
        self._steps = self._reached = 0  # steps done, and the next point of the grid

    def add(
        self,
        step: int,
        context: Context,
        decision: Decision,
        taken: Decision,
        arrivals: Sequence[Arrival],
        expected: Floats | None,
        t: Floats,
    ) -> None:
        """Enter one step; t counts the rounds decided by the end of it."""
        now, k = self._now, len(self._problem.observed)
        _enter_decision(
            decision.plays,
            decision.restricted,
            t,
            self._horizon,
            self._counts_idle_steps,
            self._clock,
            context.groups,
            context.offered,
            taken.plays,
            taken.counted,
            taken.groups,
            taken.known,
            self._at_once,
            _NO_TRUTH if expected is None else expected,
            now.in_group,
            now.under_way,
            now.totals,
            now.by_group,
            now.expected,
            now.expected_by_group,
        )
        for a in arrivals:
            d, exposed = a.decision, _EVERY_PLAY if a.exposed is None else a.exposed
            masks, sums = (self._sure, self._later), (now.under_way, now.totals, now.by_group)
            _enter_outcomes(d.plays, d.counted, d.groups, exposed, a.y, d.known, *masks, *sums)
            if self._plays is not None:
                y = a.y if a.exposed is None else np.where(a.exposed[:, :, None] | self._sure, a.y, np.nan)
                self._plays.outcomes[a.step, ..., :k] = np.where(d.counted[:, None, None] > 0, y, np.nan)
        self._truth = self._truth and expected is not None
        if self._plays is not None:
            self._plays.enter(step, taken, k)
        self._steps = step + 1
        if self._steps == self._times[self._reached]:
            self._keep()

    @property
    def all_arrived(self) -> bool:
        """Whether the outcomes of all rounds so far have arrived."""
        return not self._now.under_way.any()

    def idle(self, t: Floats) -> None:
        """No replica will play any more: let the remaining steps pass, if idle steps count as rounds."""
        waiting = t < self._problem.horizon
        self._clock["stuck"] |= waiting
        if self._counts_idle_steps and waiting.any():
            for time in self._times[self._times > self._steps]:
                self._clock["elapsed"] += waiting * float(time - self._steps)
                self._steps = int(time)
                self._keep()

    def _keep(self) -> None:
        i = self._reached
        self._now.elapsed[:] = self._clock["elapsed"]
        for there, now in zip(self._at, self._now, strict=True):
            there[i] = now
        self._reached = min(i + 1, len(self._times) - 1)

    def trace(self, seed: int, finished: bool) -> Trace:
        """Everything that was recorded, with a last point where the run ended."""
        times, clock = self._times, self._clock
        kept = int(np.searchsorted(times, self._steps, side="right"))
        if not kept or times[kept - 1] < self._steps:  # it ended between two points of the grid
            self._reached = kept
            self._keep()
            times = np.concatenate([times[:kept], [self._steps]])
            kept += 1
        return Trace(
            problem=self._problem,
            policy=self._policy,
            seed=seed,
            replicas=self._replicas,
            finished=finished,
            times=times[:kept],
            elapsed=self._at.elapsed[:kept],
            totals=self._at.totals[:kept],
            group_totals=self._at.by_group[:kept],
            group_rounds=self._at.in_group[:kept],
            expected=self._at.expected[:kept] if self._truth else None,
            group_expected=self._at.expected_by_group[:kept] if self._truth else None,
            under_way=self._at.under_way[:kept],
            offered_steps=clock["offered_steps"].copy(),
            stopped=np.where(clock["stuck"], clock["last"], np.nan),
            restricted_after=np.where(clock["masked"] & ~clock["stuck"], clock["whole"], np.nan),
            plays=None if self._plays is None else self._plays.until(self._steps),
        )
