"""Convex hulls of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.sets.base import Supported, ends_of, margin_error, margin_of, rows_of
from evenhand.sets.halfspaces import Halfspaces, table
from evenhand.sets.polyhedron import Polyhedron

_FACETS = 8  # in more dimensions, facets may be too many to list
_FLAT = 1e-9


@named("B9", source="evenhand's own: a convex hull as a convex set of Agrawal & Devanur 2014")
@dataclass(frozen=True)
class Polytope:
    """The set of mixtures of points.

    Equation: S = {sum_i w_i points_i : w >= 0, sum_i w_i = 1}. In up to eight dimensions its facets are listed (by
    Qhull), so that recipes take them as linear constraints.

    Args:
        points: the points, `(k,m)`.

    Raises:
        InvalidInput: there are no points, or they have different lengths.

    >>> triangle = Polytope(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    >>> triangle.project(np.array([1.0, 1.0])).round(6)
    array([0.5, 0.5])
    """

    points: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        rows = table("Polytope.points", self.points)
        object.__setattr__(self, "points", tuple(tuple(row) for row in rows.tolist()))

    @property
    def dim(self) -> int:
        return len(self.points[0])

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """The facets, or x = sum of points with hidden weights if there are too many facets."""
        if self._facets is not None:
            return Polyhedron("Polytope", *self._facets)
        v = self._v
        middle, k, m = v.mean(0), len(v), v.shape[1]
        size = float(np.abs(v - middle).max()) or 1.0
        each, mix, one = np.eye(m), (v - middle).T / size, np.ones((1, k))
        rows = np.concatenate([each, -each, np.zeros((k + 2, m))])
        hidden = np.concatenate([-mix, mix, one, -one, -np.eye(k)])
        bounds = np.concatenate([middle, -middle, [size, -size], np.zeros(k)])
        return Polyhedron("Polytope", rows, bounds, hidden)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        """Whether each facet holds up to a tolerance; by distance if facets are not listed, `(m)->()`."""
        points, shape = rows_of("Polytope.contains(z)", z, self.dim)
        if self._facets is None:
            return np.asarray(self.polyhedron.distance(points, "euclidean") <= tolerance).reshape(shape)
        return np.asarray(self.polyhedron.excess(points) <= tolerance).reshape(shape)

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Polytope.project(z)", z, self.dim)
        return self.polyhedron.project(points).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance, by HiGHS for norms other than the Euclidean, `(m)->()`."""
        points, shape = rows_of("Polytope.distance(z)", z, self.dim)
        norm = norm_of("Polytope.distance(norm)", norm)
        return self.polyhedron.distance(points, norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Pick the best point, or find the best mixture between the ends, `(m),(m),(m)->(),(m)`."""
        slopes, shape = rows_of("Polytope.support(direction)", direction, self.dim)
        least, most = ends_of("Polytope.support", low, high, self.dim)
        if (least <= self._v.min(0)).all() and (self._v.max(0) <= most).all():
            worth = np.array([[float((row * v).sum()) for v in self._v] for row in slopes])
            value, at = worth.max(1), self._v[worth.argmax(1)]
        else:
            value, at = self.polyhedron.support(slopes, least, most)
        return value.reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Polytope | Halfspaces:
        """Move the facets inwards; a flat set, or one in more than eight dimensions, takes only a margin of 0."""
        margin = margin_of("Polytope.shrunk", margin, norm)
        if margin == 0.0:
            return self
        if self._facets is None or len(self._directions) < self.dim:  # a flat set has no inside
            raise margin_error("Polytope", margin)
        return Halfspaces(*self._facets).shrunk(margin, norm)  # type: ignore[arg-type]

    def halfspaces(self) -> tuple[Floats, Floats] | None:
        """Return the facets and, if the set is flat, both sides of its plane, `->(k,m),(k)`."""
        return self._facets

    @cached_property
    def _v(self) -> Floats:
        return np.array(self.points)

    @cached_property
    def _spread(self) -> Floats:
        """The range of the points in each coordinate, 1 if they agree, `->(m)`."""
        spread = np.ptp(self._v, 0)
        return np.where(spread > 0.0, spread, 1.0)

    @cached_property
    def _directions(self) -> Floats:
        """An orthonormal basis of the differences of points in units of their spread, `->(n,m)`."""
        _, size, basis = np.linalg.svd((self._v - self._v.mean(0)) / self._spread, full_matrices=False)
        lasting = size > _FLAT * max(float(size.max()), np.finfo(float).tiny)
        # The axes keep entries of facets that are 0 at 0, which rounding would fill in, by units.
        return np.eye(self.dim) if lasting.sum() == self.dim else np.asarray(basis[lasting])

    @cached_property
    def _facets(self) -> tuple[Floats, Floats] | None:
        if self.dim > _FACETS:
            return None
        middle, basis = self._v.mean(0), self._directions
        inner = (self._v - middle) / self._spread @ basis.T
        n = len(basis)
        if n == 0:
            rows = np.zeros((0, 0))
        elif n == 1:
            rows = np.array([[1.0], [-1.0]])
        else:
            from scipy.spatial import ConvexHull

            rows = np.unique(ConvexHull(inner / np.abs(inner).max()).equations.round(12), axis=0)[:, :-1]
        across = np.linalg.svd(basis, full_matrices=True)[2][n:] if n else np.eye(self.dim)
        rows = np.concatenate([rows @ basis, across, -across]) / self._spread
        rows /= length(rows, "euclidean")[:, None]
        return rows, (rows[:, None] * self._v).sum(-1).max(1)
