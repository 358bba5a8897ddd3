"""Distances in L_q norms for a number q, from sets of linear inequalities and balls."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.norms import Norm, length, order
from evenhand.core.types import Floats
from evenhand.sets.base import ConvexSet
from evenhand.sets.conic import Conic
from evenhand.sets.polyhedron import sides_of


@runtime_checkable
class HasRounds(Protocol):
    """A set that may have a conic form: linear inequalities and balls."""

    @property
    def conic(self) -> Conic | None:
        """The conic form; None if there is none."""


def conic_of(part: object) -> Conic | None:
    """Return the conic form of a set; None if there is none."""
    straight = sides_of(part)
    if straight is not None:
        return straight.conic
    return part.conic if isinstance(part, HasRounds) else None


def lq_distance(within: ConvexSet, sides: Conic, z: Floats, norm: Norm) -> Floats:
    """Minimise ||z - x||_q over the points x of a set with this conic form, 1 < q < infinity, `(m)->()`.

    Equation: min t with (s_i^(1/q)) (t^(1 - 1/q)) >= |z_i - x_i| and sum_i s_i <= t, which a barrier solves to 1e-10 of
    the Euclidean distance in some ten milliseconds.
    """
    return np.array([_distance(within, sides, row, order(norm)) for row in z])


def _distance(within: ConvexSet, sides: Conic, z: Floats, q: float) -> float:
    near = np.asarray(within.project(z))
    far = float(length(z - near, "euclidean"))
    if far <= 1e-12 * float(np.abs([z, near]).max()):
        return 0.0
    return float(length(z - sides.nearest(z, near, q), q))
