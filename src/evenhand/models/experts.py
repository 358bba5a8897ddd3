"""Finite sets of experts for `Aggregation`: linear functions, and covers of smooth ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats


class ExpertSet(Protocol):
    """Each expert is a linear function plus a level, which may differ between the cells of the unit cube."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """The number of intervals of each of the n features; all 1 if there are no cells."""

    @property
    def slopes(self) -> Floats:
        """Parameters of the linear functions, `->(J,n)`, or `->(J,0)` for none."""

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        """Return the levels for outcomes within [low, high], `(M),(M)->(M,J)`."""


@checked
@dataclass(frozen=True, eq=False)
class Experts:
    """Any finite set of linear functions.

    Args:
        matrix: their parameters, `(J, n)`, in units of the outcomes.

    Raises:
        InvalidInput: no matrix, an empty one, or numbers that are not finite.

    >>> Experts(np.eye(2)).cuts
    (1, 1)
    """

    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or 0 in self.matrix.shape or not np.isfinite(self.matrix).all():
            raise InvalidInput("Experts.matrix", "finite numbers, one row per expert", self.matrix)

    @property
    def cuts(self) -> tuple[int, ...]:
        return (1,) * int(self.matrix.shape[1])

    @cached_property
    def slopes(self) -> Floats:
        return np.ascontiguousarray(self.matrix, float)

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        return np.zeros((len(low), len(self.matrix)))


@checked
@dataclass(frozen=True, kw_only=True)
class Cover:
    """All functions on [0, 1]^n that are constant in every cell of a grid, at one of finitely many levels.

    With N cuts per feature it comes within C (sqrt(n) / (2 N))^p + range / (2 levels) of every function of the Hoelder
    class |f(x) - f(z)| <= C |x - z|^p, p <= 1. Features are clipped to [0, 1]. The number of an arm can be one more
    feature, (a + 1/2) / K for a = 0..K-1, with K cuts: then each arm has a function of its own.

    Args:
        cuts: the number of intervals of each of the n features.
        levels: how many, evenly spaced over the outcome's range.

    >>> Cover(cuts=(2,), levels=4).levels_in(np.zeros(1), np.ones(1))
    array([[0.125, 0.375, 0.625, 0.875]])
    """

    cuts: tuple[int, ...]
    levels: int

    def __post_init__(self) -> None:
        if not self.cuts or min(*self.cuts, self.levels, 1) < 1:
            raise InvalidInput("Cover.cuts, levels", "at least one feature, and numbers of at least 1", self)

    @cached_property
    def slopes(self) -> Floats:
        return np.zeros((self.levels, 0))

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        """Return the midpoints of equal parts of the range, `(M),(M)->(M,J)`."""
        return np.asarray(low[:, None] + (high - low)[:, None] * (np.arange(self.levels) + 0.5) / self.levels)

    @classmethod
    def hoelder(
        cls, *, n_features: int, horizon: int, smoothness: float = 1.0, constant: float = 1.0, arms: int = 1
    ) -> Self:
        """Return the cover whose size balances aggregation and approximation over a horizon, for f in a Hoelder class.

        Equation: N = (constant^2 T / arms)^(1 / (n + 2p)) cuts per feature and N^p / constant levels, both rounded up;
        on noisy outcomes of f the regret is then T^(n / (n + 2p)) up to logarithms, the paper's 1 - 2 / (2 + n/p).
        Source: Foster & Rakhlin 2020, Theorem 3; Han et al. 2022, Section 3.3, with metric entropy of eps^(-n/p).

        Args:
            n_features: n, without the number of the arm.
            horizon: T, the total number of observations.
            smoothness: p, in (0, 1]; piecewise constant functions gain nothing from more.
            constant: C, as a multiple of the outcome's range, above 0.
            arms: the number of arms; if more than 1, the first feature is the arm's number, (a + 1/2) / arms.

        Raises:
            InvalidInput: a number out of its range.

        >>> Cover.hoelder(n_features=1, horizon=1000, arms=8)
        Cover(cuts=(8, 5), levels=5)
        """
        if min(n_features, horizon, arms) < 1:
            raise InvalidInput("n_features, horizon, arms", "at least 1 each", (n_features, horizon, arms))
        if not (0 < smoothness <= 1 and math.isfinite(constant) and constant > 0):
            raise InvalidInput("smoothness, constant", "in (0, 1], and above 0", (smoothness, constant))
        exact = (constant**2 * horizon / arms) ** (1.0 / (n_features + 2.0 * smoothness))
        cuts = max(1, math.ceil(exact - 1e-9))  # 1e-9: do not round up a whole root
        levels = max(2, math.ceil(cuts**smoothness / constant - 1e-9))
        return cls(cuts=((arms,) if arms > 1 else ()) + (cuts,) * n_features, levels=levels)
