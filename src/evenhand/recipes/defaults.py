"""What recipes share: default numbers, and checks of the problem.

Defaults are per round of P plays: what one play can use is multiplied by P.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.goals.base import Goal
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.linear_reward import LinearReward
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.feasible import reach
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units

T = TypeVar("T")


def given(value: T | None, default: Callable[[], T]) -> T:
    """The value, or the default where it is None.

    >>> given(None, lambda: 0.5), given(0.0, lambda: 0.5)
    (0.5, 0.0)
    """
    return default() if value is None else value


def need_constraints(problem: Problem) -> None:
    """Refuse a problem without constraints."""
    if not problem.subject_to:
        raise InvalidInput("problem.subject_to", "at least one constraint to set prices for", problem.subject_to)


def need_spending(problem: Problem) -> None:
    """Refuse a problem without budgets."""
    if not problem.spending:
        raise InvalidInput("problem.subject_to", "at least one Budget", problem.subject_to)


def need_no_constraints(problem: Problem) -> None:
    """Refuse a problem with constraints."""
    if problem.subject_to:
        raise InvalidInput("problem.subject_to", "no constraints; fw_dual keeps to them", problem.subject_to)


def where_constrained(problem: Problem, goal: Callable[[], Goal]) -> tuple[Goal, ...]:
    """The goal that keeps to all constraints; () where there are none."""
    return (goal(),) if problem.subject_to else ()


def with_limits(name: str, limits: tuple[HardBudget, ...]) -> str:
    """The name of a soft recipe, with a suffix if it has hard limits."""
    return f"{name}, hard" if limits else name


def priced_rows(problem: Problem, margin: float = 0.0) -> tuple[Rows, Floats]:
    """The rows and bounds of all constraints, in units of the most that one play can add to each row, `()->(d)`.

    Steps and prices that suit one problem then suit it in any units. Factors of groups do not count as units.
    """
    rows, bound = constraint_rows(problem, problem.subject_to, margin)
    size = _size(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0))


def worth_unit(problem: Problem, goal: LinearReward) -> float:
    """The most that one play can be worth; 1 if all weights are 0.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.goals.linear_reward import reward
    >>> problem = FixedContexts().problem  # rewards are in [-2, 2]
    >>> worth_unit(problem, reward(problem))
    2.0
    """
    return float(np.abs(np.array(goal.weights)) @ _size(problem, goal.rows)) or 1.0


def _size(problem: Problem, rows: Rows) -> Floats:
    """The most that one play can add to each row by its size, without factors of groups, `->(d)`.

    Learned outcomes without a finite range count as 1.
    """
    most = np.maximum(np.abs(problem.low), np.abs(problem.high))
    learned = np.abs(rows.learned) @ np.where(np.isfinite(most), most, 1.0)
    return np.asarray(learned + np.abs(rows.known) @ np.abs(problem.declared).max(0, initial=0.0))


def default_margin(problem: Problem) -> float:
    """Half of c / sqrt(T), but at most half of the smallest budget.

    c is the most that a round can use of a budget, for the budget where this is least, and at most P.

    >>> from evenhand.environments import Court
    >>> default_margin(Court(horizon=10_000).problem)
    0.005
    """
    smallest = min((c.limit(problem.horizon) for c in problem.spending), default=math.inf)
    most = np.array([reach(problem, c.rows(problem))[1].max() for c in problem.spending])
    unit = problem.n_plays * min(1.0, float(most[most > 0].min(initial=1.0)))
    return 0.5 * min(unit / math.sqrt(problem.horizon), smallest)


def default_max_price(problem: Problem) -> float:
    """Z = P T / B for the smallest budget B, if a play is worth at most 1.

    >>> from evenhand.environments import FixedContexts
    >>> default_max_price(FixedContexts(horizon=100).problem)
    4.0
    """
    return problem.n_plays / min(c.limit(problem.horizon) for c in problem.spending)


def hedge_step(rows: Rows, horizon: int) -> float:
    """sqrt(ln(d + 1) / T) for d rows, the step of exponentiated gradient on losses in [-1, 1]."""
    return math.sqrt(math.log(len(rows) + 1) / horizon)
