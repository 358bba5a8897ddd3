"""Ridge-penalised maximum likelihood of generalised linear models by damped Newton steps.

Minimises  sum_s weight_s [m(u_s) - y_s u_s] + ridge/2 |theta|^2 + a quadratic  with u = X theta; for the logistic link
m(u) = log(1 + exp(u)). An undamped Newton method diverges silently on the small or separable samples of a run's first
rounds, so each step is halved until the objective decreases enough.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.numerics.likelihood import EXPONENTIAL, Data, add_losses, add_quadratic
from evenhand.numerics.precision import dot
from evenhand.numerics.products import subtract_rows

_ENORMOUS = 1e12  # only exponential means at unseen features make the objective so large


@kernel
def sigmoid(u: float) -> float:
    """Compute 1 / (1 + exp(-u)) without overflow."""
    e = math.exp(-abs(u))
    return 1.0 / (1.0 + e) if u >= 0.0 else e / (1.0 + e)


@kernel
def eliminate(matrix: Floats) -> None:
    """Overwrite [V X], of whose V the upper half is read, by [L^T L^-1 X] with L L^T = V, `(n,n+m)`.

    Pivots are raised to 1e-13 of their diagonal entry if rounding has made them smaller. A matrix that is singular in
    floating point (collinear features of large scale, tiny ridge) is thus treated as barely positive definite.
    """
    n, width = matrix.shape
    for j in range(n):  # row by row, because numbers in a row do not wait
        least = 1e-13 * matrix[j, j]
        subtract_rows(matrix, j, matrix[:, j], matrix[j], j, width)
        matrix[j, j] = max(matrix[j, j], least)
        root = math.sqrt(matrix[j, j])
        for i in range(j, width):
            matrix[j, i] /= root


@kernel
def cholesky(matrix: Floats) -> None:
    """Overwrite the lower half of a positive definite matrix by its factor L, L L^T = matrix, and the upper by L^T."""
    n = len(matrix)
    for j in range(1, n):
        for i in range(j):
            matrix[i, j] = matrix[j, i]
    eliminate(matrix)
    for i in range(1, n):
        for j in range(i):
            matrix[i, j] = matrix[j, i]


@kernel
def solve(matrix: Floats, right: Floats, out: Floats) -> None:
    """Solve matrix out = right, `(n,n),(n)->(n)`; leaves the Cholesky factor in the lower half of the matrix.

    Vectors may have more room.
    """
    n = len(matrix)
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
def _evaluate(
    link: int,
    data: Data,
    older: tuple[Floats, Floats, Floats],
    theta: Floats,
    ridge: float,
    gradient: Floats,
    hessian: Floats,
    nonzero: Ints,
) -> float:
    """Evaluate the objective at theta, its gradient and the lower half of its Hessian in one pass over the data."""
    hessian[:] = 0.0
    value = 0.0
    for i in range(len(theta)):
        value += 0.5 * ridge * theta[i] * theta[i]
        gradient[i] = ridge * theta[i]
        hessian[i, i] = ridge
    anchor, slope, curve = older
    value = add_quadratic(anchor, slope, curve, theta, value, gradient, hessian)
    return add_losses(link, data, theta, value, gradient, hessian, nonzero)


@kernel
def fit(
    link: int,
    data: Data,
    older: tuple[Floats, Floats, Floats],
    theta: Floats,
    root: Floats,
    ridge: float,
    tolerance: float,
) -> int:
    """Move theta to the minimum in place; returns the number of passes over the data.

    `(),((n),(n),(n,n)),(n),(n,n)->()`; `data` and `older` are those of `numerics.likelihood`. Stops after the step
    whose squared Newton decrement is at most `tolerance` (the next would be about its square). The lower half of `root`
    becomes the Cholesky factor of the Hessian from which the last step was computed. Starts from 0 if exponential means
    are enormous at theta, from where Newton's method would take one step per unit of u.
    """
    n = len(theta)
    gradient, step, trial = np.empty(n), np.empty(n), np.empty(n)
    hessian, nonzero = np.empty((n, n)), np.empty(n, np.int64)
    value = _evaluate(link, data, older, theta, ridge, gradient, hessian, nonzero)
    passes = 1
    if link == EXPONENTIAL and not value < _ENORMOUS:
        theta[:] = 0.0
        value = _evaluate(link, data, older, theta, ridge, gradient, hessian, nonzero)
        passes += 1
    while passes < 100:
        solve(hessian, gradient, step)
        for i in range(n):
            for j in range(i + 1):
                root[i, j] = hessian[i, j]
        decrement = dot(gradient, step)
        if not decrement > tolerance:
            for i in range(n):
                theta[i] -= step[i]
            break
        size = 1.0
        while True:
            for i in range(n):
                trial[i] = theta[i] - size * step[i]
            reached = _evaluate(link, data, older, trial, ridge, gradient, hessian, nonzero)
            passes += 1
            enough = reached <= value - 1e-4 * size * decrement
            if enough or size < 1e-18:
                break
            size *= 0.5
        if not enough:  # only rounding error is left
            break
        for i in range(n):
            theta[i] = trial[i]
        value = reached
    return passes


@kernel
def invert(factor: Floats, out: Floats) -> None:
    """Compute (L L^T)^-1, `(n,n)->(n,n)`, where the lower half of `factor` is L, as from `cholesky`."""
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
