"""Any environment, with outcomes that arrive some steps later."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments.base import Arrival, Environment, World
from evenhand.problem.problem import Problem


class _LateWorld:
    def __init__(self, world: World, delay: int) -> None:
        self._world, self._delay = world, delay
        self._due: deque[Sequence[Arrival]] = deque()
        self.unsaveable = "outcomes that are under way in Delayed are not saved"

    @property
    def steps(self) -> int:
        return self._world.steps

    @property
    def counts_idle_steps(self) -> bool:
        return self._world.counts_idle_steps

    def context(self, step: int) -> Context:
        return self._world.context(step)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        taken, arrivals = self._world.respond(step, context, decision)
        self._due.append(arrivals)
        return taken, self._due.popleft() if len(self._due) > self._delay else []

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        return self._world.expected(context, plays)


@dataclass(frozen=True)
class Delayed:
    """Outcomes arrive `delay` steps after the decision; those of the last `delay` steps never do.

    >>> from evenhand.environments.court import Court
    >>> Delayed(Court(), delay=10).problem.horizon
    10000
    """

    environment: Environment
    delay: int

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise InvalidInput("Delayed.delay", "a whole number of at least 0", self.delay)

    @property
    def problem(self) -> Problem:
        """The same problem."""
        return self.environment.problem

    @property
    def n_features(self) -> int:
        """The same features."""
        return self.environment.n_features

    def start(self, seed: int, replicas: Ints) -> World:
        """The same world, with late outcomes."""
        return _LateWorld(self.environment.start(seed, replicas), self.delay)
