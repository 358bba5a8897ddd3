"""Traffic whose mix of cases changes with the hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.environments.base import Arrival
from evenhand.environments.knapsack import means
from evenhand.environments.mixture import coins
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

KINDS = ("nobody", "routine", "urgent")
# constant and slope of the probability that a visit helps, by kind of case
HELP = np.array([[0.0, 0.0], [0.05, 0.15], [0.60, 0.30]])
NIGHT, DAY = (0.98, 0.0, 0.02), (0.0, 0.6, 0.4)


class _Traffic:
    """A world whose kinds of cases are drawn by the mix of the hour; the null action has no features."""

    counts_idle_steps = True

    def __init__(self, problem: Problem, hours: Floats, seed: int, replicas: Ints) -> None:
        self._luck, self._problem, self.steps = Luck(seed=seed, replicas=replicas), problem, problem.horizon
        self._edges, self._theta = np.cumsum(hours, 1)[:, :-1], HELP.reshape(1, -1)
        self._groups = np.zeros((len(replicas), 1, 0), np.int64)

    def context(self, step: int) -> Context:
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), 2)
        kind = (u[:, :1] >= self._edges[step * len(self._edges) // self.steps]).sum(1)
        x = np.zeros((len(u), 2, len(KINDS), 2))
        x[np.arange(len(u)), 1, kind] = np.column_stack([np.ones(len(u)), u[:, 1]])
        return Context(
            x.reshape(len(u), 2, -1), self._problem.declared[None], self._groups, np.column_stack([kind >= 0, kind > 0])
        )

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), 1)
        return decision, [Arrival(step, decision, coins(self.expected(context, decision.plays), u))]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return means(context.features, self._theta, plays)


@named("X17", source="evenhand's own: cases that are not drawn alike in all rounds")
@dataclass(frozen=True, kw_only=True)
class Hours:
    """Assigns visits to routine and urgent cases under one budget; the frequency and the mix of cases change by hour.

    Equation: in each of the T / H rounds of hour h, nobody comes, or a routine or urgent case, with probabilities
    hours_h. A visit helps with probability 0.05 + 0.15 z or 0.6 + 0.3 z, z uniform on [0, 1]; its cost is known. If
    nobody comes, no visit is offered. By default a night of eight hours with few, urgent cases only is followed by a
    day of four hours with more urgent cases than the budget can pay for.

    Args:
        hours: the probabilities of nobody, routine and urgent in every hour, in order.
        rate: the budget of visits per round, above 0.
        horizon: the number of rounds T.

    Raises:
        InvalidInput: probabilities are not three numbers of at least 0 with sum 1, or the rate is out of its range.

    >>> Hours(horizon=1200).problem.spending[0].total_over(1200)
    120.0
    """

    hours: tuple[tuple[float, ...], ...] = (NIGHT,) * 8 + (DAY,) * 4
    rate: float = 0.1
    horizon: int = 12_000

    def __post_init__(self) -> None:
        number("Hours.rate", self.rate, "a finite number above 0", lambda x: 0 < x < np.inf)
        for chances in self.hours or ((),):
            if len(chances) != len(KINDS) or not (min(chances) >= 0 and abs(sum(chances) - 1.0) <= 1e-9):
                raise InvalidInput("Hours.hours", f"chances of {', '.join(KINDS)} with a sum of 1", chances)

    @cached_property
    def problem(self) -> Problem:
        """The problem: help under a budget of visits."""
        return Problem(
            actions=("nothing", "visit"),
            outcomes=(Outcome("help", free=("nothing",)), Outcome("visits", known={"visit": 1})),
            maximize="help",
            subject_to=(Budget("visits", rate=self.rate),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        """One constant and one slope per kind of case."""
        return 2 * len(KINDS)

    def start(self, seed: int, replicas: Ints) -> _Traffic:
        """Start a world; cases and luck are the same for every policy."""
        return _Traffic(self.problem, np.array(self.hours), seed, replicas)
