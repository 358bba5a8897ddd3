"""The contract of a constraint: rows whose averages stay below a bound, and a measure to compare a run with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select
from evenhand.problem.spans import Spans
from evenhand.sets.base import ConvexSet


@runtime_checkable
class Constraint(Protocol):
    """Rows v of the outcomes that are to satisfy average v <= bound over the horizon.

    A class of your own needs these members and no base class. `rows` should refuse names that the problem does
    not have.
    """

    @property
    def label(self) -> str:
        """The measured quantity in a few words: the name of its line in summaries, plots and frames."""

    @property
    def hard(self) -> bool | None:
        """Whether it may never be exceeded; None leaves that to the recipe."""

    @property
    def spends(self) -> bool:
        """Whether its sum is used up; then a hard limit can keep it, and a margin is subtracted from its bound."""

    @property
    def worst(self) -> Literal["low", "high"]:
        """The bad end of the measured values."""

    def rows(self, problem: Declarations) -> Rows:
        """The d rows v."""

    def bound(self, problem: Declarations) -> Floats:
        """The bound of every row per round, `()->(d)`."""

    def limit(self, horizon: int) -> float:
        """The number per round with which `measure` is compared."""

    def total_over(self, horizon: int) -> float:
        """The limit over the whole horizon; exact where a total was stated."""

    def measure(self, run: Sums) -> Floats:
        """The value that is compared with the limit, at every point of a run, `->(G,R)`."""


@runtime_checkable
class OneOutcome(Constraint, Protocol):
    """A constraint on one outcome, of everybody or of the groups of one grouping."""

    @property
    def outcome(self) -> str: ...

    @property
    def by(self) -> str | None: ...


@runtime_checkable
class Spanning(Constraint, Protocol):
    """A constraint that may hold in spans of time.

    Each span has an allowance, or minus the least that it asks for, or a bound on its averages (`Spans.averages`).
    """

    def spans(self, problem: Declarations) -> Spans | None:
        """The spans of time, None for a constraint over the whole horizon alone."""


@runtime_checkable
class Periodic(Constraint, Protocol):
    """A constraint that says in which periods it holds: a name for one of several on the same sum."""

    def period(self, problem: Declarations) -> str:
        """The period in words, such as "per day"."""


@runtime_checkable
class Divided(Constraint, Protocol):
    """A constraint that may stand for several, such as one for each group: a problem has these in its place."""

    @property
    def by(self) -> str | None: ...

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that it names."""

    def parts(self, problem: Declarations) -> tuple[Constraint, ...]:
        """The constraints that it stands for; itself, if that is all."""


@runtime_checkable
class Relative(Constraint, Protocol):
    """A constraint that measures a sum per unit of another sum, such as cost per sale, and not per round."""

    def divisor(self, run: Sums) -> Floats:
        """The sum that `measure` is divided by, `->(G,R)`; where it is 0, the measure need not be finite."""

    def groups(self, run: Sums) -> Mapping[str, Floats]:
        """The values of all groups of which `measure` is the worst, `->(G,R)` each; none if it compares no groups."""


@runtime_checkable
class Rated(Constraint, Protocol):
    """A constraint on an amount that is spent, which may be stated as another rate per round."""

    def at_rate(self, rate: float) -> Constraint | None:
        """The constraint with another rate, None if there are spans of time."""


@runtime_checkable
class Limited(Constraint, Protocol):
    """A constraint whose rows depend on its limit, which may be another number."""

    def at_limit(self, limit: float) -> Constraint:
        """The constraint with another limit."""


@runtime_checkable
class Totalled(OneOutcome, Protocol):
    """A constraint on the sum of an outcome that is spent, which may be stated as another total over the horizon."""

    def at_total(self, total: float) -> Constraint | None:
        """The constraint with another total, None if there are spans of time."""


@runtime_checkable
class Summed(Constraint, Protocol):
    """A constraint on a sum, whose total may be over rounds that are counted later, as in a log."""

    def over(self, rounds: int) -> Constraint:
        """The constraint with its total over a number of rounds as a rate; itself, if it states no such total."""


