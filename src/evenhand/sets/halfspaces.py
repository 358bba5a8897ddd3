"""Intersections of half-spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.sets.base import Supported, dual_length, ends_of, margin_error, margin_of, rows_of
from evenhand.sets.polyhedron import Polyhedron


@named("B9", source="Agrawal & Devanur 2014, Sections 2.2 and 4.1.1; shrinking by the dual norm of rows is exact")
@dataclass(frozen=True)
class Halfspaces:
    """The set of points that satisfy linear inequalities.

    Equation: S = {x : A x <= b}. Projections are by an active-set method, support functions by the same or by HiGHS.

    Args:
        rows: the matrix A, one row per inequality, `(k,m)`.
        bounds: the bounds b, `(k)`.

    Raises:
        InvalidInput: rows or bounds are not finite or do not match, or the inequalities contradict each other.

    >>> mix = Halfspaces(((1.0, -2.0), (-2.0, 1.0)), (0.0, 0.0))  # neither more than twice the other
    >>> mix.project(np.array([1.0, 0.0])).round(3)
    array([0.8, 0.4])
    >>> mix.support(np.array([1.0, 0.0]), np.zeros(2), np.ones(2))
    (array(1.), array([1. , 0.5]))
    """

    rows: tuple[tuple[float, ...], ...]
    bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        a = table("Halfspaces.rows", self.rows)
        b = table("Halfspaces.bounds", (self.bounds,))[0]
        if b.shape != (len(a),):
            raise InvalidInput("Halfspaces.bounds", f"{len(a)} finite numbers, one per row", self.bounds)
        object.__setattr__(self, "rows", tuple(tuple(row) for row in a.tolist()))
        object.__setattr__(self, "bounds", tuple(b.tolist()))
        if self.polyhedron.is_empty:
            raise InvalidInput("Halfspaces", "inequalities that have a point in common", "an empty set")

    @property
    def dim(self) -> int:
        return len(self.rows[0])

    @cached_property
    def polyhedron(self) -> Polyhedron:
        return Polyhedron("Halfspaces", *self._rows_and_bounds)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        points, shape = rows_of("Halfspaces.contains(z)", z, self.dim)
        return np.asarray(self.polyhedron.excess(points) <= tolerance).reshape(shape)

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Halfspaces.project(z)", z, self.dim)
        return self.polyhedron.project(points).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance: in closed form for one half-space, else by linear or conic programs, `(m)->()`."""
        points, shape = rows_of("Halfspaces.distance(z)", z, self.dim)
        norm = norm_of("Halfspaces.distance(norm)", norm)
        if len(self.rows) == 1:
            a, b = self._rows_and_bounds
            size = dual_length(a, norm)[0]
            return np.asarray(np.maximum((points * a[0]).sum(1) - b[0], 0.0) / (size or 1.0)).reshape(shape)
        return self.polyhedron.distance(points, norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        slopes, shape = rows_of("Halfspaces.support(direction)", direction, self.dim)
        value, at = self.polyhedron.support(slopes, *ends_of("Halfspaces.support", low, high, self.dim))
        return value.reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Halfspaces:
        """Reduce the bounds by the margin times the dual norm of their rows."""
        margin = margin_of("Halfspaces.shrunk", margin, norm)
        a, b = self._rows_and_bounds
        less = b - margin * dual_length(a, norm)
        if Polyhedron("Halfspaces", a, less).is_empty:
            raise margin_error("Halfspaces", margin)
        return Halfspaces(self.rows, tuple(less.tolist()))

    def halfspaces(self) -> tuple[Floats, Floats]:
        return self._rows_and_bounds

    @cached_property
    def _rows_and_bounds(self) -> tuple[Floats, Floats]:
        return np.array(self.rows), np.array(self.bounds)


def table(field: str, values: Sequence[Sequence[float]]) -> Floats:
    """Check rows of finite numbers of the same length, at least one each."""
    try:
        given = np.array(values)
        out = np.array(given, float) if given.dtype.kind in "biufO" else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        out = np.zeros(0)
    if out.ndim != 2 or not out.size or not np.isfinite(out).all():
        raise InvalidInput(field, "rows of finite numbers, all of the same length", values)
    return out
