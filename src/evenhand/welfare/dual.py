"""Prices of arms: the entropically smoothed dual of allocation, and the bound that any prices certify.

The welfare of every allocation is at most

    D(lam, nu) = sum_a max_x [r_a(x) - lam_a x] + sum_i max_a [lam_a m_ia + b_ia - nu_a] + sum_a nu_a capacity_a

for all prices lam >= 0 of a match and nu >= 0 of a place (weak duality); the maximum of a user who may be left without
an arm, as others fill all of its arms, is at least 0. With the maximum over arms replaced by
temp log sum exp(. / temp), D is smooth but where some r_a bends, and damped Newton steps lower it.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.welfare._kernels import Case, Prices, best_sum, first_slope, utility
from evenhand.welfare.curves import CAPPED, LOGARITHMIC, PIECEWISE, Curves

_FAINT = 18.0  # an arm this many temperatures below the best has no share
_DAMPING = 0.003  # curvature added once all users have decided, in units of an arm's whole sum per first slope
_INNER = 3  # passes over the prices in a step
_BISECTIONS = 30
_RARE = 0.01  # below this probability an arm's effect on other arms is left out of a step
_EDGE = 1e-9  # distance of a price from its ends, where arms tie or sums jump to 0, per first slope
_SHORTEST = 0.02  # the part of a step that is taken even if it raises the dual


@kernel
def unit_of(value: Floats, eligible: Bools, curves: Curves) -> float:
    """Compute the mean over users of their largest first gain, which is the unit of temperatures."""
    users, arms = value.shape
    total = 0.0
    for i in range(users):
        best = 0.0
        for a in range(arms):
            if eligible[i, a]:
                best = max(best, first_slope(curves, a) * value[i, a])
        total += best
    return float(total / users)


@kernel
def spread_of(bonus: Floats, eligible: Bools) -> float:
    """Compute the mean over users of the range of their bonuses."""
    total = 0.0
    for i in range(len(bonus)):
        low, high = np.inf, -np.inf
        for a in range(bonus.shape[1]):
            if eligible[i, a]:
                low, high = min(low, bonus[i, a]), max(high, bonus[i, a])
        total += max(high - low, 0.0)
    return float(total / len(bonus))


@kernel
def most_of(value: Floats, eligible: Bools) -> Floats:
    """Compute the sum of every arm with all its eligible users, `(N,A),(N,A)->(A)`."""
    most = np.zeros(value.shape[1])
    for i in range(len(value)):
        for a in range(len(most)):
            if eligible[i, a]:
                most[a] += value[i, a]
    return most


@kernel
def start_cold(curves: Curves, prices: Floats) -> None:
    """Set the initial prices of a cold start in place, `(A)`."""
    for a in range(len(prices)):
        prices[a] = 0.7 * first_slope(curves, a)


@kernel
def _proximal_price(curves: Curves, a: int, start: float, stiffness: float, most: float) -> float:
    """Find the price that minimises stiffness/2 (price - start)^2 + max_x [r_a(x) - price x].

    It is start + x / stiffness, where x is the sum that the arm wants at this price.
    """
    kind, size, knots, values = curves
    if kind[a] == CAPPED:  # the wanted sum is the same at all prices
        return float(start + min(size[a], most) / stiffness)
    if kind[a] == LOGARITHMIC:  # x = size (1 / price - 1), so the price solves a quadratic equation
        half = 0.5 * (start - size[a] / stiffness)
        return float(min(half + math.sqrt(half * half + size[a] / stiffness), start + most / stiffness))
    if kind[a] == PIECEWISE:  # the first wanted knot, or the slope of the line before it
        low, high = 0, knots.shape[1] - 1
        while low < high:
            middle = (low + high) // 2
            slope = (values[a, middle + 1] - values[a, middle]) / (knots[a, middle + 1] - knots[a, middle])
            if slope > start + knots[a, middle] / stiffness:
                low = middle + 1
            else:
                high = middle
        price = start + knots[a, low] / stiffness
        if low > 0:
            price = min(price, (values[a, low] - values[a, low - 1]) / (knots[a, low] - knots[a, low - 1]))
        return float(min(price, start + most / stiffness))
    price, width = 0.5, 0.5
    for _ in range(_BISECTIONS):
        width *= 0.5
        price += width if stiffness * (price - start) < best_sum(curves, a, price, most) else -width
    return price


@kernel
def lower(
    case: Case, most: Floats, stretch: float, temperature: float, steps: int, trust: float, asked: Prices, pace: float
) -> None:
    """Lower the smoothed dual by Newton steps, in place.

    `most` are the sums of arms with all their users, `(A)`, `stretch` is the number of users that each one represents,
    `trust` the largest move of a price relative to its first slope, and `pace` the largest move of a place's fee. A
    step minimises a quadratic model of the users' part and the exact part of the arms, over prices and fees in turn;
    it is shortened while it raises the dual.
    """
    value, bonus, eligible, capacity, curves = case
    prices, fees = asked
    users, arms = value.shape
    scarce, least, size = bool((capacity < users * stretch).any()), np.inf, 1.0
    wide = 2 * arms if scarce else arms  # fees follow the prices
    weight, sums, counts, chance = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    steep, step, near, base = np.empty((wide, wide)), np.zeros(wide), np.empty(arms, np.int64), np.empty(wide)
    for j in range(wide):
        base[j] = prices[j] if j < arms else fees[j - arms]
    for _ in range(steps + 1):
        reached = 0.0
        for a in range(arms):
            edge = _EDGE * first_slope(curves, a)
            prices[a] = min(max(base[a] + size * step[a], edge), first_slope(curves, a) - edge)
            if scarce:
                fees[a] = max(base[arms + a] + size * step[arms + a], 0.0)
            x = best_sum(curves, a, prices[a], most[a])
            reached += utility(curves, a, x) - prices[a] * x + fees[a] * capacity[a]
        sums[:] = 0.0
        steep[:] = 0.0
        counts[:] = 0.0
        for i in range(users):
            best = -np.inf
            for a in range(arms):
                weight[a] = prices[a] * value[i, a] + bonus[i, a] - fees[a] if eligible[i, a] else -np.inf
                best = max(best, weight[a])
            if best == -np.inf:
                continue
            total, edge, few = 0.0, best - _FAINT * temperature, 0
            for a in range(arms):
                if weight[a] > edge:
                    weight[few] = math.exp((weight[a] - best) / temperature)
                    total += weight[few]
                    near[few] = a
                    few += 1
            reached += stretch * (best + temperature * math.log(total))
            likely = 0
            for j in range(few):
                a, q = near[j], weight[j] / total
                part = q * value[i, a]
                sums[a] += part
                steep[a, a] += part * (value[i, a] - part)
                if scarce:
                    counts[a] += q
                    steep[arms + a, arms + a] += q * (1.0 - q)
                    steep[arms + a, a] -= part * (1.0 - q)
                if q > _RARE:
                    for h in range(likely):
                        b = near[h]
                        steep[a, b] -= part * weight[h]
                        if scarce:
                            steep[arms + a, arms + b] -= q * chance[h]
                            steep[arms + a, b] += q * weight[h]
                            steep[arms + b, a] += chance[h] * part
                    near[likely], weight[likely], chance[likely] = a, part, q
                    likely += 1
        if reached > least and size > _SHORTEST:
            size *= 0.3
            continue
        least, size = reached, 1.0
        for j in range(wide):
            base[j] = prices[j] if j < arms else fees[j - arms]
        step[:] = 0.0
        for j in range(wide):
            for h in range(j + 1):
                steep[j, h] *= stretch / temperature
                steep[h, j] = steep[j, h]
            slack = most[j] / first_slope(curves, j) if j < arms else users * stretch / pace
            steep[j, j] += _DAMPING * slack
        for _ in range(_INNER):
            for j in range(wide):
                if j < arms and not (most[j] > 0.0 and first_slope(curves, j) > 0.0):
                    continue
                pull = -steep[j, j] * step[j]
                for h in range(wide):
                    pull += steep[j, h] * step[h]
                if j < arms:
                    slope = first_slope(curves, j)
                    pull += stretch * sums[j]
                    best = _proximal_price(curves, j, base[j] - pull / steep[j, j], steep[j, j], most[j])
                    best = min(max(best, base[j] - trust * slope), base[j] + trust * slope)
                    step[j] = min(max(best, 0.0), slope) - base[j]
                else:
                    pull += capacity[j - arms] - stretch * counts[j - arms]
                    move = min(max(-pull / steep[j, j], -pace), pace)
                    step[j] = max(base[j] + move, 0.0) - base[j]
    for j in range(wide):
        if j < arms:
            prices[j] = base[j]
        else:
            fees[j - arms] = base[j]


@kernel
def bound_at(case: Case, most: Floats, asked: Prices) -> float:
    """Compute the bound on welfare that prices certify, given the sums of arms with all their users, `(A)`."""
    value, bonus, eligible, capacity, curves = case
    prices, fees = asked
    users, arms = value.shape
    total, rivals = 0.0, np.zeros(arms, np.int64)
    for i in range(users):
        for a in range(arms):
            rivals[a] += eligible[i, a]
    for a in range(arms):
        x = best_sum(curves, a, prices[a], most[a])
        total += utility(curves, a, x) - prices[a] * x + fees[a] * capacity[a]
    for i in range(users):
        best, room = -np.inf, 0
        for a in range(arms):
            if eligible[i, a]:
                room += users if capacity[a] >= rivals[a] else capacity[a]
                best = max(best, prices[a] * value[i, a] + bonus[i, a] - fees[a])
        if best > -np.inf:
            total += best if room >= users else max(best, 0.0)  # the others are too few to fill that much room
    return total
