"""Sets of linear inequalities and balls, perhaps with hidden coordinates, and their distances in L_q norms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.core.norms import Norm, length, order
from evenhand.core.types import Floats
from evenhand.sets._barrier import Cones, Powers, Round, minimise

_WIDE, _THIN, _PARALLEL = 1e4, 1e-8, 1e-10  # in units of the size of a set
_FINEST = 1e-6  # a distance, in units of the size of a point


class Straight(Protocol):
    """The interface of a polyhedron, {x : rows (x, w) <= bounds for some hidden w}."""

    dim: int
    rows: Floats
    bounds: Floats

    @property
    def hidden(self) -> int: ...

    def project(self, z: Floats) -> Floats: ...

    def and_also(self, other: Any) -> Straight: ...


class _Inner(NamedTuple):
    """The cones of a set, an interior point, and the directions that the set extends in."""

    cones: Cones
    start: Floats
    along: Floats


@dataclass(frozen=True, eq=False)
class Conic:
    """The set of points x of a polyhedron over (x, w), some of whose coordinates are in balls."""

    straight: Straight
    balls: tuple[tuple[int, Floats, float], ...] = ()  # first coordinate, centre, radius

    def and_also(self, other: Conic) -> Conic:
        """Return the intersection with another set."""
        m, more = self.straight.dim, self.straight.hidden
        theirs = tuple((k if k < m else k + more, c, r) for k, c, r in other.balls)
        return Conic(self.straight.and_also(other.straight), self.balls + theirs)

    @cached_property
    def _middle(self) -> Floats:
        """A point in or near the set, for scaling: the set may be small and far from 0, `->(n)`."""
        m = self.straight.dim
        out = np.zeros(self.straight.rows.shape[1])
        if not self.balls:
            out[:m] = self.straight.project(out[None, :m])[0]
        for k, centre, _ in sorted(self.balls, key=lambda ball: -ball[0]):
            out[k : k + m] = out[:m] = centre
        return out

    def distance(self, z: Floats, near: Floats, norm: Norm) -> Floats:
        """Minimise ||z - x||_q over the points x of the set, 1 < q < infinity, `(m),(m)->()`.

        Equation: min t with (s_i^(1/q)) (t^(1 - 1/q)) >= |z_i - x_i| and sum_i s_i <= t, which a barrier solves to
        1e-10 of the Euclidean distance in some ten milliseconds.

        Args:
            z, near: points, and the nearest points by the Euclidean norm.
            norm: q.
        """
        return np.array([self._far(row, close, order(norm)) for row, close in zip(z, near, strict=True)])

    def _far(self, z: Floats, near: Floats, q: float) -> float:
        if float(length(z - near, "euclidean")) <= 1e-12 * float(np.abs([z, near]).max()):
            return 0.0
        return float(length(z - self.nearest(z, near, q), q))

    def nearest(self, z: Floats, near: Floats, norm: float) -> Floats:
        """Find the nearest point by an L_q norm, up to rounding, `(m),(m)->(m)`.

        Args:
            z: the point.
            near: the nearest point by the Euclidean norm, which sets the place and the scale of the search.
            norm: q, above 1.
        """
        m, inner = len(z), self._inner
        n = len(inner.start)
        shift = np.append(near, inner.start[m:])
        unit = max(float(length(z - near, "euclidean")), _FINEST * float(np.abs([z, near]).max()))
        start = (inner.start - shift) / unit
        at, target, first = np.arange(m), (z - near) / unit, start[:m]
        t = 2.0 * float(length(target - first, norm))
        s = (np.abs(target - first) / t) ** norm * t
        s += (t - s.sum()) / (2.0 * m)
        v = np.concatenate([start, s, [t]])
        cones = _around(inner.cones, shift, unit)
        cones.bounds[-2 * n :] = _WIDE * (1.0 + float(np.abs([*inner.start, *near, *z]).max()) / unit)
        rows, sums = np.zeros((len(cones.rows) + 1, len(v))), np.zeros(len(v))
        rows[:-1, :n], rows[-1, n : n + m], rows[-1, -1], sums[-1] = cones.rows, 1.0, -1.0, 1.0
        free = inner.along.shape[1]
        along = np.zeros((len(v), free + m + 1))
        along[:n, :free], along[n:, free:] = inner.along, np.eye(m + 1)
        cones = Cones(rows, np.append(cones.bounds, 0.0), cones.rounds, Powers(at, target, n + at, n + m, norm))
        return np.asarray(near + unit * minimise(sums, cones, v, along)[:m])

    @cached_property
    def _inner(self) -> _Inner:
        """The cones without sides that all points lie on, which become equations, and a point well within them."""
        n, m, middle = len(self._middle), self.straight.dim, self._middle
        rounds = [Round(np.arange(k, k + m), c, r) for k, c, r in self.balls]
        stated = _around(Cones(self.straight.rows, self.straight.bounds, rounds), middle, 1.0)
        far = [float(np.abs(b.centre).max()) + b.radius for b in stated.rounds]
        size = max([float(np.abs(stated.bounds).max(initial=0.0)), *far]) or float(np.abs(middle).max()) or 1.0
        rows, bounds, rounds = _around(stated, np.zeros(n), size)[:3]
        rows, bounds = np.concatenate([rows, np.eye(n), -np.eye(n)]), np.append(bounds, np.full(2 * n, _WIDE))
        on, along, start = np.zeros(len(rows), bool), np.eye(n), np.zeros(n)
        for _ in range(n + 1):
            cones = Cones(rows[~on], bounds[~on], rounds)
            start, slack = _deepest(cones, start, along)
            if slack < -_THIN:
                break
            tight = bounds - rows @ start <= 10.0 * _THIN
            tight[-2 * n :] = False  # the sides of the auxiliary wide box
            if not (tight & ~on).any():
                break
            on |= tight
            along = _across(rows[on])
            start = start - np.linalg.pinv(rows[on], rcond=_PARALLEL) @ (rows[on] @ start - bounds[on])
        cones = Cones(rows[~on], bounds[~on], rounds)
        if slack >= -_THIN:
            cones = _relax(cones, slack + _THIN)
        return _Inner(_around(_around(cones, np.zeros(n), 1.0 / size), -middle, 1.0), middle + size * start, along)


def _around(cones: Cones, middle: Floats, unit: float) -> Cones:
    """Shift cones by a point and scale them by a unit, `(n),()->`."""
    rounds = [b._replace(centre=(b.centre - middle[b.at]) / unit, radius=b.radius / unit) for b in cones.rounds]
    return Cones(cones.rows, (cones.bounds - cones.rows @ middle) / unit, rounds)


def _relax(cones: Cones, by: float) -> Cones:
    return Cones(cones.rows, cones.bounds + by, [b._replace(radius=b.radius + by) for b in cones.rounds])


def _deepest(cones: Cones, start: Floats, along: Floats) -> tuple[Floats, float]:
    """Find a point as deep within the cones as possible, and its excess beyond the sides, `(n)->(n),()`."""
    n = len(start)
    far = [float(length(start[b.at] - b.centre, "euclidean")) - b.radius for b in cones.rounds]
    off = max([0.0, *(cones.rows @ start - cones.bounds), *far])
    rows, depth = np.zeros((len(cones.rows) + 1, n + 1)), np.eye(n + 1)[n]
    rows[:-1, :n], rows[:, n] = cones.rows, -1.0
    wider = Cones(rows, np.append(cones.bounds, 1.0), [b._replace(k=n) for b in cones.rounds])
    free = np.zeros((n + 1, along.shape[1] + 1))
    free[:n, :-1], free[n, -1] = along, 1.0
    found = minimise(depth, wider, np.append(start, 2.0 * off + 1.0), free, -0.01)
    return found[:n], float(found[n])


def _across(rows: Floats) -> Floats:
    """Compute an orthonormal basis of the null space of rows, `(k,n)->(n,j)`."""
    size, basis = np.linalg.svd(rows)[1:]
    return np.asarray(basis[int((size > _PARALLEL * size[0]).sum()) :].T)
