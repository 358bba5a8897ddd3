"""The constraint of a convex set, in which averages of several outcomes lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, norm_of
from evenhand.core.types import Floats
from evenhand.problem.constraints.sums import Sums, total
from evenhand.problem.declarations import Declarations
from evenhand.problem.rows import Rows, select
from evenhand.sets import ConvexSet, Intersection
from evenhand.sets.intersection import parts_of


@named("B9", source="Agrawal & Devanur 2014, Section 2.2: the average outcome lies in a convex set S")
@dataclass(frozen=True)
class Within:
    """Average outcomes per round that must lie in a convex set.

    Equation: (1/T) sum_t v_t in S, with v the outcomes by name. Inequalities that the set states are rows, as those of
    budgets and floors are; any other part of it is kept by tangents (`Curved`), in the recipes that can.

    Args:
        outcomes: their names, or those of sums over groups (`Problem.each`), one per coordinate of the set.
        within: any of `evenhand.sets`; an `Intersection` of several.
        norm: of the distance by which runs are measured: "euclidean", "sup", "one", or q of at least 1 for L_q.
        hard: False or None; an average is kept on average.

    Raises:
        InvalidInput: no or repeated names, something that is not a set, a set of another length, or hard=True.

    >>> from evenhand.sets import Ball
    >>> Within(("young", "old"), Ball((0.2, 0.2), 0.05)).label
    'distance of young, old from Ball'
    """

    outcomes: tuple[str, ...]
    within: ConvexSet
    norm: Norm = "euclidean"
    hard: bool | None = None

    spends = False

    def __post_init__(self) -> None:
        names = self.outcomes
        in_order = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        if not in_order or not names or len(set(names)) < len(names):
            raise InvalidInput("Within.outcomes", "at least one name, each once", names)
        object.__setattr__(self, "outcomes", tuple(names))
        if not isinstance(self.within, ConvexSet) or isinstance(self.within, type):
            raise InvalidInput("Within.within", "a set such as Ball, Box or Halfspaces", repr(self.within))
        if self.within.dim != len(names):
            expected = f"a set of {len(names)} coordinates, one per outcome"
            raise InvalidInput("Within.within", expected, f"{type(self.within).__name__} of {self.within.dim}")
        object.__setattr__(self, "norm", norm_of("Within.norm", self.norm))
        if self.hard is not None and self.hard is not False:
            expected = "False or None, as no play is sure to keep an average in a set"
            raise InvalidInput("Within.hard", expected, self.hard)

    @property
    def worst(self) -> Literal["low", "high"]:
        return "high"

    @property
    def label(self) -> str:
        return f"distance of {', '.join(self.outcomes)} from {type(self.within).__name__}"

    def rows(self, problem: Declarations) -> Rows:
        """One row per inequality that the set states, a combination of outcomes."""
        one = _select(problem, self.outcomes)
        a = self._straight(one)[0]
        chosen = [int(np.flatnonzero(row)[0]) if row.any() else 0 for row in a]
        names = tuple(_combination(self.outcomes, row) for row in a)
        return replace(one.take(np.array(chosen, np.int64)), names=names, learned=a @ one.learned, known=a @ one.known)

    def bound(self, problem: Declarations) -> Floats:
        return self._straight(_select(problem, self.outcomes))[1]

    def curved(self, problem: Declarations) -> ConvexSet | None:
        left = [part for part in parts_of(self.within) if not _stated(part, _select(problem, self.outcomes))]
        return None if not left else left[0] if len(left) == 1 else Intersection(tuple(left))

    def tightened(self, margin: float) -> Within:
        """The set less a margin on all sides, by the norm of its distance."""
        return replace(self, within=self.within.shrunk(margin, self.norm))

    def limit(self, horizon: int) -> float:
        return 0.0

    def total_over(self, horizon: int) -> float:
        return 0.0

    def measure(self, run: Sums) -> Floats:
        """The distance of the averages from the set, `->(G,R)`."""
        rounds = np.maximum(run.elapsed, 1.0)
        averages = np.stack([total(run, name) / rounds for name in self.outcomes], -1)
        return self.within.distance(averages, self.norm)

    def _straight(self, one: Rows) -> tuple[Floats, Floats]:
        """The inequalities of all parts that rows can state, `->(d,m),(d)`."""
        stated = [part.halfspaces() for part in parts_of(self.within) if _stated(part, one)]
        found = [z for z in stated if z is not None]
        a = np.concatenate([np.zeros((0, len(self.outcomes))), *(z[0] for z in found)])
        return a, np.concatenate([np.zeros(0), *(z[1] for z in found)])


def _stated(part: ConvexSet, one: Rows) -> bool:
    """Whether rows describe a part: a row concerns one group, so sums over several groups cannot be combined."""
    sides = part.halfspaces()
    alike = bool((one.column == one.column[0]).all())
    return sides is not None and (alike or bool(((sides[0] != 0.0).sum(1) <= 1).all()))


def _select(problem: Declarations, outcomes: tuple[str, ...]) -> Rows:
    for name in outcomes:
        problem.row(name, "Within.outcomes")
    return select(problem, outcomes)


def _combination(outcomes: tuple[str, ...], row: Floats) -> str:
    """A combination of outcomes in words.

    >>> _combination(("a", "b", "c"), np.array([1.0, 0.0, -2.5]))
    'a - 2.5 c'
    """
    parts = []
    for name, w in zip(outcomes, row.tolist(), strict=True):
        if w != 0.0:
            size = "" if abs(w) == 1.0 else f"{abs(w):g} "
            parts.append(f"{'-' if w < 0 else '+'} {size}{name}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else text.replace("- ", "-", 1)
