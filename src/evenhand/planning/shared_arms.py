"""The best arm of every user, smoothed, where an arm's returns diminish in the matches of its users.

In the fluid problem of rounds of N users, arm a is worth r_a(N E[m y_a]). Its dual has a price lam_a of a match:
a user takes the arm with the largest lam_a m_a + g_a - mu.u_a, and the arm takes the sum x of matches with the largest
r_a(x) - lam_a x. To a solver, -m_a is a direction with the price lam_a, on which only arm a has an effect: so one user
costs A^2 + A k + A k^2 steps for A arms and k other directions, and less where most arms are out of the question.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.planning.soft_lists import Moments, ScaledSample
from evenhand.welfare._kernels import conjugate
from evenhand.welfare.curves import Curves

_RARE = 1e-9  # chance below which an arm does not count in the spread


class Shared(NamedTuple):
    """Arms that all users of a round share."""

    match: Floats  # (R, S, A) what a user brings to an arm
    users: float  # N, per round
    stays: bool  # whether users may stay without an arm, for nothing
    kind: Ints  # (A,) the functions r of the arms, as in `Curves`
    size: Floats  # (A,)
    knots: Floats  # (A, J)
    values: Floats  # (A, J)


class Arms(NamedTuple):
    """The arms of one replica, in the units of a solver."""

    match: Floats  # (S, A)
    stays: bool
    curves: Curves
    matches: float  # sum of a round per mean of a user
    unit: float  # satisfaction of a round per worth of a user
    most: float  # the largest mean


@kernel
def soft_arms(sampled: ScaledSample, arms: Arms, price: Floats, temperature: float, moments: Moments) -> float:
    """Smooth the best arm as `soft_lists` does the best list, at worths lam m + g - mu.u, with price = (mu, lam).

    `(k+A),()->()`; u is extended by -m, and moments have k + A coordinates, but for the square, which has k. To stay
    without an arm is worth 0 and uses none.
    """
    share, g, u, exposed, _ = sampled
    mean, square, spread = moments.mean, moments.square, moments.spread
    match, stays = arms.match, arms.stays
    (users, count_arms), k = g.shape, u.shape[1]
    chance, middle, some = np.empty(count_arms), np.empty(k), np.empty(count_arms, np.int64)
    value = 0.0
    mean[:] = 0.0
    square[:] = 0.0
    spread[:] = 0.0
    for s in range(users):
        top, total = 0.0 if stays else -np.inf, 0.0
        for a in range(count_arms):
            chance[a] = g[s, a] + price[k + a] * match[s, a]
            for i in range(k):
                chance[a] -= price[i] * u[s, i, a]
            top = max(top, chance[a])
        if top == -np.inf:  # nothing was offered
            continue
        for a in range(count_arms):
            chance[a] = math.exp((chance[a] - top) / temperature)
            total += chance[a]
        alone = math.exp(-top / temperature) if stays else 0.0
        total += alone
        alone /= total
        weight, count = share[s] * exposed, 0
        value += weight * (top + temperature * math.log(total))
        for a in range(count_arms):
            chance[a] /= total
            if chance[a] > _RARE:
                some[count] = a
                count += 1
        for i in range(k):
            middle[i] = 0.0
            for h in range(count):
                a = some[h]
                middle[i] += chance[a] * u[s, i, a]
                square[i] += weight * chance[a] * u[s, i, a] * u[s, i, a]
            mean[i] += weight * middle[i]
            for j in range(i + 1):
                spread[i, j] += weight * alone * middle[i] * middle[j]
        for h in range(count):
            a = some[h]
            brings = weight * chance[a] * match[s, a]
            mean[k + a] -= brings
            spread[k + a, k + a] += brings * match[s, a]
            for i in range(k):
                off = u[s, i, a] - middle[i]
                spread[k + a, i] -= brings * off
                for j in range(i + 1):
                    spread[i, j] += weight * chance[a] * off * (u[s, j, a] - middle[j])
            for j in range(h + 1):
                b = some[j]
                spread[k + a, k + b] -= brings * chance[b] * match[s, b]
    return value


@kernel
def add_satisfaction(arms: Arms | None, price: Floats, temperature: float, gradient: Floats, hessian: Floats) -> float:
    """Add the gain of arms at prices lam of matches, with slope and curvature, `(k+A)->()`; the last A of k + A.

    It is smoothed by a bend that moves the prices of arms by about a temperature.
    """
    if arms is None:
        return 0.0
    count, value = arms.match.shape[1], 0.0
    first = len(price) - count
    for a in range(count):
        bend = temperature * count / arms.most
        gain, taken, reaction = conjugate(arms.curves, a, price[first + a], arms.most, bend, arms.matches, arms.unit)
        value += gain
        gradient[first + a] -= taken
        hessian[first + a, first + a] += reaction
    return value


@kernel
def arms_of(shared: Shared | None, r: int, kept: int, spread: float) -> Arms | None:
    """The arms of a replica; a match is as large as the best one of a typical user."""
    if shared is None:
        return None
    match, size, most = shared.match[r if len(shared.match) > 1 else 0, :kept], 0.0, 0.0
    for s in range(len(match)):
        best = 0.0
        for a in range(match.shape[1]):
            best = max(best, match[s, a])
        size += best / len(match)
        most = max(most, best)
    if size == 0.0:
        size = most = 1.0
    curves = Curves(shared.kind, shared.size, shared.knots, shared.values)
    return Arms(match / size, shared.stays, curves, shared.users * size, shared.users * spread, most / size)


@kernel
def units_of(arms: Arms | None) -> tuple[float, float]:
    """The sum of matches in a round per mean of a user, and satisfaction of a round per worth of a user."""
    if arms is None:
        return 1.0, 1.0
    return arms.matches, arms.unit
