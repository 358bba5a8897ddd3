"""Inverses of ridge I + sum x x^T with fewer observations than features: n^2 operations for each, not n^3."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.numerics.likelihood import LOGISTIC, Data
from evenhand.numerics.newton import cholesky, eliminate, fit, invert, sigmoid
from evenhand.numerics.precision import absorb, dot, norm2
from evenhand.numerics.products import add_products, subtract_rows

WIDE = 200  # features, from which on ranks are looked at: smaller inverses take a millisecond, and stay as they were
_NOTHING = 1e-13  # of the largest diagonal entry, at which what is left of a matrix is rounding


@kernel
def roots(gram: Floats, rows: Floats) -> int:
    """Write rows whose products with themselves add up to a matrix, `(n,n)->(k,n)`; returns their number, the rank.

    It is -1 if k rows are too few. Equation: Cholesky's factor, the largest remaining diagonal entry first.
    """
    n, left = len(gram), np.empty(len(gram))
    least = 0.0
    for i in range(n):
        left[i] = gram[i, i]
        least = max(least, _NOTHING * left[i])
    for k in range(len(rows) + 1):
        at = 0
        for i in range(n):
            if left[i] > left[at]:
                at = i
        if not left[at] > least:
            return k
        if k == len(rows):
            break
        root = math.sqrt(left[at])
        for i in range(n):
            rows[k, i] = gram[at, i]
        subtract_rows(rows, k, rows[:, at], rows[k], 0, n)
        for i in range(n):
            rows[k, i] /= root
            left[i] -= rows[k, i] * rows[k, i]
        left[at] = 0.0
    return -1


@kernel
def eliminated(rows: Floats, ridge: float) -> Floats:
    """Compute [L^T L^-1 X] with L L^T = ridge I + X X^T, `(k,n),()->(k,k+n)`."""
    count, n = rows.shape
    products, both = np.zeros((count, count)), np.empty((count, count + n))
    add_products(rows.T.copy(), np.ones(n), products)
    for i in range(count):
        products[i, i] += ridge
        for j in range(i, count):
            both[i, j] = products[j, i]
        for j in range(n):
            both[i, count + j] = rows[i, j]
    eliminate(both)
    return both


@kernel
def invert_rows(rows: Floats, ridge: float, out: Floats) -> None:
    """Invert ridge I + sum x x^T over some rows, which are used up, `(k,n),()->(n,n)`.

    Equation: (I - X^T (ridge I + X X^T)^-1 X) / ridge (Woodbury).
    """
    (count, n), both = rows.shape, eliminated(rows, ridge)
    for i in range(count):
        for j in range(n):
            rows[i, j] = both[i, count + j]
    out[:] = 0.0
    for i in range(n):
        out[i, i] = 1.0
    add_products(rows, np.full(count, -1.0), out)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] /= ridge
            out[j, i] = out[i, j]


@kernel
def are_few(count: float, n: int) -> bool:
    """Whether some observations are so few that the space of their features is the one to compute in, `(),()->()`."""
    return n >= WIDE and 3.0 * count <= n


@kernel
def invert_sum(gram: Floats, ridge: float, room: Floats, out: Floats) -> None:
    """Invert ridge I + a matrix, `(n,n),(),(n,n)->(n,n)`; what is in the room is lost."""
    n = len(gram)
    if n >= WIDE:
        rows = room[: n // 3]
        rank = roots(gram, rows)
        if rank >= 0:
            invert_rows(rows[:rank], ridge, out)
            return
    for i in range(n):
        for j in range(n):
            room[i, j] = gram[i, j]
        room[i, i] += ridge
    cholesky(room)
    invert(room, out)


@kernel
def absorb_few(inverse: Floats, gram: Floats, weight: float, room: Floats) -> bool:
    """Add a matrix, times a weight, to V, whose inverse changes in place, `(n,n),(),(n,n)->(n,n)`; if its rank is low.

    It returns whether it is, and does nothing elsewhere. What is in the room is lost.
    """
    n = len(gram)
    if n < WIDE:
        return False
    rows, gain = room[: n // 10], np.empty(n)
    rank, root = roots(gram, rows), math.sqrt(weight)
    for k in range(rank):
        for i in range(n):
            rows[k, i] *= root
        absorb(inverse, rows[k], gain)
    return rank >= 0


@kernel
def fit_few(data: Data, origin: Floats, ridge: float, tolerance: float, theta: Floats, inverse: Floats) -> None:
    """Do as `newton.fit` for the logistic link, and invert the Hessian, `(),(n),(),()->(n),(n,n)`.

    The penalty is on theta - origin. Equation: theta is a sum of the observations' features and its origin, the rows of
    X; with L L^T = X X^T, theta = X^T L^-T z has |theta| = |z| and X theta = L z.
    """
    x, y, weight = data
    count, n = x.shape
    size = count + (1 if norm2(origin) > 0.0 else 0)
    rows = np.empty((size, n))
    for j in range(n):
        for s in range(count):
            rows[s, j] = x[s, j]
        if size > count:
            rows[count, j] = origin[j]
    both = eliminated(rows, 0.0)
    features, z, slope = np.zeros((count, size)), np.zeros(size), np.zeros(size)
    for i in range(size):
        for s in range(i, count):
            features[s, i] = both[i, s]
        if size > count:
            slope[i] = -ridge * both[i, count]
        for j in range(n):
            z[i] += both[i, size + j] * theta[j]
    nothing = np.zeros(size), slope, np.zeros((size, size))
    fit(LOGISTIC, (features, y, weight), nothing, z, np.empty((size, size)), ridge, tolerance)
    theta[:] = 0.0
    for i in range(size):
        for j in range(n):
            theta[j] += z[i] * both[i, size + j]
    for s in range(count):
        center = sigmoid(dot(features[s], z))
        root = math.sqrt(weight[s] * center * (1.0 - center))
        for j in range(n):
            rows[s, j] = root * x[s, j]
    invert_rows(rows[:count], ridge, inverse)
