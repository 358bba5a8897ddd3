"""Requirements of recipes on constraints, and goals for constraints if there are any."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal, Limits
from evenhand.problem.problem import Problem


def need_constraints(problem: Problem) -> None:
    """Refuse a problem without constraints."""
    if not problem.subject_to:
        raise InvalidInput("problem.subject_to", "at least one constraint to set prices for", problem.subject_to)


def need_spending(problem: Problem) -> None:
    """Refuse a problem without budgets."""
    if not problem.spending:
        raise InvalidInput("problem.subject_to", "at least one Budget", problem.subject_to)


def need_budgets_only(problem: Problem) -> None:
    """Refuse a problem with constraints other than budgets."""
    if len(problem.spending) < len(problem.subject_to):
        expected = "budgets only, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)


def nothing_to_do(problem: Problem) -> int | None:
    """Find the first action under which all outcomes are declared to be 0, None if there is none.

    >>> from evenhand.environments import MixedArms
    >>> nothing_to_do(MixedArms().problem)
    0
    """
    idle = problem.free.all(1) & (problem.declared == 0.0).all(1)
    return int(np.argmax(idle)) if idle.any() else None


def need_no_constraints(problem: Problem, keeper: str = "fw_dual") -> None:
    """Refuse a problem with constraints, and name a recipe that takes them."""
    if problem.subject_to:
        raise InvalidInput("problem.subject_to", f"no constraints; {keeper} keeps to them", problem.subject_to)


def where_constrained(problem: Problem, goal: Callable[[], Goal]) -> tuple[Goal, ...]:
    """Make the goal that keeps to all constraints; () without constraints."""
    return (goal(),) if problem.subject_to else ()


def with_limits(name: str, limits: tuple[Limits, ...]) -> str:
    """Return a recipe's name, with a suffix if it has hard limits."""
    return f"{name}, hard" if limits else name
