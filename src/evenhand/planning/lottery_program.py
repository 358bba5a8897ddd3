"""The best lottery over a few policies within limits, by a small linear program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.types import Floats
from evenhand.planning.moments import Policies
from evenhand.planning.smoothed_dual import Scale

_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Mixture(NamedTuple):
    """A lottery over policies."""

    weights: Floats  # (L,)
    value: float
    prices: Floats  # (M,) of the limits in the small program


class Excess(NamedTuple):
    """The least amount by which limits can be exceeded, all by the same fraction of their sizes."""

    part: float
    prices: Floats  # (M,) of which rows exclude each other


def sizes(bound: Floats, scale: Scale) -> Floats:
    """Return the sizes in which limits are kept, `(M)->(M)`: their own, or that of the rows if these are smaller.

    A limit of 0 is kept in units of the rows.
    """
    own = np.abs(bound)
    return np.where(own > 1e-9 * scale.rows, np.minimum(own, scale.rows), scale.rows)


def mixed(found: Policies, bound: Floats, scale: Scale) -> Mixture | None:
    """Mix policies, `(L,M),(M)->(L),(),(M)`; None if no lottery keeps to the limits.

    Equation: max sum_l x_l value_l s.t. sum_l x_l used_l <= bound, sum_l x_l = 1, x >= 0. An optimum at a corner has
    at most M + 1 policies.
    """
    from scipy.optimize import linprog

    size = sizes(bound, scale)
    shift = found.values.mean()  # the tolerances of the solver are absolute
    result = linprog(  # type: ignore[call-overload]  # the stubs want the options of one method
        (shift - found.values) / scale.worth,
        A_ub=found.used.T / size[:, None],
        b_ub=bound / size,
        A_eq=np.ones((1, len(found.values))),
        b_eq=np.ones(1),
        method="highs-ds",
        options=_EXACT,
    )
    if result.status != 0:
        return None
    weights = np.maximum(result.x, 0.0)
    weights /= weights.sum()
    prices = np.maximum(-result.ineqlin.marginals, 0.0) * scale.worth / size
    return Mixture(weights, float(weights @ found.values), prices)


def excess(found: Policies, bound: Floats, scale: Scale) -> Excess:
    """Exceed limits by as little as possible, `(L,M),(M)->(),(M)`; prices add up to 1 in the sizes of the limits.

    Equation: min s s.t. sum_l x_l used_l <= bound + s size, sum_l x_l = 1, x >= 0.
    """
    from scipy.optimize import linprog

    size, count = sizes(bound, scale), len(found.values)
    result = linprog(  # type: ignore[call-overload]  # the stubs want the options of one method
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([found.used.T / size[:, None], -np.ones(len(bound))]),
        b_ub=bound / size,
        A_eq=np.append(np.ones(count), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0.0, None)] * count + [(None, None)],
        method="highs-ds",
        options=_EXACT,
    )
    if result.status != 0:
        raise EvenhandError(f"the small program of {count} policies was not solved: {result.message}")
    return Excess(float(result.fun), np.maximum(-result.ineqlin.marginals, 0.0) / size)
