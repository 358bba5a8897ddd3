"""Maxima of piecewise linear functions of ranks over boxes, level by level."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints


@kernel
def gini_maximizer(theta: Floats, order: Ints, weights: Floats, low: Floats, high: Floats, levels: Floats) -> Floats:
    """Find argmax_y theta.y + sum_k w_k y_(k), lowest first, over low <= y <= high, `(m),(m),(m),(m),(m),(L)->(m)`.

    Equation: theta.y + f(y) is the integral over levels of F({i : y_i above}), F(S) = theta(S) + the last |S| weights,
    up to a constant. Between two levels, the sets of the k largest thetas are candidates, and the least maximiser is
    taken, which can only lose outcomes as levels rise. So the sets are those of a point.

    Args:
        theta: rows of slopes.
        order: the sorting order of every row, largest first.
        weights: the weights, never increasing.
        low, high: the ends of the outcomes.
        levels: all ends in increasing order.
    """
    m = theta.shape[1]
    y = np.empty(theta.shape)
    for r in range(len(theta)):
        for i in range(m):
            y[r, i] = low[i]
        for n in range(len(levels) - 1):
            bottom, top = levels[n], levels[n + 1]
            inside = 0  # outcomes above this level in all points of the box
            for i in range(m):
                if low[i] >= top:
                    inside += 1
            gain, best, count, k = 0.0, 0.0, 0, 0
            for place in range(m):
                i = order[r, place]
                if low[i] <= bottom and high[i] >= top:
                    k += 1
                    gain += theta[r, i] + weights[m - inside - k]
                    if gain > best:
                        best, count = gain, k
            k = 0
            for place in range(m):
                i = order[r, place]
                if k < count and low[i] <= bottom and high[i] >= top:
                    k += 1
                    y[r, i] = top
    return y
