"""Kernels of satisfaction functions: values, conjugates, and the welfare of an allocation."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats, Ints
from evenhand.welfare.curves import Curves


@inlined
def utility(curves: Curves, a: int, x: float) -> float:
    """r_a(x)."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return float(min(x, size[a]))
    if kind[a] == 1:
        return float(size[a] * math.log1p(x / size[a]))
    if kind[a] == 2:
        return float(math.expm1(size[a] * math.log1p(x)) / size[a])
    return between(knots, values, a, x)


@kernel
def between(knots: Floats, values: Floats, a: int, x: float) -> float:
    """A piecewise function at x, by bisection; flat after the last knot."""
    low, high = 0, knots.shape[1] - 1
    if x >= knots[a, high]:
        return float(values[a, high])
    while high - low > 1:
        middle = (low + high) // 2
        if knots[a, middle] <= x:
            low = middle
        else:
            high = middle
    part = (x - knots[a, low]) / (knots[a, high] - knots[a, low])
    return float(values[a, low] + part * (values[a, high] - values[a, low]))


@kernel
def first_slope(curves: Curves, a: int) -> float:
    """r_a'(0), the most that a match can add."""
    kind, _, knots, values = curves
    return 1.0 if kind[a] < 3 else float((values[a, 1] - values[a, 0]) / (knots[a, 1] - knots[a, 0]))


@kernel
def wanted(curves: Curves, a: int, price: float, most: float) -> float:
    """The sum x in [0, most] with the largest r_a(x) - price x."""
    kind, size, knots, values = curves
    if kind[a] == 0 or (kind[a] == 2 and size[a] == 1.0):
        return float(min(size[a] if kind[a] == 0 else most, most)) if price < 1.0 else 0.0
    if kind[a] < 3:
        if price <= 0.0:
            return most
        x = size[a] * (1.0 / price - 1.0) if kind[a] == 1 else price ** (1.0 / (size[a] - 1.0)) - 1.0
        return float(min(max(x, 0.0), most))
    low, high = 0, knots.shape[1] - 1  # the first knot after which the slope is at most the price
    while low < high:
        middle = (low + high) // 2
        slope = (values[a, middle + 1] - values[a, middle]) / (knots[a, middle + 1] - knots[a, middle])
        if slope > price:
            low = middle + 1
        else:
            high = middle
    return float(min(knots[a, low], most))


@kernel
def welfare(value: Floats, bonus: Floats, curves: Curves, arms: Ints) -> float:
    """sum_a r_a(sum of the values of its users) + sum of bonuses, `(N,A),(N,A),(N)->()`; -1 is no arm."""
    sums, total = np.zeros(value.shape[1]), 0.0
    for i in range(len(arms)):
        if arms[i] >= 0:
            sums[arms[i]] += value[i, arms[i]]
            total += bonus[i, arms[i]]
    for a in range(len(sums)):
        total += utility(curves, a, sums[a])
    return total
