"""Online convex optimisation of dual vectors: from subgradients to the next vector, in one of three geometries.

All start from 0. `at` is what a state keeps of the past, one number per coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.norms import Norm, dual_order, norm_of, order
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, number
from evenhand.goals.steps import Falling, Steady


class Mirror(Protocol):
    """An online algorithm that chooses vectors of bounded length against convex losses."""

    @property
    def radius(self) -> float:
        """The bound of their length."""

    def theta(self, at: Floats, rounds: Floats) -> Floats:
        """The vector, `(m),()->(m)`."""

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        """Enter a subgradient of a loss at the vector, `(m),(m),()`, in place."""


@kernel
def _descend(at: Floats, g: Floats, rounds: Floats, size: float, falls: bool, radius: float) -> None:
    for r in range(len(at)):
        step, square = size / math.sqrt(max(rounds[r], 1.0)) if falls else size, 0.0
        if not g[r].any():
            continue  # projecting again what was projected would move it by rounding
        for j in range(at.shape[1]):
            at[r, j] -= step * g[r, j]
            square += at[r, j] * at[r, j]
        if square > radius * radius:
            shrink = radius / math.sqrt(square)
            for j in range(at.shape[1]):
                at[r, j] *= shrink


@checked
@dataclass(frozen=True)
class Descent:
    """Gradient descent, projected to the Euclidean ball.

    Equation: theta <- project(theta - step g). With step = radius / (G sqrt(T)) the regret over T rounds is at most
    radius G sqrt(T), for subgradients of length at most G.
    Source: Zinkevich 2003; Agrawal & Devanur 2014, Section 5.1.

    Args:
        radius: of the ball, at least 0.
        step: the size of steps.

    Raises:
        InvalidInput: a radius that is negative or not finite.

    >>> mirror, at = Descent(1.0, Steady(0.5)), np.zeros((1, 2))
    >>> mirror.move(at, np.array([[3.0, -4.0]]), np.ones(1))
    >>> mirror.theta(at, np.ones(1))
    array([[-0.6,  0.8]])
    """

    radius: float
    step: Steady | Falling

    def __post_init__(self) -> None:
        _check("Descent", self.radius, self.step)

    def theta(self, at: Floats, rounds: Floats) -> Floats:
        return at

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        _descend(at, g, rounds, self.step.sizes[0], self.step.falls, self.radius)


@kernel
def _weigh(at: Floats, rounds: Floats, size: float, falls: bool, radius: float) -> Floats:
    theta = np.empty(at.shape)
    for r in range(len(at)):
        step, top = size / math.sqrt(max(rounds[r], 1.0)) if falls else size, 0.0
        for j in range(at.shape[1]):
            top = max(top, step * abs(at[r, j]))
        total = math.exp(-top)  # the slack's
        for j in range(at.shape[1]):
            up, down = math.exp(-step * at[r, j] - top), math.exp(step * at[r, j] - top)
            theta[r, j] = radius * (up - down)
            total += up + down
        for j in range(at.shape[1]):
            theta[r, j] /= total
    return theta


@checked
@dataclass(frozen=True)
class Entropic:
    """Exponential weights on both signs of every coordinate and on a slack: outcomes are compared in the sup norm.

    Equation: theta_j = radius (w_j+ - w_j-), w_j(+-) ~ exp(-+ step sum of g_j), the slack's w ~ 1, which follows the
    regularised leader. With |g_j| <= 1 and step = sqrt(2 ln(2m + 1) / T) the regret over T rounds is at most
    radius sqrt(2 T ln(2m + 1)).
    Source: Agrawal & Devanur 2014, Section 5.1; Hedge (Freund & Schapire 1995) is exponential weights.

    Args:
        radius: the most that sizes of coordinates add up to, at least 0.
        step: of the exponents.

    Raises:
        InvalidInput: a radius that is negative or not finite.

    >>> mirror, at = Entropic(1.0, Steady(math.log(2.0))), np.zeros((1, 1))
    >>> mirror.move(at, np.array([[1.0]]), np.ones(1))
    >>> mirror.theta(at, np.ones(1)).round(4)  # (1/2 - 2) / (1/2 + 2 + 1)
    array([[-0.4286]])
    """

    radius: float
    step: Steady | Falling

    def __post_init__(self) -> None:
        _check("Entropic", self.radius, self.step)

    def theta(self, at: Floats, rounds: Floats) -> Floats:
        return _weigh(at, rounds, self.step.sizes[0], self.step.falls, self.radius)

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        at += g


@kernel
def _step_along(at: Floats, rounds: Floats, size: float, falls: bool, radius: float, q: float) -> Floats:
    """Minus the slope of ||at||_q, as long as the step times that norm or as the radius."""
    theta = np.zeros(at.shape)
    for r in range(len(at)):
        step, most = size / math.sqrt(max(rounds[r], 1.0)) if falls else size, 0.0
        for j in range(at.shape[1]):
            most = max(most, abs(at[r, j]))
        if most > 0.0:
            total = 0.0
            for j in range(at.shape[1]):
                total += (abs(at[r, j]) / most) ** q
            norm = most * total ** (1.0 / q)
            for j in range(at.shape[1]):
                theta[r, j] = -min(radius, step * norm) * math.copysign((abs(at[r, j]) / norm) ** (q - 1.0), at[r, j])
    return theta


@kernel
def _root(w: float, c: float, p: float) -> float:
    """The u with u + c u^(p - 1) = w, by Newton steps from above."""
    u = w if c == 0.0 else min(w, (w / c) ** (1.0 / (p - 1.0)))
    for _ in range(100):
        if u == 0.0:
            return 0.0
        power = c * u ** (p - 2.0)
        down = (u + power * u - w) / (1.0 + (p - 1.0) * power)
        if down <= 1e-15 * u:
            break
        u -= down
    return u


@kernel
def _onto(at: Floats, rounds: Floats, size: float, falls: bool, radius: float, p: float) -> Floats:
    """The Euclidean projection of -step at to the ball ||theta||_p <= radius, p > 2."""
    theta = np.zeros(at.shape)
    for r in range(len(at)):
        step = size / math.sqrt(max(rounds[r], 1.0)) if falls else size
        if radius == 0.0:
            continue
        low, high, out = 0.0, 0.0, False
        for trial in range(1200):  # theta_j = radius u_j, u_j + c u_j^(p - 1) = step |at_j| / radius, with ||u||_p = 1
            c = 0.5 * (low + high) if out else high
            most, total = 0.0, 0.0
            for j in range(at.shape[1]):
                w = step * abs(at[r, j]) / radius
                u = min(w, 1.0) if p == np.inf else _root(w, c, p)
                theta[r, j] = -radius * math.copysign(u, at[r, j])
                most = max(most, u)
            if p == np.inf:
                break
            for j in range(at.shape[1]):
                total += (abs(theta[r, j]) / (radius * most)) ** p if most > 0.0 else 0.0
            norm = most * total ** (1.0 / p)
            if (trial == 0 and norm <= 1.0) or abs(norm - 1.0) <= 1e-14 or (out and high - low <= 1e-16 * high):
                break
            if norm > 1.0:
                low = c
                high = high if out else max(2.0 * high, 1.0)
            else:
                out, high = True, c
    return theta


@checked
@dataclass(frozen=True)
class PowerBall:
    """The regularised leader in the ball of an L_p norm: outcomes are compared in the L_q norm, 1/p + 1/q = 1.

    Equation: theta = argmin step theta.G + ||theta||^2 / 2 over ||theta||_p <= radius, G the sum of subgradients. For
    p < 2 the norm is L_p, so that theta = -min(radius, step ||G||_q) times the slope of ||G||_q; for p >= 2 it is
    Euclidean, so that theta is the projection of -step G. With |g_j| <= 1 and the step of `mirror` the regret over T
    rounds is at most radius m^(1/q) sqrt(T / min(p - 1, 1)), by the strong convexity of the squares.
    Source: Agrawal & Devanur 2014, Section 5.1 (other norms); Shalev-Shwartz 2012, Section 2.

    Args:
        radius: the bound of ||theta||_p, at least 0.
        step: of the sum.
        order: p, above 1; infinite for outcomes in the L_1 norm.

    Raises:
        InvalidInput: a radius that is negative or not finite, or an order of at most 1.

    >>> mirror, at = PowerBall(1.0, Steady(0.5), math.inf), np.zeros((1, 2))
    >>> mirror.move(at, np.array([[3.0, -1.0]]), np.ones(1))
    >>> mirror.theta(at, np.ones(1))
    array([[-1. ,  0.5]])
    """

    radius: float
    step: Steady | Falling
    order: float

    def __post_init__(self) -> None:
        _check("PowerBall", self.radius, self.step)
        number("PowerBall.order", self.order, "a number above 1", lambda p: p > 1.0)

    def theta(self, at: Floats, rounds: Floats) -> Floats:
        size, falls = self.step.sizes[0], self.step.falls
        if self.order < 2.0:
            return _step_along(at, rounds, size, falls, self.radius, self.order / (self.order - 1.0))
        return _onto(at, rounds, size, falls, self.radius, self.order)

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        at += g


def mirror(norm: Norm, radius: float, m: int, horizon: int) -> Mirror:
    """Return the geometry for a norm of m outcomes, with the step of the theory for subgradients in [-1, 1]^m.

    Raises:
        InvalidInput: something that is not a norm.

    >>> mirror("euclidean", 2.0, 4, 100), mirror("sup", 1.0, 4, 100).step.size.__round__(3)
    (Descent(radius=2.0, step=Steady(size=0.1)), 0.21)
    >>> mirror("one", 2.0, 4, 100)
    PowerBall(radius=2.0, step=Steady(size=0.2), order=inf)
    """
    norm = norm_of("norm", norm)
    if norm == "euclidean":
        return Descent(radius, Steady(radius / math.sqrt(m * horizon)))
    if norm == "sup":
        return Entropic(radius, Steady(math.sqrt(2.0 * math.log(2 * m + 1) / horizon)))
    p, steepest = dual_order(norm), float(m ** (1.0 / order(norm)))
    if p < 2.0:
        return PowerBall(radius, Steady(radius * math.sqrt(p - 1.0) / (steepest * math.sqrt(horizon))), p)
    return PowerBall(radius, Steady(radius * m ** (0.5 - 1.0 / p) / math.sqrt(m * horizon)), p)


def _check(kind: str, radius: float, step: Steady | Falling) -> None:
    nonnegative(f"{kind}.radius", radius)
    if not isinstance(step, Steady | Falling):
        raise InvalidInput(f"{kind}.step", "Steady or Falling", step)
