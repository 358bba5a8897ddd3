"""The constraints of a problem with the rows that they read: stated once, and the same from the problem to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.problem.constraints.base import (
    Constraint,
    Credit,
    as_curved,
    credit_in,
    one_outcome,
    period_in,
    relative,
    spans_in,
)
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select, stack
from evenhand.problem.slack import holds_all, slack
from evenhand.problem.spans import Spans
from evenhand.sets.base import ConvexSet

T = TypeVar("T")


class Region(NamedTuple):
    """A convex set in which averages of some outcomes must lie."""

    label: str  # of the constraint
    outcomes: tuple[str, ...]
    within: ConvexSet


@dataclass(frozen=True, kw_only=True, eq=False)
class Statement:
    """A constraint of a problem, and the rows that it reads there."""

    constraint: Constraint
    rows: Rows  # d of them
    bound: Floats  # (d) of every row per round
    limit: float  # of what is measured, per round
    total: float  # the limit over the horizon
    outcome: str | None  # the only one that it reads, None if there are several
    by: str | None  # the grouping whose groups it looks at one by one
    whole: Region | None  # the convex set, if it has one
    region: Region | None  # the part of that set that no rows describe, None also where outcomes cannot leave it
    spans: Spans | None  # of time, with an allowance each; None if there is one total over the horizon
    credit: Credit | None  # the limit that it states itself, beside its total and its spans
    period: str = ""  # in words, where several budgets are on the same sum

    @property
    def spends(self) -> bool:
        return bool(self.constraint.spends)

    @property
    def label(self) -> str:
        """What is measured, in words that no other budget on the same sum has."""
        return f"{self.constraint.label} ({self.period})" if self.period else self.constraint.label

    def per(self, run: Sums) -> Floats | None:
        """The sum that is measured per unit of, at every point of a run, `->(G,R)`; None for rounds."""
        ratio = relative(self.constraint)
        return None if ratio is None else ratio.divisor(run)

    @property
    def text(self) -> str:
        """The demand in words."""
        side = "at most" if self.constraint.worst == "high" else "at least"
        if self.spends and self.outcome is not None:
            return f"{self.outcome} {side} {self.total:,.6g} in all{self._periods}"
        if self.spans is not None and self.spans.averages:
            spans = len(self.spans.allowance)
            return f"{self.constraint.label} {side} {self.limit:.4g} in each of {spans} spans"
        if self.spans is not None:
            by = "" if self.by is None else f" by {self.by}"
            return f"{self.outcome}{by} {side} {self.total:,.6g} in all{self._periods}"
        return f"{self.constraint.label} {side} {self.limit:.4g}"

    @property
    def _periods(self) -> str:
        if self.spans is None:
            return ""
        amount = np.abs(self.spans.allowance)
        least, most = amount.min(), amount.max()
        amounts = f"{least:,.6g}" if least == most else f"{least:,.6g} to {most:,.6g}"
        return f", {amounts} in each of {len(self.spans.allowance)} spans"


class Demands(NamedTuple):
    """The joint demands of several constraints, by row: on average v <= bound, and averages in the sets, `()->(d)`."""

    rows: Rows
    bound: Floats  # (d) per round, in the units of each row
    spans: tuple[Spans | None, ...]  # of time, None for the whole run
    sums: tuple[bool, ...]  # whether the sum of the row is used up, as of a budget
    regions: tuple[Region, ...]  # the convex sets that no rows describe

    @staticmethod
    def of(problem: Declarations, stated: tuple[Statement, ...]) -> Demands:
        rows = stack([select(problem, ()), *(s.rows for s in stated)])
        spans, sums = per_row(stated, lambda s: s.spans), per_row(stated, lambda s: s.spends)
        return Demands(rows, bounds(stated), tuple(spans), tuple(sums), regions(stated))


class States(Declarations, Protocol):
    """A problem with its constraints."""

    @property
    def stated(self) -> tuple[Statement, ...]:
        """One record per constraint."""

    @property
    def demands(self) -> Demands:
        """The joint demands of all constraints."""


def state(problem: Declarations, constraint: Constraint) -> Statement:
    """Read a constraint in a problem; refuse unknown names, and a limit or a total that is not a number."""
    one, curved = one_outcome(constraint), as_curved(constraint)
    rows, bound = constraint.rows(problem), constraint.bound(problem)
    whole = region = None
    if curved is not None:
        whole, left = Region(curved.label, curved.outcomes, curved.within), curved.curved(problem)
        if left is not None and not holds_all(problem, curved.outcomes, left):
            region = whole._replace(within=left)
    spans = spans_in(constraint, problem)
    if spans is None or spans.averages:
        limit, total = _amounts(constraint, problem.horizon)
    else:
        limit, total = (-float(bound[0]), spans.least) if spans.floors else (float(bound[0]), spans.most)
    return Statement(
        constraint=constraint,
        rows=rows,
        bound=bound,
        limit=limit,
        total=total,
        outcome=None if one is None else one.outcome,
        by=None if one is None else one.by,
        whole=whole,
        region=region,
        spans=spans,
        credit=credit_in(constraint, problem),
    )


def state_all(problem: Declarations, constraints: Iterable[Constraint]) -> tuple[Statement, ...]:
    """Read all constraints of a problem; several budgets on the same sum get names by their periods."""
    stated = [state(problem, c) for c in constraints]
    names = Counter(s.rows.names for s in stated if s.spends)
    found, seen = list[Statement](), Counter[tuple[str, ...]]()
    for s in stated:
        if s.spends and names[s.rows.names] > 1:
            period = period_in(s.constraint, problem)
            seen[(*s.rows.names, period)] += 1
            number = seen[(*s.rows.names, period)]
            period = f"{period} ({number})".strip() if number > 1 else period
            rows = replace(s.rows, names=tuple(f"{name} {period}".strip() for name in s.rows.names))
            s = replace(s, rows=rows, period=period)
        found.append(s)
    return tuple(found)


def _amounts(constraint: Constraint, horizon: int) -> tuple[float, float]:
    """Return the limit per round and the total over the horizon."""
    limit, total = constraint.limit(horizon), constraint.total_over(horizon)
    return _number(constraint, "limit", limit), _number(constraint, "total_over", total)


def _number(constraint: Constraint, name: str, value: object) -> float:
    """Check a limit or a total, which a constraint of your own may get wrong."""
    if not isinstance(value, int | float | np.number):
        raise InvalidInput(f"{type(constraint).__name__}.{name}", "a number", value)
    return float(value)


def per_row(stated: Iterable[Statement], value: Callable[[Statement], T]) -> list[T]:
    """Return a value of each constraint, once for each of its rows."""
    return [value(s) for s in stated for _ in range(len(s.rows))]


def tightest(stated: Iterable[Statement]) -> dict[str, Statement]:
    """Return the constraint with the least total of all that limit the same sum, by outcome, in their order."""
    found = dict[str, Statement]()
    for s in stated:
        if s.spends and s.outcome is not None and (s.outcome not in found or s.total < found[s.outcome].total):
            found[s.outcome] = s
    return found


def regions(stated: Iterable[Statement]) -> tuple[Region, ...]:
    """Return the convex sets of constraints that their rows do not describe."""
    return tuple(s.region for s in stated if s.region is not None)


def slack_rows(problem: States, stated: Iterable[Statement] | None = None) -> Bools:
    """Tell which rows of constraints stay within their bounds for all outcomes of plays, `()->(d)`: see `slack`."""
    asked = problem.demands if stated is None else Demands.of(problem, tuple(stated))
    return slack(problem, asked.rows, asked.bound, asked.spans, asked.sums)


def tighten(problem: States, margin: float | None) -> tuple[Statement, ...]:
    """Return the constraints of a problem with every convex set less a margin; unchanged without a margin."""
    curved = [(s, as_curved(s.constraint)) for s in problem.stated]
    return tuple(state(problem, c.tightened(margin)) if margin and c is not None else s for s, c in curved)


def stated_rows(
    problem: States, stated: Iterable[Statement] | None = None, margin: float | Floats = 0.0
) -> tuple[Rows, Floats]:
    """Return the rows v of constraints and their bounds per round: on average v <= bound, `()->(d)`.

    What convex sets ask beside their rows is not in them: see `regions`.

    Args:
        problem: that states the constraints.
        stated: some of them, or other ones; by default all of the problem.
        margin: taken off whatever is spent: one number for all, or one per constraint.

    Raises:
        InvalidInput: a margin that is negative or leaves nothing of a budget, or not one per constraint.
    """
    stated = problem.stated if stated is None else tuple(stated)
    bound = bounds(stated, margin)
    return stack([select(problem, ()), *(s.rows for s in stated)]), bound


def bounds(stated: Sequence[Statement], margin: float | Floats = 0.0) -> Floats:
    """Return the bounds of all rows per round, less a margin of what is spent, as for `stated_rows`, `->(d)`."""
    found = [np.zeros(0)]
    if np.shape(margin) not in ((), (len(stated),)):
        raise InvalidInput("margin", f"a number, or one for each of {len(stated)} constraints", margin)
    for s, off in zip(stated, np.broadcast_to(margin, len(stated)).tolist(), strict=True):
        if s.spends and not 0 <= off < s.limit:
            expected = f"at least 0 and below {s.limit:g}, the limit of {s.constraint.label}"
            raise InvalidInput("margin", expected, off)
        found.append(s.bound - off if s.spends else s.bound)
    return np.concatenate(found)


def constraint_rows(
    problem: States, stated: Iterable[Statement] | None = None, margin: float | Floats = 0.0
) -> tuple[Rows, Floats]:
    """Return the same as `stated_rows`, for goals that keep to rows alone; refuse constraints with other parts.

    Raises:
        InvalidInput: a convex set that no rows describe; or as for `stated_rows`.
    """
    stated = problem.stated if stated is None else tuple(stated)
    refuse_sets(stated)
    return stated_rows(problem, stated, margin)


def refuse_sets(stated: Iterable[Statement]) -> None:
    """Refuse convex sets that no rows describe."""
    for region in regions(stated):
        expected = "constraints with straight sides here; resolving, fw_dual and bwcr keep to curved sets"
        raise InvalidInput("problem.subject_to", expected, region.label)


def rows_and_sets(
    problem: States, stated: Iterable[Statement], margin: float | Floats = 0.0
) -> tuple[Rows, Floats, tuple[Region, ...]]:
    """Return the rows and bounds of constraints without convex sets, and the sets of the others, `()->(d)`."""
    stated = tuple(stated)
    others = [i for i, s in enumerate(stated) if s.whole is None]
    rows, bound = stated_rows(problem, [stated[i] for i in others], np.broadcast_to(margin, len(stated))[others])
    return rows, bound, tuple(s.whole for s in stated if s.whole is not None)
