"""Ridge-penalised logistic regression by damped Newton steps.

Minimises  sum_s [log(1 + exp(u_s)) - y_s u_s] + ridge/2 |theta|^2  with u = X theta and y in [0, 1]. An undamped
Newton method diverges silently on the small or separable samples of a run's first rounds, so each step is halved until
the objective decreases enough.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.numerics.precision import dot


@kernel
def sigmoid(u: float) -> float:
    """1 / (1 + exp(-u)) without overflow."""
    e = math.exp(-abs(u))
    return 1.0 / (1.0 + e) if u >= 0.0 else e / (1.0 + e)


@kernel
def _evaluate(
    x: Floats, y: Floats, theta: Floats, ridge: float, gradient: Floats, hessian: Floats, nonzero: Ints
) -> float:
    """The objective at theta; fills its gradient and the lower half of its Hessian in one pass over the data."""
    n = len(theta)
    hessian[:] = 0.0
    value = 0.0
    for i in range(n):
        value += 0.5 * ridge * theta[i] * theta[i]
        gradient[i] = ridge * theta[i]
        hessian[i, i] = ridge
    product = 1.0  # of 1 + exp(-|u|) over observations, so that logarithms are rare
    for s in range(len(y)):
        count, u = 0, 0.0
        for i in range(n):
            if x[s, i] != 0.0:
                nonzero[count] = i
                count += 1
                u += x[s, i] * theta[i]
        e = math.exp(-abs(u))
        mean = 1.0 / (1.0 + e) if u >= 0.0 else e / (1.0 + e)
        product *= 1.0 + e
        if product > 1e200:
            value += math.log(product)
            product = 1.0
        value += max(u, 0.0) - y[s] * u
        slope, curve = mean - y[s], e / ((1.0 + e) * (1.0 + e))
        for k in range(count):
            i = nonzero[k]
            gradient[i] += slope * x[s, i]
            scaled = curve * x[s, i]
            for j in range(k + 1):
                hessian[i, nonzero[j]] += scaled * x[s, nonzero[j]]
    return value + math.log(product)


@kernel
def cholesky(matrix: Floats) -> None:
    """Overwrite the lower half of a positive definite matrix by its factor L, L L^T = matrix, `(n,n)`.

    Pivots are raised to 1e-13 of their diagonal entry if rounding has made them smaller. A matrix that is singular in
    floating point (collinear features of large scale, tiny ridge) is thus treated as barely positive definite.
    """
    n = len(matrix)
    for j in range(n):
        least = 1e-13 * matrix[j, j]
        for k in range(j):
            for i in range(j, n):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
        matrix[j, j] = max(matrix[j, j], least)
        root = math.sqrt(matrix[j, j])
        for i in range(j, n):
            matrix[i, j] /= root


@kernel
def solve(matrix: Floats, right: Floats, out: Floats) -> None:
    """Solve matrix out = right, `(n,n),(n)->(n)`; leaves the Cholesky factor in the lower half of the matrix."""
    n = len(right)
    cholesky(matrix)
    for i in range(n):
        total = right[i]
        for k in range(i):
            total -= matrix[i, k] * out[k]
        out[i] = total / matrix[i, i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, n):
            total -= matrix[k, i] * out[k]
        out[i] = total / matrix[i, i]


@kernel
def fit_logistic(x: Floats, y: Floats, theta: Floats, root: Floats, ridge: float, tolerance: float) -> int:
    """Move theta in place from its value to the minimum, `(s,n),(s),(n),(n,n)->()`; return the passes over the data.

    Stops after the step whose squared Newton decrement is at most `tolerance` (the next would be about its square).
    The lower half of `root` becomes the Cholesky factor of the Hessian from which the last step was computed.
    """
    n = len(theta)
    gradient, step, hessian, nonzero = np.empty(n), np.empty(n), np.empty((n, n)), np.empty(n, np.int64)
    value = _evaluate(x, y, theta, ridge, gradient, hessian, nonzero)
    passes = 1
    while passes < 100:
        solve(hessian, gradient, step)
        root[:] = hessian
        decrement = dot(gradient, step)
        if not decrement > tolerance:
            theta -= step
            break
        size = 1.0
        while True:
            trial = theta - size * step
            reached = _evaluate(x, y, trial, ridge, gradient, hessian, nonzero)
            passes += 1
            enough = reached <= value - 1e-4 * size * decrement
            if enough or size < 1e-18:
                break
            size *= 0.5
        if not enough:  # only rounding error is left
            break
        theta[:] = trial
        value = reached
    return passes


@kernel
def invert(factor: Floats, out: Floats) -> None:
    """(L L^T)^-1, `(n,n)->(n,n)`, where the lower half of `factor` is L, as `cholesky` leaves it."""
    n = len(factor)
    for i in range(n):  # the lower half of `out` becomes L^-1, row by row, because numbers in a row do not wait
        out[i, :i] = 0.0
        for k in range(i):
            for j in range(k + 1):
                out[i, j] -= factor[i, k] * out[k, j]
        for j in range(i):
            out[i, j] /= factor[i, i]
        out[i, i] = 1.0 / factor[i, i]
    for i in range(n):  # then L^-T L^-1, where each row reads itself and later rows only
        last = out[i, i]
        for j in range(i + 1):
            out[i, j] *= last
        for k in range(i + 1, n):
            for j in range(i + 1):
                out[i, j] += out[k, i] * out[k, j]
    for i in range(n):
        for j in range(i):
            out[j, i] = out[i, j]
