"""The contract of a constraint: rows whose averages stay below a bound, and a measure to compare a run with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Floats
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.rows import Rows, select, stack
from evenhand.sets.base import ConvexSet

if TYPE_CHECKING:  # the module of `Problem` imports this one
    from evenhand.problem.problem import Problem


@runtime_checkable
class Constraint(Protocol):
    """Rows v of the outcomes that are to satisfy average v <= bound over the horizon.

    A class of your own needs these members and no base class. `rows` should refuse names that the problem does
    not have.
    """

    @property
    def label(self) -> str:
        """What is measured, in a few words: the name of its line in summaries, plots and frames."""

    @property
    def hard(self) -> bool | None:
        """Whether it may never be exceeded; None leaves that to the recipe."""

    @property
    def spends(self) -> bool:
        """Whether its sum is used up; then a hard limit can keep it, and a margin is subtracted from its bound."""

    @property
    def worst(self) -> Literal["low", "high"]:
        """Which end of the measured values is the bad one."""

    def rows(self, problem: Problem) -> Rows:
        """The d rows v."""

    def bound(self, problem: Problem) -> Floats:
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
    def outcome(self) -> str:
        """The name of the outcome."""

    @property
    def by(self) -> str | None:
        """The grouping, None where it concerns everybody."""


@runtime_checkable
class Curved(Constraint, Protocol):
    """A constraint of which rows may not say all: averages of some outcomes lie in a convex set.

    A class with `curved` needs all of these members; a problem refuses one that lacks any.
    """

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Their names, as for `Problem.row`."""

    @property
    def within(self) -> ConvexSet:
        """The whole set, a coordinate per outcome."""

    def curved(self, problem: Problem) -> ConvexSet | None:
        """What of the set the rows do not say, None if they say all."""

    def tightened(self, margin: float) -> Curved:
        """The same constraint with the set less a margin on all sides.

        Raises:
            InvalidInput: nothing is left of the set.
        """


class Region(NamedTuple):
    """A convex set in which averages of some outcomes must lie."""

    label: str  # of the constraint
    outcomes: tuple[str, ...]
    within: ConvexSet


def regions(problem: Problem, constraints: Iterable[Constraint] | None = None) -> tuple[Region, ...]:
    """The convex sets of constraints, by default a problem's, that their rows do not describe."""
    stated = problem.subject_to if constraints is None else constraints
    found = ((c, c.curved(problem)) for c in stated if isinstance(c, Curved))
    return tuple(Region(c.label, c.outcomes, within) for c, within in found if within is not None)


def lacking(constraint: Constraint) -> tuple[str, ...]:
    """The members of `Curved` that a constraint with `curved` does not have."""
    members = ("outcomes", "within", "curved", "tightened")
    missing = tuple(name for name in members if not hasattr(constraint, name))
    return missing if hasattr(constraint, "curved") else ()


def tightened(constraints: Iterable[Constraint], margin: float | None) -> tuple[Constraint, ...]:
    """The constraints, with every convex set less a margin on all sides; no margin is taken off without one.

    Raises:
        InvalidInput: nothing is left of a set.
    """
    return tuple(c.tightened(margin) if margin and isinstance(c, Curved) else c for c in constraints)


def rows_and_sets(
    problem: Problem, constraints: Iterable[Constraint], margin: float | Floats = 0.0
) -> tuple[Rows, Floats, tuple[Region, ...]]:
    """What constraints state, with convex sets as wholes, `()->(d)`: the rows and bounds of all others, and the sets.

    Raises:
        InvalidInput: as for `stated_rows`.
    """
    constraints = tuple(constraints)
    placed = np.array([isinstance(c, Curved) for c in constraints], bool)
    others = [c for c, is_placed in zip(constraints, placed, strict=True) if not is_placed]
    rows, bound = stated_rows(problem, others, np.broadcast_to(margin, len(constraints))[~placed])
    return rows, bound, tuple(Region(c.label, c.outcomes, c.within) for c in constraints if isinstance(c, Curved))


