"""The nearest point of a polyhedron {x : A x <= b}, by a dual active-set method.

Source: Goldfarb & Idnani 1983, for a Hessian of 1. Rows of A have length 1. The active rows are kept as an orthonormal
basis Q and a triangle R, so that the precision is that of the rows and not of their products.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints

_PARALLEL = 1e-10  # rows with a shorter residual count as dependent


@kernel
def _extend(row: Floats, k: int, q: Floats, c: Floats, d: Floats) -> float:
    """Split a row into coefficients c of the basis and a residual d; returns the length of the residual."""
    n = len(row)
    for i in range(n):
        d[i] = row[i]
    for j in range(k):
        c[j] = 0.0
    for _ in range(2):  # twice, to remove rounding errors
        for j in range(k):
            dot = 0.0
            for i in range(n):
                dot += q[j, i] * d[i]
            c[j] += dot
            for i in range(n):
                d[i] -= dot * q[j, i]
    size = 0.0
    for i in range(n):
        size += d[i] * d[i]
    return float(np.sqrt(size))


@kernel
def _push(k: int, q: Floats, r: Floats, c: Floats, d: Floats, size: float) -> None:
    """Add a split row to the basis."""
    for j in range(k):
        r[j, k] = c[j]
    r[k, k] = size
    for i in range(q.shape[1]):
        q[k, i] = d[i] / size


@kernel
def _back(k: int, r: Floats, c: Floats, v: Floats) -> None:
    """Solve R v = c."""
    for j in range(k - 1, -1, -1):
        v[j] = c[j]
        for i in range(j + 1, k):
            v[j] -= r[j, i] * v[i]
        v[j] /= r[j, j]


@kernel
def nearest_point(z: Floats, rows: Floats, bounds: Floats, x: Floats, work: Floats, active: Ints, inside: Bools) -> int:
    """Write the nearest point to x; returns the number of active rows, -1 if there is no point, `(n),(d,n),(d)->(n)`.

    Args:
        z, rows, bounds: the point and the polyhedron.
        x: the result.
        work: workspace of shape (2 n + 5, n + 1); its first rows become the basis Q and the next n the triangle R.
        active: the active rows, of length n + 1.
        inside: whether each row is active, of length d.
    """
    n, d = rows.shape[1], len(rows)
    q, r = work[:n, :n], work[n : 2 * n, :n]
    c, rest, v, u = work[2 * n], work[2 * n + 1, :n], work[2 * n + 2], work[2 * n + 3]
    k = 0
    inside[:] = False
    scale = 0.0  # the scale of rounding errors
    for i in range(n):
        x[i] = z[i]
        scale = max(scale, abs(z[i]))
    for j in range(d):
        scale = max(scale, abs(bounds[j]))
    for _ in range(100 * (n + d)):
        size = 0.0
        for i in range(n):
            size = max(size, abs(x[i]))
        p, worst = -1, 0.0
        for j in range(d):
            if not inside[j]:
                excess = -bounds[j]
                for i in range(n):
                    excess += rows[j, i] * x[i]
                excess -= 1e-13 * (size + abs(bounds[j])) + 2e-15 * scale
                if excess > worst:
                    p, worst = j, excess
        if p < 0:
            break
        price = 0.0
        while True:
            length = _extend(rows[p], k, q, c, rest)
            _back(k, r, c, v)
            drop, step = -1, np.inf
            for j in range(k):
                if v[j] > 0.0 and u[j] / v[j] < step:
                    drop, step = j, u[j] / v[j]
            excess = -bounds[p]
            for i in range(n):
                excess += rows[p, i] * x[i]
            full = np.inf
            if k < n and length > _PARALLEL:
                full = max(excess, 0.0) / (length * length)
            elif excess <= 1e-10 * (size + abs(bounds[p])) + 1e-12 * scale:
                inside[p] = True  # violated by rounding only: skip it
                break
            if full == np.inf and step == np.inf:
                return -1
            taken = min(step, full)
            if full < np.inf:
                for i in range(n):
                    x[i] -= taken * rest[i]
            for j in range(k):
                u[j] = max(u[j] - taken * v[j], 0.0)
            price += taken
            if full <= step:
                _push(k, q, r, c, rest, length)
                active[k], u[k], inside[p] = p, price, True
                k += 1
                break
            inside[active[drop]] = False
            for j in range(drop, k - 1):
                active[j], u[j] = active[j + 1], u[j + 1]
            k -= 1
            for j in range(drop, k):
                length = _extend(rows[active[j]], j, q, c, rest)
                _push(j, q, r, c, rest, length)
    else:
        return -2
    for j in range(k):  # project onto the active rows again: R^T y = N x - b, x -= Q^T y
        v[j] = -bounds[active[j]]
        for i in range(n):
            v[j] += rows[active[j], i] * x[i]
        for i in range(j):
            v[j] -= r[i, j] * v[i]
        v[j] /= r[j, j]
    for j in range(k):
        for i in range(n):
            x[i] -= v[j] * q[j, i]
    return k


@kernel
def nearest_points(z: Floats, rows: Floats, bounds: Floats) -> tuple[Floats, Ints]:
    """Find the nearest point of {x : rows x <= bounds} to each point, and the number of active rows, `(n)->(n),()`."""
    n, d = rows.shape[1], len(rows)
    out, found = np.empty(z.shape), np.empty(len(z), np.int64)
    work, active, inside = np.empty((2 * n + 5, n + 1)), np.empty(n + 1, np.int64), np.empty(d, np.bool_)
    for s in range(len(z)):
        found[s] = nearest_point(z[s], rows, bounds, out[s], work, active, inside)
    return out, found


@kernel
def extreme_points(
    direction: Floats, rows: Floats, bounds: Floats, middle: Floats, size: float
) -> tuple[Floats, Bools]:
    """Find argmax direction.x on a polyhedron, and whether it was found, `(n)->(n),()`.

    The nearest point to middle + t direction is a maximiser for every t that is large enough, namely as soon as the
    direction is a combination of active rows with coefficients of at least 0.
    """
    n, d = rows.shape[1], len(rows)
    out, done = np.empty(direction.shape), np.zeros(len(direction), np.bool_)
    work, active, inside = np.empty((2 * n + 5, n + 1)), np.empty(n + 1, np.int64), np.empty(d, np.bool_)
    far = np.empty(n)
    for s in range(len(direction)):
        norm = 0.0
        for i in range(n):
            norm += direction[s, i] * direction[s, i]
        norm = np.sqrt(norm)
        reach = 100.0 * size / norm if norm > 0.0 else 0.0
        for _ in range(4):
            for i in range(n):
                far[i] = middle[i] + reach * direction[s, i]
            k = nearest_point(far, rows, bounds, out[s], work, active, inside)
            if k < 0:
                break
            q, r, c, rest, v = work[:n, :n], work[n : 2 * n, :n], work[2 * n], work[2 * n + 1, :n], work[2 * n + 2]
            left = _extend(direction[s], k, q, c, rest)
            _back(k, r, c, v)
            done[s] = left <= 1e-11 * norm
            for j in range(k):
                done[s] = done[s] and v[j] >= -1e-11 * norm
            if done[s]:
                break
            reach *= 30.0
    return out, done


@kernel
def nearest_in_ball(z: Floats, rows: Floats, bounds: Floats, centre: Floats, radius: float) -> tuple[Floats, Bools]:
    """Find the nearest point of a polyhedron within a ball, and whether there is one, `(n)->(n),()`.

    With a price on the distance from the centre it is the nearest point of the polyhedron to z + w (centre - z), which
    comes closer to the centre as w rises from 0 to 1.
    """
    n, d = rows.shape[1], len(rows)
    out, found = np.empty(z.shape), np.ones(len(z), np.bool_)
    work, active, inside = np.empty((2 * n + 5, n + 1)), np.empty(n + 1, np.int64), np.empty(d, np.bool_)
    at = np.empty(n)
    for s in range(len(z)):
        low, high = 0.0, 1.0
        for trial in range(62):
            w = 0.0 if trial == 0 else (1.0 if trial == 1 else 0.5 * (low + high))
            for i in range(n):
                at[i] = centre[i] if w == 1.0 else z[s, i] + w * (centre[i] - z[s, i])
            k = nearest_point(at, rows, bounds, out[s], work, active, inside)
            gap = 0.0
            for i in range(n):
                gap += (out[s, i] - centre[i]) * (out[s, i] - centre[i])
            gap = np.sqrt(gap)
            near = gap <= radius
            if k < 0 or (trial == 1 and gap > radius * (1.0 + 1e-12)):
                found[s] = False
            if (trial == 0 and near) or not found[s]:
                break
            if trial == 1 and not near:
                break  # the sets touch
            if near:
                high = w
            else:
                low = w
        # The last point tried may be just outside: keep the one at `high`, which is in the ball.
        if found[s] and low > 0.0:
            for i in range(n):
                at[i] = centre[i] if high == 1.0 else z[s, i] + high * (centre[i] - z[s, i])
            nearest_point(at, rows, bounds, out[s], work, active, inside)
    return out, found


@kernel
def extreme_in_ball(
    direction: Floats, rows: Floats, bounds: Floats, centre: Floats, radius: float
) -> tuple[Floats, Bools]:
    """Find argmax direction.x over a polyhedron within a ball, and whether they intersect, `(n)->(n),()`.

    It is the nearest point of the polyhedron to centre + t direction, which moves away from the centre as t rises.
    """
    n, d = rows.shape[1], len(rows)
    out, found = np.empty(direction.shape), np.ones(len(direction), np.bool_)
    work, active, inside = np.empty((2 * n + 5, n + 1)), np.empty(n + 1, np.int64), np.empty(d, np.bool_)
    at = np.empty(n)
    for s in range(len(direction)):
        norm = 0.0
        for i in range(n):
            norm += direction[s, i] * direction[s, i]
        norm = np.sqrt(norm)
        low, high, open_ended = 0.0, radius / norm if norm > 0.0 else 0.0, True
        best = 0.0
        for trial in range(130):
            t = 0.0 if trial == 0 else (high if open_ended else 0.5 * (low + high))
            for i in range(n):
                at[i] = centre[i] + t * direction[s, i]
            k = nearest_point(at, rows, bounds, out[s], work, active, inside)
            gap = 0.0
            for i in range(n):
                gap += (out[s, i] - centre[i]) * (out[s, i] - centre[i])
            gap = np.sqrt(gap)
            if k < 0 or (trial == 0 and gap > radius * (1.0 + 1e-12)):
                found[s] = False
            if not found[s] or norm == 0.0 or (trial == 0 and gap >= radius):
                break
            if gap <= radius:
                low = best = t
                if open_ended and trial > 0:
                    if t * norm > 1e7 * radius:
                        break  # the ball does not bind
                    high = 4.0 * t
            else:
                open_ended, high = False, t
            if not open_ended and high - low <= 1e-16 * high:
                break
        if found[s] and norm > 0.0:
            for i in range(n):
                at[i] = centre[i] + best * direction[s, i]
            nearest_point(at, rows, bounds, out[s], work, active, inside)
    return out, found
