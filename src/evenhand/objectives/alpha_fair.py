"""Alpha-fairness: sums of utilities with diminishing returns, between a plain sum and the minimum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.norms import Norm
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, number, numbers
from evenhand.objectives.base import check_finite, each, flat, outcome_names
from evenhand.objectives.steepness import slope_norm


@kernel
def utility(z: Floats, offset: float, weights: Floats, alpha: float) -> Floats:
    """Compute sum_i w_i u(z_i + offset), `(m),(),(m),()->()`."""
    out = np.zeros(len(z))
    for r in range(len(z)):
        for i in range(z.shape[1]):
            s = z[r, i] + offset
            if s < 0.0 or (s == 0.0 and alpha >= 1.0):
                out[r] = -np.inf
            elif alpha == 1.0:
                out[r] += weights[i] * math.log(s)
            else:
                out[r] += weights[i] * s ** (1.0 - alpha) / (1.0 - alpha)
    return out


@kernel
def marginal(z: Floats, offset: float, weights: Floats, alpha: float) -> Floats:
    """Compute w_i (z_i + offset)^-alpha, `(m),(),(m),()->(m)`."""
    out = np.full(z.shape, np.inf)
    for r in range(len(z)):
        for i in range(z.shape[1]):
            s = z[r, i] + offset
            if s > 0.0:
                out[r, i] = weights[i] * s**-alpha
    return out


@kernel
def best_response(theta: Floats, offset: float, weights: Floats, alpha: float, low: Floats, high: Floats) -> Floats:
    """Compute argmax_y theta.y + sum_i w_i u(y_i + offset), low <= y <= high, `(m),(),(m),(),(m),(m)->(m)`."""
    out = np.empty(theta.shape)
    for r in range(len(theta)):
        for i in range(theta.shape[1]):
            out[r, i] = high[i]
            if theta[r, i] < 0.0:
                s = (weights[i] / -theta[r, i]) ** (1.0 / alpha)
                out[r, i] = min(max(s - offset, low[i]), high[i])
    return out


@kernel
def power_root(c: float, k: float, alpha: float) -> float:
    """Find the root s > 0 of s - k s^-alpha = c, for k > 0; 0 if the root is too small for a float.

    The left side is increasing and concave, so Newton steps from below never pass the root. If rounding makes a step
    leave its bracket, bisection replaces it; the bracket is wide enough to allow for rounding.
    """
    top: float = k ** (1.0 / (1.0 + alpha))  # the root for c = 0
    s: float
    if c >= 0.0:
        s, high = max(c, top), 2.0 * (c + top)
    else:
        s, high = (k / (top - c)) ** (1.0 / alpha), 2.0 * top
    low = 0.5 * s
    for _ in range(200):
        if s <= 0.0:
            break
        pull = k * s**-alpha
        gap = s - c - pull
        if gap > 0.0:
            high = s
        else:
            low = s
        step = s - gap / (1.0 + alpha * pull / s)
        if not low <= step <= high:
            step = 0.5 * (low + high)
        still = abs(step - s) <= 4e-16 * s or abs(gap) <= 4e-16 * (s + abs(c) + pull)
        s = step
        if still:  # only rounding error is left
            break
    return s


@kernel
def utility_prox(z: Floats, offset: float, weights: Floats, alpha: float, beta: Floats) -> Floats:
    """Compute argmax_y sum_i w_i u(y_i + offset) - |y - z|^2 / (2 beta), `(m),(),(m),(),()->(m)`."""
    out = np.empty(z.shape)
    for r in range(len(z)):
        for i in range(z.shape[1]):
            out[r, i] = power_root(z[r, i] + offset, beta[r] * weights[i], alpha) - offset
    return out


@named("C7", source="Mo & Walrand 2000; additive welfare as in Do et al. 2023, eq. 16; Nash welfare for alpha = 1")
@dataclass(frozen=True)
class AlphaFair:
    """A sum of utilities whose marginal values fall at the rate alpha.

    Equation: f(z) = sum_i w_i u(z_i + offset), u(s) = s^(1 - alpha)/(1 - alpha), and u(s) = ln s for alpha = 1 (Nash
    welfare). A larger alpha gives more weight to the least outcome.

    The domain is z_i + offset > 0. The gradient is unbounded near its edge: without an offset, no average may be 0, not
    even at the start. With an offset, f is smooth for averages of at least 0, and `lipschitz` holds there.

    Args:
        outcomes: the outcomes to compare.
        alpha: above 0; 0 would be `Linear`.
        offset: added to every average, in the units of the outcomes; at least 0.
        weights: one above 0 per outcome; by default 1.

    Raises:
        InvalidInput: names twice, or alpha, offset or weights out of range.

    >>> nash = AlphaFair(("a", "b"), alpha=1.0, offset=0.5)
    >>> nash.value(np.array([0.5, 0.5])).item()
    0.0
    >>> nash.supergradient(np.array([0.5, 1.5]))
    array([1. , 0.5])
    """

    outcomes: tuple[str, ...]
    alpha: float
    offset: float = 0.0
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", outcome_names("AlphaFair", self.outcomes))
        expected = "a finite number above 0 (for 0, use Linear)"
        alpha = number("AlphaFair.alpha", self.alpha, expected, lambda x: math.isfinite(x) and x > 0)
        offset = nonnegative("AlphaFair.offset", self.offset)
        m = len(self.outcomes)
        given = self.weights if self.weights is not None else (1.0,) * m
        expected = f"{m} finite numbers above 0, one per outcome"
        w = numbers("AlphaFair.weights", given, m, expected, lambda x: np.isfinite(x) & (x > 0))
        for name, kept in (("alpha", alpha), ("offset", offset), ("weights", tuple(w.tolist()))):
            object.__setattr__(self, name, kept)

    @classmethod
    def welfare(cls, outcomes: Iterable[str], power: float, offset: float = 0.0) -> AlphaFair:
        """Return the additive welfare sum_i (z_i + offset)^power, 0 < power < 1: alpha = 1 - power up to a factor.

        Raises:
            InvalidInput: the power is outside (0, 1).

        >>> AlphaFair.welfare(("a", "b"), power=0.5).value(np.array([0.25, 4.0])).item()
        2.5
        """
        expected = "a number in (0, 1), as welfare is concave there"
        power = number("AlphaFair.welfare(power)", power, expected, lambda x: 0 < x < 1)
        names = outcome_names("AlphaFair", outcomes)
        return cls(names, 1.0 - power, offset, (power,) * len(names))

    @property
    def smooth(self) -> bool:
        """Whether the offset keeps averages of at least 0 away from the edge of the domain."""
        return self.offset > 0

    @property
    def lipschitz(self) -> float:
        """The constant |w| offset^-alpha for averages of at least 0; infinite without an offset."""
        steepest = marginal(np.zeros((1, len(self.outcomes))), self.offset, self._w, self.alpha)
        return float(np.linalg.norm(steepest))

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)
        far = ~np.isfinite(marginal(flat(z), self.offset, self._w, self.alpha))
        if far.any():
            r, i = np.argwhere(far)[0]
            expected = (
                f"an average above {-self.offset:g}, where the gradient of AlphaFair(alpha={self.alpha:g}, "
                f"offset={self.offset:g}) is bounded: set an offset above {max(0.0, -flat(z)[:, i].min()):g}"
            )
            raise InvalidInput(f"{place}, outcome {self.outcomes[i]!r}", expected, float(flat(z)[r, i]))

    def value(self, z: Floats) -> Floats:
        return utility(flat(z), self.offset, self._w, self.alpha).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Compute w (z + offset)^-alpha, `(m)->(m)`."""
        out = marginal(flat(z), self.offset, self._w, self.alpha).reshape(z.shape)
        if not np.isfinite(out).all():
            self.check(z, "AlphaFair.supergradient")
        return out

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute the prox by safeguarded Newton steps on each coordinate, `(m),()->(m)`."""
        return utility_prox(flat(z), self.offset, self._w, self.alpha, each(beta, z)).reshape(z.shape)

    def maximizer(self, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
        """Compute clip((w / -theta)^(1/alpha) - offset, low, high); high for theta >= 0, `(m),(m),(m)->(m)`."""
        ends = np.empty((2, len(self.outcomes)))
        ends[0], ends[1] = low, high
        return best_response(flat(theta), self.offset, self._w, self.alpha, ends[0], ends[1]).reshape(theta.shape)

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """Compute the dual norm of the slope at 0 per unit, for averages of at least 0; infinite without an offset."""
        return slope_norm(unit * marginal(np.zeros((1, len(unit))), self.offset, self._w, self.alpha)[0], norm)

    @cached_property
    def _w(self) -> Floats:
        return np.array(self.weights, float)
