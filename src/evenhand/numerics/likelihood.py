"""Negative log-likelihoods of generalised linear models with canonical links: their sums, gradients and Hessians.

An observation costs  m(u) - y u  with u = x.theta and m' the link's mean; its gradient is (m'(u) - y) x and its Hessian
m''(u) x x^T. The quadratic that replaces discarded observations is

    slope.(theta - anchor) + (theta - anchor)^T curve (theta - anchor) / 2,

stated around an anchor near the estimate, so that no large numbers cancel even for many observations.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.numerics.products import add_products

IDENTITY, LOGISTIC, EXPONENTIAL = 0, 1, 3  # the numbers of the canonical links in `models.links`


Data = tuple[Floats, Floats, Floats]  # features (s, n), outcomes (s,), and weights (s,), all 1 if there are none


@kernel
def add_losses(
    link: int, data: Data, theta: Floats, value: float, gradient: Floats, hessian: Floats, nonzero: Ints
) -> float:
    """Return a value plus the costs of observations; add to gradient and lower half of the Hessian, in one pass.

    `(),(n),()->(n),(n,n),()`; `nonzero` is room for n numbers.
    """
    x, y, weight = data
    n, filled = len(theta), 0
    for s in range(len(y)):
        for i in range(n):
            filled += x[s, i] != 0.0
    dense = 2 * filled > n * len(y)
    amount = np.empty(len(y))
    product = 1.0  # of 1 + exp(-|u|) over observations, so that logarithms are rare
    for s in range(len(y)):
        count, u, c = 0, 0.0, weight[s] if len(weight) > 0 else 1.0
        for i in range(n):
            if x[s, i] != 0.0:
                nonzero[count] = i
                count += 1
                u += x[s, i] * theta[i]
        if link == LOGISTIC:
            e = math.exp(-abs(u))
            mean = 1.0 / (1.0 + e) if u >= 0.0 else e / (1.0 + e)
            if c == 1.0:
                product *= 1.0 + e
            else:
                value += c * math.log1p(e)
            if product > 1e200:
                value += math.log(product)
                product = 1.0
            value += c * (max(u, 0.0) - y[s] * u)
            slope, curve = mean - y[s], e / ((1.0 + e) * (1.0 + e))
        elif link == EXPONENTIAL:
            mean = math.exp(u)
            value += c * (mean - y[s] * u)
            slope, curve = mean - y[s], mean
        else:
            value += c * (0.5 * u - y[s]) * u
            slope, curve = u - y[s], 1.0
        amount[s] = c * curve
        for k in range(count):
            i = nonzero[k]
            gradient[i] += c * slope * x[s, i]
            scaled = amount[s] * x[s, i]
            for j in range(0 if dense else k + 1):
                hessian[i, nonzero[j]] += scaled * x[s, nonzero[j]]
    if dense:
        add_products(x, amount, hessian)
    return value + math.log(product)


@kernel
def add_quadratic(
    anchor: Floats, slope: Floats, curve: Floats, theta: Floats, value: float, gradient: Floats, hessian: Floats
) -> float:
    """Return a value plus a quadratic's at theta; add to gradient and Hessian, `(n),(n),(n,n),(n),()->(n),(n,n),()`."""
    n = len(theta)
    for i in range(n):
        pull = 0.0
        for j in range(n):
            pull += curve[i, j] * (theta[j] - anchor[j])
            hessian[i, j] += curve[i, j]
        value += (slope[i] + 0.5 * pull) * (theta[i] - anchor[i])
        gradient[i] += slope[i] + pull
    return value


@kernel
def fold(link: int, data: Data, theta: Floats, anchor: Floats, slope: Floats, curve: Floats) -> None:
    """Add the second-order expansion of costs at theta to a quadratic, whose anchor moves there, in place.

    `(),(n)->(n),(n),(n,n)`.
    """
    n = len(theta)
    for i in range(n):
        for j in range(n):
            slope[i] += curve[i, j] * (theta[j] - anchor[j])
    for i in range(n):
        anchor[i] = theta[i]
    add_losses(link, data, theta, 0.0, slope, curve, np.empty(n, np.int64))
    for i in range(n):
        for j in range(i):
            curve[j, i] = curve[i, j]
