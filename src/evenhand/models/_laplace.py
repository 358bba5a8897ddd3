"""The penalty of a logistic regression that maximises the evidence, by Laplace's approximation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats
from evenhand.models.past import Arrays
from evenhand.numerics.evidence import STRONG, log_volume, within
from evenhand.numerics.likelihood import LOGISTIC, add_losses, add_quadratic
from evenhand.numerics.newton import fit, invert

BELIEVED = 2.0**2  # variance of a log-odds before any data: an observation at even odds is worth as much
_PASSES = 2


class Known(NamedTuple):
    """The data and the prior of a replica's estimate."""

    past: Arrays
    first: int  # row of the state; the others of the replica follow
    size: float
    n_seen: float
    origin: Floats  # (A, n)
    believed: float


@kernel
def _climb(known: Known, ridge: float, theta: Floats, inverse: Floats) -> float:
    """Climb from a penalty to a maximum of the evidence; return the penalty, `()->(A,n),(A,n,n),()`."""
    x, y, kept, weight, anchor, slope, curve = known.past
    origin, believed, (actions, n) = known.origin, known.believed, theta.shape
    scale, total = known.size / known.n_seen, float(actions * n)
    root = np.empty((n, n))
    rho = ridge if ridge > 0.0 else scale / believed
    for step in range(_PASSES):
        rho = within(rho, known.size)
        for b in range(actions):
            r = known.first + b
            s = int(kept[r])
            older = anchor[r], slope[r] - rho * origin[b], curve[r]  # which centres the penalty
            fit(LOGISTIC, (x[r, :s], y[r, :s], weight[r, :s]), older, theta[b], root, rho, 1e-4)
            invert(root, inverse[b])
        if step + 1 < _PASSES:
            free, squares = total, 0.0
            for b in range(actions):
                for i in range(n):
                    squares += (theta[b, i] - origin[b, i]) ** 2
                    free -= rho * inverse[b, i, i]
            spread = (believed + scale * squares) / (1.0 + min(max(free, 0.0), total))
            rho = scale / spread
    return rho


@kernel
def _evidence(known: Known, rho: float, theta: Floats, inverse: Floats) -> float:
    """ln of the evidence of a fit times the density of the prior, up to a constant, `(),(A,n),(A,n,n)->()`."""
    x, y, kept, weight, anchor, slope, curve = known.past
    actions, n = theta.shape
    gradient, hessian, nonzero = np.zeros(n), np.zeros((n, n)), np.empty(n, np.int64)
    spread, loss = known.size / known.n_seen / rho, 0.0
    for b in range(actions):
        r = known.first + b
        s = int(kept[r])
        loss = add_quadratic(anchor[r], slope[r], curve[r], theta[b], loss, gradient, hessian)
        data = x[r, :s], y[r, :s], weight[r, :s]
        loss = add_losses(LOGISTIC, data, theta[b], loss, gradient, hessian, nonzero)
        for i in range(n):
            loss += float(0.5 * rho * (theta[b, i] - known.origin[b, i]) ** 2)
    volume = actions * n * math.log(rho) + log_volume(inverse)
    return float(0.5 * (volume - math.log(spread) - known.believed / spread) - loss)


@kernel
def fit_evidence(known: Known, ridge: float, theta: Floats, inverse: Floats) -> float:
    """Maximise the evidence of a replica by Laplace's approximation; return its penalty, `()->(A,n),(A,n,n),()`.

    As in `numerics.evidence.fit`, a fit with a narrow prior also climbs from the default penalty.
    """
    wide = theta.copy(), np.empty_like(inverse)
    rho = _climb(known, ridge, theta, inverse)
    if known.believed < BELIEVED:
        other = _climb(known, known.size / known.n_seen / BELIEVED, *wide)
        if _evidence(known, other, *wide) > _evidence(known, rho, theta, inverse) + STRONG:
            for b in range(len(theta)):
                for i in range(theta.shape[1]):
                    theta[b, i] = wide[0][b, i]
                    for j in range(theta.shape[1]):
                        inverse[b, i, j] = wide[1][b, i, j]
            return other
    return rho
