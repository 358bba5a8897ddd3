"""A constraint on an average."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.problem.constraints.base import Sums, outcome_row
from evenhand.problem.constraints.sums import average
from evenhand.problem.rows import Rows


@named("Z4", source="a test")
@dataclass(frozen=True)
class AtMost:
    """The average of an outcome stays below a level; nothing is used up.

    Equation: sum_t y_t / T <= level.

    >>> AtMost("pain", level=0.1).label
    'pain, at most'
    """

    outcome: str
    level: float

    by: ClassVar[str | None] = None
    hard: ClassVar[bool | None] = False
    spends: ClassVar[bool] = False
    worst: ClassVar[Literal["low", "high"]] = "high"

    @property
    def label(self) -> str:
        return f"{self.outcome}, at most"

    def rows(self, problem: object) -> Rows:
        return outcome_row(problem, "AtMost", self.outcome)

    def bound(self, problem: object) -> Floats:
        return np.array([self.level])

    def limit(self, horizon: int) -> float:
        return self.level

    def total_over(self, horizon: int) -> float:
        return self.level * horizon

    def measure(self, run: Sums) -> Floats:
        return average(run, self.outcome)
