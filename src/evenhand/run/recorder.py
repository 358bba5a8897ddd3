"""Running sums of a run, kept at a log-spaced grid of steps, and every play if that is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, World
from evenhand.policy.policy import Policy
from evenhand.run.trace import Plays, Trace

_POINTS = 100


@kernel
def _count(
    plays: Ints,
    rounds: Floats,
    groups: Ints,
    playable: Bools,
    offered: Bools,
    t: Floats,
    horizon: float,
    counts_idle_steps: bool,
    elapsed: Floats,
    offered_steps: Floats,
    in_group: Floats,
    last: Floats,
    stuck: Bools,
    whole: Floats,
    masked: Bools,
) -> None:
    """A round elapses when it is decided, or, if that counts, when nothing could be played; remember since when."""
    for r in range(len(rounds)):
        offered_steps[r] += 1.0 if plays[r, 0] >= 0 else 0.0
        if plays[r, 0] < 0 and t[r] < horizon:
            elapsed[r] += 1.0 if counts_idle_steps else 0.0
            stuck[r] = True
        elif rounds[r] > 0.0:
            elapsed[r] += rounds[r]
            last[r] = elapsed[r]
            stuck[r] = False
            masked[r] = False
            for a in range(playable.shape[1]):
                if offered[r if len(offered) > 1 else 0, a] and not playable[r, a]:
                    masked[r] = True
            if not masked[r]:
                whole[r] = elapsed[r]
            for g in range(groups.shape[1]):
                in_group[r, groups[r, g]] += rounds[r]


@kernel
def _sum(plays: Ints, rounds: Floats, groups: Ints, z: Floats, first: int, totals: Floats, by_group: Floats) -> None:
    """Add the outcomes z of the plays that count to the columns from `first` on."""
    for r in range(len(plays)):
        if rounds[r] == 0.0:
            continue
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                for m in range(z.shape[2]):
                    if not np.isnan(z[r, p, m]):
                        totals[r, first + m] += z[r, p, m]
                        for g in range(groups.shape[1]):
                            by_group[r, groups[r, g], first + m] += z[r, p, m]


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
        rounds, horizon = taken.rounds, float(self._problem.horizon)
        _count(
            decision.plays,
            rounds,
            taken.groups,
            decision.playable,
            context.offered,
            t,
            horizon,
            self._idle_counts,
            self._elapsed,
            self._offered_steps,
            self._in_group,
            self._last,
            self._stuck,
            self._whole,
            self._masked,
        )
        if self._problem.known:
            _sum(taken.plays, rounds, taken.groups, taken.known, k, self._totals, self._by_group)
        for a in arrivals:
            d = a.decision
            _sum(d.plays, d.rounds, d.groups, a.y, 0, self._totals, self._by_group)
            if self._plays is not None:
                self._plays.outcomes[a.step, ..., :k] = np.where((d.rounds > 0)[:, None, None], a.y, np.nan)
        if expected is None:
            self._truth = False
        else:
            _sum(taken.plays, rounds, taken.groups, expected, 0, self._expected, self._by_group_expected)
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
