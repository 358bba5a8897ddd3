"""Whether the constraints of a problem can be met at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.constraints.base import constraint_rows
from evenhand.problem.rows import Rows

if TYPE_CHECKING:
    from evenhand.problem.problem import Problem


def reach(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """The least and the most that one play of each action can add to rows that concern everybody, `->(A,d),(A,d)`.

    >>> from evenhand.environments import Court
    >>> from evenhand.problem.rows import select
    >>> reach(Court().problem, select(Court().problem, ("appears", "ride")))[1]
    array([[1., 0.],
           [1., 0.],
           [1., 1.]])
    """
    each = problem.declared[:, None, :] * (rows.known * rows.always[:, None])
    waits = ~problem.sure  # they add 0 if a play is not exposed
    fixed = np.where(waits, np.minimum(each, 0.0), each).sum(2), np.where(waits, np.maximum(each, 0.0), each).sum(2)
    w = rows.learned * rows.always[:, None]
    used = (w != 0.0) & ~problem.free[:, None, : len(problem.learned)]
    ends = np.where(w > 0, problem.low, problem.high), np.where(w > 0, problem.high, problem.low)
    parts = zip(fixed, ends, strict=True)
    least, most = (known + np.where(used, w * np.where(w == 0.0, 0.0, end), 0.0).sum(2) for known, end in parts)
    return least, most


def feasible(problem: Problem) -> bool:
    """Whether some mixture of plays meets all constraints on everybody, with learned outcomes at their best.

    Noisy outcomes are at their means.
    Equation: some x in [0, 1]^A with sum_a x_a = P has sum_a x_a least_a <= bound, with x_a the probability that action
    a is among the P different plays of a round. Where rounds have measures, sum_a x_a <= P, as users may stay without
    an arm. Constraints on single groups are ignored.
    """
    rows, bound = constraint_rows(problem, problem.subject_to)
    everybody = np.flatnonzero(rows.grouping < 0)
    rows, bound, plays = rows.take(everybody), bound[everybody], min(problem.n_plays, len(problem.actions))
    if not len(bound):
        return True
    least, _ = reach(problem, rows)
    finite = np.where(np.isfinite(least), np.abs(least), 0.0).max() + np.abs(bound).max()
    least = np.maximum(least, -1e6 * (1.0 + finite))  # of an unbounded outcome a small probability is enough
    cheapest = np.argsort((least - bound / plays).max(1), kind="stable")[:plays]
    if (least[cheapest].sum(0) <= bound).all():
        return True
    from scipy.optimize import linprog  # only needed if these do not fit together

    nothing, share, count = np.zeros(len(least)), np.ones((1, len(least))), [float(plays)]
    if problem.measures:
        result = linprog(nothing, np.concatenate([least.T, share]), [*bound, *count], bounds=(0.0, 1.0))
    else:
        result = linprog(nothing, least.T, bound, share, count, bounds=(0.0, 1.0))
    return bool(result.status == 0)
