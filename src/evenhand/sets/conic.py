"""Sets of linear inequalities and balls, perhaps with hidden coordinates, and their distances in L_q norms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.core.norms import Norm, length, order
from evenhand.core.types import Floats, Ints

_FASTER, _STEPS, _CENTRED, _GAP = 30.0, 60, 0.5, 1e-10
_RAISES = 40  # after these the weight exceeds the precision of doubles


class Round(NamedTuple):
    """The ball ||v_i - centre|| <= radius over some coordinates i, or <= radius + v_k if k is given."""

    at: Ints
    centre: Floats
    radius: float
    k: int = -1


class Powers(NamedTuple):
    """The power cones |z_i - v_i| <= s_i^(1/q) t^(1 - 1/q) over some coordinates i; s_i and t are coordinates too."""

    at: Ints
    z: Floats
    s: Ints
    t: int
    q: float


class Cones(NamedTuple):
    """The feasible set: rows v <= bounds, balls and power cones."""

    rows: Floats
    bounds: Floats
    rounds: list[Round]
    powers: Powers | None = None

    @property
    def order(self) -> float:
        """The parameter of the barrier, which bounds its fall when the distance from the boundary doubles."""
        return len(self.bounds) + 2.0 * len(self.rounds) + (3.0 * len(self.powers.at) if self.powers else 0.0)


def minimise(cost: Floats, cones: Cones, v: Floats, along: Floats, enough: float = -np.inf) -> Floats:
    """Find argmin cost.v within the cones, from an interior point along some directions, `(n),(n),(n,k)->(n)`.

    It is exact to 1e-10 for a minimum of order 1. The search stops early once cost.v is at most `enough`.
    """
    weight = cones.order / (abs(float(cost @ v)) + 1.0)
    for _ in range(_RAISES):
        v = _centre(weight * cost, cones, v, along)
        if float(cost @ v) <= enough or cones.order / weight <= _GAP:
            break
        weight *= _FASTER
    return v


def _centre(cost: Floats, cones: Cones, v: Floats, along: Floats) -> Floats:
    value = float(cost @ v) + barrier(cones, v)
    for _ in range(_STEPS):
        slope, curve = _derivatives(cones, v)
        slope, curve = along.T @ (slope + cost), along.T @ curve @ along
        unit = 1.0 / np.sqrt(np.diag(curve))
        scaled, down = curve * unit[:, None] * unit, -unit * slope
        try:
            step = unit * np.linalg.solve(scaled, down)
        except np.linalg.LinAlgError:
            step = unit * np.linalg.lstsq(scaled, down, rcond=1e-15)[0]
        fall = -float(slope @ step)
        if fall <= _CENTRED**2:
            return v
        length, step = 1.0, along @ step
        while True:
            there = v + length * step
            found = float(cost @ there) + barrier(cones, there)
            if found <= value - 0.1 * length * fall:
                break
            length *= 0.5
            if length < 1e-12:  # rounding stops further progress
                return v
        v, value = there, found
    return v


def barrier(cones: Cones, v: Floats) -> float:
    """Evaluate the barrier at a point; it is infinite outside the cones."""
    left = cones.bounds - cones.rows @ v
    if left.size and left.min() <= 0.0:
        return np.inf
    total = -float(np.log(left).sum())
    for ball in cones.rounds:
        gap = v[ball.at] - ball.centre
        far, radius = float(np.sqrt(gap @ gap)), ball.radius + (v[ball.k] if ball.k >= 0 else 0.0)
        if radius <= far:
            return np.inf
        total -= float(np.log((radius - far) * (radius + far)))
    if cones.powers is not None:
        u, s, t, a, size = _sizes(cones.powers, v)
        if t <= 0.0 or s.min() <= 0.0 or (size <= u).any():
            return np.inf
        total -= float((np.log((size - u) * (size + u)) + (1.0 - a) * np.log(s) + a * np.log(t)).sum())
    return total


def _sizes(powers: Powers, v: Floats) -> tuple[Floats, Floats, float, float, Floats]:
    s, t, a = v[powers.s], float(v[powers.t]), 1.0 / powers.q
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.asarray(s**a * max(t, 0.0) ** (1.0 - a))
    return np.abs(powers.z - v[powers.at]), s, t, a, size


def _derivatives(cones: Cones, v: Floats) -> tuple[Floats, Floats]:
    """Compute the gradient and the Hessian of the barrier, `(n)->(n),(n,n)`."""
    over = cones.rows / (cones.bounds - cones.rows @ v)[:, None]
    slope, curve = over.sum(0), over.T @ over
    for ball in cones.rounds:
        gap, radius = v[ball.at] - ball.centre, ball.radius + (v[ball.k] if ball.k >= 0 else 0.0)
        far = float(np.sqrt(gap @ gap))
        left = (radius - far) * (radius + far)
        at, d, bend = ball.at, -2.0 * gap / left, np.full(len(gap), -2.0 / left)
        if ball.k >= 0:
            at, d, bend = np.append(at, ball.k), np.append(d, 2.0 * radius / left), np.append(bend, 2.0 / left)
        slope[at] -= d
        curve[np.ix_(at, at)] += np.outer(d, d) - np.diag(bend)
    if cones.powers is not None:
        _add_powers(cones.powers, v, slope, curve)
    return slope, curve


def _add_powers(powers: Powers, v: Floats, slope: Floats, curve: Floats) -> None:
    u, s, t, a, size = _sizes(powers, v)
    left = (size - u) * (size + u)
    gap, share = powers.z - v[powers.at], size * size / left
    x, y, k = powers.at, powers.s, powers.t
    dx, dy, dt = 2.0 * gap / left, 2.0 * a * share / s, 2.0 * (1.0 - a) * share / t
    slope[x] -= dx
    slope[y] -= dy + (1.0 - a) / s
    slope[k] -= float((dt + a / t).sum())
    curve[x, x] += dx * dx + 2.0 / left
    curve[y, y] += dy * dy - 2.0 * a * (2.0 * a - 1.0) * share / (s * s) + (1.0 - a) / (s * s)
    curve[k, k] += float((dt * dt - 2.0 * (1.0 - a) * (1.0 - 2.0 * a) * share / (t * t) + a / (t * t)).sum())
    curve[x, y] += dx * dy
    curve[y, x] += dx * dy
    curve[x, k] += dx * dt
    curve[k, x] += dx * dt
    mixed = dy * dt - 4.0 * a * (1.0 - a) * share / (s * t)
    curve[y, k] += mixed
    curve[k, y] += mixed


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

    def intersect(self, other: Any) -> Straight: ...


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

    def intersect(self, other: Conic) -> Conic:
        """Return the intersection with another set."""
        m, more = self.straight.dim, self.straight.hidden
        theirs = tuple((k if k < m else k + more, c, r) for k, c, r in other.balls)
        return Conic(self.straight.intersect(other.straight), self.balls + theirs)

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
        cones = _shift(inner.cones, shift, unit)
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
        stated = _shift(Cones(self.straight.rows, self.straight.bounds, rounds), middle, 1.0)
        far = [float(np.abs(b.centre).max()) + b.radius for b in stated.rounds]
        size = max([float(np.abs(stated.bounds).max(initial=0.0)), *far]) or float(np.abs(middle).max()) or 1.0
        rows, bounds, rounds = _shift(stated, np.zeros(n), size)[:3]
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
            along = _null_space(rows[on])
            start = start - np.linalg.pinv(rows[on], rcond=_PARALLEL) @ (rows[on] @ start - bounds[on])
        cones = Cones(rows[~on], bounds[~on], rounds)
        if slack >= -_THIN:
            cones = _relax(cones, slack + _THIN)
        return _Inner(_shift(_shift(cones, np.zeros(n), 1.0 / size), -middle, 1.0), middle + size * start, along)


def _shift(cones: Cones, middle: Floats, unit: float) -> Cones:
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


def _null_space(rows: Floats) -> Floats:
    """Compute an orthonormal basis of the null space of rows, `(k,n)->(n,j)`."""
    size, basis = np.linalg.svd(rows)[1:]
    return np.asarray(basis[int((size > _PARALLEL * size[0]).sum()) :].T)