class Credit(NamedTuple):
    """A limit of a constraint's own: a credit that rounds of a baseline earn, and that is never overdrawn."""

    outcome: str
    than: str  # the known outcome: what the baseline brings on average
    action: int  # the baseline
    alpha: float  # the part of the baseline that a round of it earns
    slack: float  # the credit at the start
    least: float  # of the outcome of a play


@runtime_checkable
class Credited(Constraint, Protocol):
    """A constraint that states its own limit, which holds at any time and under any recipe."""

    def credit(self, problem: Declarations) -> Credit:
        """Return the limit; refuse a problem that it does not fit."""


@runtime_checkable
class Curved(Constraint, Protocol):
    """A constraint that rows may not describe completely: averages of some outcomes lie in a convex set.

    A class with `curved` needs all of these members; a problem refuses one that lacks any.
    """

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes, as for `Problem.row`."""

    @property
    def within(self) -> ConvexSet:
        """The whole set, a coordinate per outcome."""

    def curved(self, problem: Declarations) -> ConvexSet | None:
        """The part of the set that the rows do not describe, None if they describe all of it."""

    def tightened(self, margin: float) -> Curved:
        """The same constraint with the set less a margin on all sides.

        Raises:
            InvalidInput: nothing is left of the set.
        """


def check_amount(name: str, total: Any, rate: Any, expected: str, least: float) -> None:
    """Require exactly one finite number, a total or a rate, above `least`."""
    if (total is None) == (rate is None):
        raise InvalidInput(name, "exactly one of total= and rate=", f"total={total}, rate={rate}")
    field, value = ("rate", rate) if total is None else ("total", total)
    if value is None or isinstance(value, Mapping) or not (math.isfinite(value) and value > least):
        raise InvalidInput(f"{name}.{field}", expected, value)


def as_curved(constraint: Constraint) -> Curved | None:
    """Return the constraint if averages must lie in a convex set, else None."""
    return constraint if isinstance(constraint, Curved) else None


def spans_in(constraint: Constraint, problem: Declarations) -> Spans | None:
    """Return the spans of time of a constraint, None if it has none."""
    return constraint.spans(problem) if isinstance(constraint, Spanning) else None


def period_in(constraint: Constraint, problem: Declarations) -> str:
    """Return the periods in which a constraint holds in words, "" if it does not say so."""
    return constraint.period(problem) if isinstance(constraint, Periodic) else ""


def credit_in(constraint: Constraint, problem: Declarations) -> Credit | None:
    """Return the limit that a constraint states itself, None if it states none."""
    return constraint.credit(problem) if isinstance(constraint, Credited) else None


def parts_in(constraints: Iterable[Constraint], problem: Declarations) -> tuple[Constraint, ...]:
    """Return what constraints stand for, in their order."""
    each = (c.parts(problem) if isinstance(c, Divided) else (c,) for c in constraints)
    return tuple(part for parts in each for part in parts)


def groups_named(constraints: Iterable[Constraint], by: str) -> tuple[str, ...]:
    """Return the groups of a grouping that constraints name, each once."""
    named = (c.groups for c in constraints if isinstance(c, Divided) and c.by == by)
    return tuple(dict.fromkeys(group for groups in named for group in groups))


def relative(constraint: Constraint) -> Relative | None:
    """Return the constraint if it measures a sum per unit of another sum, else None."""
    return constraint if isinstance(constraint, Relative) else None


def as_rated(constraint: Constraint) -> Rated | None:
    """Return the constraint if its amount may be stated as another rate, else None."""
    return constraint if isinstance(constraint, Rated) else None


def as_limited(constraint: Constraint) -> Limited | None:
    """Return the constraint if its rows depend on its limit, else None."""
    return constraint if isinstance(constraint, Limited) else None


def over(constraint: Constraint, rounds: int) -> Constraint:
    """Return a constraint with a total over a number of rounds as a rate; itself, if it states no total over all."""
    if isinstance(constraint, Summed) and callable(constraint.over):  # the `over` of a ratio is its denominator
        return constraint.over(rounds)
    return constraint


def total_constraints(constraints: Iterable[Constraint], outcome: str) -> Iterator[tuple[int, Totalled]]:
    """Yield the constraints on the sum of an outcome that may be stated as another total, each with its place."""
    yield from ((i, c) for i, c in enumerate(constraints) if isinstance(c, Totalled) and c.outcome == outcome)


def refuse_estimated(name: str, by: str | None, problem: Declarations) -> None:
    """Refuse a grouping with estimated shares if the constraint has spans of time."""
    shares = [s for (of, _), s in zip(problem.columns, problem.shares.tolist(), strict=True) if of == by]
    if any(math.isnan(s) for s in shares):
        expected = "a grouping whose shares are declared, as sums of past periods are not restated"
        raise InvalidInput(f"{name}.by", expected, by)


def one_outcome(constraint: Constraint) -> OneOutcome | None:
    """Return the constraint if it reads a single outcome, else None."""
    return constraint if isinstance(constraint, OneOutcome) else None


def missing_members(constraint: Constraint) -> tuple[str, ...]:
    """Return the members of `Curved` that a constraint with `curved` does not have."""
    members = ("outcomes", "within", "curved", "tightened")
    missing = tuple(name for name in members if not hasattr(constraint, name))
    return missing if hasattr(constraint, "curved") else ()


def of_one_outcome(constraints: Iterable[Constraint]) -> Iterator[OneOutcome]:
    """Yield the constraints that read a single outcome."""
    yield from (c for c in map(one_outcome, constraints) if c is not None)


def by_group(constraints: Iterable[Constraint]) -> Iterator[tuple[OneOutcome, str]]:
    """Yield the constraints that compare groups in one outcome, each with its grouping."""
    yield from ((c, c.by) for c in of_one_outcome(constraints) if c.by is not None)


def groupings(constraints: Iterable[Constraint]) -> tuple[str, ...]:
    """Return the groupings whose groups constraints look at one by one, which they name as `by`."""
    named = (getattr(c, "by", None) for c in constraints)
    return tuple(dict.fromkeys(by for by in named if isinstance(by, str)))


def outcome_row(problem: Declarations, kind: str, outcome: str) -> Rows:
    """Return the row of one outcome.

    Raises:
        InvalidInput: the problem has no such outcome; `kind` is what asks for it.
    """
    if outcome not in problem.names:
        got = f"{outcome}{suggestion(outcome, problem.names)}"
        raise InvalidInput(kind, f"one of the outcomes {list(problem.names)}", got)
    return select(problem, (outcome,))


def count_groups(problem: Declarations, by: str) -> int:
    """Return the number of groups of a grouping, 0 if the problem has no such grouping."""
    return sum(name == by for name, _ in problem.columns)


def unknown_grouping(field: str, names: Sequence[str], by: str) -> InvalidInput:
    """Return the error of a grouping that a problem does not have.

    >>> str(unknown_grouping("Parity('ride').by", [], "village"))
    "Parity('ride').by: expected a grouping of the problem, groups=(Groups('village', (...)),), got village without one"
    """
    if not names:
        return InvalidInput(field, f"a grouping of the problem, groups=(Groups({by!r}, (...)),)", f"{by} without one")
    return InvalidInput(field, f"one of {names}", f"{by}{suggestion(by, names)}")


def group_rows(problem: Declarations, kind: str, outcome: str, by: str, signs: dict[str, tuple[float, float]]) -> Rows:
    """Return rows by group, group after group: one for every (always, inside) in `signs`, by the ends of their names.

    Raises:
        InvalidInput: the problem has no such outcome or grouping.
    """
    one = outcome_row(problem, kind, outcome)
    names = [g.name for g in problem.groups]
    if by not in names:
        raise unknown_grouping(f"{kind}({outcome!r}).by", names, by)
    columns = [i for i, (name, _) in enumerate(problem.columns) if name == by]
    d = len(columns) * len(signs)
    return replace(
        one.take(np.zeros(d, np.int64)),
        names=tuple(f"{outcome} {by}={problem.columns[i][1]} {end}" for i in columns for end in signs),
        always=np.tile([always for always, _ in signs.values()], len(columns)),
        inside=np.tile([inside for _, inside in signs.values()], len(columns)),
        grouping=np.full(d, names.index(by)),
        column=np.repeat(columns, len(signs)),
        by_share=np.ones(d, bool),
    )
