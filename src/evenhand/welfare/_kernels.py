"""Kernels of satisfaction functions: values, slopes, conjugates, the welfare of an allocation, and their records."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare.curves import Curves


class Case(NamedTuple):
    """The round of one replica, as in `Round`, and the curves of its arms."""

    value: Floats  # (N, A)
    bonus: Floats  # (N, A)
    eligible: Bools  # (N, A)
    capacity: Ints  # (A,)
    curves: Curves


class Prices(NamedTuple):
    """The prices of a match and of a place in every arm; kernels change them in place."""

    prices: Floats  # (A,)
    fees: Floats  # (A,)


class Placement(NamedTuple):
    """An allocation and its sums by arm; kernels change them in place."""

    arms: Ints  # (N,), -1 for a user without an arm
    sums: Floats  # (A,) of the values of an arm's users
    counts: Ints  # (A,) of its users


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
    return interpolate(knots, values, a, x)


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
def draw_arm(weight: Floats, u: float) -> tuple[int, float]:
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
def interpolate(knots: Floats, values: Floats, a: int, x: float) -> float:
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


_HALVINGS = 60  # of the interval in which a maximiser lies


@kernel
def steepness(curves: Curves, a: int, x: float) -> tuple[float, float]:
    """Compute r_a' to the right of x, and -r_a'', `()->(),()`."""
    kind, size, knots, values = curves
    if kind[a] == 0:
        return 1.0 if x < size[a] else 0.0, 0.0
    if kind[a] == 1:
        slope = 1.0 / (1.0 + x / size[a])
        return slope, slope * slope / size[a]
    if kind[a] == 2:
        slope = (1.0 + x) ** (size[a] - 1.0)
        return slope, (1.0 - size[a]) * slope / (1.0 + x)
    if x >= knots[a, -1]:
        return 0.0, 0.0
    i = piece(knots, a, x)
    return (values[a, i + 1] - values[a, i]) / (knots[a, i + 1] - knots[a, i]), 0.0


@kernel
def conjugate(
    curves: Curves, a: int, price: float, most: float, bend: float, matches: float, unit: float
) -> tuple[float, float, float]:
    """Maximise r_a(matches y) / unit - price y - bend y^2 / 2 over y in [0, most]; returns also y and minus its slope.

    `()->(),(),()`; the slope is that of the maximiser in the price. With a bend above 0 the maximiser is unique, and
    the slope -y of the maximum in the price is continuous.
    """
    rise = matches / unit
    first, at_end = rise * steepness(curves, a, 0.0)[0], rise * steepness(curves, a, matches * most)[0]
    if first <= price:
        return 0.0, 0.0, 0.0
    low, high, reaction = 0.0, most, 0.0
    if at_end - bend * most >= price:
        low = most
    else:
        for _ in range(_HALVINGS):
            y = 0.5 * (low + high)
            if rise * steepness(curves, a, matches * y)[0] - bend * y > price:
                low = y
            else:
                high = y
        left, curvature = steepness(curves, a, matches * low)
        jump = rise * (left - steepness(curves, a, matches * high)[0])
        if jump <= 1e-9 * first:  # else r bends here, and the maximiser stays where it is
            reaction = 1.0 / (bend + rise * matches * curvature)
    return utility(curves, a, matches * low) / unit - price * low - 0.5 * bend * low * low, low, reaction