def of_one_outcome(constraints: Iterable[Constraint]) -> Iterator[OneOutcome]:
    """Those of the constraints that read a single outcome."""
    yield from (c for c in constraints if isinstance(c, OneOutcome))


def by_group(constraints: Iterable[Constraint]) -> Iterator[tuple[OneOutcome, str]]:
    """Those of the constraints that compare groups in one outcome, each with its grouping."""
    yield from ((c, c.by) for c in of_one_outcome(constraints) if c.by is not None)


def constraint_rows(
    problem: Problem, constraints: Iterable[Constraint], margin: float | Floats = 0.0
) -> tuple[Rows, Floats]:
    """As `stated_rows`, for what keeps to rows alone: a constraint that is more than its rows is refused.

    Raises:
        InvalidInput: a convex set that no rows describe; or as for `stated_rows`.
    """
    constraints = tuple(constraints)
    for c in constraints:
        if isinstance(c, Curved) and c.curved(problem) is not None:
            expected = "constraints with straight sides here; resolving, fw_dual and bwcr keep to curved sets"
            raise InvalidInput("problem.subject_to", expected, c.label)
    return stated_rows(problem, constraints, margin)


def stated_rows(
    problem: Problem, constraints: Iterable[Constraint], margin: float | Floats = 0.0
) -> tuple[Rows, Floats]:
    """The rows v of some constraints and their bounds per round: on average v <= bound, `()->(d)`.

    What `Curved` constraints ask beside their rows is not in them: see `regions`.

    A margin is taken off whatever is spent: one number for all, or one per constraint.

    Raises:
        InvalidInput: a margin that is negative or leaves nothing of a budget.
    """
    constraints = tuple(constraints)
    parts, bounds = [select(problem, ())], [np.zeros(0)]
    for c, off in zip(constraints, np.broadcast_to(margin, len(constraints)).tolist(), strict=True):
        if c.spends and not 0 <= off < c.limit(problem.horizon):
            expected = f"at least 0 and below {c.limit(problem.horizon):g}, the limit of {c.label}"
            raise InvalidInput("margin", expected, off)
        parts.append(c.rows(problem))
        bounds.append(c.bound(problem) - off if c.spends else c.bound(problem))
    return stack(parts), np.concatenate(bounds)


def outcome_row(problem: Problem, kind: str, outcome: str) -> Rows:
    """The row of one outcome.

    Raises:
        InvalidInput: the problem has no such outcome; `kind` is what asks for it.
    """
    if outcome not in problem.names:
        got = f"{outcome}{meant(outcome, problem.names)}"
        raise InvalidInput(kind, f"one of the outcomes {list(problem.names)}", got)
    return select(problem, (outcome,))


def group_rows(problem: Problem, kind: str, outcome: str, by: str, signs: dict[str, tuple[float, float]]) -> Rows:
    """Rows by group, group after group: one for every (always, inside) in `signs`, whose keys end the rows' names.

    Raises:
        InvalidInput: the problem has no such outcome or grouping.
    """
    one = outcome_row(problem, kind, outcome)
    names = [g.name for g in problem.groups]
    if by not in names:
        raise InvalidInput(f"{kind}({outcome!r}).by", f"one of {names}", f"{by}{meant(by, names)}")
    columns = [i for i, (name, _) in enumerate(problem.columns) if name == by]
    d = len(columns) * len(signs)
    return Rows(
        names=tuple(f"{outcome} {by}={problem.columns[i][1]} {end}" for i in columns for end in signs),
        learned=np.repeat(one.learned, d, 0),
        known=np.repeat(one.known, d, 0),
        always=np.tile([always for always, _ in signs.values()], len(columns)),
        inside=np.tile([inside for _, inside in signs.values()], len(columns)),
        grouping=np.full(d, names.index(by)),
        column=np.repeat(columns, len(signs)),
        by_share=np.ones(d, bool),
        sure=problem.sure,
        noisy=problem.is_noisy,
        factors=problem.factors,
    )
