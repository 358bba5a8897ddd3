"""Running sums of a run, kept at a log-spaced grid of steps, and every play if that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, World
from evenhand.policy.entries import believe
from evenhand.policy.policy import Policy
from evenhand.run.trace import Plays, Trace

_POINTS = 100


_EVERY_PLAY = np.zeros((0, 0), bool)  # in the place of a mask that is true everywhere


class _Made(NamedTuple):
    """The part of a decision that sums are taken over."""

    plays: Ints
    counted: Floats
    groups: Ints


@kernel
def _count(
    plays: Ints,
    counted: Floats,
    restricted: Floats,
    t: Floats,
    horizon: float,
    counts_idle_steps: bool,
    elapsed: Floats,
    offered_steps: Floats,
    last: Floats,
    stuck: Bools,
    whole: Floats,
    masked: Bools,
) -> None:
    """A round elapses when it is decided, or, if that counts, when nothing could be played; remember since when."""
    for r in range(len(counted)):
        offered_steps[r] += 1.0 if plays[r, 0] >= 0 else 0.0
        if plays[r, 0] < 0 and t[r] < horizon:
            elapsed[r] += 1.0 if counts_idle_steps else 0.0
            stuck[r] = True
        elif counted[r] > 0.0:
            elapsed[r] += counted[r]
            last[r] = elapsed[r]
            stuck[r] = False
            masked[r] = restricted[r] > 0.0
            if not masked[r]:
                whole[r] = elapsed[r]


@kernel
def _sum(d: _Made, z: Floats, which: Ints, exposed: Bools, totals: Floats, by_group: Floats) -> None:
    """Add outcomes z of the plays that count and were exposed to the columns `which`; an empty mask is true."""
    for r in range(len(d.plays)):
        if d.counted[r] == 0.0:
            continue
        for p in range(d.plays.shape[1]):
            if d.plays[r, p] >= 0 and (len(exposed) == 0 or exposed[r, p]):
                for m in range(z.shape[2]):
                    if which[m] >= 0 and not np.isnan(z[r, p, m]):
                        totals[r, which[m]] += z[r, p, m]
                        for g in range(d.groups.shape[2]):
                            by_group[r, d.groups[r, p if d.groups.shape[1] > 1 else 0, g], which[m]] += z[r, p, m]


class Recorder:
    """Adds up what happens in R replicas, step by step."""

    def __init__(self, policy: Policy, replicas: Ints, world: World, everything: bool) -> None:
        """Make room for a run of a policy in a world."""
        problem, plays, steps = policy.problem, policy.choice.n_plays, world.steps
        self._policy, self._idle_counts = policy.name, world.counts_idle_steps
        count, m, c = len(replicas), len(problem.names), len(problem.columns)
        self._problem, self._replicas = problem, replicas
        self._times = np.unique(np.geomspace(1, steps, min(_POINTS, steps)).round().astype(np.int64))
        self._reached = 0
        points = len(self._times)
        self._elapsed, self._elapsed_at = np.zeros(count), np.zeros((points, count))
        self._totals, self._totals_at = np.zeros((count, m)), np.zeros((points, count, m))
        self._by_group, self._by_group_at = np.zeros((count, c, m)), np.zeros((points, count, c, m))
        self._in_group, self._in_group_at = np.zeros((count, c)), np.zeros((points, count, c))
        k = len(problem.learned)
        self._expected, self._expected_at = np.zeros((count, k)), np.zeros((points, count, k))
        self._by_group_expected = np.zeros((count, c, k))
        self._offered_steps = np.zeros(count)
        places = np.arange(k, m)
        self._learned = np.arange(k)
        self._sure, self._unsure = np.where(problem.sure, places, -1), np.where(problem.sure, -1, places)
        self._truth = True
        self._last, self._stuck = np.zeros(count), np.zeros(count, bool)
        self._whole, self._masked = np.zeros(count), np.zeros(count, bool)
        self._plays = Plays.empty(steps, count, plays, m, len(problem.groups)) if everything else None
        self._steps = 0

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
        k = len(self._problem.learned)
        horizon = float(self._problem.horizon)
        made = _Made(taken.plays, taken.counted, taken.groups)
        believe(context.groups, context.offered, taken.counted, self._in_group)
        _count(
            decision.plays,
            taken.counted,
            decision.restricted,
            t,
            horizon,
            self._idle_counts,
            self._elapsed,
            self._offered_steps,
            self._last,
            self._stuck,
            self._whole,
            self._masked,
        )
        if self._problem.sure.any():
            _sum(made, taken.known, self._sure, _EVERY_PLAY, self._totals, self._by_group)
        for a in arrivals:
            d, exposed = a.decision, _EVERY_PLAY if a.exposed is None else a.exposed
            late = _Made(d.plays, d.counted, d.groups)
            _sum(late, a.y, self._learned, exposed, self._totals, self._by_group)
            if not self._problem.sure.all():
                _sum(late, d.known, self._unsure, exposed, self._totals, self._by_group)
            if self._plays is not None:
                counts = (d.counted > 0)[:, None] & (True if a.exposed is None else a.exposed)
                self._plays.outcomes[a.step, ..., :k] = np.where(counts[:, :, None], a.y, np.nan)
        if expected is None:
            self._truth = False
        else:
            _sum(made, expected, self._learned, _EVERY_PLAY, self._expected, self._by_group_expected)
        if self._plays is not None:
            self._plays.enter(step, taken, k)
        self._steps = step + 1
        if self._steps == self._times[self._reached]:
            self._keep()

    def idle(self, t: Floats) -> None:
        """Nobody will play any more: let the remaining steps pass, as far as they are rounds."""
        waiting = t < self._problem.horizon
        self._stuck |= waiting
        if self._idle_counts and waiting.any():
            for time in self._times[self._times > self._steps]:
                self._elapsed += waiting * float(time - self._steps)
                self._steps = int(time)
                self._keep()

    def _keep(self) -> None:
        i = self._reached
        self._elapsed_at[i] = self._elapsed
        self._totals_at[i] = self._totals
        self._by_group_at[i] = self._by_group
        self._in_group_at[i] = self._in_group
        self._expected_at[i] = self._expected
        self._reached = min(i + 1, len(self._times) - 1)

    def trace(self, seed: int, finished: bool) -> Trace:
        """Everything that was recorded: to the end of a run that finished, else up to the last point of the grid."""
        times = self._times
        kept = int(np.searchsorted(times, self._steps, side="right"))
        if finished and (not kept or times[kept - 1] < self._steps):  # every replica reached its horizon early
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
            elapsed=self._elapsed_at[:kept],
            totals=self._totals_at[:kept],
            group_totals=self._by_group_at[:kept],
            group_rounds=self._in_group_at[:kept],
            expected=self._expected_at[:kept] if self._truth else None,
            offered_steps=self._offered_steps,
            stopped=np.where(self._stuck, self._last, np.nan),
            restricted_after=np.where(self._masked & ~self._stuck, self._whole, np.nan),
            plays=None if self._plays is None else self._plays.until(self._steps),
        )
