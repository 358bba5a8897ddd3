"""Compiled passes over contexts: sums of what smoothed and pure policies bring, by cell of groups.

Arrays of a block of n contexts: u `(V,A,n)` outcomes of every action that differ by context, cell `(n)` of groups. At
some prices the worth of action a in context i is offset[a, cell_i] + sum_v slope[cell_i, v] u[v, a, i].
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints

_TILE = 256  # contexts whose worth is held at once, so that it stays close to the processor
_FAR = 18.0  # temperatures below the best, where a chance is 1e-8 and is taken as 0


@kernel
def _worths(u: NDArray[np.floating], cell: Ints, slope: Floats, offset: Floats, k: Floats, x: Floats) -> None:
    """The worth of every action in a tile, `(V,A,m),(m),(C,V),(A,C)->(A,m)` in x."""
    m = len(cell)
    for v in range(len(u)):
        for i in range(m):
            k[v, i] = slope[cell[i], v]
    for a in range(len(offset)):
        own, at = x[a], offset[a]
        for i in range(m):
            own[i] = at[cell[i]]
        for v in range(len(u)):
            price, amount = k[v], u[v, a]
            for i in range(m):
                own[i] += price[i] * amount[i]


@kernel
def _best(x: Floats, m: int, top: Floats, at: Ints) -> None:
    """The greatest worth in a tile, and its first action, `(A,m)->(m),(m)`."""
    first = x[0]
    for i in range(m):
        top[i] = first[i]
        at[i] = 0
    for a in range(1, len(x)):
        own = x[a]
        for i in range(m):
            higher = own[i] > top[i]
            top[i] = own[i] if higher else top[i]
            at[i] = a if higher else at[i]


@kernel
def smooth_moments(
    u: NDArray[np.floating],
    cell: Ints,
    known: Floats,
    slope: Floats,
    offset: Floats,
    temperature: float,
    first: Floats,
    counts: Floats,
    second: Floats,
    tops: Floats,
) -> None:
    """Add the moments of lotteries with chances p_a ~ exp(worth_a / temperature).

    Args:
        u, cell, slope, offset: as above.
        known: `(K,A)` outcomes that are alike in all contexts.
        temperature: above 0.
        first: `(C,V)` sums of sum_a p_a u_va.
        counts: `(C,A)` sums of p_a.
        second: `(C,V+K,V+K)` sums of the covariances of all outcomes under p.
        tops: `(2)` sums of the smooth maximum, t log sum_a exp(worth_a / t), and of the maximum.
    """
    n_u, n_a, n = u.shape
    width = n_u + len(known)
    x, k, top, at = np.empty((n_a, _TILE)), np.empty((n_u, _TILE)), np.empty(_TILE), np.empty(_TILE, np.int64)
    near, live = np.empty(_TILE), np.empty(n_a, np.int64)
    chance, apart, mean = np.empty(n_a), np.empty(width), np.empty(width)
    for start in range(0, n, _TILE):
        m = min(_TILE, n - start)
        here, cells = u[:, :, start : start + m], cell[start : start + m]
        _worths(here, cells, slope, offset, k, x)
        _best(x, m, top, at)
        near[:] = 0.0
        for a in range(n_a):
            own = x[a]
            for i in range(m):
                near[i] += 1.0 if own[i] > top[i] - _FAR * temperature else 0.0
        for i in range(m):
            c = cells[i]
            tops[1] += top[i]
            if near[i] < 1.5:
                tops[0] += top[i]
                counts[c, at[i]] += 1.0
                for v in range(n_u):
                    first[c, v] += here[v, at[i], i]
                continue
            count, total = 0, 0.0
            for a in range(n_a):
                below = (x[a, i] - top[i]) / temperature
                if below > -_FAR:
                    live[count] = a
                    chance[count] = math.exp(below)
                    total += chance[count]
                    count += 1
            tops[0] += top[i] + temperature * math.log(total)
            mean[:] = 0.0
            for j in range(count):
                chance[j] /= total
                counts[c, live[j]] += chance[j]
                for v in range(width):
                    amount = here[v, live[j], i] if v < n_u else known[v - n_u, live[j]]
                    mean[v] += chance[j] * amount
            for v in range(n_u):
                first[c, v] += mean[v]
            for j in range(count):
                for v in range(width):
                    amount = here[v, live[j], i] if v < n_u else known[v - n_u, live[j]]
                    apart[v] = amount - mean[v]
                    for w in range(v + 1):
                        second[c, v, w] += chance[j] * apart[v] * apart[w]


@kernel
def pure_moments(
    u: NDArray[np.floating], cell: Ints, slopes: Floats, offsets: Floats, first: Floats, counts: Floats
) -> None:
    """Add the moments of the policies that play the best action at L price vectors, the first of several equal ones.

    Where the best action at the first vector is ahead by more than any other vector could change, it is the best of
    all, and the context is added to one sum for all of them.

    Args:
        u, cell: as above.
        slopes, offsets: `(L,C,V)` and `(L,A,C)`, as above for each vector.
        first: `(L+1,C,V)` sums of the outcomes; those of all vectors alike come last.
        counts: `(L+1,C,A)` numbers of contexts by action.
    """
    n_u, n_a, n = u.shape
    both, n_l = len(slopes), len(slopes)
    x, k, top, at = np.empty((n_a, _TILE)), np.empty((n_u, _TILE)), np.empty(_TILE), np.empty(_TILE, np.int64)
    second, moved, low, high = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    reach, apart = _reaches(slopes, offsets)
    for start in range(0, n, _TILE):
        m = min(_TILE, n - start)
        here, cells = u[:, :, start : start + m], cell[start : start + m]
        _worths(here, cells, slopes[0], offsets[0], k, x)
        _best(x, m, top, at)
        second[:] = -np.inf
        for a in range(n_a):
            own = x[a]
            for i in range(m):
                second[i] = own[i] if own[i] > second[i] and at[i] != a else second[i]
        for i in range(m):
            moved[i] = apart[cells[i]]
        for v in range(n_u):
            low[:] = np.inf
            high[:] = -np.inf
            for a in range(n_a):
                amount = here[v, a]
                for i in range(m):
                    low[i] = amount[i] if amount[i] < low[i] else low[i]
                    high[i] = amount[i] if amount[i] > high[i] else high[i]
            for i in range(m):
                moved[i] += reach[cells[i], v] * (high[i] - low[i])
        for i in range(m):
            c = cells[i]
            if top[i] - second[i] > moved[i] + 1e-12 * (abs(top[i]) + abs(second[i])):
                counts[both, c, at[i]] += 1.0
                for v in range(n_u):
                    first[both, c, v] += here[v, at[i], i]
                continue
            for z in range(n_l):
                a = _chosen(here, c, i, slopes[z], offsets[z])
                counts[z, c, a] += 1.0
                for v in range(n_u):
                    first[z, c, v] += here[v, a, i]


@kernel
def _reaches(slopes: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """How far the vectors are from the first: in every slope, and in the difference of two offsets."""
    n_c, n_u = slopes.shape[1], slopes.shape[2]
    reach, apart = np.zeros((n_c, n_u)), np.zeros(n_c)
    for z in range(1, len(slopes)):
        for c in range(n_c):
            low, high = np.inf, -np.inf
            for a in range(offsets.shape[1]):
                low = min(low, offsets[z, a, c] - offsets[0, a, c])
                high = max(high, offsets[z, a, c] - offsets[0, a, c])
            apart[c] = max(apart[c], high - low)
            for v in range(n_u):
                reach[c, v] = max(reach[c, v], abs(slopes[z, c, v] - slopes[0, c, v]))
    return reach, apart


@kernel
def _chosen(u: NDArray[np.floating], c: int, i: int, slope: Floats, offset: Floats) -> int:
    """The first of the best actions in one context."""
    best, top = 0, -np.inf
    for a in range(len(offset)):
        worth = offset[a, c]
        for v in range(len(u)):
            worth += slope[c, v] * u[v, a, i]
        if worth > top:
            best, top = a, worth
    return best


@kernel
def best_actions(u: NDArray[np.floating], cell: Ints, slopes: Floats, offsets: Floats) -> Ints:
    """The action that each of L price vectors plays in every context, `->(L,n)`."""
    found = np.empty((len(slopes), len(cell)), np.int64)
    for z in range(len(slopes)):
        for i in range(len(cell)):
            found[z, i] = _chosen(u, cell[i], i, slopes[z], offsets[z])
    return found
