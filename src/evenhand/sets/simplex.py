"""Simplices: shares of a total."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import positive, whole
from evenhand.sets._closed_forms import fill, onto_simplex
from evenhand.sets.base import Supported, empty_error, ends_of, margin_error, margin_of, rows_of
from evenhand.sets.polyhedron import Polyhedron


@named("B9", source="evenhand's own: the probability simplex as a convex set of Agrawal & Devanur 2014")
@dataclass(frozen=True)
class Simplex:
    """The set of non-negative points with a given sum.

    Equation: S = {x >= 0 : sum_i x_i = total}. For sums of at most a total, take `Halfspaces`.

    Args:
        dim: the number of coordinates.
        total: the sum, above 0.

    Raises:
        InvalidInput: there is no coordinate, or the total is not a finite number above 0.

    >>> Simplex(2).project(np.array([1.0, 0.5]))
    array([0.75, 0.25])
    """

    dim: int
    total: float = 1.0

    def __post_init__(self) -> None:
        whole("Simplex.dim", self.dim, 1)
        total = positive("Simplex.total", self.total)
        object.__setattr__(self, "total", total)

    @cached_property
    def polyhedron(self) -> Polyhedron:
        return Polyhedron("Simplex", *self.halfspaces())

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        points, shape = rows_of("Simplex.contains(z)", z, self.dim)
        off = np.abs(points.sum(1) - self.total) / np.sqrt(self.dim)
        return np.asarray(np.maximum(off, -points.min(1)) <= tolerance).reshape(shape)

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Simplex.project(z)", z, self.dim)
        return onto_simplex(points, self.total).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance, by HiGHS for norms other than the Euclidean, `(m)->()`."""
        norm = norm_of("Simplex.distance(norm)", norm)
        points, shape = rows_of("Simplex.distance(z)", z, self.dim)
        if not isinstance(norm, str):
            return self.polyhedron.conic.distance(points, self.project(points), norm).reshape(shape)
        if norm == "euclidean":
            return length(points - onto_simplex(points, self.total), norm).reshape(shape)
        return self.polyhedron.distance(points, norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Put the total on the steepest coordinates as far as the ends allow, `(m),(m),(m)->(),(m)`."""
        slopes, shape = rows_of("Simplex.support(direction)", direction, self.dim)
        least, most = ends_of("Simplex.support", low, high, self.dim)
        least, most = np.maximum(least, 0.0), np.minimum(most, self.total)
        slack = 1e-12 * self.total
        if (least > most).any() or least.sum() > self.total + slack or most.sum() < self.total - slack:
            raise empty_error("Simplex")
        at = fill(slopes, least, most, self.total)
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Simplex:
        """Return the set itself for a margin of 0; no point is inside by more."""
        if margin_of("Simplex.shrunk", margin, norm) > 0.0:
            raise margin_error("Simplex", margin)
        return self

    def halfspaces(self) -> tuple[Floats, Floats]:
        """Return both sides of the sum, and a row per coordinate, `->(m+2,m),(m+2)`."""
        one = np.ones((1, self.dim))
        rows = np.concatenate([one, -one, -np.eye(self.dim)])
        return rows, np.concatenate([[self.total, -self.total], np.zeros(self.dim)])
