"""Generalised Gini functions: sums of outcomes weighted by rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.norms import Norm
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import numbers
from evenhand.numerics.isotonic import gini_prox, gini_supergradient
from evenhand.objectives.base import check_finite, each, flat, outcome_names, total
from evenhand.objectives.steepness import slope_norm


@kernel
def gini_maximizer(theta: Floats, order: Ints, weights: Floats, low: Floats, high: Floats, levels: Floats) -> Floats:
    """Find argmax_y theta.y + sum_k w_k y_(k), lowest first, over low <= y <= high, `(m),(m),(m),(m),(m),(L)->(m)`.

    Equation: theta.y + f(y) is the integral over levels of F({i : y_i above}), F(S) = theta(S) + the last |S| weights,
    up to a constant. Between two levels, the sets of the k largest thetas are candidates, and the least maximiser is
    taken, which can only lose outcomes as levels rise. So the sets are those of a point.

    Args:
        theta: rows of slopes.
        order: the sorting order of every row, largest first.
        weights: the weights, never increasing.
        low, high: the ends of the outcomes.
        levels: all ends in increasing order.
    """
    m = theta.shape[1]
    y = np.empty(theta.shape)
    for r in range(len(theta)):
        for i in range(m):
            y[r, i] = low[i]
        for n in range(len(levels) - 1):
            bottom, top = levels[n], levels[n + 1]
            inside = 0  # outcomes above this level in all points of the box
            for i in range(m):
                if low[i] >= top:
                    inside += 1
            gain, best, count, k = 0.0, 0.0, 0, 0
            for place in range(m):
                i = order[r, place]
                if low[i] <= bottom and high[i] >= top:
                    k += 1
                    gain += theta[r, i] + weights[m - inside - k]
                    if gain > best:
                        best, count = gain, k
            k = 0
            for place in range(m):
                i = order[r, place]
                if k < count and low[i] <= bottom and high[i] >= top:
                    k += 1
                    y[r, i] = top
    return y


@named(
    "C7",
    source="Busa-Fekete et al. 2017; Do et al. 2023, Section 2, eq. 2 and 15; exact smoothing by Do & Usunier 2022",
)
@dataclass(frozen=True)
class GeneralizedGini:
    """The sum of average outcomes weighted by rank; the least has the largest weight.

    Equation: f(z) = sum_i w_i z_(i), with z_(1) <= ... <= z_(m) and w_1 >= ... >= w_m. It is the least p.z over all
    permutations p of w. Without negative weights it grows with every outcome; with them it also punishes inequality.
    The supergradient gives equal outcomes the mean of their weights.

    Args:
        outcomes: the outcomes to compare, in the same units.
        weights: the weights by rank, from the least outcome to the largest; by default 1, 1/2, 1/4, ...

    Raises:
        InvalidInput: a name is repeated, weights are not one finite number per outcome, or they increase (then f is
            not concave).

    Deviation: the prox is computed in the order of z, which avoids the sources' division by beta.

    >>> gini = GeneralizedGini(("north", "middle", "south"))
    >>> gini.value(np.array([0.5, 0.0, 0.25])).item()
    0.25
    >>> gini.supergradient(np.array([0.4, 0.1, 0.2]))
    array([0.25, 1.  , 0.5 ])
    """

    outcomes: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    whole_space: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", outcome_names("GeneralizedGini", self.outcomes))
        m = len(self.outcomes)
        given = self.weights if self.weights is not None else 0.5 ** np.arange(m)
        w = numbers("GeneralizedGini.weights", given, m, f"{m} finite numbers, one per outcome")
        if (np.diff(w) > 0).any():
            expected = "weights that never increase, largest first, for the least outcome (else f is not concave)"
            raise InvalidInput("GeneralizedGini.weights", expected, given)
        object.__setattr__(self, "weights", tuple(w.tolist()))

    @classmethod
    def welfare(cls, outcomes: Iterable[str]) -> GeneralizedGini:
        """Return the Gini welfare sum_j ((m - j + 1)/m) z_(j), as in eq. 15 of Do et al. 2023.

        >>> GeneralizedGini.welfare(("a", "b")).weights
        (1.0, 0.5)
        """
        names = outcome_names("GeneralizedGini", outcomes)
        m = len(names)
        return cls(names, tuple((m - j) / m for j in range(m)))

    @classmethod
    def difference(cls, outcomes: Iterable[str]) -> GeneralizedGini:
        """Return minus the mean absolute difference, -(1/2m) sum_ij |z_i - z_j|: the item part of eq. 2.

        It is the Gini form with the signed weights (m + 1 - 2j)/m, j = 1..m, as in Do et al. 2023.

        >>> GeneralizedGini.difference(("a", "b")).value(np.array([0.1, 0.5])).item()
        -0.2
        """
        names = outcome_names("GeneralizedGini", outcomes)
        m = len(names)
        return cls(names, tuple((m - 1 - 2 * j) / m for j in range(m)))

    @property
    def smooth(self) -> bool:
        """Whether all weights are equal; otherwise f has kinks where outcomes are equal."""
        return bool((self.ranked == self.ranked[0]).all())

    @property
    def lipschitz(self) -> float:
        """The norm of the weights, which is that of every vertex of their permutahedron."""
        return float(np.linalg.norm(self.ranked))

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)

    def value(self, z: Floats) -> Floats:
        return total(np.sort(flat(z)) * self.ranked).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Return the weights by rank, averaged over ties, `(m)->(m)`."""
        rows = flat(z)
        return gini_supergradient(rows, np.argsort(rows), self.ranked).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute the prox by isotonic regression in O(m log m), `(m),()->(m)`."""
        rows = flat(z)
        return gini_prox(rows, np.argsort(rows), self.ranked, each(beta, z)).reshape(z.shape)

    def maximizer(self, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
        """Compute the maximizer over a box level by level, `(m),(m),(m)->(m)`.

        theta.y + f(y) is the Lovász extension of a set function, which is a sum over levels: between two levels the
        outcomes above are the k of largest theta, for the best k, among those whose ranges span both.
        """
        rows, ends = flat(theta), np.empty((2, len(self.outcomes)))
        ends[0], ends[1] = low, high
        order = np.argsort(-rows, kind="stable")
        return gini_maximizer(rows, order, self.ranked, ends[0], ends[1], np.unique(ends)).reshape(theta.shape)

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """Compute the dual norm of the weights times the largest unit, `(m)->`."""
        return slope_norm(self.ranked, norm) * float(unit.max())

    @cached_property
    def ranked(self) -> Floats:
        return np.array(self.weights, float)
