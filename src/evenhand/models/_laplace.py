"""The penalty of a logistic regression that maximises the evidence, by Laplace's approximation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.models.past import Arrays, latest, older
from evenhand.numerics.evidence import STRONG, log_volume, within
from evenhand.numerics.likelihood import LOGISTIC, add_losses, add_quadratic
from evenhand.numerics.newton import fit, invert

BELIEVED = 2.0**2  # variance of a log-odds before any data: an observation at even odds is worth as much
_PASSES = 2


class Known(NamedTuple):
    """The estimates, and what they are made from; a replica has A rows of those that are marked so."""

    inverse: Floats  # (R A, n, n)
    theta: Floats  # (R A, n)
    ridge: Floats  # (R,)
    seen: Floats  # (R,) observations
    fitted: Floats  # (R,)
    size: Floats  # (R,)
    origin: Floats  # (R A, n)
    believed: float
    strong: float | None  # as from `given_up`
    past: Arrays  # of R A rows


@kernel
def _climb(known: Known, r: int, ridge: float) -> float:
    """Climb from a penalty to a maximum of the evidence of a replica; return the penalty."""
    inverse, theta, origin, size = known.inverse, known.theta, known.origin, known.size[r]
    n, actions = theta.shape[1], len(theta) // len(known.size)
    first, scale, total = r * actions, size / known.seen[r], float(actions * n)
    root, slope = np.empty((n, n)), np.empty(n)
    rho = ridge if ridge > 0.0 else scale / known.believed
    for step in range(_PASSES):
        rho = within(rho, size)
        for row in range(first, first + actions):
            anchor, plain, curve = older(known.past, row)
            for i in range(n):
                slope[i] = plain[i] - rho * origin[row, i]  # which centres the penalty
            fit(LOGISTIC, latest(known.past, row), (anchor, slope, curve), theta[row], root, rho, 1e-4)
            invert(root, inverse[row])
        if step + 1 < _PASSES:
            free, squares = total, 0.0
            for row in range(first, first + actions):
                for i in range(n):
                    off = theta[row, i] - origin[row, i]
                    squares += off * off
                    free -= rho * inverse[row, i, i]
            spread = (known.believed + scale * squares) / (1.0 + min(max(free, 0.0), total))
            rho = scale / spread
    return rho


@kernel
def _evidence(known: Known, r: int, rho: float, theta: Floats, inverse: Floats) -> float:
    """ln of the evidence of a fit times the density of the prior, up to a constant, `(),(A,n),(A,n,n)->()`."""
    (actions, n), first, spread, loss = theta.shape, r * len(theta), known.size[r] / known.seen[r] / rho, 0.0
    gradient, hessian, nonzero = np.zeros(n), np.zeros((n, n)), np.empty(n, np.int64)
    for b in range(actions):
        anchor, slope, curve = older(known.past, first + b)
        loss = add_quadratic(anchor, slope, curve, theta[b], loss, gradient, hessian)
        loss = add_losses(LOGISTIC, latest(known.past, first + b), theta[b], loss, gradient, hessian, nonzero)
        for i in range(n):
            off = theta[b, i] - known.origin[first + b, i]
            loss += 0.5 * rho * (off * off)
    volume = actions * n * math.log(rho) + log_volume(inverse)
    return float(0.5 * (volume - math.log(spread) - known.believed / spread) - loss)


@kernel
def _wider(strong: float | None, known: Known, r: int, rho: float, before: Floats) -> float:
    """Climb from the default penalty too, and keep the estimate whose evidence says so; return its penalty."""
    if strong is None:
        return rho
    theta, inverse, rows = known.theta, known.inverse, len(before)
    n, first = theta.shape[1], r * rows
    made, inverted = np.empty((rows, n)), np.empty((rows, n, n))
    for b in range(rows):
        for i in range(n):
            made[b, i], theta[first + b, i] = theta[first + b, i], before[b, i]
            for j in range(n):
                inverted[b, i, j] = inverse[first + b, i, j]
    least = strong + _evidence(known, r, rho, made, inverted)
    other = _climb(known, r, known.size[r] / known.seen[r] / BELIEVED)
    if _evidence(known, r, other, theta[first : first + rows], inverse[first : first + rows]) > least:
        return other
    for b in range(rows):
        for i in range(n):
            theta[first + b, i] = made[b, i]
            for j in range(n):
                inverse[first + b, i, j] = inverted[b, i, j]
    return rho


@kernel
def fit_evidence(known: Known, r: int) -> None:
    """Maximise the evidence of a replica by Laplace's approximation.

    As in `numerics.evidence.fit`, a fit with a narrow prior also climbs from the default penalty.
    """
    rows = len(known.theta) // len(known.size)
    before = known.theta[r * rows : (r + 1) * rows].copy()
    rho = _climb(known, r, known.ridge[r])
    known.ridge[r] = _wider(known.strong, known, r, rho, before)
    known.fitted[r] = known.seen[r]


def given_up(believed: float) -> float | None:
    """The gain in log evidence for which a prior is given up, None where it is not narrow: code for it is left out."""
    return STRONG if believed < BELIEVED else None
