"""Penalty, noise and exploration of a Bayesian regression, estimated from its own data (evidence maximisation).

All numbers are in units of an outcome's range. Before any data, an outcome's noise and the spread of its means are each
a quarter of the range, as one observation would show them; so is a direction's first observation worth as much as
what is believed beforehand.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats
from evenhand.numerics.newton import cholesky, invert
from evenhand.numerics.precision import dot

BELIEVED = 0.25**2  # variance of noise, and of means, before any data
_PASSES = 3


@inlined
def ahead(count: float, rounds: float, horizon: float) -> float:
    """How many more observations to expect, if they go on at the rate of those so far."""
    left = max(horizon - rounds, 0.0)
    return left * count / rounds if rounds > 0.0 else left


@inlined
def reach(square: float, more: float, n: int) -> float:
    """sqrt(q ln(1 + m q / n)): how far a mean may be off, in standard deviations of the noise.

    q is the variance of the estimate in units of the noise's. m more observations, spread over n directions, would
    leave a variance of n / m in each: what is known better than that is not worth exploring.
    """
    return math.sqrt(square * math.log1p(more * square / n))


@kernel
def fit(
    gram: Floats,
    moment: Floats,
    squares: Floats,
    count: float,
    ridge: float,
    theta: Floats,
    inverse: Floats,
    sigma: Floats,
) -> float:
    """Maximise the evidence of a ridge regression; return its penalty, `(n,n),(M,n),(M,M),(),()->(M,n),(n,n),(M,M),()`.

    With g = n - rho tr V^-1 effective parameters, noise_m = RSS_m / (N - g), spread_m = |theta_m|^2 / g per unit of the
    features' mean square, and rho = 1 / mean_m (spread_m / noise_m) in that unit, each with what is believed before any
    data as one more observation; iterated from the present rho.
    Source: MacKay 1992 (Bayesian interpolation, Section 4), with one penalty for all outcomes.
    """
    n, outcomes = len(gram), len(moment)
    trace = 0.0
    for i in range(n):
        trace += gram[i, i]
    scale = trace / count
    matrix, mean = np.empty((n, n)), np.empty(n)
    rho = ridge if ridge > 0.0 else scale
    for step in range(_PASSES):
        matrix[:] = gram
        for i in range(n):
            matrix[i, i] += rho
        cholesky(matrix)
        invert(matrix, inverse)
        free = float(n)
        for i in range(n):
            free -= rho * inverse[i, i]
        free = min(max(free, 0.0), float(n))
        for m in range(outcomes):
            for i in range(n):
                theta[m, i] = dot(moment[m], inverse[i])
        for m in range(outcomes):
            for i in range(n):
                mean[i] = dot(theta[m], gram[i])
            for j in range(outcomes):
                missed = squares[m, j] - dot(theta[m], moment[j]) - dot(theta[j], moment[m]) + dot(theta[j], mean)
                believed = BELIEVED if m == j else 0.0
                sigma[m, j] = (believed + (max(missed, 0.0) if m == j else missed)) / (1.0 + max(count - free, 0.0))
        if step + 1 < _PASSES:
            ratio = 0.0
            for m in range(outcomes):
                spread = (BELIEVED + scale * dot(theta[m], theta[m])) / (1.0 + free)
                ratio += spread / sigma[m, m] / outcomes
            rho = scale / ratio
    return rho
