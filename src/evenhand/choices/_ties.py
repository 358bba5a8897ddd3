"""Ties of allocations: broken by luck, and found afterwards."""

from __future__ import annotations

import numpy as np

from evenhand.choices._shared import TIE
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import slope, utility
from evenhand.welfare.curves import Curves


@kernel
def perturbed(value: Floats, beside: Floats, eligible: Bools, arms: int, u: Floats) -> Floats:
    """Return `beside` plus random numbers so small that they only decide ties, `(N,C),(N,C),(N,C),(),(NA)->(N,C)`."""
    out = beside.copy()
    for r in range(len(value)):
        size = 0.0
        for i in range(value.shape[1]):
            for a in range(value.shape[2]):
                if eligible[r, i, a]:
                    size = max(size, value[r, i, a] + abs(beside[r, i, a]))
        size = size if size > 0.0 else 1.0
        for i in range(value.shape[1]):
            for a in range(arms):
                out[r, i, a] += 0.5 * TIE * size * u[r, i * arms + a]
    return out


@kernel
def by_luck(value: Floats, beside: Floats, eligible: Bools, capacity: Ints, curves: Curves, chosen: Ints) -> Bools:
    """Whether another arm of a user, or an exchange of two users, is worth as much, `(N,C),(N,C),(N,C),(C),(N)->()`.

    Most changes lose more than a tie even by the slopes at present sums, which tell at most too little of the loss.
    """
    count, users, columns = value.shape
    luck = np.zeros(count, np.bool_)
    sums, held, now, slopes = np.empty(columns), np.empty(columns, np.int64), np.empty(columns), np.empty(columns)
    for r in range(count):
        sums[:] = 0.0
        held[:] = 0
        size = 0.0
        for i in range(users):
            for a in range(columns):
                if eligible[r, i, a]:
                    size = max(size, value[r, i, a] + abs(beside[r, i, a]))
            if chosen[r, i] >= 0:
                sums[chosen[r, i]] += value[r, i, chosen[r, i]]
                held[chosen[r, i]] += 1
        for a in range(columns):
            now[a], slopes[a] = utility(curves, a, sums[a]), slope(curves, a, sums[a])
        near = 2.0 * TIE * size
        for i in range(users):
            a = chosen[r, i]
            if a < 0:
                continue
            m, alone = value[r, i], utility(curves, a, max(sums[a] - value[r, i, a], 0.0)) - now[a] - beside[r, i, a]
            for b in range(columns):
                if b != a and eligible[r, i, b] and held[b] < capacity[b]:
                    if alone + slopes[b] * m[b] + beside[r, i, b] < -2.0 * near:
                        continue
                    more = utility(curves, b, sums[b] + m[b]) - now[b] + beside[r, i, b]
                    luck[r] = luck[r] or abs(alone + more) <= near
            for j in range(users):
                b = chosen[r, j]
                if (
                    luck[r]
                    or b == a
                    or (b >= 0 and j < i)
                    or not eligible[r, j, a]
                    or (b >= 0 and not eligible[r, i, b])
                ):
                    continue
                top = slopes[a] * (value[r, j, a] - m[a]) + beside[r, j, a] - beside[r, i, a]
                if b >= 0:
                    top += slopes[b] * (m[b] - value[r, j, b]) + beside[r, i, b] - beside[r, j, b]
                if top < -2.0 * near:
                    continue
                into = utility(curves, a, max(sums[a] - m[a] + value[r, j, a], 0.0)) - now[a]
                gain = into + beside[r, j, a] - beside[r, i, a]
                if b >= 0:
                    into = utility(curves, b, max(sums[b] - value[r, j, b] + m[b], 0.0)) - now[b]
                    gain += into + beside[r, i, b] - beside[r, j, b]
                luck[r] = abs(gain) <= near
            if luck[r]:
                break
    return luck
