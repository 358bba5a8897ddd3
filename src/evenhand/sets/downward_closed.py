"""What lies below a set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, known_norm, length
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number
from evenhand.sets._closed_forms import in_ball
from evenhand.sets.ball import Ball, ball_of
from evenhand.sets.base import ConvexSet, Supported, apart, ends_of, margin_of, rows_of, unbounded
from evenhand.sets.conic import Conic
from evenhand.sets.lq_distance import lq_distance
from evenhand.sets.polyhedron import Polyhedron, sides_of


@named("B9", source="Agrawal & Devanur 2014: sets that contain whatever uses less, as knapsacks do")
@dataclass(frozen=True)
class DownwardClosed:
    """The points that are below some point of a set in every coordinate.

    Equation: S = {x : x + margin <= y for some y in inner}. Inequalities A x <= b with A >= 0 are such a set already:
    state these as `Halfspaces`.

    Args:
        inner: a `Ball`, or a set with straight sides (`Box`, `Simplex`, `Halfspaces`, `Polytope`, or an `Intersection`
            of these).
        margin: taken off every coordinate, of at least 0.

    Raises:
        InvalidInput: another kind of inner set, or a negative margin.

    >>> within = DownwardClosed(Ball((0.0, 0.0), 1.0))  # what is above 0 has a length of at most 1
    >>> within.project(np.array([-5.0, 2.0]))
    array([-5.,  1.])
    """

    inner: ConvexSet
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self._ball is None and sides_of(self.inner) is None:
            raise InvalidInput("DownwardClosed.inner", "a Ball, or a set with straight sides", repr(self.inner))
        expected = "a finite number of at least 0"
        object.__setattr__(
            self, "margin", number("DownwardClosed.margin", self.margin, expected, lambda x: 0 <= x < np.inf)
        )

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return int(self.inner.dim)

    @property
    def polyhedron(self) -> Polyhedron | None:
        """x <= y - margin, and the inequalities of y, which is hidden; None below a ball."""
        return self._lifted if self._ball is None else None

    @cached_property
    def conic(self) -> Conic:
        """x <= y - margin, and the sides of y, which is hidden, for distances in L_q norms."""
        if self._ball is None:
            return self._lifted.conic
        below = Polyhedron("DownwardClosed", np.eye(self.dim), np.full(self.dim, -self.margin), -np.eye(self.dim))
        return Conic(below, ((self.dim, np.array(self._ball.centre), self._ball.radius),))

    @cached_property
    def _lifted(self) -> Polyhedron:
        inner = sides_of(self.inner)
        assert inner is not None  # unlike balls, which have forms of their own
        m, rest = self.dim, inner.hidden
        rows = np.concatenate([np.eye(m), np.zeros((len(inner.rows), m))])
        hidden = np.concatenate([np.column_stack([-np.eye(m), np.zeros((m, rest))]), inner.rows])
        return Polyhedron("DownwardClosed", rows, np.append(np.full(m, -self.margin), inner.bounds), hidden)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        """Whether the distance is at most a tolerance, `(m)->()`."""
        return np.asarray(self.distance(z) <= tolerance)

    def project(self, z: Floats) -> Floats:
        """The nearest point; where coordinates are low enough they stay, `(m)->(m)`."""
        points, shape = rows_of("DownwardClosed.project(z)", z, self.dim)
        if self._ball is None:
            return np.asarray(self._lifted.project(points)).reshape(*shape, self.dim)
        above = np.maximum(points - self._centre, 0.0)
        far, radius = length(above, "euclidean"), self._ball.radius
        back = np.where(far > radius, 1.0 - radius / np.where(far > 0.0, far, 1.0), 0.0)
        return np.asarray(points - back[:, None] * above).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """The distance, by HiGHS where it is not Euclidean and sides are straight, `(m)->()`."""
        norm = known_norm("DownwardClosed.distance(norm)", norm)
        points, shape = rows_of("DownwardClosed.distance(z)", z, self.dim)
        if not isinstance(norm, str):
            return lq_distance(self, self.conic, points, norm).reshape(shape)
        if self._ball is not None:
            lifted = np.maximum(points, self._centre) + self.margin  # coordinates below the centre do not count
            return self._ball.distance(lifted, norm).reshape(shape)
        return self._lifted.distance(points, norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """As `ConvexSet.support`; bounded for directions of at least 0 only, unless lower ends are finite.

        Raises:
            InvalidInput: as stated by `ConvexSet`.
        """
        slopes, shape = rows_of("DownwardClosed.support(direction)", direction, self.dim)
        least, most = ends_of("DownwardClosed.support", low, high, self.dim)
        if self._ball is not None:
            at, found = in_ball(slopes, self._centre, self._ball.radius, least, most, True)
            if not found.all():
                raise apart("DownwardClosed")
            if not np.isfinite(at).all():
                raise unbounded("DownwardClosed")
            value = (slopes * at).sum(1)
        else:
            value, at = self._lifted.support(slopes, least, most)
        return np.asarray(value).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> DownwardClosed:
        """Points that may rise by the margin in every coordinate at once; exact for the sup norm."""
        return DownwardClosed(self.inner, self.margin + margin_of("DownwardClosed.shrunk", margin, norm))

    def halfspaces(self) -> None:
        """None: even below straight sides there can be too many inequalities to list."""
        return

    @cached_property
    def _centre(self) -> Floats:
        return np.array(() if self._ball is None else self._ball.centre) - self.margin

    @property
    def _ball(self) -> Ball | None:
        return ball_of(self.inner)
