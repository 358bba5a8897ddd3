"""Kernels of satisfaction functions: values, conjugates, and the welfare of an allocation."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats, Ints

Arrays = tuple[Ints, Floats, Floats, Floats]  # of `Curves`


@inlined
def utility(curves: Arrays, a: int, x: float) -> float:
    """r_a(x)."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return float(min(x, size[a]))
    if kind[a] == 1:
        return float(size[a] * math.log1p(x / size[a]))
    if kind[a] == 2:
        return float(((x + 1.0) ** size[a] - 1.0) / size[a])
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
def first_slope(curves: Arrays, a: int) -> float:
    """r_a'(0), the most that a match can add."""
    kind, _, knots, values = curves
    return 1.0 if kind[a] < 3 else float((values[a, 1] - values[a, 0]) / (knots[a, 1] - knots[a, 0]))


@kernel
def wanted(curves: Arrays, a: int, price: float, most: float) -> tuple[float, float]:
    """The sum x in [0, most] with the largest r_a(x) - price x, and minus its slope in the price, `->(),()`.

    Where r bends, the sum jumps; the slope is then that of a line through the neighbouring jumps, 0 for a single one.
    """
    kind, size, knots, values = curves
    if kind[a] == 0:
        return min(size[a], most) if price < 1.0 else 0.0, 0.0
    if kind[a] == 1:
        if price <= 0.0:
            return most, 0.0
        x = size[a] * (1.0 / price - 1.0)
        return min(max(x, 0.0), most), size[a] / (price * price)
    if kind[a] == 2:
        if size[a] == 1.0:
            return most if price < 1.0 else 0.0, 0.0
        if price <= 0.0:
            return most, 0.0
        x = price ** (1.0 / (size[a] - 1.0)) - 1.0
        return min(max(x, 0.0), most), (x + 1.0) / (price * (1.0 - size[a]))
    low, high = 0, knots.shape[1] - 1  # the first knot after which the slope is at most the price
    while low < high:
        middle = (low + high) // 2
        slope = (values[a, middle + 1] - values[a, middle]) / (knots[a, middle + 1] - knots[a, middle])
        if slope > price:
            low = middle + 1
        else:
            high = middle
    i, j = max(low - 1, 0), min(low + 1, knots.shape[1] - 1)
    bend = 0.0
    if 0 < low < knots.shape[1] - 1:
        before = (values[a, low] - values[a, i]) / (knots[a, low] - knots[a, i])
        after = (values[a, j] - values[a, low]) / (knots[a, j] - knots[a, low])
        if after > 0.0:
            bend = 0.5 * (knots[a, j] - knots[a, i]) / max(before - after, 1e-12 * before)
    return min(knots[a, low], most), bend


@kernel
def welfare(value: Floats, bonus: Floats, curves: Arrays, arms: Ints) -> float:
    """sum_a r_a(sum of the values of its users) + sum of bonuses, `(N,A),(N,A),(N)->()`; -1 is no arm."""
    sums, total = np.zeros(value.shape[1]), 0.0
    for i in range(len(arms)):
        if arms[i] >= 0:
            sums[arms[i]] += value[i, arms[i]]
            total += bonus[i, arms[i]]
    for a in range(len(sums)):
        total += utility(curves, a, sums[a])
    return total
