"""Traffic whose mix of cases changes with the hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.core.types import Ints, cached_property
from evenhand.core.validate import positive
from evenhand.environments._cases import Cases, means, no_groups
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

KINDS = ("nobody", "routine", "urgent")
# constant and slope of the probability that a visit helps, by kind of case
HELP = np.array([[0.0, 0.0], [0.05, 0.15], [0.60, 0.30]])
NIGHT, DAY = (0.98, 0.0, 0.02), (0.0, 0.6, 0.4)


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

    Raises:
        InvalidInput: probabilities are not three numbers of at least 0 with sum 1, or the rate is out of its range.

    >>> Hours(horizon=1200).problem.spending[0].total_over(1200)
    120.0
    """

    hours: tuple[tuple[float, ...], ...] = (NIGHT,) * 8 + (DAY,) * 4
    rate: float = 0.1
    horizon: int = 12_000

    def __post_init__(self) -> None:
        positive("Hours.rate", self.rate)
        for chances in self.hours or ((),):
            if len(chances) != len(KINDS) or not (min(chances) >= 0 and abs(sum(chances) - 1.0) <= 1e-9):
                raise InvalidInput("Hours.hours", f"chances of {', '.join(KINDS)} with a sum of 1", chances)

    @cached_property
    def problem(self) -> Problem:
        return Problem(
            actions=("nothing", "visit"),
            outcomes=(Outcome("help", free=("nothing",)), Outcome("visits", known={"visit": 1})),
            maximize="help",
            subject_to=(Budget("visits", rate=self.rate),),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return 2 * len(KINDS)

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, known, groups = Luck(seed=seed, replicas=replicas), self.problem.declared[None], no_groups(replicas)
        edges, theta = np.cumsum(np.array(self.hours), 1)[:, :-1], HELP.reshape(1, -1)

        def case(step: int) -> Context:
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 2)
            kind = (u[:, :1] >= edges[step * len(edges) // self.horizon]).sum(1)
            x = np.zeros((len(u), 2, len(KINDS), 2))  # the null action has no features
            x[np.arange(len(u)), 1, kind] = np.column_stack([np.ones(len(u)), u[:, 1]])
            return Context(x.reshape(len(u), 2, -1), known, groups, np.column_stack([kind >= 0, kind > 0]))

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays))
