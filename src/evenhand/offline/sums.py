"""Sums over rows of features and an outcome, which add up over parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats


class Sums(NamedTuple):
    """What a linear model needs to know of some rows; features are without the first one, which is 1.

    >>> x, y = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 4.0]]), np.array([1.0, 1.0, 4.0])
    >>> Sums.of(x, y).squares.tolist(), Sums.together([Sums.of(x[:1], y[:1]), Sums.of(x[1:], y[1:])]).squares.tolist()
    ([[8.0]], [[8.0]])
    """

    rows: int
    mean: Floats  # (n-1,) of features
    level: float  # the mean outcome
    squares: Floats  # (n-1,n-1) sums of products of features, around their means
    products: Floats  # (n-1,) sums of products of features and outcome, around their means
    square: float  # the sum of squares of the outcome around its mean

    @staticmethod
    def of(x: Floats, y: Floats) -> Sums:
        """Sum over at least one row, `(N,n),(N)->`."""
        first = x[0, 1:]  # a feature that is the same in all rows has exactly that mean
        mean, level = first + (x[:, 1:] - first).mean(0), float(y.mean())
        z, centred = x[:, 1:] - mean, y - level
        return Sums(len(y), mean, level, z.T @ z, z.T @ centred, float(centred @ centred))

    @staticmethod
    def together(parts: Sequence[Sums]) -> Sums:
        """Return the sums over all rows of at least one part.

        Equation: sum_i (x_i - m)(x_i - m)' = sum_p [S_p + N_p (m_p - m)(m_p - m)'] (Chan, Golub and LeVeque 1979).
        No squares of means are subtracted, so that errors are of the rounding of values, and not of their squares. A
        feature that is the same in all rows has products that are exactly 0.
        """
        shares = np.array([part.rows for part in parts], float)
        means, levels = np.stack([part.mean for part in parts]), np.array([part.level for part in parts])
        mean = means[0] + shares @ (means - means[0]) / shares.sum()  # exactly that of all parts where they are equal
        level = float(shares @ levels / shares.sum())
        apart, off = means - mean, levels - level
        return Sums(
            sum(part.rows for part in parts),
            mean,
            level,
            np.asarray(sum(part.squares for part in parts) + (shares * apart.T) @ apart),
            np.asarray(sum(part.products for part in parts) + (shares * off) @ apart),
            float(sum(part.square for part in parts) + shares @ off**2),
        )
