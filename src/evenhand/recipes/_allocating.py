"""The choice of recipes that allocate many users at once."""

from __future__ import annotations

from typing import Literal

from evenhand.choices import Allocate
from evenhand.core.errors import InvalidInput
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import given
from evenhand.welfare import Curve, Oracle, Priced, satisfaction_of


def allocating(
    problem: Problem,
    oracle: Oracle | None = None,
    *,
    curve: Curve | None = None,
    optimism: Literal["beside", "inside"] = "beside",
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
) -> Allocate:
    """Make the choice that allocates the users of a problem for its satisfaction, or for another curve.

    Raises:
        InvalidInput: the problem measures no satisfaction, or does not maximise the outcome that it sums up.
    """
    measured = satisfaction_of(problem)
    if dict(getattr(problem.objective, "weights", {})) != {measured.of: 1.0}:
        raise InvalidInput("problem.maximize", f"{measured.of!r}, which the satisfaction sums up", problem.objective)
    return Allocate(
        users=problem.n_plays,
        arms=measured.arms,
        curve=given(curve, lambda: measured.curve),
        oracle=given(oracle, Priced),
        optimism=optimism,
        capacity=capacity,
        may_stay=may_stay,
    )
