"""Kernels of satisfaction functions: values, conjugates, and the welfare of an allocation."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats, Ints
from evenhand.welfare.curves import Curves


@inlined
def utility(curves: Curves, a: int, x: float) -> float:
    """Compute r_a(x)."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return float(min(x, size[a]))
    if kind[a] == 1:
        return float(size[a] * math.log1p(x / size[a]))
    if kind[a] == 2:
        return float(math.expm1(size[a] * math.log1p(x)) / size[a])
    return between(knots, values, a, x)


@kernel
def slope(curves: Curves, a: int, x: float) -> float:
    """Compute a slope of r_a at x: r_a(y) <= r_a(x) + slope (y - x) for all y of at least 0, as r_a is concave."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return 1.0 if x < size[a] else 0.0
    if kind[a] == 1:
        return float(1.0 / (1.0 + x / size[a]))
    if kind[a] == 2:
        return float(math.exp((size[a] - 1.0) * math.log1p(x)))
    if x >= knots[a, -1]:
        return 0.0
    i = piece(knots, a, x)
    return float((values[a, i + 1] - values[a, i]) / (knots[a, i + 1] - knots[a, i]))


@inlined
def drawn(weight: Floats, u: float) -> tuple[int, float]:
    """Draw an arm in proportion to weights; returns it and its probability, `(A),()->(),()`; -1 and 1 if all are 0."""
    total, chosen = 0.0, -1
    for a in range(len(weight)):
        total += weight[a]
    left = u * total
    for a in range(len(weight)):
        if weight[a] > 0.0:
            chosen = a  # the last one if rounding leaves a remainder
            left -= weight[a]
            if left < 0.0:
                break
    return chosen, weight[chosen] / total if chosen >= 0 else 1.0


@kernel
def between(knots: Floats, values: Floats, a: int, x: float) -> float:
    """Evaluate a piecewise linear function at x; it is flat after the last knot."""
    if x >= knots[a, -1]:
        return float(values[a, -1])
    i = piece(knots, a, x)
    part = (x - knots[a, i]) / (knots[a, i + 1] - knots[a, i])
    return float(values[a, i] + part * (values[a, i + 1] - values[a, i]))


@kernel
def piece(knots: Floats, a: int, x: float) -> int:
    """Find the last knot that is at most x, except the very last, by bisection."""
    low, high = 0, knots.shape[1] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[a, middle] <= x:
            low = middle
        else:
            high = middle
    return low


@kernel
def first_slope(curves: Curves, a: int) -> float:
    """Return r_a'(0), the largest gain of a match."""
    kind, _, knots, values = curves
    return 1.0 if kind[a] < 3 else float((values[a, 1] - values[a, 0]) / (knots[a, 1] - knots[a, 0]))


@kernel
def best_sum(curves: Curves, a: int, price: float, most: float) -> float:
    """Find the sum x in [0, most] that maximises r_a(x) - price x."""
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
    """Compute sum_a r_a(sum of its users' values) + sum of bonuses, `(N,A),(N,A),(N)->()`; arm -1 means none."""
    sums, total = np.zeros(value.shape[1]), 0.0
    for i in range(len(arms)):
        if arms[i] >= 0:
            sums[arms[i]] += value[i, arms[i]]
            total += bonus[i, arms[i]]
    for a in range(len(sums)):
        total += utility(curves, a, sums[a])
    return total
