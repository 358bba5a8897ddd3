"""The fluid bound of allocations under constraints on averages over rounds: a linear program, by HiGHS."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InfeasibleProblem
from evenhand.core.types import Floats
from evenhand.welfare.base import Round
from evenhand.welfare.curves import Curves
from evenhand.welfare.linear_program import highs, matrix, relaxation


def fluid(
    case: Round, curves: Curves, use: Floats, limit: Floats, *, may_stay: bool = True
) -> tuple[float, Floats, Floats]:
    """Compute the best mean welfare of given rounds if rows are kept on average, `(R,N,A,d),(d)->(),(d),(R,N,A)`.

    Equation: max mean_s welfare_s(x_s) s.t. mean_s sum_ia use_sia x_sia <= limit, over probabilities x_s in every round
    s. No policy can reach more in these rounds, whatever it knows. As hard limits may leave users without an arm,
    probabilities of a user sum to at most 1, unless `may_stay` is False. Returns the value, the prices of the rows, and
    the probabilities.

    Raises:
        InfeasibleProblem: no allocation of these rounds keeps to the limits.

    >>> from evenhand.welfare.curves import Capped
    >>> ones = np.ones((1, 4, 2))
    >>> case, cost = Round(ones, 0 * ones, ones > 0, np.array([4, 4])), np.zeros((1, 4, 2, 1))
    >>> cost[0, :, 1] = 1.0  # of the second arm
    >>> value, price, _ = fluid(case, Capped(3.0).curves(2), cost, np.array([0.5]))
    >>> value, price
    (3.5, array([1.]))
    """
    count = len(case.value)
    program = relaxation(case, curves, may_stay=may_stay)
    rows = use[program.pairs].T  # (d, pairs)
    size = np.abs(rows).max(1, initial=0.0)
    size[size == 0.0] = 1.0
    row, pair = np.nonzero(rows)
    entries = [(row, pair, rows[row, pair] / size[row])]
    found = highs(program, matrix(entries, len(limit), len(program.gain)), limit * count / size)
    if found.status != 0:
        raise InfeasibleProblem(f"no allocation of {count} sampled rounds keeps to the constraints: {found.message}")
    prices = np.maximum(-found.ineqlin.marginals[len(program.at_most) :], 0.0) * program.unit / size
    chances = np.zeros(case.value.shape)
    chances[program.pairs] = np.clip(found.x[: len(program.pairs[0])], 0.0, 1.0)
    return float(-found.fun * program.unit / count), prices, chances
