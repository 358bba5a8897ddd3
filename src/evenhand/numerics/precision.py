"""Rank-one growth of a precision matrix V = ridge * I + sum of x x^T, kept as its inverse and log-determinant.

Zeros of x are skipped, so that features in one action's block cost only that block.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats


@inlined
def dot(x: Floats, theta: Floats) -> float:
    """x . theta, `(n),(n)->()`."""
    total = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            total += x[i] * theta[i]
    return total


@kernel
def norm2(x: Floats) -> float:
    """x . x, `(n)->()`, in four sums, because the additions of a single sum wait for one another."""
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
    """V^-1 x, `(n,n),(n),(n)`, into `product`, column by column, so that additions do not wait for one another."""
    n = len(x)
    product[:] = 0.0
    for j in range(n):
        if x[j] != 0.0:
            for i in range(n):
                product[i] += inverse[j, i] * x[j]


@inlined
def quadratic(x: Floats, inverse: Floats, product: Floats) -> float:
    """x^T V^-1 x, `(n),(n,n),(n)->()`, with V^-1 x left in `product`; rounding never makes it negative."""
    multiply(inverse, x, product)
    return max(dot(x, product), 0.0)


@kernel
def absorb(inverse: Floats, x: Floats, gain: Floats) -> float:
    """Replace V by V + x x^T (Sherman-Morrison), in place; leave V_old^-1 x in `gain` and return x^T V_old^-1 x.

    If rounding makes x^T V^-1 x or a new diagonal entry non-positive (|x|^2 / ridge beyond 1e16), V^-1 stays as it is,
    and `gain` and the result are 0: an inverse that is not positive definite would grow without bound.
    """
    n = len(x)
    multiply(inverse, x, gain)
    square = dot(x, gain)
    sound = square > 0.0
    for i in range(n):
        if gain[i] != 0.0:
            sound = sound and gain[i] * gain[i] < inverse[i, i] * (1.0 + square)
    if not sound:
        gain[:] = 0.0
        return 0.0
    for i in range(n):
        if gain[i] != 0.0:
            step = gain[i] / (1.0 + square)
            for j in range(n):
                inverse[i, j] -= step * gain[j]
    return square


def fresh(replicas: int, n: int, ridge: float) -> Floats:
    """The inverse of ridge * I for every replica, `()->(R, n, n)`."""
    return np.tile(np.eye(n) / ridge, (replicas, 1, 1))
