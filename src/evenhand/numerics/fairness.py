"""Sums of utilities u(s) = s^(1 - alpha)/(1 - alpha), or ln s for alpha = 1, with s an outcome plus an offset.

Outside the domain values are -inf and gradients inf, never NaN: callers raise the errors.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats


@kernel
def utility(z: Floats, offset: float, weights: Floats, alpha: float) -> Floats:
    """Compute sum_i w_i u(z_i + offset), `(m),(),(m),()->()`."""
    out = np.zeros(len(z))
    for r in range(len(z)):
        for i in range(z.shape[1]):
            s = z[r, i] + offset
            if s < 0.0 or (s == 0.0 and alpha >= 1.0):
                out[r] = -np.inf
            elif alpha == 1.0:
                out[r] += weights[i] * math.log(s)
            else:
                out[r] += weights[i] * s ** (1.0 - alpha) / (1.0 - alpha)
    return out


@kernel
def marginal(z: Floats, offset: float, weights: Floats, alpha: float) -> Floats:
    """Compute w_i (z_i + offset)^-alpha, `(m),(),(m),()->(m)`."""
    out = np.full(z.shape, np.inf)
    for r in range(len(z)):
        for i in range(z.shape[1]):
            s = z[r, i] + offset
            if s > 0.0:
                out[r, i] = weights[i] * s**-alpha
    return out


@kernel
def best_response(theta: Floats, offset: float, weights: Floats, alpha: float, low: Floats, high: Floats) -> Floats:
    """Compute argmax_y theta.y + sum_i w_i u(y_i + offset), low <= y <= high, `(m),(),(m),(),(m),(m)->(m)`."""
    out = np.empty(theta.shape)
    for r in range(len(theta)):
        for i in range(theta.shape[1]):
            out[r, i] = high[i]
            if theta[r, i] < 0.0:
                s = (weights[i] / -theta[r, i]) ** (1.0 / alpha)
                out[r, i] = min(max(s - offset, low[i]), high[i])
    return out


@kernel
def power_root(c: float, k: float, alpha: float) -> float:
    """Find the root s > 0 of s - k s^-alpha = c, for k > 0; 0 if the root is too small for a float.

    The left side is increasing and concave, so Newton steps from below never pass the root. If rounding makes a step
    leave its bracket, bisection replaces it; the bracket is wide enough to allow for rounding.
    """
    top: float = k ** (1.0 / (1.0 + alpha))  # the root for c = 0
    s: float
    if c >= 0.0:
        s, high = max(c, top), 2.0 * (c + top)
    else:
        s, high = (k / (top - c)) ** (1.0 / alpha), 2.0 * top
    low = 0.5 * s
    for _ in range(200):
        if s <= 0.0:
            break
        pull = k * s**-alpha
        gap = s - c - pull
        if gap > 0.0:
            high = s
        else:
            low = s
        step = s - gap / (1.0 + alpha * pull / s)
        if not low <= step <= high:
            step = 0.5 * (low + high)
        still = abs(step - s) <= 4e-16 * s or abs(gap) <= 4e-16 * (s + abs(c) + pull)
        s = step
        if still:  # only rounding error is left
            break
    return s


@kernel
def utility_prox(z: Floats, offset: float, weights: Floats, alpha: float, beta: Floats) -> Floats:
    """Compute argmax_y sum_i w_i u(y_i + offset) - |y - z|^2 / (2 beta), `(m),(),(m),(),()->(m)`."""
    out = np.empty(z.shape)
    for r in range(len(z)):
        for i in range(z.shape[1]):
            out[r, i] = power_root(z[r, i] + offset, beta[r] * weights[i], alpha) - offset
    return out
