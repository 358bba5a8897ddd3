"""Kernels for sets that need no solver: the simplex, and balls cut by boxes."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats


@kernel
def onto_simplex(z: Floats, total: float) -> Floats:
    """Find the nearest point with x >= 0 and sum total: (z - s)_+ with s from the largest entries, `(m),()->(m)`."""
    out = np.empty(z.shape)
    for r in range(len(z)):
        ordered = np.sort(z[r])[::-1]
        so_far, shift = 0.0, 0.0
        for j in range(z.shape[1]):
            so_far += ordered[j]
            if ordered[j] * (j + 1.0) > so_far - total or j == 0:
                shift = (so_far - total) / (j + 1.0)
        for i in range(z.shape[1]):
            out[r, i] = max(z[r, i] - shift, 0.0)
    return out


@kernel
def fill(slopes: Floats, least: Floats, most: Floats, total: float) -> Floats:
    """Find argmax slope.x with least <= x <= most and sum total, steepest first, `(m),(m),(m),()->(m)`."""
    out = np.empty(slopes.shape)
    for r in range(len(slopes)):
        left = total
        for i in range(len(least)):
            out[r, i] = least[i]
            left -= least[i]
        for i in np.argsort(-slopes[r], kind="mergesort"):
            out[r, i] += max(min(most[i] - least[i], left), 0.0)
            left -= out[r, i] - least[i]
    return out


@kernel
def in_ball(
    slopes: Floats, centre: Floats, radius: float, low: Floats, high: Floats, below: bool
) -> tuple[Floats, Bools]:
    """Find argmax slope.x within a ball and a box, and whether they intersect, `(m),(m),(),(m),(m)->(m),()`.

    It is centre + s slope, clipped to the box, with the largest s that stays in the ball: the squared distance is
    quadratic in s between the values at which a coordinate meets an end. With `below` the set is that of all points
    below the ball: only coordinates above the centre count as distance, and those of negative slope are at their lower
    end.
    """
    m = len(centre)
    out, found = np.empty(slopes.shape), np.ones(len(slopes), np.bool_)
    knots = np.empty(2 * m)
    for r in range(len(slopes)):
        count = 0
        for i in range(m):
            if slopes[r, i] != 0.0 and not (below and slopes[r, i] < 0.0):
                for end in (low[i], high[i]):
                    s = (end - centre[i]) / slopes[r, i]
                    if 0.0 < s < np.inf:
                        knots[count] = s
                        count += 1
        ordered = np.sort(knots[:count])
        start, s = 0.0, np.inf
        for j in range(count + 1):
            end = ordered[j] if j < count else np.inf
            # Within this piece, moving coordinates have distance s |slope|, and others stay at an end.
            at = 0.5 * (start + end) if end < np.inf else (2.0 * start if start > 0.0 else 1.0)
            fixed, moving = 0.0, 0.0
            for i in range(m):
                x = centre[i] + at * slopes[r, i]
                if below and slopes[r, i] < 0.0:
                    fixed += max(low[i] - centre[i], 0.0) * max(low[i] - centre[i], 0.0)
                elif low[i] <= x <= high[i] and slopes[r, i] != 0.0:
                    moving += slopes[r, i] * slopes[r, i]
                else:
                    gap = min(max(x, low[i]), high[i]) - centre[i]
                    if not (below and gap < 0.0):
                        fixed += gap * gap
            left = radius * radius - fixed
            if left < -1e-12 * radius * radius:
                if j == 0:
                    found[r] = False
                s = start
                break
            if moving > 0.0 and max(left, 0.0) <= end * end * moving:
                s = max(np.sqrt(max(left, 0.0) / moving), start)
                break
            start = end
        for i in range(m):
            if below and slopes[r, i] < 0.0:
                out[r, i] = low[i]
            elif slopes[r, i] == 0.0:
                out[r, i] = min(max(centre[i], low[i]), high[i])
            elif s < np.inf:
                out[r, i] = min(max(centre[i] + s * slopes[r, i], low[i]), high[i])
            else:
                out[r, i] = high[i] if slopes[r, i] > 0.0 else low[i]
    return out, found
