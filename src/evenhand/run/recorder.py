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


@kernel
def _count(
    plays: Ints, counted: Floats, restricted: Floats, waiting: Bools, counts_idle_steps: bool, clock: Any
) -> None:
    """Count decided rounds, and idle ones if they count; note since when a replica is stuck or masked."""
    for r in range(len(counted)):
        now = clock[r]
        now.offered_steps += 1.0 if plays[r, 0] >= 0 else 0.0
        if plays[r, 0] < 0 and waiting[r]:
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
    column: int,
    totals: Floats,
    by_group: Floats,
) -> None:
    """Add outcomes z of the plays that count and were exposed to the columns from `column` on."""
    for r in range(len(plays)):
        if counted[r] == 0.0:
            continue
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0 and (len(exposed) == 0 or exposed[r, p]):
                for m in range(z.shape[2]):
                    if not np.isnan(z[r, p, m]):
                        totals[r, column + m] += z[r, p, m]
                        for g in range(groups.shape[2]):
                            by_group[r, groups[r, p if groups.shape[1] > 1 else 0, g], column + m] += z[r, p, m]


class Recorder:
    """Adds up what happens in R replicas, step by step."""

    def __init__(self, policy: Policy, replicas: Ints, world: World, everything: bool) -> None:
        problem, count, steps = policy.problem, len(replicas), world.steps
        self._policy, self._problem, self._replicas = policy.name, problem, replicas
        self._counts_idle_steps = world.counts_idle_steps
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
        n_learned, k, now = len(self._problem.learned), len(self._problem.observed), self._now
        believe(context.groups, context.offered, taken.counted, now.in_group)
        waiting = t < self._problem.horizon
        _count(decision.plays, taken.counted, decision.restricted, waiting, self._counts_idle_steps, self._clock)
        made = taken.plays, taken.counted, taken.groups, _EVERY_PLAY
        now.under_way[:] += taken.counted
        if self._at_once.any():
            known = taken.known if self._at_once.all() else taken.known * self._at_once
            _sum(*made, known, n_learned, now.totals, now.by_group)
        for a in arrivals:
            d, exposed = a.decision, _EVERY_PLAY if a.exposed is None else a.exposed
            y = a.y if a.exposed is None else np.where(self._counting(a.exposed), a.y, np.nan)
            now.under_way[:] -= d.counted
            _sum(d.plays, d.counted, d.groups, _EVERY_PLAY, y, 0, now.totals, now.by_group)
            if self._later.any():
                _sum(d.plays, d.counted, d.groups, exposed, d.known * self._later, n_learned, now.totals, now.by_group)
            if self._plays is not None:
                self._plays.outcomes[a.step, ..., :k] = np.where(d.counted[:, None, None] > 0, y, np.nan)
        if expected is None:
            self._truth = False
        else:
            _sum(*made, expected, 0, now.expected, now.expected_by_group)
        if self._plays is not None:
            self._plays.enter(step, taken, k)
        self._steps = step + 1
        if self._steps == self._times[self._reached]:
            self._keep()

    def _counting(self, exposed: Bools) -> Bools:
        """Which observed outcomes count: those of exposed plays, and noisy ones that are sure, `(P)->(P,M+B)`."""
        sure = np.concatenate([np.zeros(len(self._problem.learned), bool), self._problem.sure[self._problem.is_noisy]])
        return np.asarray(exposed[:, :, None] | sure)

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
