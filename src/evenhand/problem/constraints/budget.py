"""The constraint of a budget: an amount that may be spent over the horizon."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.problem.constraints.base import check_amount, outcome_row
from evenhand.problem.constraints.sums import Sums, average
from evenhand.problem.declared import Declared
from evenhand.problem.rows import Rows


@named("X3", source="evenhand's own: hard budgets by construction; the rows c <= B of Chzhen et al. 2023, Box A")
@dataclass(frozen=True)
class Budget:
    """A total, or a rate per round, that the sum of an outcome may not exceed.

    Equation: sum_t c_t <= total, or sum_t c_t <= rate * horizon.

    Args:
        outcome: the outcome that is spent.
        total: in units of the outcome, over the whole horizon.
        rate: in units of the outcome per round. Exactly one of the two is given, by its name.
        hard: True for never exceeded, False for kept on average; None leaves that to the recipe.

    Raises:
        InvalidInput: neither or both are given, one without its name, or the one given is not a positive number.

    >>> Budget("ride", total=500).limit(10_000)
    0.05
    >>> Budget("ride", 500)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget: expected at most 1 argument without a name, the others by name \
(total=, rate=, hard=), got 2
    >>> Budget("ride", rate=-1)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget('ride').rate: expected a finite number above 0, got -1
    """

    outcome: str
    _: KW_ONLY
    total: float | None = None
    rate: float | None = None
    hard: bool | None = None

    by: ClassVar[str | None] = None
    spends: ClassVar[bool] = True
    worst: ClassVar[Literal["low", "high"]] = "high"

    def __post_init__(self) -> None:
        check_amount(f"Budget({self.outcome!r})", self.total, self.rate, "a finite number above 0", 0.0)

    @property
    def label(self) -> str:
        return f"{self.outcome} per round"

    def rows(self, problem: Declared) -> Rows:
        return outcome_row(problem, "Budget", self.outcome)

    def bound(self, problem: Declared) -> Floats:
        return np.array([self.limit(problem.horizon)])

    def limit(self, horizon: int) -> float:
        return self.total / horizon if self.total is not None else float(self.rate or 0.0)

    def total_over(self, horizon: int) -> float:
        """The total over the horizon.

        >>> Budget("ride", total=500).total_over(10_000), Budget("ride", rate=0.05).total_over(10_000)
        (500.0, 500.0)
        """
        return float(self.total) if self.total is not None else float(self.rate or 0.0) * horizon

    def measure(self, run: Sums) -> Floats:
        return average(run, self.outcome)
