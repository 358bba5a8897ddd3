"""The constraint of a budget: an amount that may be spent over the horizon, or in spans of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats
from evenhand.core.validate import whole
from evenhand.problem.clock import Per, Time, refuse_truth
from evenhand.problem.constraints._periods import Totals, amounts, own_spans, spans_of
from evenhand.problem.constraints.base import check_amount, unknown_grouping
from evenhand.problem.constraints.sums import Sums, total
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select
from evenhand.problem.spans import Spans


@named("X3", source="evenhand's own: hard budgets by construction; the rows c <= B of Chzhen et al. 2023, Box A")
@dataclass(frozen=True)
class Budget:
    """A total, or a rate per round, that the sum of an outcome may not exceed, over the horizon or per period.

    Equation: sum_t c_t <= total, or sum_t c_t <= rate * horizon; per period, sum over its decisions c_t <= total. With
    `carry`, the sum up to the end of period p is at most p totals. With a `window` of w periods, the sum over any w
    periods in a row is at most the total. An outcome belongs to the period of its decision, however late it arrives.
    By group, sum_t c_t 1{g_t = g} <= total_g: a problem has one budget for each group, on its sum (`Problem.each`).

    Args:
        outcome: the outcome that is spent, or its sum over one group (`Problem.each`), such as "mails tier=free".
        total: in units of the outcome, over the whole horizon or in each period; a mapping has a total for every month
            of the run by its name, such as {"november": 3000, "december": 9000}; a sequence has spans of your own,
            which may overlap: (start, end, total) each. With `by`, it is that of each group, and a mapping has one of
            these by group: a group that is not named has no budget.
        rate: in units of the outcome per round, those of other groups included; a mapping by group with `by`. Exactly
            one of the two is given, by its name.
        hard: True for never exceeded, False for kept on average; None leaves that to the recipe.
        per: the period of the total: "hour", "day", "week" or "month" where the problem has dates, or a number in
            units of its clock, which are rounds where the problem says nothing else.
        carry: whether what is left of a period is carried over to the next ones; it is lost by default.
        window: the number of periods in a row that share one total.
        by: the grouping, as declared in the problem; None for one budget.

    Raises:
        InvalidInput: neither a total nor a rate or both are given, one without its name, or the one given is not a
            positive number; a rate per period, `carry` or `window` without `per`, or both of them. In a problem: an
            unknown outcome, grouping or group.

    >>> Budget("ride", total=500).limit(10_000)
    0.05
    >>> Budget("ride", 500)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget: expected at most 1 argument without a name, the others by name \
