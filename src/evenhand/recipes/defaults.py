"""Default numbers of recipes: what one play can use is multiplied by the P plays of a round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.constraints import slack_rows
from evenhand.problem.feasible import reach
from evenhand.problem.problem import Problem

T = TypeVar("T")
U = TypeVar("U")


def given(value: T | None, default: Callable[[], U]) -> T | U:
    """Return the value, or the default if it is None.

    >>> given(None, lambda: 0.5), given(0.0, lambda: 0.5)
    (0.5, 0.0)
    """
    return default() if value is None else value


def default_margin(problem: Problem) -> Floats:
    """Compute half of c / sqrt(T) of every budget, at most half of the budget, one per constraint.

    c is the most that a round can use of the budget, or P where that is not bounded. Prices that move by steps of
    1 / sqrt(T) overspend that much before they are high enough. A budget that nothing can exceed needs none.

    >>> from evenhand.environments import Court
    >>> default_margin(Court(horizon=10_000).problem)
    array([0.005, 0.005, 0.   , 0.   ])
    """
    return _margins(problem, lambda most, limit: most / math.sqrt(problem.horizon))


def fluctuation(problem: Problem) -> Floats:
    """Compute half of sqrt(c b / T) of every budget b, at most half of the budget, one per constraint.

    The average of T uses that are at most c and b on average spreads by at most sqrt(c b / T). It suits recipes with
    hard limits, which only have to last until the end. A budget that nothing can exceed needs none.

    >>> from evenhand.environments import Court
    >>> fluctuation(Court(horizon=10_000).problem).round(4)
    array([0.0011, 0.0022, 0.    , 0.    ])
    """
    return _margins(problem, lambda most, limit: math.sqrt(most * limit / problem.horizon))


def _margins(problem: Problem, size: Callable[[float, float], float]) -> Floats:
    margins = np.zeros(len(problem.stated))
    for i, s in enumerate(problem.stated):
        if s.spends and not slack_rows(problem, [s]).all():
            most = float(reach(problem, s.rows)[1].max())
            most = problem.n_plays * (most if 0.0 < most < math.inf else 1.0)
            margins[i] = 0.5 * min(size(most, s.limit), s.limit)
    return margins
