"""Online convex optimisation of dual vectors: from subgradients to the next vector, in one of two geometries.

Both start from 0. `at` is what a state keeps of the past, one number per coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, get_args

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.core.validate import number, one_of
from evenhand.goals.steps import Falling, Steady
from evenhand.objectives.steepness import Norm


class Mirror(Protocol):
    """A way to choose vectors of bounded length against convex losses."""

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
        """The vector itself, `(m),()->(m)`."""
        return at

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        """One step, `(m),(m),()`."""
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
        """The vector at the sums of subgradients, `(m),()->(m)`."""
        return _weigh(at, rounds, self.step.sizes[0], self.step.falls, self.radius)

    def move(self, at: Floats, g: Floats, rounds: Floats) -> None:
        """Add a subgradient, `(m),(m),()`."""
        at += g


def mirror(norm: Norm, radius: float, m: int, horizon: int) -> Mirror:
    """The geometry for a norm of m outcomes, with the step of the theory for subgradients in [-1, 1]^m.

    Raises:
        InvalidInput: another norm.

    >>> mirror("euclidean", 2.0, 4, 100), mirror("sup", 1.0, 4, 100).step.size.__round__(3)
    (Descent(radius=2.0, step=Steady(size=0.1)), 0.21)
    """
    one_of("norm", norm, get_args(Norm))
    if norm == "euclidean":
        return Descent(radius, Steady(radius / math.sqrt(m * horizon)))
    return Entropic(radius, Steady(math.sqrt(2.0 * math.log(2 * m + 1) / horizon)))


def _check(kind: str, radius: float, step: Steady | Falling) -> None:
    number(f"{kind}.radius", radius, "a finite number of at least 0", lambda x: 0 <= x < math.inf)
    if not isinstance(step, Steady | Falling):
        raise InvalidInput(f"{kind}.step", "Steady or Falling", step)
