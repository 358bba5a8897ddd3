"""Intervals of averages in which few rows have most of the total, such as spending.

A normal interval takes an average for one of many alike. Where a few rows have most of the total, the average is
skewed, and the rows that would tell how much it varies are rare: of lognormal spending of 2,000 customers, 12 % of whom
bought, normal intervals of 95 % held in 75 %. Two numbers of the same rows mend both: their skewness bends the interval
towards the side from which rare rows are missing, and their kurtosis says how well the variance is known.
"""

from __future__ import annotations

from math import cbrt, inf
from typing import NamedTuple

_STRAIGHT = 1e-9  # skewness of an average below which nothing bends


def student(errors: float, degrees: float) -> float:
    """Return what reaches as surely under Student's t as so many standard errors do under the normal distribution.

    >>> round(student(1.96, 9.0), 3), student(1.96, inf)
    (2.262, 1.96)
    """
    if degrees == inf:
        return errors
    from scipy.special import ndtr, stdtrit

    return -float(stdtrit(degrees, float(ndtr(-errors))))


class Tails(NamedTuple):
    """How the error of an average differs from a normal one, by which its interval is bent and widened.

    Equation: let t be the error in standard errors and k its skewness. g(t) = t + k t^2 / 3 + k^2 t^3 / 27 + k / 6
    rises everywhere and is normal up to terms of 1 / n. The interval is {v: |g((average - v) / se)| <= z}, where z is a
    quantile of Student's t with 2 n / (K - 1) degrees of freedom, n - 1 at most: with the kurtosis K of n rows, their
    variance is known as well as that of so many normal numbers. The skewness of few rows falls short of that of many,
    by a part of K / n where one of them has all of it, and so much is added:
    k = (1 + K / n) sum_i psi_i^3 / (sum_i psi_i^2)^(3/2).

    Source: Hall 1992, "On the removal of skewness by transformation"; the degrees are those of Satterthwaite's rule,
    and what is added is what a jackknife adds to the skewness of one row. That they are used together is ours.

    Args:
        skew: k, of rows with the influence psi.
        degrees: of freedom, by the kurtosis.
    """

    skew: float = 0.0
    degrees: float = inf

    @staticmethod
    def of(rows: int, second: float, third: float, fourth: float) -> Tails:
        """Return those of an average by the sums of powers of the influence of its rows.

        >>> Tails.of(100, 100.0, 0.0, 300.0)  # as of normal numbers
        Tails(skew=0.0, degrees=99.0)
        """
        if not second**2 > 0.0:
            return Tails(0.0, rows - 1.0)
        kurtosis = rows * fourth / second**2
        degrees = min(rows - 1.0, 2.0 * rows / (kurtosis - 1.0) if kurtosis > 1.0 else inf)
        return Tails((1.0 + kurtosis / rows) * third / second**1.5, degrees)

    def reach(self, errors: float, degrees: float = inf) -> tuple[float, float]:
        """Return how many standard errors the interval reaches downwards and upwards, with a normal one's confidence.

        >>> [round(z, 2) for z in Tails().reach(1.96)]
        [1.96, 1.96]
        >>> [round(z, 2) for z in Tails(0.5, 10.0).reach(1.96)]  # a few rows have most of the total
        [1.65, 9.23]
        """
        z = student(errors, min(degrees, self.degrees))
        return self._straight(z), -self._straight(-z)

    def negative(self) -> Tails:
        """Those of the error times -1."""
        return self._replace(skew=-self.skew)

    def _straight(self, z: float) -> float:
        """The t of which g is z: (3 / k) ((1 + k (z - k / 6))^(1/3) - 1)."""
        k = self.skew
        return z if abs(k) < _STRAIGHT else (cbrt(1.0 + k * (z - k / 6.0)) - 1.0) * 3.0 / k
