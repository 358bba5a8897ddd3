"""The constraint of a budget: an amount that may be spent over the horizon, or in spans of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import whole
from evenhand.problem.clock import Per, refuse_truth
from evenhand.problem.constraints._periods import Totals, amounts, own_spans, spans_of
from evenhand.problem.constraints.base import check_amount, outcome_row
from evenhand.problem.constraints.sums import Sums, average
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows
from evenhand.problem.spans import Spans


@named("X3", source="evenhand's own: hard budgets by construction; the rows c <= B of Chzhen et al. 2023, Box A")
@dataclass(frozen=True)
class Budget:
    """A total, or a rate per round, that the sum of an outcome may not exceed, over the horizon or per period.

    Equation: sum_t c_t <= total, or sum_t c_t <= rate * horizon; per period, sum over its decisions c_t <= total. With
    `carry`, the sum up to the end of period p is at most p totals. With a `window` of w periods, the sum over any w
    periods in a row is at most the total. An outcome belongs to the period of its decision, however late it arrives.

    Args:
        outcome: the outcome that is spent.
        total: in units of the outcome, over the whole horizon or in each period; a mapping has a total for every month
            of the run by its name, such as {"november": 3000, "december": 9000}; a sequence has spans of your own,
            which may overlap: (start, end, total) each.
        rate: in units of the outcome per round. Exactly one of the two is given, by its name.
        hard: True for never exceeded, False for kept on average; None leaves that to the recipe.
        per: the period of the total: "hour", "day", "week" or "month" where the problem has dates, or a number in
            units of its clock, which are rounds where the problem says nothing else.
        carry: whether what is left of a period is carried over to the next ones; it is lost by default.
        window: the number of periods in a row that share one total.

    Raises:
        InvalidInput: neither a total nor a rate or both are given, one without its name, or the one given is not a
            positive number; a rate per period, `carry` or `window` without `per`, or both of them.

    >>> Budget("ride", total=500).limit(10_000)
    0.05
    >>> Budget("ride", 500)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget: expected at most 1 argument without a name, the others by name \
(total=, rate=, hard=, per=, carry=, window=), got 2
    >>> Budget("ride", rate=-1)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget('ride').rate: expected a finite number above 0, got -1
    """

    outcome: str
    _: KW_ONLY
    total: Totals | None = field(default=None, hash=False)  # a mapping has no hash
    rate: float | None = None
    hard: bool | None = None
    per: Per | None = None
    carry: bool = False
    window: int = 1

    by: ClassVar[str | None] = None
    spends = True

    def __post_init__(self) -> None:
        name = f"Budget({self.outcome!r})"
        refuse_truth(f"{name}.per", self.per)
        if isinstance(self.total, Sequence):
            object.__setattr__(self, "total", tuple(tuple(span) for span in self.total))
        for total in amounts(name, self.total, self.per):
            check_amount(name, total, self.rate, "a finite number above 0", 0.0)
        if self.per is None and (self.carry or self.window != 1):
            raise InvalidInput(f"{name}.per", "a period, where carry= or window= is given", None)
        if self.per is not None and self.total is None:
            raise InvalidInput(f"{name}.total", "a total, where per= is given", None)
        whole(f"{name}.window", self.window, 1)
        if self.window > 1 and (self.carry or isinstance(self.total, Mapping)):
            raise InvalidInput(f"{name}.window", "1, where carry= or a total for each month is given", self.window)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "high"

    @property
    def label(self) -> str:
        return f"{self.outcome} per round"

    def rows(self, problem: Declarations) -> Rows:
        return outcome_row(problem, "Budget", self.outcome)

    def bound(self, problem: Declarations) -> Floats:
        spans = self.spans(problem)
        return np.array([self.limit(problem.horizon) if spans is None else spans.most / problem.horizon])

    def spans(self, problem: Declarations) -> Spans | None:
        """The spans of time with an allowance each, None if there is one total over the horizon."""
        name = f"Budget({self.outcome!r})"
        if isinstance(self.total, Sequence):
            return own_spans(problem.clock, name, self.total)
        if self.per is None or self.total is None:
            return None
        return spans_of(problem.clock, name, self.total, self.per, self.carry, self.window)

    def at_rate(self, rate: float) -> Budget | None:
        """The same budget with another rate, None if it has spans of time.

        >>> Budget("ride", total=500).at_rate(0.1)
        Budget(outcome='ride', total=None, rate=0.1, hard=None, per=None, carry=False, window=1)
        """
        return None if self._spanning else replace(self, total=None, rate=rate)

    def at_total(self, total: float) -> Budget | None:
        """The same budget with another total, None if it has spans of time.

        >>> Budget("ride", rate=0.1).at_total(500.0)
        Budget(outcome='ride', total=500.0, rate=None, hard=None, per=None, carry=False, window=1)
        """
        return None if self._spanning else replace(self, total=total, rate=None)

    def over(self, rounds: int) -> Budget:
        """The same budget with its total over the given rounds as a rate; itself, if it has a rate or spans of time."""
        if self._spanning or not isinstance(self.total, int | float):
            return self
        return replace(self, total=None, rate=self.total / rounds)

    def limit(self, horizon: int) -> float:
        """The amount per round; where there are periods, `Problem.stated` has it, as it depends on the calendar."""
        return self.total_over(horizon) / horizon if self.rate is None else self.rate

    def total_over(self, horizon: int) -> float:
        """The total over the horizon.

        >>> Budget("ride", total=500).total_over(10_000), Budget("ride", rate=0.05).total_over(10_000)
        (500.0, 500.0)
        """
        if self.per is not None or isinstance(self.total, Mapping | Sequence):
            expected = "one over the horizon here; Problem.stated has that of a budget per period"
            raise InvalidInput(f"Budget({self.outcome!r}).total", expected, "several")
        return float(self.total) if self.total is not None else float(self.rate or 0.0) * horizon

    @property
    def _spanning(self) -> bool:
        return self.per is not None or isinstance(self.total, Mapping | Sequence)

    def measure(self, run: Sums) -> Floats:
        return average(run, self.outcome)
