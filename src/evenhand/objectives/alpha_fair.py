"""Alpha-fairness: sums of utilities with diminishing returns, between a plain sum and the minimum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, number, numbers
from evenhand.numerics.fairness import best_response, marginal, utility, utility_prox
from evenhand.objectives.base import check_finite, each, flat, outcome_names
from evenhand.objectives.steepness import slope_norm


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
