"""Compensated sums, which do not drift: the rounding error of a sum is kept and added with the next number."""

from __future__ import annotations

from evenhand.core.kernel import inlined
from evenhand.core.types import Floats


@inlined
def added(s: float, rest: float, x: float) -> tuple[float, float]:
    """Add x to a sum; returns the sum and its rounding error, `(),(),()->(),()`.

    Equation: s + r + x = s' + r' up to some 1e-32 of the sum, s' being the sum in double precision and r' its rounding
    error. After 10^7 additions of 0.1 the sum is 10^6 to its last bit, while a plain sum is off by 0.0002.

    Source: T. J. Dekker, A floating-point technique for extending the available precision, 1971, add2.

    >>> s = rest = 0.0
    >>> for _ in range(1000):
    ...     s, rest = added(s, rest, 0.1)
    >>> s, sum([0.1] * 1000)
    (100.0, 99.9999999999986)
    """
    t = s + x
    b = t - s
    r = (s - (t - b)) + (x - b) + rest
    return t + r, r - ((t + r) - t)


@inlined
def put(sums: Floats, rest: Floats, i: int, j: int, x: float) -> None:
    """Add x to a sum in place, `(n,m),(n,m),(),(),()`."""
    sums[i, j], rest[i, j] = added(sums[i, j], rest[i, j], x)
