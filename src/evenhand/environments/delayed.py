"""Environments with delayed outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.environments.base import Arrival, Environment, World, case_skipper
from evenhand.problem.problem import Problem


class _LateWorld:
    def __init__(self, world: World, low: int, high: int, luck: Luck) -> None:
        self._world, self._low, self._high, self._luck = world, low, high, luck
        self._passing = case_skipper(world)
        self._due: defaultdict[int, list[Arrival]] = defaultdict(list)  # by step
        self.unsaveable = "outcomes that are under way in Delayed are not saved"

    @property
    def steps(self) -> int:
        return self._world.steps

    @property
    def counts_idle_steps(self) -> bool:
        return self._world.counts_idle_steps

    def cases(self, step: int) -> Floats:
        return self._passing.cases(step)

    def ended(self, step: int) -> Bools:
        return self._passing.ended(step)

    def context(self, step: int) -> Context:
        return self._world.context(step)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        taken, arrivals = self._world.respond(step, context, decision)
        for a in arrivals:
            if self._low == self._high:
                self._due[step + self._low].append(a)
            else:
                self._scatter(step, a)
        return taken, self._due.pop(step, [])

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        return self._world.expected(context, plays)

    def _scatter(self, step: int, a: Arrival) -> None:
        """Divide an arrival into parts by the step at which they are due."""
        if a.pending is not None:
            raise InvalidInput("Delayed.environment", "one whose rounds arrive whole, to be divided", "parts of rounds")
        d, choices = a.decision, self._high - self._low + 1
        u = self._luck.uniform(Stream.DELAY, np.array([a.step]), d.plays.shape[1])
        due = step + self._low + (u * choices).astype(np.int64)
        due[(d.plays < 0) | (d.counted == 0.0)[:, None]] = -1
        for now in np.unique(due[due >= 0]).tolist() or [step + self._low]:
            self._due[now].append(_due(a, due, now))


def _due(a: Arrival, due: Ints, now: int) -> Arrival:
    """Select the outcomes due now; others become NaN, and `due` is -1 for those that never are, `(P)`."""
    other = (due >= 0) & (due != now)
    return a._replace(y=np.where(other[:, :, None], np.nan, a.y), pending=due > now) if other.any() else a


@checked
@dataclass(frozen=True)
class Delayed:
    """Delays the outcomes of an environment by `delay` steps; those due after the last step never arrive.

    Args:
        environment: an environment whose outcomes arrive in whole rounds.
        delay: the number of steps; or the least and the most, between which each play's own delay is drawn uniformly by
            place, the same for all policies. Rounds then arrive in parts.

    Raises:
        InvalidInput: the delay is negative, or its least is above its most.

    >>> from evenhand.environments.court import Court
    >>> Delayed(Court(), delay=10).problem.horizon
    10000
    >>> from evenhand.environments.matching import Matching
    >>> world = Delayed(Matching(users=3, arms=2), delay=(1, 20)).start(0, np.arange(1))
    >>> world.context(0).features.shape
    (1, 6, 5)
    """

    environment: Environment
    delay: int | tuple[int, int]

    def __post_init__(self) -> None:
        low, high = self._ends
        whole("Delayed.delay", low, 0)
        whole("Delayed.delay", high, low)

    @property
    def problem(self) -> Problem:
        return self.environment.problem

    @property
    def n_features(self) -> int:
        return self.environment.n_features

    def start(self, seed: int, replicas: Ints) -> World:
        luck = Luck(seed=seed, replicas=replicas)
        return _LateWorld(self.environment.start(seed, replicas), *self._ends, luck)

    @property
    def _ends(self) -> tuple[int, int]:
        """The least and the most steps of a delay."""
        if isinstance(self.delay, int | np.integer):
            return int(self.delay), int(self.delay)
        if not (isinstance(self.delay, tuple) and len(self.delay) == 2):
            raise InvalidInput("Delayed.delay", "a whole number of at least 0, or the least and the most", self.delay)
        return self.delay
