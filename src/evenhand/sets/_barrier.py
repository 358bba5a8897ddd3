"""Linear programs with balls and power cones, by Newton steps along the central path of a barrier.

Source: Nesterov & Nemirovskii 1994 for the path; Chares 2009 for the barrier of the power cone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
