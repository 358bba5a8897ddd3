"""Distances in L_q norms from any convex set that can be projected to and that has a support function."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, dual_order, length, order
from evenhand.core.types import Floats
from evenhand.sets.base import ConvexSet

_STEPS, _PRECISE = 500, 1e-8  # of the Euclidean distance


def distance_by_supports(kind: str, within: ConvexSet, z: Floats, norm: Norm) -> Floats:
    """min ||z - x||_q over the points x of a set, 1 < q < infinity, `(m)->()`.

    Equation: max theta.z - h(theta) over ||theta||_p <= 1, 1/p + 1/q = 1, with the support function h(theta) =
    max theta.x (Agrawal & Devanur 2014, Lemma 2.2). In its place stands the maximum over some points of the set, which
    bounds the distance from above, and which the theta of that bound extends by the point that it asks for, until the
    value at theta itself is as large. The Euclidean projection is the first point, and says how far away the others
    are at most, so that unbounded sets are no exception.

    Raises:
        InvalidInput: the bounds do not meet.
    """
    return np.array([_distance(kind, within, row, order(norm)) for row in z])


def _distance(kind: str, within: ConvexSet, z: Floats, q: float) -> float:
    near = np.asarray(within.project(z))
    far = float(length(z - near, "euclidean"))
    if far <= 1e-12 * (1.0 + float(np.abs(z).max())):
        return 0.0
    reach = far * len(z) ** max(1.0 / q - 0.5, 0.0)  # of any point that is as near by the L_q norm
    gaps, best, low, high = (z - near)[None] / far, 0.0, z - reach, z + reach
    share = np.ones(1)
    for _ in range(_STEPS):
        if q >= 2.0:
            share, theta = _nearest_mixture(gaps, share, q)
        else:
            theta = _widest_gap(gaps, dual_order(q))
        theta /= float(length(theta, dual_order(q)))
        reached, at = within.support(theta, low, high)
        best = max(best, (float(theta @ z) - float(reached)) / far)
        above = float(length(share @ gaps, q)) if q >= 2.0 else float((gaps @ theta).min())
        if above - best <= _PRECISE:
            return far * best
        gaps, share = np.concatenate([gaps, (z - at)[None] / far]), np.append(share, 0.0)
    raise InvalidInput(f"{kind}.distance(norm)", "a q that is nearer to 2, or 'one' or 'sup'", q)


def _nearest_mixture(gaps: Floats, share: Floats, q: float) -> tuple[Floats, Floats]:
    """Shares of the mixture of k vectors whose L_q norm is least, and the slope there, `(k,m),(k),()->(k),(m)`."""
    from scipy.optimize import minimize

    def slope(w: Floats) -> tuple[float, Floats]:
        v = w @ gaps
        size = float(length(v, q))
        return size, np.sign(v) * (np.abs(v) / (size or 1.0)) ** (q - 1.0)

    def half_square(w: Floats) -> tuple[float, Floats]:
        size, theta = slope(w)
        return 0.5 * size * size, size * (gaps @ theta)

    found = minimize(  # type: ignore[call-overload]  # the stubs know no constraints as dictionaries of functions
        half_square,
        share,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(share),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(len(w))},
        options={"ftol": 1e-16, "maxiter": 200},
    )
    w = np.maximum(found.x, 0.0)
    w = np.asarray(w / w.sum())
    return w, slope(w)[1]


def _widest_gap(gaps: Floats, p: float) -> Floats:
    """argmax of the least theta.gap of k vectors over ||theta||_p <= 1, p > 2, `(k,m),()->(m)`."""
    from scipy.optimize import minimize

    m = gaps.shape[1]
    first = gaps[0] / float(length(gaps[0], p))
    found = minimize(  # type: ignore[call-overload]
        lambda y: -y[m],
        np.append(first, (gaps @ first).min()),
        jac=lambda y: np.append(np.zeros(m), -1.0),
        method="SLSQP",
        constraints=[
            {
                "type": "ineq",
                "fun": lambda y: gaps @ y[:m] - y[m],
                "jac": lambda y: np.column_stack([gaps, -np.ones(len(gaps))]),
            },
            {
                "type": "ineq",
                "fun": lambda y: 1.0 - (np.abs(y[:m]) ** p).sum(),
                "jac": lambda y: np.append(-p * np.sign(y[:m]) * np.abs(y[:m]) ** (p - 1.0), 0.0),
            },
        ],
        options={"ftol": 1e-16, "maxiter": 300},
    )
    return np.asarray(found.x[:m])
