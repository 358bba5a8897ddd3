"""The constraint of a floor: a lower bound on an outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.problem.clock import Per, refuse_truth
from evenhand.problem.constraints._periods import Totals, amounts, floors_of, own_floors
from evenhand.problem.constraints.base import check_amount, count_groups, group_rows, outcome_row, refuse_estimated
from evenhand.problem.constraints.sums import Sums, average, group_averages
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows
from evenhand.problem.spans import Spans


@named("X4", source="evenhand's own: the rows of a budget or of one side of a parity, with the other sign")
@dataclass(frozen=True)
class Floor:
    """A total, or a rate per round, that the sum of an outcome must reach, for everybody or for every group.

    Equation: sum_t c_t >= rate * T, or with `by`, sum_t c_t 1{g_t = g} / share_g >= rate * T for every group g: the
    average of c among the cases of that group; with `total` in the place of rate * T. Per period, the sum over its
    decisions is at least `total`; an outcome belongs to the period of its decision, however late it arrives.

    Args:
        outcome: the outcome that is bounded from below.
        total: in units of the outcome, over the whole horizon: rate * T; or in each period; a mapping has a total for
            every month of the run by its name; a sequence has spans of your own, which may overlap: (start, end,
            total) each. Between them nothing is asked for.
        rate: in units of the outcome per round (per case of each group where `by` is given). Exactly one of the two is
            given, by its name.
        by: the grouping, as declared in the problem; None for everybody together.
        hard: False or None; a floor is kept on average.
        per: the period of the total: "hour", "day", "week" or "month" where the problem has dates, or a number in
            units of its clock. If the run covers only a part of a period, the same part of the total applies.

    Raises:
        InvalidInput: neither or both of total and rate are given, one without its name, the one given is not finite, or
            hard=True; a rate per period, or a total of a period that is not above 0. In a problem: a floor per period
            by groups whose shares are not declared.

    >>> Floor("exposure", rate=0.85, by="label").label
    'least exposure by label'
    >>> Floor("exposure", rate=0.85).total_over(1000)
    850.0
    """

    outcome: str
    _: KW_ONLY
    total: Totals | None = field(default=None, hash=False)  # a mapping has no hash
    rate: float | None = None
    by: str | None = None
    hard: bool | None = None
    per: Per | None = None

    spends = False

    def __post_init__(self) -> None:
        name = f"Floor({self.outcome!r})"
        refuse_truth(f"{name}.per", self.per)
        if isinstance(self.total, Sequence):
            object.__setattr__(self, "total", tuple(tuple(span) for span in self.total))
        if self.per is not None and self.total is None:
            raise InvalidInput(f"{name}.total", "a total, where per= is given", None)
        for total in amounts(name, self.total, self.per):
            least, what = (0.0, " above 0") if self._several else (-math.inf, "")
            check_amount(name, total, self.rate, f"a finite number{what}", least)
        if self.hard:
            expected = "False or None, as forbidding plays does not bring any outcome about"
            raise InvalidInput(f"{name}.hard", expected, self.hard)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "low"

    @property
    def label(self) -> str:
        return f"{self.outcome} per round, at least" if self.by is None else f"least {self.outcome} by {self.by}"

    def rows(self, problem: Declarations) -> Rows:
        """The negative outcome, of everybody or of each group divided by its share."""
        if self.by is not None:
            return group_rows(problem, "Floor", self.outcome, self.by, {"at least": (0.0, -1.0)})
        one = outcome_row(problem, "Floor", self.outcome)
        return replace(one, names=(f"{self.outcome} at least",), learned=-one.learned, known=-one.known)

    def bound(self, problem: Declarations) -> Floats:
        spans = self.spans(problem)
        limit = self.limit(problem.horizon) if spans is None else spans.least / problem.horizon
        return np.full(1 if self.by is None else count_groups(problem, self.by), -limit)

    def spans(self, problem: Declarations) -> Spans | None:
        """The spans of time, whose allowances are minus the required totals; None if the total is over the horizon."""
        if not self._several or self.total is None:
            return None
        name = f"Floor({self.outcome!r})"
        refuse_estimated(name, self.by, problem)
        if isinstance(self.total, Sequence):
            return own_floors(problem.clock, name, self.total)
        assert self.per is not None
        return floors_of(problem.clock, name, self.total, self.per)

    def over(self, rounds: int) -> Floor:
        """The same floor with its total over the given rounds as a rate; itself, if it has a rate or spans of time."""
        if self._several or not isinstance(self.total, int | float):
            return self
        return replace(self, total=None, rate=self.total / rounds)

    def limit(self, horizon: int) -> float:
        """The amount per round; where there are periods, `Problem.stated` has it, as it depends on the calendar."""
        return self.total_over(horizon) / horizon if self.rate is None else float(self.rate)

    def total_over(self, horizon: int) -> float:
        if self._several or isinstance(self.total, Mapping | Sequence):
            expected = "one over the horizon here; Problem.stated has that of a floor per period"
            raise InvalidInput(f"Floor({self.outcome!r}).total", expected, "several")
        return float(self.total) if self.total is not None else float(self.rate or 0.0) * horizon

    @property
    def _several(self) -> bool:
        return self.per is not None or isinstance(self.total, Mapping | Sequence)

    def measure(self, run: Sums) -> Floats:
        """The average per round, or the least average of a group; averages of NaN are skipped, `->(G,R)`."""
        if self.by is None:
            return average(run, self.outcome)
        groups = group_averages(run, self.outcome, self.by)
        least = np.where(np.isnan(groups), np.inf, groups).min(-1)
        return np.asarray(np.where(np.isinf(least), 0.0, least))
