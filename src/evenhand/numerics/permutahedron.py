"""Rankings as points of a permutahedron: the mean exposure of every item over a lottery of lists.

A list that puts item i at place p exposes it by b_p, with b_1 >= ... >= b_k >= 0. Mixtures of lists reach exactly the
permutahedron of (b_1, ..., b_k, 0, ..., 0): no h items together have more than b_1 + ... + b_h, and all items have
b_1 + ... + b_k (Rado 1952). A linear function is largest there if items are sorted by it, and the closest point is
found by an isotonic regression (Negrinho & Martins 2014).
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints


@inlined
def _worth(learned: Floats, price: Floats, offset: Floats, s: int, a: int) -> float:
    """Compute the worth of exposing a candidate, `(S,A,M),(1|A,M),(A)->()`."""
    worth, row = float(offset[a]), a if len(price) > 1 else 0
    for i in range(learned.shape[2]):
        worth += price[row, i] * learned[s, a, i]
    return float(worth)


@inlined
def _insert(top: Floats, z: float) -> None:
    """Insert a number into the descending list of the largest so far."""
    p = len(top) - 1
    if z > top[p]:
        while p > 0 and top[p - 1] < z:
            top[p] = top[p - 1]
            p -= 1
        top[p] = z


@inlined
def _sink(heap: Ints, size: int, r: int, v: Floats) -> None:
    """Restore the heap of positions, the largest v first, from place r down."""
    here = heap[r]
    while 2 * r + 1 < size:
        c = 2 * r + 1
        if c + 1 < size and v[heap[c + 1]] > v[heap[c]]:
            c += 1
        if v[heap[c]] <= v[here]:
            break
        heap[r] = heap[c]
        r = c
    heap[r] = here


@kernel
def best_lists(
    learned: Floats, offered: Bools, weight: Floats, position: Floats, price: Floats, offset: Floats
) -> float:
    """Compute the mean worth of the best lists, `(S,A,M),(S|1,A),(S),(S|1,k),(1|A,M),(A)->()`; lists are short."""
    total, top = 0.0, np.empty(position.shape[1])
    for s in range(len(weight)):
        top[:] = -np.inf
        for a in range(len(offset)):
            if offered[s if len(offered) > 1 else 0, a]:
                _insert(top, _worth(learned, price, offset, s, a))
        looked = position[s if len(position) > 1 else 0]
        for p in range(len(looked)):
            if top[p] > -np.inf:
                total += weight[s] * looked[p] * top[p]
    return total


@inlined
def _sort_and_pool(heap: Ints, n: int, v: Floats, b: Floats, k: int, sums: Floats, sizes: Ints) -> tuple[int, int]:
    """Compute the blocks of the closest point for the n candidates on the heap; returns the numbers of both.

    In falling order of v, the point is v - y, with y the closest non-increasing sequence to v - b. Beyond the last
    place b is 0, so that y = v from the first candidate on that is not above the block before it: nothing else needs to
    be sorted. Sorted candidates move to the end of the heap, the largest last.
    """
    for r in range(n // 2 - 1, -1, -1):
        _sink(heap, n, r, v)
    blocks, p, size = 0, 0, n
    while size > 0:
        a = heap[0]
        here, count = v[a] - (b[p] if p < k else 0.0), 1
        if p >= k and here * sizes[blocks - 1] <= sums[blocks - 1]:
            break
        size -= 1
        heap[0] = heap[size]
        if size > 0:
            _sink(heap, size, 0, v)
        heap[size] = a
        while blocks > 0 and sums[blocks - 1] * count <= here * sizes[blocks - 1]:
            blocks -= 1
            here += sums[blocks]
            count += sizes[blocks]
        sums[blocks], sizes[blocks] = here, count
        blocks += 1
        p += 1
    return blocks, p


@kernel
def _closest(v: Floats, may: Bools, b: Floats, x: Floats, heap: Ints, sums: Floats, sizes: Ints) -> tuple[int, int]:
    """Replace x by the closest point of the permutahedron to v; returns the end of the heap and the count of non-zeros.

    The last block of all candidates is not below that of the ones that x exposed before, so only candidates above the
    latter can be exposed. There are few of them, once x changes little.
    """
    offered, n, least = 0, 0, -np.inf
    for a in range(len(v)):
        offered += may[a]
        if x[a] > 0.0:
            heap[n] = a
            n += 1
    k = min(len(b), offered)
    if n >= k > 0:
        blocks, _ = _sort_and_pool(heap, n, v, b, k, sums, sizes)
        least = sums[blocks - 1] / sizes[blocks - 1]
    n = 0
    for a in range(len(v)):
        x[a] = 0.0
        if may[a] and v[a] >= least:
            heap[n] = a
            n += 1
    if k == 0:
        return n, 0
    blocks, exposed = _sort_and_pool(heap, n, v, b, k, sums, sizes)
    i = n - 1
    for block in range(blocks):
        for _ in range(sizes[block]):
            x[heap[i]] = v[heap[i]] - sums[block] / sizes[block]
            i -= 1
    return n, exposed


@kernel
def ascend(
    learned: Floats,
    offered: Bools,
    weight: Floats,
    position: Floats,
    price: Floats,
    offset: Floats,
    step: float,
    x: Floats,
) -> tuple[Floats, Floats]:
    """Move every point along the worth of its candidates and back into the permutahedron, `(S,A)`, in place.

    `(S,A,M),(S|1,A),(S),(S|1,k),(1|A,M),(A),()->(A,M),(A)`: learned outcomes and exposures of candidates afterwards.
    """
    cases, actions = x.shape
    v, sums = np.empty(actions), np.empty(actions)
    sizes, heap = np.empty(actions, np.int64), np.empty(actions, np.int64)
    y, exposed = np.zeros((actions, learned.shape[2])), np.zeros(actions)
    for s in range(cases):
        for a in range(actions):
            v[a] = x[s, a] + step * _worth(learned, price, offset, s, a)
        may, looked = offered[s if len(offered) > 1 else 0], position[s if len(position) > 1 else 0]
        end, count = _closest(v, may, looked, x[s], heap, sums, sizes)
        for j in range(end - count, end):
            a = heap[j]
            exposed[a] += weight[s] * x[s, a]
            for i in range(learned.shape[2]):
                y[a, i] += weight[s] * x[s, a] * learned[s, a, i]
    return y, exposed
