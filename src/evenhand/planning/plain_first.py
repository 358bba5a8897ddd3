"""A fluid problem that reads rows at the means where these suffice, and optimistically where they do not.

A row that has to be reached, such as a floor, is hopeless at the means as long as nothing is known about it: no plan
tries candidates that are believed to bring nothing. Read at the ends of the intervals that reach it, it is soon
believed to be kept by few plays, and is missed. Optimism is therefore used only for rows that the means cannot keep,
and only as long as they cannot.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.fluid import Fluid, Solution, solve_fluid

_MISSED = 0.01  # of the largest use: what a plan is off by no more than this is kept, as for a solver


@kernel
def _exposed(first: float, further: Floats | None, r: int) -> float:
    """The mean number of places that are exposed."""
    if further is not None:
        for exposed in further[r]:
            first += exposed
    return first


@kernel
def _beyond(fluid: Fluid, u: Floats, differs: Bools) -> Bools:
    """Mark the directions that differ and that no lottery keeps within their bounds, `.,(S,k,A),(k)->(k)`."""
    weight, g, kept, low, high = fluid.weight, fluid.gain, fluid.kept, fluid.low, fluid.high
    out = np.zeros(low.shape, np.bool_)
    for r in range(len(low)):
        exposed = _exposed(fluid.places.first[r], fluid.places.further, r)
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
                    least += weight[r, s] * exposed * bottom
                    most += weight[r, s] * exposed * top
                    size = max(size, abs(bottom), abs(top))
                total += weight[r, s]
            slack = _MISSED * size
            out[r, i] = least > (high[r, i] + slack) * total or most < (low[r, i] - slack) * total
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


@kernel
def _differs(plain: Floats, hope: Floats, due: Bools) -> Bools:
    """Mark the directions of the replicas that are due whose two readings differ, `(S,k,A),(S,k,A),()->(k)`."""
    out = np.zeros((len(due), plain.shape[2]), np.bool_)
    for r in range(len(due)):
        for i in range(plain.shape[2]):
            out[r, i] = due[r] and (plain[r, :, i] != hope[r, :, i]).any()
    return out


def solve_plain_first(fluid: Fluid, plain: Floats, hope: Floats, due: Bools, warm: Bools, solution: Solution) -> Floats:
    """`solve_fluid` at plain uses, and again with missed rows read at their ends, until it misses no others.

    `.,(S,k,A),(S,k,A),(),(),.->(S,k,A)`: the uses that were read. A row that no lottery can keep at plain uses is read
    optimistically at once. A row is missed by 1% of its largest use.
    """
    if hope is plain:
        solve_fluid(fluid, plain, due, warm, solution)
        return plain
    differs, before, read, waits = _differs(plain, hope, due), solution.mu.copy(), plain, due
    missed = _beyond(fluid, plain, differs)
    hoped = np.zeros_like(missed)
    while waits.any():
        hoped |= missed
        read = np.where(hoped[:, None, :, None], hope, plain) if hoped.any() else plain
        solve_fluid(fluid, read, waits, warm, solution)
        slack = _MISSED * largest(read, fluid.kept)
        off = (solution.plan > fluid.high + slack) | (solution.plan < fluid.low - slack)
        missed = np.asarray(off & waits[:, None] & differs & ~hoped)
        waits = np.asarray(missed.any(1))
        solution.mu[waits] = before[waits]
    return read
