"""Regressions on outer products of two blocks of features; candidates with a common block share work.

Features are x = flatten(u v^T), of length n = r s, and V = ridge I + sum of x x^T. Consecutive candidates with the same
u are a run. A run needs V^-1 only through its contraction V^-1 (u x I).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats


class Room(NamedTuple):
    """The work arrays of `run_worth`, and its results for up to A candidates."""

    half: Floats  # (s, r s)
    form: Floats  # (s, s)
    folded: Floats  # (s,)
    v: Floats  # (s, A)
    line: Floats  # (A,)
    center: Floats  # (M, A) means
    square: Floats  # (A,) x^T V^-1 x, 0 at first


def products(x: Floats, r: int) -> Floats:
    """Compute flatten(u v^T) of candidates, `(A,r+s)->(A,r s)`."""
    u, v = x[:, :, :r, None], x[:, :, None, r:]
    return np.asarray((u * v).reshape(*x.shape[:2], r * v.shape[3]))


@inlined
def _fold(u: Floats, z: Floats, out: Floats) -> None:
    """Compute (u x I)^T z, `(r),(r s)->(s)`."""
    s = len(out)
    out[:] = 0.0
    for j in range(len(u)):
        c = u[j]
        if c != 0.0:
            for i in range(s):
                out[i] += c * z[j * s + i]


@inlined
def _contract(inverse: Floats, u: Floats, half: Floats) -> None:
    """Compute (u x I)^T V^-1, `(r s,r s),(r)->(s,r s)`, along rows."""
    s, n = half.shape
    half[:] = 0.0
    for j in range(len(u)):
        c = u[j]
        if c != 0.0:
            for i in range(s):
                for k in range(n):
                    half[i, k] += c * inverse[j * s + i, k]


@inlined
def _run(x: Floats, first: int, r: int) -> int:
    """Find the end of the run of candidates from `first` on that share u, `(A,r+s)->()`."""
    last, same = first + 1, True
    while last < len(x) and same:
        for j in range(r):
            same = same and x[last, j] == x[first, j]
        if same:
            last += 1
    return last


@inlined
def _squares(form: Floats, v: Floats, size: int, line: Floats, square: Floats) -> None:
    """Compute v_a^T form v_a for the first candidates a, `(s,s),(s,A)->(A)`, in loops over a, which vectorise."""
    square[:size] = 0.0
    for i in range(len(form)):
        c = form[i, i]
        for a in range(size):
            line[a] = c * v[i, a]
        for j in range(i):
            c = 2.0 * form[i, j]
            for a in range(size):
                line[a] += c * v[j, a]
        for a in range(size):
            square[a] += line[a] * v[i, a]


@kernel
def scratch(candidates: int, r: int, s: int, outcomes: int) -> Room:
    """Allocate the work arrays of `run_worth`."""
    found = np.empty((outcomes, candidates)), np.zeros(candidates)
    v, line = np.empty((s, candidates)), np.empty(candidates)
    return Room(np.empty((s, r * s)), np.empty((s, s)), np.empty(s), v, line, *found)


@kernel
def run_worth(theta: Floats, inverse: Floats, x: Floats, r: int, first: int, wide: bool, room: Room) -> int:
    """Compute means and x^T V^-1 x of the run of candidates that begins at `first`; returns its end.

    `(M,r s),(r s,r s),(A,r+s)->`, filled in from the start of `room.center` and `room.square`; squares only if `wide`.
    """
    half, form, folded, v, line, center, square = room
    last, u, s = _run(x, first, r), x[first, :r], len(folded)
    size = last - first
    for a in range(size):
        for i in range(s):
            v[i, a] = x[first + a, r + i]
    for m in range(len(theta)):
        _fold(u, theta[m], folded)
        center[m, :size] = 0.0
        for i in range(s):
            c = folded[i]
            for a in range(size):
                center[m, a] += c * v[i, a]
    if wide:
        _contract(inverse, u, half)
        for i in range(s):
            _fold(u, half[i], form[i])
        _squares(form, v, size, line, square)
    return last


@inlined
def _subtract(inverse: Floats, gains: Floats, used: int) -> None:
    """Subtract g g^T from V^-1 for the first `used` gains, in order; four at a time, to read V^-1 less often."""
    n, whole = len(inverse), used if used % 4 == 1 else used + 3
    whole -= whole % 4
    gains[used:whole] = 0.0
    for q in range(0, whole, 4):
        g0, g1, g2, g3 = gains[q], gains[q + 1], gains[q + 2], gains[q + 3]
        for i in range(n):
            c0, c1, c2, c3 = g0[i], g1[i], g2[i], g3[i]
            for k in range(n):
                inverse[i, k] = inverse[i, k] - c0 * g0[k] - c1 * g1[k] - c2 * g2[k] - c3 * g3[k]
    if whole < used:  # a single gain is left
        gain = gains[whole]
        for i in range(n):
            c = gain[i]
            for k in range(n):
                inverse[i, k] -= c * gain[k]


@kernel
def absorb_runs(
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
    r: int,
) -> None:
    """Absorb the plays of each run of equal u in one pass over V^-1, which subtracts all gains.

    With g = V^-1 x / sqrt(1 + x^T V^-1 x), a play takes g g^T from V^-1. The part that earlier plays of the run took
    from it is subtracted from the gain of a later one.
    """
    plays, s = x.shape[1], x.shape[2] - r
    n = r * s
    half, folded, fit = np.empty((s, n)), np.empty((plays, s)), np.empty((y.shape[2], s))
    gains, diagonal = np.empty((plays + 3, n)), np.empty(n)
    for b in range(len(x)):
        first = 0
        while first < plays:
            last, u, used = _run(x[b], first, r), x[b, first, :r], 0
            if seen[b, first:last].any():
                _contract(inverse[b], u, half)
                for i in range(n):
                    diagonal[i] = inverse[b, i, i]
                for m in range(y.shape[2]):
                    _fold(u, theta[b, m], fit[m])
            for p in range(first, last):
                if not seen[b, p].all():
                    continue
                count[b] += 1.0
                v, gain, own = x[b, p, r:], gains[used], folded[used]
                gain[:] = 0.0
                for i in range(s):
                    for k in range(n):
                        gain[k] += v[i] * half[i, k]
                for q in range(used):
                    taken, earlier = 0.0, gains[q]
                    for i in range(s):
                        taken += folded[q, i] * v[i]
                    for k in range(n):
                        gain[k] -= taken * earlier[k]
                _fold(u, gain, own)
                square = 0.0
                for i in range(s):
                    square += own[i] * v[i]
                sound, scale = square > 0.0, 1.0 / math.sqrt(1.0 + max(square, 0.0))
                for k in range(n):  # as in `absorb`: an inverse must stay positive definite
                    sound = sound and gain[k] * scale * (gain[k] * scale) < diagonal[k]
                if not sound:
                    continue
                log_det[b] += math.log1p(square)
                for m in range(y.shape[2]):
                    miss = y[b, p, m]
                    for i in range(s):
                        miss -= fit[m, i] * v[i]
                    miss /= 1.0 + square
                    for i in range(s):
                        fit[m, i] += miss * own[i]
                    for k in range(n):
                        theta[b, m, k] += miss * gain[k]
                for i in range(s):
                    own[i] *= scale
                for k in range(n):
                    gain[k] *= scale
                    diagonal[k] -= gain[k] * gain[k]
                used += 1
            _subtract(inverse[b], gains, used)
            first = last
