"""The best list of candidates, smoothed: its exposures, and their sensitivity to the worths of candidates.

If place p is exposed with probability b_p, never increasing, the best list is worth sum_p c_p T_p(x), with
c_p = b_p - b_(p+1) and T_p the sum of the p largest worths, the maximum of x.y over 0 <= y <= 1 with sum y = p. An
entropy makes it smooth: T_p(x) = max x.y - temp sum_a y_a ln y_a. Its maximiser caps the j best candidates at 1, and
the others share p - j in proportion to exp(x_a / temp). With one place that is the softmax.

All places use the softmax of the candidates after the j best, for some j < P. So there is one pass over all candidates,
and every further place costs as much as one candidate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints

_RARE = 1e-9  # chance below which a candidate does not count in the spread


class ScaledSample(NamedTuple):
    """The cases of one replica, in the units of a solver."""

    share: Floats  # (S,) of each case
    gain: Floats  # (S, A) g of each candidate, -inf where it is not offered
    use: Floats  # (S, k, A) u
    first: float  # with which probability the first place is exposed
    further: Floats | None  # (P - 1,) the same for each further place; code for them is compiled where there are some


class Moments(NamedTuple):
    """The moments of u in smoothed lists, which solvers fill in."""

    mean: Floats  # (k,) of sum_a y_a u_a, with y_a the exposure of a candidate: minus the slope of the value
    square: Floats  # (k,) of the squared sum, for plays that are drawn independently of each other
    spread: Floats  # (k, k) in its lower half, temp times the second derivative of the value


class _Ranks(NamedTuple):
    """The best candidates of one case, and the softmax of the others."""

    worth: Floats  # (A,) of all candidates
    order: Ints  # (P,) the best ones, best first
    last: int  # how many of them there are
    level: float  # of the softmax, temp log sum exp(x / temp)
    middle: Floats  # (k,) its mean of u
    here: Floats  # (k, k) in its lower half, its spread of u


@kernel
def soft_lists(sampled: ScaledSample, mu: Floats, temperature: float, moments: Moments) -> float:
    """The value of the smoothed best lists at worths g - mu.u, as a mean over cases, and their moments, `(k),()->()`.

    Candidates with g = -inf are not played; if the others are too few, the last places stay empty.
    """
    share, g, u, first, further = sampled
    mean, square, spread = moments.mean, moments.square, moments.spread
    (samples, actions), k, places = g.shape, len(mu), _places(further)
    worth, rest, order = np.empty(actions), np.empty(actions), np.empty(places, np.int64)
    middle, here, sums, squares = np.empty(k), np.empty((k, k)), np.empty(k), np.empty(k)
    value, others = 0.0, 1.0 - 1.0 / places
    for i in range(k):
        mean[i] = square[i] = 0.0
        for h in range(i + 1):
            spread[i, h] = 0.0
    for s in range(samples):
        top, total, last = -np.inf, 0.0, -1
        for a in range(actions):
            net = g[s, a]
            for i in range(k):
                net -= mu[i] * u[s, i, a]
            rest[a] = net
            top = max(top, net)
            if net > -np.inf:
                last += 1
        last = min(places - 1, last)
        if last == -1:  # nothing was offered
            continue
        if last > 0:
            top = _rank(further, rest, worth, order, last)
        for a in range(actions):
            rest[a] = math.exp((rest[a] - top) / temperature)
            total += rest[a]
        for i in range(k):
            center = 0.0
            for a in range(actions):
                center += rest[a] * u[s, i, a] / total
            middle[i] = center
            for h in range(i + 1):
                here[i, h] = 0.0
        for a in range(actions):
            p = rest[a] / total
            if p > _RARE:
                for i in range(k):
                    off = p * (u[s, i, a] - middle[i])
                    if off != 0.0:
                        for h in range(i + 1):
                            here[i, h] += off * (u[s, h, a] - middle[h])
        level = top + temperature * math.log(total)
        if last == 0:
            value += share[s] * first * level
            for i in range(k):
                sums[i] = first * middle[i]
                squares[i] = first * (here[i, i] + middle[i] * middle[i])
                for h in range(i + 1):
                    spread[i, h] += share[s] * first * here[i, h]
        else:
            ranks = _Ranks(worth, order, last, level, middle, here)
            value += _add_ranks(further, sampled, s, temperature, ranks, Moments(sums, squares, spread))
        for i in range(k):
            mean[i] += share[s] * sums[i]
            square[i] += share[s] * (squares[i] + others * sums[i] * sums[i])
    return value


@kernel
def _places(further: Floats | None) -> int:
    if further is None:
        return 1
    return 1 + len(further)


@kernel
def _rank(further: Floats | None, rest: Floats, worth: Floats, order: Ints, count: int) -> float:
    """Fill in all worths and the best candidates, and take these out of the rest, of which the best is returned."""
    if further is None:
        return 0.0
    for a in range(len(rest)):
        worth[a] = rest[a]
    best = 0
    for j in range(count + 1):
        best = 0
        for a in range(1, len(rest)):
            if rest[a] > rest[best]:
                best = a
        if j < count:
            order[j] = best
            rest[best] = -np.inf
    return float(rest[best])


@kernel
def _add_ranks(
    further: Floats | None, sampled: ScaledSample, s: int, temperature: float, ranks: _Ranks, moments: Moments
) -> float:
    """Go on from the softmax of the candidates after the best ones to the whole list, in case s.

    Sums and squares become those of this case; its spread is added.
    """
    if further is None:
        return 0.0
    worth, order, last, lowest, middle, here = ranks
    sums, squares, spread = moments
    share: float = sampled.share[s]
    u, exposed, k = sampled.use[s], sampled.first, len(middle)
    level, free, capped, step = np.empty(last + 1), np.zeros(last + 1), np.zeros(last + 1), np.empty(k)
    level[last] = lowest
    for j in range(last - 1, -1, -1):
        high, low = max(worth[order[j]], level[j + 1]), min(worth[order[j]], level[j + 1])
        level[j] = high + temperature * math.log1p(math.exp((low - high) / temperature))
    value, j = 0.0, 0  # j candidates are capped at 1; it never decreases from place to place
    for p in range(last + 1):
        after = further[p] if p < last else 0.0
        c = exposed - after
        exposed = after
        while j < p and (p + 1 - j) * math.exp((worth[order[j]] - level[j]) / temperature) > 1.0:
            j += 1
        free[j] += c * (p + 1 - j)
        capped[j] += c
        value -= temperature * c * (p + 1 - j) * math.log(p + 1 - j)
    # The softmax from rank j on, from the last rank to the first; each takes the part of the places that play it.
    certain = 0.0  # exposure of the candidate at rank j from the places where it is capped at 1
    sums[:] = 0.0
    squares[:] = 0.0
    for j in range(last, -1, -1):
        if j < last:
            a = order[j]
            chance = math.exp((worth[a] - level[j]) / temperature)
            value += certain * worth[a]
            for i in range(k):
                step[i] = u[i, a] - middle[i]
                sums[i] += certain * u[i, a]
                squares[i] += certain * u[i, a] * u[i, a]
            for i in range(k):
                for h in range(i + 1):
                    here[i, h] = (1.0 - chance) * (here[i, h] + chance * step[i] * step[h])
                middle[i] += chance * step[i]
        value += free[j] * level[j]
        for i in range(k):
            sums[i] += free[j] * middle[i]
            squares[i] += free[j] * (here[i, i] + middle[i] * middle[i])
            for h in range(i + 1):
                spread[i, h] += share * free[j] * here[i, h]
        certain += capped[j]
    return share * value
