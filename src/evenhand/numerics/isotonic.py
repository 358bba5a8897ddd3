"""Isotonic regression by pooling adjacent violators, and its use for generalised Gini functions.

For non-increasing weights w, f(z) = sum_i w_i z_(i) (ascending order) is the least p.z over the permutahedron P(w), so
that its prox is z + beta p with p the projection of -z/beta onto P(w). That projection is an isotonic regression
(Negrinho & Martins 2014; Do & Usunier 2022). In the order of z, the prox is simply the non-decreasing sequence closest
to z_(i) + beta w_i; this form needs no division by beta.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats, Ints


@kernel
def pool(x: Floats, sums: Floats, sizes: Ints) -> None:
    """Replace x by the non-decreasing sequence closest to it, `(m),(m),(m)->(m)`; O(m), with two work arrays."""
    blocks = 0
    for i in range(len(x)):
        here, size = x[i], 1
        # Merge while the mean of the previous block is not below; products are compared, as divisions are slower.
        while blocks > 0 and sums[blocks - 1] * size >= here * sizes[blocks - 1]:
            blocks -= 1
            here += sums[blocks]
            size += sizes[blocks]
        sums[blocks], sizes[blocks] = here, size
        blocks += 1
    i = 0
    for block in range(blocks):
        mean = sums[block] / sizes[block]
        for _ in range(sizes[block]):
            x[i] = mean
            i += 1


@kernel
def gini_prox(z: Floats, order: Ints, weights: Floats, beta: Floats) -> Floats:
    """Compute argmax_y sum_i w_i y_(i) - |y - z|^2 / (2 beta), `(m),(m),(m),()->(m)`; `order` sorts z."""
    m, out = z.shape[1], np.empty_like(z)
    x, sums, sizes = np.empty(m), np.empty(m), np.empty(m, np.int64)
    for r in range(len(z)):
        for i in range(m):
            x[i] = z[r, order[r, i]] + beta[r] * weights[i]
        pool(x, sums, sizes)
        for i in range(m):
            out[r, order[r, i]] = x[i]
    return out


@inlined
def _arrange(values: Floats, order: Ints) -> None:
    """Write the stable sorting order of values into `order`, the least first, `(m),(m)`.

    Every value counts those below it: m^2 comparisons without branches, faster than sorting up to some 60 values.
    """
    order[:] = -1
    for i in range(len(values)):
        value, below = values[i], 0
        for j in range(len(values)):
            below += values[j] < value
        while order[below] >= 0:
            below += 1
        order[below] = i


@kernel
def gini_gradient(z: Floats, tilt: Floats, at: Ints, order: Ints, weights: Floats, c: float, beta: Floats) -> Floats:
    """Compute the gradient of the Moreau envelope of tilt.z + c sum_i w_i y_(i), where y is z at some places.

    `(M),(M),(m),(m),(m),(),()->(M)`. `order` sorts z + beta tilt at these places; if it is empty, it is found here,
    which is faster for a few places.
    """
    m, found, out = len(at), order.shape[1] > 0, np.empty_like(z)
    x, sums, sizes, places = np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64)
    for r in range(len(z)):
        for j in range(z.shape[1]):
            out[r, j] = z[r, j] + beta[r] * tilt[j]
        if found:
            for i in range(m):
                places[i] = order[r, i]
        else:
            for i in range(m):
                x[i] = out[r, at[i]]
            _arrange(x, places)
        part = c * beta[r]
        for i in range(m):
            x[i] = out[r, at[places[i]]] + part * weights[i]
        pool(x, sums, sizes)
        for i in range(m):
            out[r, at[places[i]]] = x[i]
        for j in range(z.shape[1]):
            out[r, j] = (out[r, j] - z[r, j]) / beta[r]
    return out


@kernel
def gini_supergradient(z: Floats, order: Ints, weights: Floats) -> Floats:
    """Assign weights by rank, averaged over equal outcomes, `(m),(m),(m)->(m)`; `order` sorts z."""
    m, out = z.shape[1], np.empty_like(z)
    for r in range(len(z)):
        first = 0
        while first < m:
            last, sum_ = first, 0.0
            while last < m and z[r, order[r, last]] == z[r, order[r, first]]:
                sum_ += weights[last]
                last += 1
            for i in range(first, last):
                out[r, order[r, i]] = sum_ / (last - first)
            first = last
    return out
