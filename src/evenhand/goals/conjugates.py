"""Conjugates of concave functions over the declared ranges, with outcomes in units of these ranges.

Equation: f*(theta) = max_y theta.(y / unit) + f(y) over low <= y <= high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import Conjugable, flat, total
from evenhand.sets.base import ConvexSet


class Conjugated(Protocol):
    """A concave function, by its conjugate."""

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        """f*(theta) and the y / unit that reaches it, a subgradient of f*, `(m)->(),(m)`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Box:
    """The range of the outcomes that can be reached, and the unit of each.

    >>> Box(low=np.zeros(2), high=np.array([1.0, 100.0])).unit
    array([  1., 100.])
    """

    low: Floats  # (m)
    high: Floats  # (m)

    @classmethod
    def of(cls, names: tuple[str, ...], low: Floats, high: Floats) -> Box:
        """Return the box of some ranges; refuse one that is not finite."""
        for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
            if not (np.isfinite(a) and np.isfinite(b)):
                raise InvalidInput(f"the range of {name!r}", "finite ends, as dual updates need them", (a, b))
        return cls(low=low, high=high)

    @property
    def unit(self) -> Floats:
        """The width of each range, 1 where it has none, `->(m)`."""
        width = self.high - self.low
        return np.where(width > 0.0, width, 1.0)


@dataclass(frozen=True, eq=False)
class OfObjective:
    """The conjugate of an objective.

    >>> from evenhand.objectives import Linear
    >>> of = OfObjective(Linear({"cents": 0.01}), Box(low=np.zeros(1), high=np.array([100.0])))
    >>> of.best(np.array([[-0.5], [-1.5]]))  # a unit of 100 cents is worth 1
    (array([0.5, 0. ]), array([[1.],
           [0.]]))
    """

    objective: Conjugable
    box: Box

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        y = self.objective.maximizer(theta / self.box.unit, self.box.low, self.box.high)
        at = y / self.box.unit
        return total(flat(theta) * flat(at)).reshape(theta.shape[:-1]) + self.objective.value(y), at


@dataclass(frozen=True, eq=False)
class OfSet:
    """The conjugate of minus the distance from a set: its support function, for |theta| of at most 1.

    The set counts as far as outcomes can be reached; the distance is that of outcomes in their units.
    """

    within: ConvexSet
    box: Box

    def best(self, theta: Floats) -> tuple[Floats, Floats]:
        h, x = self.within.support(theta / self.box.unit, self.box.low, self.box.high)
        return h, x / self.box.unit
