"""The constraint of parity: an outcome that groups share evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.problem.clock import Per, refuse_truth
from evenhand.problem.constraints._periods import averages_of
from evenhand.problem.constraints.base import count_groups, group_rows, refuse_estimated
from evenhand.problem.constraints.sums import Sums, disparity
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows
from evenhand.problem.spans import Spans


@named("K5", source="Chzhen, Giraud, Li & Stoltz 2023, Section 2.1 and Appendix G.1 (rows divided by the share)")
@dataclass(frozen=True)
class Parity:
    """An outcome spread evenly: each group's average stays within a tolerance of everybody's.

    Equation: |sum_t c_t 1{g_t = g} / share_g - sum_t c_t| <= tolerance * T for every group g, as two signed rows each.
    Deviation: Section 2.1 of the paper prints these rows multiplied by share_g; its experiments use them as here.

    Args:
        outcome: the outcome that is to be shared evenly.
        by: the grouping, as declared in the problem.
        tolerance: allowed difference of averages per round, in units of the outcome; 0 is allowed.
        hard: False or None; a parity is kept on average.
        per: the period in which it is to hold, each by itself: "hour", "day", "week" or "month" where the problem has
            dates, or a number in units of its clock; None for the whole run. An outcome belongs to the period of its
            decision.

    Raises:
        InvalidInput: a negative or infinite tolerance, or hard=True. In a problem: a period that its clock does not
            have, or one for a grouping whose shares are not declared.

    >>> Parity("ride", by="district", tolerance=0.02).label
    'ride gap by district'
    """

    outcome: str
    by: str
    tolerance: float
    hard: bool | None = None
    per: Per | None = None

    spends = False

    def __post_init__(self) -> None:
        refuse_truth(f"Parity({self.outcome!r}).per", self.per)
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InvalidInput(f"Parity({self.outcome!r}).tolerance", "a finite number of at least 0", self.tolerance)
        if self.hard:
            expected = "False or None, as no play is sure to keep a gap between groups whatever its outcome"
            raise InvalidInput(f"Parity({self.outcome!r}).hard", expected, self.hard)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "high"

    @property
    def label(self) -> str:
        return f"{self.outcome} gap by {self.by}"

    def rows(self, problem: Declarations) -> Rows:
        return group_rows(problem, "Parity", self.outcome, self.by, {"above": (-1.0, 1.0), "below": (1.0, -1.0)})

    def bound(self, problem: Declarations) -> Floats:
        return np.full(2 * count_groups(problem, self.by), self.tolerance)

    def spans(self, problem: Declarations) -> Spans | None:
        """The periods, with a bound on the averages of each; None if the parity is that of the whole run."""
        name = f"Parity({self.outcome!r})"
        if self.per is not None:
            refuse_estimated(name, self.by, problem)
        return averages_of(problem.clock, name, self.tolerance, self.per)

    def limit(self, horizon: int) -> float:
        return self.tolerance

    def total_over(self, horizon: int) -> float:
        return self.tolerance * horizon

    def measure(self, run: Sums) -> Floats:
        return np.asarray(np.abs(disparity(run, self.outcome, self.by)).max(-1))
