"""A fluid problem that reads rows at the means where these suffice, and hopefully where they do not.

A row that has to be reached, such as a floor, is hopeless at the means as long as nothing is known of it: nobody tries
what is believed to bring nothing. Read at the ends of the intervals that reach it, it is soon believed to be kept by
few plays, and is missed. So hope is for the rows that the means cannot keep, and for as long as they cannot.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.fluid import solve_fluid
from evenhand.planning.shared_arms import Shared

_MISSED = 0.01  # of the largest use: what a plan is off by no more than this is kept, as for a solver


@kernel
def _beyond(
    weight: Floats, g: Floats, u: Floats, kept: Ints, places: Floats, low: Floats, high: Floats, differs: Bools
) -> Bools:
    """Which directions no lottery keeps within their bounds, `(S),(S,A),(S,k,A),(),(),(k),(k),(k)->(k)`."""
    out = np.zeros(low.shape, np.bool_)
    for r in range(len(low)):
        for i in range(low.shape[1]):
            if not differs[r, i]:
                continue
            least, most, size, total = 0.0, 0.0, 0.0, 0.0
            for s in range(kept[r]):
                bottom, top = np.inf, -np.inf
                for a in range(u.shape[3]):
                    if g[r, s, a] > -np.inf:
                        bottom, top = min(bottom, u[r, s, i, a]), max(top, u[r, s, i, a])
                if top > -np.inf:
                    least += weight[r, s] * places[r] * bottom
                    most += weight[r, s] * places[r] * top
                    size = max(size, abs(bottom), abs(top))
                total += weight[r, s]
            slack = _MISSED * size
            out[r, i] = least > (high[r, i] + slack) * total or most < (low[r, i] - slack) * total
    return out


@kernel
def _missed(plan: Floats, low: Floats, high: Floats, most: Floats) -> Bools:
    """Which directions a plan does not keep within their bounds, `(k),(k),(k),(k)->(k)`."""
    out = np.zeros(plan.shape, np.bool_)
    for r in range(len(plan)):
        for i in range(plan.shape[1]):
            slack = _MISSED * most[r, i]
            out[r, i] = plan[r, i] > high[r, i] + slack or plan[r, i] < low[r, i] - slack
    return out


@kernel
def largest(u: Floats, kept: Ints) -> Floats:
    """The largest use by a candidate, by its size, `(S,k,A),()->(k)`."""
    out = np.zeros((len(u), u.shape[2]))
    for r in range(len(u)):
        for s in range(kept[r]):
            for i in range(u.shape[2]):
                for a in range(u.shape[3]):
                    out[r, i] = max(out[r, i], abs(u[r, s, i, a]))
    return out


def solve_plain_first(
    weight: Floats,
    g: Floats,
    plain: Floats,
    hope: Floats,
    kept: Ints,
    position: Floats,
    shared: Shared,
    due: Bools,
    warm: Bools,
    spread: Floats,
    mu: Floats,
    lam: Floats,
    plan: Floats,
    noise: Floats,
    low: Floats,
    high: Floats,
    temperatures: Floats,
) -> Floats:
    """`solve_fluid` at plain uses, and again with the rows that it misses read hopefully, until it misses no others.

    `(S),(S,A),(S,k,A),(S,k,A),(),(P),.,(),(),(),(k),(A or 0),(k),(k),(k),(k),(l)->(S,k,A)`: the uses that were read.
    What no lottery can keep at plain uses is read hopefully at once. A row is missed by 1% of its largest use.
    """
    if hope is plain:
        solve_fluid(
            weight, g, plain, kept, position, shared, due, warm, spread, mu, lam, plan, noise, low, high, temperatures
        )
        return plain
    differs = np.asarray((plain != hope).any((1, 3)) & due[:, None])
    hoped = _beyond(weight, g, plain, kept, position.sum(1), low, high, differs)
    before = mu.copy()
    while True:
        read = np.where(hoped[:, None, :, None], hope, plain)
        solve_fluid(
            weight, g, read, kept, position, shared, due, warm, spread, mu, lam, plan, noise, low, high, temperatures
        )
        missed = differs & ~hoped & due[:, None] & _missed(plan, low, high, largest(read, kept))
        if not missed.any():
            return read
        hoped, due = hoped | missed, missed.any(1)
        mu[due] = before[due]
