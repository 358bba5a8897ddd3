"""Rank-one growth of a precision matrix V = ridge * I + sum of x x^T, kept as its inverse and log-determinant.

Zeros of x are skipped, so that features in one action's block cost only that block.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats

FAINT = 1e-200  # smaller sums of squared features count as 0: such squares underflow
_LARGE = 1e8  # for larger x^T V^-1 x, half of the digits of V^-1 are lost along x


@inlined
def dot(x: Floats, theta: Floats) -> float:
    """Compute x . theta, `(n),(n)->()`."""
    total = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            total += x[i] * theta[i]
    return total


@inlined
def total(z: Floats) -> float:
    """Add numbers one after another, `(n)->()`: NumPy would add them in an order of its own."""
    found = 0.0
    for i in range(len(z)):
        found += z[i]
    return found


@inlined
def blank(x: Floats) -> bool:
    """Whether a candidate has no features, `(n)->()`: a null action, whose outcome is 0 and not learned from."""
    return not dot(x, x) > FAINT


@kernel
def norm2(x: Floats) -> float:
    """Compute x . x, `(n)->()`, in four sums, because additions to a single sum wait for one another."""
    a = b = c = d = 0.0
    whole = len(x) - len(x) % 4
    for i in range(0, whole, 4):
        a += x[i] * x[i]
        b += x[i + 1] * x[i + 1]
        c += x[i + 2] * x[i + 2]
        d += x[i + 3] * x[i + 3]
    for i in range(whole, len(x)):
        a += x[i] * x[i]
    return (a + b) + (c + d)


@inlined
def multiply(inverse: Floats, x: Floats, product: Floats) -> None:
    """Write V^-1 x to `product`, `(n,n),(n),(n)`, column by column, so that additions do not wait for one another.

    Where x is not 0, four columns are added for each time that the product is read.
    """
    n, j = len(x), 0
    product[:] = 0.0
    while j < n:
        if j + 4 <= n and x[j] != 0.0 and x[j + 1] != 0.0 and x[j + 2] != 0.0 and x[j + 3] != 0.0:
            a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
            for i in range(n):
                half = (product[i] + inverse[j, i] * a) + inverse[j + 1, i] * b
                product[i] = (half + inverse[j + 2, i] * c) + inverse[j + 3, i] * d
            j += 4
        else:
            if x[j] != 0.0:
                for i in range(n):
                    product[i] += inverse[j, i] * x[j]
            j += 1


@inlined
def quadratic(x: Floats, inverse: Floats, product: Floats) -> float:
    """Compute x^T V^-1 x, `(n),(n,n),(n)->()`, clipped at 0, and leave V^-1 x in `product`."""
    multiply(inverse, x, product)
    return max(dot(x, product), 0.0)


@kernel
def _mend(inverse: Floats, x: Floats, gain: Floats, square: float) -> None:
    """Remove the rounding error E of a new inverse in the direction x, in place, `(n,n),(n),(n),()`.

    Equation: (I - k x^T) E (I - x k^T), k the exact (V + x x^T)^-1 x; so r = k - inverse x is -E x, and the inverse
    changes by r k^T + k r^T - (x.r) k k^T, as in Joseph's form of the update.
    """
    n, off = len(x), np.empty(len(x))
    multiply(inverse, x, off)
    for i in range(n):
        off[i] = gain[i] / (1.0 + square) - off[i]
    along = dot(x, off)
    for i in range(n):
        k = gain[i] / (1.0 + square)
        for j in range(n):
            inverse[i, j] += off[i] * gain[j] / (1.0 + square) + k * (off[j] - along * gain[j] / (1.0 + square))


@kernel
def _shrinks(inverse: Floats, before: Floats) -> bool:
    """Whether every diagonal entry is above 0 and has not grown, `(n,n),(n,n)->()`."""
    for i in range(len(inverse)):  # noqa: SIM110, a loop compiles to less code than a generator
        if not 0.0 < inverse[i, i] <= before[i, i]:
            return False
    return True


@kernel
def absorb(inverse: Floats, x: Floats, gain: Floats) -> float:
    """Replace V by V + x x^T (Sherman-Morrison) in place; leaves V_old^-1 x in `gain` and returns x^T V_old^-1 x.

    Where x^T V^-1 x is so large that rounding spoils the difference, the direction of x is mended. If a diagonal entry
    is not between 0 and its old value even then, V^-1 stays as it is, and `gain` and the result are 0: an inverse that
    is not positive definite would grow without bound.
    """
    n = len(x)
    multiply(inverse, x, gain)
    square = dot(x, gain)
    large = square > _LARGE
    sound = square > 0.0
    for i in range(n):
        if gain[i] != 0.0 and not large:
            sound = sound and gain[i] * gain[i] < inverse[i, i] * (1.0 + square)
    if not sound:
        gain[:] = 0.0
        return 0.0
    before = inverse.copy() if large else inverse
    for i in range(n):
        if gain[i] != 0.0:
            step = gain[i] / (1.0 + square)
            for j in range(n):
                inverse[i, j] -= step * gain[j]
    if large:
        _mend(inverse, x, gain, square)
        if not _shrinks(inverse, before):
            for i in range(n):
                for j in range(n):
                    inverse[i, j] = before[i, j]
            gain[:] = 0.0
            return 0.0
    return square


def fresh(replicas: int, n: int, ridge: float) -> Floats:
    """Return the inverse of ridge * I for every replica, `()->(R, n, n)`."""
    return np.tile(np.eye(n) / ridge, (replicas, 1, 1))


@inlined
def two_sum(s: float, rest: float, x: float) -> tuple[float, float]:
    """Add x to a sum; returns the sum and its rounding error, `(),(),()->(),()`.

    Equation: s + r + x = s' + r' up to some 1e-32 of the sum, s' being the sum in double precision and r' its rounding
    error. After 10^7 additions of 0.1 the sum is 10^6 to its last bit, while a plain sum is off by 0.0002.

    Source: T. J. Dekker, A floating-point technique for extending the available precision, 1971, add2.

    >>> s = rest = 0.0
    >>> for _ in range(1000):
    ...     s, rest = two_sum(s, rest, 0.1)
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
    sums[i, j], rest[i, j] = two_sum(sums[i, j], rest[i, j], x)
