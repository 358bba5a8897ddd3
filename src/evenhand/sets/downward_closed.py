"""Downward closures of sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative
from evenhand.sets._closed_forms import in_ball
from evenhand.sets.ball import Ball, ball_of
from evenhand.sets.base import ConvexSet, Supported, empty_error, ends_of, margin_of, rows_of, unbounded_error
from evenhand.sets.conic import Conic
from evenhand.sets.polyhedron import Polyhedron, sides_of


@named("B9", source="Agrawal & Devanur 2014: sets that contain whatever uses less, as knapsacks do")
@dataclass(frozen=True)
class DownwardClosed:
    """The set of points below some point of an inner set in every coordinate.

    Equation: S = {x : x + margin <= y for some y in inner}. Inequalities A x <= b with A >= 0 are such a set already:
    state these as `Halfspaces`.

    Args:
        inner: a `Ball`, or a set with straight sides (`Box`, `Simplex`, `Halfspaces`, `Polytope`, or an `Intersection`
            of these).
        margin: the margin subtracted from every coordinate, at least 0.

    Raises:
        InvalidInput: the inner set is of another kind, or the margin is negative.

    >>> within = DownwardClosed(Ball((0.0, 0.0), 1.0))  # what is above 0 has a length of at most 1
    >>> within.project(np.array([-5.0, 2.0]))
    array([-5.,  1.])
    """

    inner: ConvexSet
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self._ball is None and sides_of(self.inner) is None:
            raise InvalidInput("DownwardClosed.inner", "a Ball, or a set with straight sides", repr(self.inner))
        object.__setattr__(self, "margin", nonnegative("DownwardClosed.margin", self.margin))

    @property
    def dim(self) -> int:
        return int(self.inner.dim)

    @property
    def polyhedron(self) -> Polyhedron | None:
        """The inequalities x <= y - margin and those of the hidden y; None below a ball."""
        return self._lifted if self._ball is None else None

    @cached_property
    def conic(self) -> Conic:
        """The constraints x <= y - margin and those of the hidden y, for distances in L_q norms."""
        if self._ball is None:
            return self._lifted.conic
        below = Polyhedron("DownwardClosed", np.eye(self.dim), np.full(self.dim, -self.margin), -np.eye(self.dim))
        return Conic(below, ((self.dim, np.array(self._ball.centre), self._ball.radius),))

    @cached_property
    def _lifted(self) -> Polyhedron:
        inner = sides_of(self.inner)
        assert inner is not None  # balls have closed forms instead
        m, rest = self.dim, inner.hidden
        rows = np.concatenate([np.eye(m), np.zeros((len(inner.rows), m))])
        hidden = np.concatenate([np.column_stack([-np.eye(m), np.zeros((m, rest))]), inner.rows])
        return Polyhedron("DownwardClosed", rows, np.append(np.full(m, -self.margin), inner.bounds), hidden)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        return np.asarray(self.distance(z) <= tolerance)

    def project(self, z: Floats) -> Floats:
        """Find the nearest point; coordinates that are low enough stay, `(m)->(m)`."""
        points, shape = rows_of("DownwardClosed.project(z)", z, self.dim)
        if self._ball is None:
            return np.asarray(self._lifted.project(points)).reshape(*shape, self.dim)
        above = np.maximum(points - self._centre, 0.0)
        far, radius = length(above, "euclidean"), self._ball.radius
        back = np.where(far > radius, 1.0 - radius / np.where(far > 0.0, far, 1.0), 0.0)
        return np.asarray(points - back[:, None] * above).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance, by HiGHS for norms other than the Euclidean if the set is a polyhedron, `(m)->()`."""
        norm = norm_of("DownwardClosed.distance(norm)", norm)
        points, shape = rows_of("DownwardClosed.distance(z)", z, self.dim)
        if self._ball is None:
            return self._lifted.distance(points, norm).reshape(shape)
        if not isinstance(norm, str):
            return self.conic.distance(points, self.project(points), norm).reshape(shape)
        lifted = np.maximum(points, self._centre) + self.margin  # coordinates below the centre do not count
        return self._ball.distance(lifted, norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Maximise over the set; bounded only for directions of at least 0, unless lower ends are finite."""
        slopes, shape = rows_of("DownwardClosed.support(direction)", direction, self.dim)
        least, most = ends_of("DownwardClosed.support", low, high, self.dim)
        if self._ball is not None:
            at, found = in_ball(slopes, self._centre, self._ball.radius, least, most, True)
            if not found.all():
                raise empty_error("DownwardClosed")
            if not np.isfinite(at).all():
                raise unbounded_error("DownwardClosed")
            value = (slopes * at).sum(1)
        else:
            value, at = self._lifted.support(slopes, least, most)
        return np.asarray(value).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> DownwardClosed:
        """Return the points that may rise by the margin in all coordinates at once; exact for the sup norm."""
        return DownwardClosed(self.inner, self.margin + margin_of("DownwardClosed.shrunk", margin, norm))

    def halfspaces(self) -> None:
        """None, since even below a polyhedron there can be too many inequalities to list."""
        return

    @cached_property
    def _centre(self) -> Floats:
        return np.array(() if self._ball is None else self._ball.centre) - self.margin

    @property
    def _ball(self) -> Ball | None:
        return ball_of(self.inner)
