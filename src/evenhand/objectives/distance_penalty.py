"""Objectives that penalise the distance from a convex set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.objectives.base import check_finite, each, flat, outcome_names, total
from evenhand.sets.base import ConvexSet, ends_of

_ROUNDING = 1e-13  # relative to the largest coordinate: below it, the direction back to the set is rounding error


@named("B5", source="Agrawal & Devanur 2014, Lemma 5.5 and Algorithm 5: the distance to a convex set")
@dataclass(frozen=True)
class DistancePenalty:
    """Minus the Euclidean distance of average outcomes from a convex set.

    Equation: f(z) = -min_{y in S} ||z - y||_2. Its Moreau envelope is the smooth distance of the source, beta
    being eta.

    Args:
        outcomes: one per coordinate of the set; the distance is in their units, so units decide which matters more.
        within: S.
        low, high: ranges of the outcomes, to which `intercept` restricts S; by default there are none.

    Raises:
        InvalidInput: names are missing or repeated, the set has another dimension, or ranges are invalid.

    >>> from evenhand.sets import Box
    >>> within = DistancePenalty(("hours", "money"), Box.below((0.8, 0.6)))
    >>> within.value(np.array([[0.9, 0.1], [0.8, 0.6]])).round(9)
    array([-0.1,  0. ])
    >>> within.supergradient(np.array([0.9, 0.1]))
    array([-1.,  0.])
    """

    outcomes: tuple[str, ...]
    within: ConvexSet
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    smooth = False  # the boundary of the set is a kink
    lipschitz: ClassVar[float] = 1.0
    whole_space: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", outcome_names("DistancePenalty", self.outcomes))
        m = len(self.outcomes)
        if isinstance(self.within, type) or not isinstance(self.within, ConvexSet) or self.within.dim != m:
            expected = f"a set of {m} coordinates, one per outcome"
            raise InvalidInput("DistancePenalty.within", expected, repr(self.within))
        ends = ends_of("DistancePenalty", self.low, self.high, m)  # type: ignore[arg-type]
        for field, end in zip(("low", "high"), ends, strict=True):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, tuple(end.tolist()))

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)

    def value(self, z: Floats) -> Floats:
        return (0.0 - self._residual(flat(z))[1]).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Compute the unit direction back to the set, 0 inside it, `(m)->(m)`."""
        gap, far = self._residual(flat(z))
        return np.asarray(0.0 - gap / np.where(far > 0.0, far, math.inf)[:, None]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Move towards the nearest point of the set by beta, but not past it, `(m),()->(m)`."""
        rows = flat(z)
        near = self.within.project(rows)
        gap = rows - near
        far, step = np.sqrt(total(gap * gap)), each(beta, z)
        back = rows - (step / np.where(far > step, far, math.inf))[:, None] * gap
        return np.where((far > step)[:, None], back, near).reshape(z.shape)

    def envelope_gradient(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute the direction back to the set; it is shorter than 1 within beta of the set, `(m),()->(m)`."""
        gap, far = self._residual(flat(z))
        return np.asarray(0.0 - gap / np.maximum(far, each(beta, z))[:, None]).reshape(z.shape)

    def intercept(self, slope: Floats) -> Floats:
        """Compute the support function of S within the ranges at minus the slope, `(m)->()`."""
        return self.within.support(0.0 - slope, *self._ends)[0]

    def _residual(self, rows: Floats) -> tuple[Floats, Floats]:
        """Compute the vector from the nearest point of S and its length, `(m)->(m),()`; 0 if it is mere rounding."""
        gap = rows - self.within.project(rows)
        far = np.sqrt(total(gap * gap))
        beyond = far > _ROUNDING * np.abs(rows).max(1)
        return gap * beyond[:, None], far * beyond

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return ends_of("DistancePenalty", self.low, self.high, self.within.dim)  # type: ignore[arg-type]
