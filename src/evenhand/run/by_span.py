"""The program of the cases of a run, with a bound for every span of time."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.planning.concave_program import Truth
from evenhand.problem.problem import Problem


def goes_by_time(problem: Problem) -> bool:
    """Return whether the times of cases matter: because of budgets per period, or a run that ends at a time."""
    return problem.until is not None or any(s.spans is not None for s in problem.stated)


def by_span(problem: Problem, truth: Truth, time: Floats) -> tuple[Truth, Floats]:
    """Return the truth with a row for every span of a row, and their bounds per case, `(S)->,(d)`.

    Equation: of N cases with times t_i, span s of a row v allows mean_i 1{t_i in s} v_i <= allowance_s / N, or n_s / N
    times its bound on averages where n_s of the cases are in it. What is
    spent without spans may sum to its total over the horizon, however many cases come; everything else is a mean.

    Args:
        problem: its constraints in the order of the rows.
        truth: of the N cases of a run.
        time: of each of them, by the clock of the problem.
    """
    cases, rows, bounds, labels, place = len(time), [np.zeros((*truth.offered.shape, 0))], [np.zeros(0)], list[str](), 0
    for s in problem.stated:
        own, place = truth.rows[:, :, place : place + len(s.rows)], place + len(s.rows)
        if s.spans is not None:
            inside = s.spans.contain(s.spans.period(time))
            each = own[..., None] * inside[:, None, None]  # of every row in every span
            rows.append(each.reshape(*own.shape[:2], -1))
            bounds.append(np.tile(s.spans.allowed(inside.sum(0)) / cases, len(s.rows)))
        else:
            rows.append(own)
            bounds.append(s.bound * problem.horizon / cases if s.spends else s.bound)
        labels += [s.constraint.label] * len(bounds[-1])
    return truth._replace(rows=np.concatenate(rows, 2), labels=tuple(labels)), np.concatenate(bounds)


def refuse_margin(margin: float | Floats) -> None:
    """Refuse a margin, as it would apply to rounds and not to spans."""
    if np.any(margin):
        raise InvalidInput("margin", "0, where the problem has budgets per period or ends at a time", margin)
