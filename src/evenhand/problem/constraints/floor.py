"""The constraint of a floor: a lower bound on an outcome."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.problem.constraints.base import check_amount, count_groups, group_rows, outcome_row
from evenhand.problem.constraints.sums import Sums, average, group_averages
from evenhand.problem.declared import Declared
from evenhand.problem.rows import Rows


@named("X4", source="evenhand's own: the rows of a budget or of one side of a parity, with the other sign")
@dataclass(frozen=True)
class Floor:
    """A total, or a rate per round, that the sum of an outcome must reach, for everybody or for every group.

    Equation: sum_t c_t >= rate * T, or with `by`, sum_t c_t 1{g_t = g} / share_g >= rate * T for every group g: the
    average of c among the cases of that group; with `total` in the place of rate * T.

    Args:
        outcome: the outcome that is bounded from below.
        total: in units of the outcome, over the whole horizon: rate * T.
        rate: in units of the outcome per round (per case of each group where `by` is given). Exactly one of the two is
            given, by its name.
        by: the grouping, as declared in the problem; None for everybody together.
        hard: False or None; a floor is kept on average.

    Raises:
        InvalidInput: neither or both of total and rate are given, one without its name, the one given is not finite, or
            hard=True.

    >>> Floor("exposure", rate=0.85, by="label").label
    'least exposure by label'
    >>> Floor("exposure", rate=0.85).total_over(1000)
    850.0
    """

    outcome: str
    _: KW_ONLY
    total: float | None = None
    rate: float | None = None
    by: str | None = None
    hard: bool | None = None

    spends: ClassVar[bool] = False
    worst: ClassVar[Literal["low", "high"]] = "low"

    def __post_init__(self) -> None:
        name = f"Floor({self.outcome!r})"
        check_amount(name, self.total, self.rate, "a finite number", -math.inf)
        if self.hard:
            expected = "False or None, as forbidding plays does not bring any outcome about"
            raise InvalidInput(f"{name}.hard", expected, self.hard)

    @property
    def label(self) -> str:
        return f"{self.outcome} per round, at least" if self.by is None else f"least {self.outcome} by {self.by}"

    def rows(self, problem: Declared) -> Rows:
        """The negative outcome, of everybody or of each group divided by its share."""
        if self.by is not None:
            return group_rows(problem, "Floor", self.outcome, self.by, {"at least": (0.0, -1.0)})
        one = outcome_row(problem, "Floor", self.outcome)
        return replace(one, names=(f"{self.outcome} at least",), learned=-one.learned, known=-one.known)

    def bound(self, problem: Declared) -> Floats:
        return np.full(1 if self.by is None else count_groups(problem, self.by), -self.limit(problem.horizon))

    def limit(self, horizon: int) -> float:
        return self.total / horizon if self.total is not None else float(self.rate or 0.0)

    def total_over(self, horizon: int) -> float:
        return float(self.total) if self.total is not None else float(self.rate or 0.0) * horizon

    def measure(self, run: Sums) -> Floats:
        """The average per round, or the least average of a group; averages of NaN are skipped, `->(G,R)`."""
        if self.by is None:
            return average(run, self.outcome)
        groups = group_averages(run, self.outcome, self.by)
        least = np.where(np.isnan(groups), np.inf, groups).min(-1)
        return np.asarray(np.where(np.isinf(least), 0.0, least))