(total=, rate=, hard=, per=, carry=, window=, by=), got 2
    >>> Budget("ride", rate=-1)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget('ride').rate: expected a finite number above 0, got -1
    >>> Budget("mails", total={"free": 50, "pro": 200}, by="tier").groups
    ('free', 'pro')
    """

    outcome: str
    _: KW_ONLY
    total: float | Mapping[str, Totals] | Sequence[tuple[Time, Time, float]] | None = field(default=None, hash=False)
    rate: float | Mapping[str, float] | None = field(default=None, hash=False)
    hard: bool | None = None
    per: Per | None = None
    carry: bool = False
    window: int = 1
    by: str | None = field(default=None, metadata={"new": True})

    spends = True

    def __post_init__(self) -> None:
        name = f"Budget({self.outcome!r})"
        if self.by is not None:
            if (self.total is None) == (self.rate is None):
                raise InvalidInput(name, "exactly one of total= and rate=", f"total={self.total}, rate={self.rate}")
            for group in self.groups or ("",):
                self._of(group)  # this raises if its amount is wrong
            return
        refuse_truth(f"{name}.per", self.per)
        if isinstance(self.total, Sequence):
            object.__setattr__(self, "total", tuple(tuple(span) for span in self.total))
        for stated in amounts(name, self.total, self.per):
            check_amount(name, stated, self.rate, "a finite number above 0", 0.0)
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

    def period(self, problem: Declarations) -> str:
        """The period of the total in words, and whether it is soft: a name for one of several on the same sum.

        >>> from evenhand.environments import Court
        >>> [z.period(Court().problem) for z in (Budget("ride", total=5), Budget("ride", total=5, per=30, window=2))]
        ['in all', 'in 60 rounds']
        """
        return f"{self._every('rounds' if problem.clock.since is None else 'days')}{', soft' * (self.hard is False)}"

    def _every(self, unit: str) -> str:
        if isinstance(self.total, Sequence):
            return "in own spans"
        if self.per is None:
            return "in all"
        if not isinstance(self.per, str):
            return f"{'per' if self.window == 1 else 'in'} {self.window * self.per:g} {unit}"
        return f"per {self.per}" if self.window == 1 else f"in {self.window} {self.per}s"

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that totals or rates name; none where they are the same for all groups, or for everybody."""
        stated = self.rate if self.total is None else self.total
        return tuple(stated) if self.by is not None and isinstance(stated, Mapping) else ()

    def parts(self, problem: Declarations) -> tuple[Budget, ...]:
        """The budgets of the groups, each on the sum of the outcome over its group; itself without `by`."""
        if self.by is None:
            return (self,)
        known, of = [g.name for g in problem.groups], f"Budget({self.outcome!r})"
        names = [group for grouping, group in problem.columns if grouping == self.by]
        if not names:
            raise unknown_grouping(f"{of}.by", known, self.by)
        for group in self.groups:
            if group not in names:
                field = f"{of}.{'rate' if self.total is None else 'total'}"
                raise InvalidInput(field, f"groups of {self.by}: {names}", f"{group}{suggestion(group, names)}")
        return tuple(self._of(group) for group in self.groups or names)

    def _of(self, group: str) -> Budget:
        """The budget of a group."""
        each = self.total.get(group) if isinstance(self.total, Mapping) else self.total
        rate = self.rate.get(group) if isinstance(self.rate, Mapping) else self.rate
        return replace(self, outcome=f"{self.outcome} {self.by}={group}", total=each, rate=rate, by=None)

    def rows(self, problem: Declarations) -> Rows:
        problem.row(self.outcome, "Budget")
        return select(problem, (self.outcome,))

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
        each: float | Mapping[str, float] = self.total  # type: ignore[assignment]  # it has no groups
        return spans_of(problem.clock, name, each, self.per, self.carry, self.window)

    def at_rate(self, rate: float) -> Budget | None:
        """The same budget with another rate, None if it has spans of time, or one for each group.

        >>> Budget("ride", total=500).at_rate(0.1)
        Budget(outcome='ride', total=None, rate=0.1, hard=None, per=None, carry=False, window=1, by=None)
        """
        return None if self._spanning else replace(self, total=None, rate=rate)

    def at_total(self, total: float) -> Budget | None:
        """The same budget with another total, None if it has spans of time, or one for each group.

        >>> Budget("ride", rate=0.1).at_total(500.0)
        Budget(outcome='ride', total=500.0, rate=None, hard=None, per=None, carry=False, window=1, by=None)
        """
        return None if self._spanning else replace(self, total=total, rate=None)

    def over(self, rounds: int) -> Budget:
        """The same budget with its total over the given rounds as a rate; itself, if it has a rate or spans of time."""
        if self.per is not None or self.total is None or isinstance(self.total, Sequence):
            return self
        if not isinstance(self.total, Mapping):
            return replace(self, total=None, rate=self.total / rounds)
        each = {group: z / rounds for group, z in self.total.items() if isinstance(z, int | float)}
        if each and len(each) < len(self.total):
            expected = "a number for each group, or spans for each, as the numbers are for all rows of a log"
            raise InvalidInput(f"Budget({self.outcome!r}).total", expected, self.total)
        return replace(self, total=None, rate=each) if each else self

    def limit(self, horizon: int) -> float:
        """The amount per round; where there are periods, `Problem.stated` has it, as it depends on the calendar."""
        rate = self.rate
        return self.total_over(horizon) / horizon if rate is None or isinstance(rate, Mapping) else rate

    def total_over(self, horizon: int) -> float:
        """The total over the horizon.

        >>> Budget("ride", total=500).total_over(10_000), Budget("ride", rate=0.05).total_over(10_000)
        (500.0, 500.0)
        """
        if self.per is not None or isinstance(self.total, Mapping | Sequence) or isinstance(self.rate, Mapping):
            expected = "one over the horizon here; Problem.stated has those of budgets per period or group"
            raise InvalidInput(f"Budget({self.outcome!r}).total", expected, "several")
        return float(self.total) if self.total is not None else float(self.rate or 0.0) * horizon

    @property
    def _spanning(self) -> bool:
        return self.per is not None or self.by is not None or isinstance(self.total, Mapping | Sequence)

    def measure(self, run: Sums) -> Floats:
        return np.asarray(total(run, self.outcome) / np.maximum(run.elapsed, 1.0))
