"""Convex constraints without an objective or contexts, by Blackwell's direction."""

from __future__ import annotations

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._sides import for_constraints, readings
from evenhand.recipes.defaults import need_constraints


@named("B6", source="Agrawal & Devanur 2014, Algorithm 5 (after Blackwell 1956)")
def primal_bwc(
    problem: Problem, model: Model, *, margin: float | None = None, hard: bool = False, name: str | None = None
) -> Policy:
    """Play the arm that leads the average outcome straight back to the constraints; the objective is ignored.

    Equation: a = argmin phi.Z(phi)_a with phi = x - the point of S that is nearest to x, x being the average of the
    Z(phi) of the arms that were played, the ends of intervals that make phi.Z least. While x is in S, and where arms
    tie, they are drawn at random. The directions of budgets and of several sets add up, in the units of `bwcr`.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, no margin, a feasible problem, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, the Euclidean distance of
    mean y from what is allowed is of order sqrt(d) (sqrt(gamma A / T) + sqrt(ln(T) / T)) (Theorem 5.4). It bounds the
    distance of each set where there are several.

    Args:
        problem: under budgets, floors of everybody and convex sets, such as `Within`.
        model: with widths.
        margin: as for `bwcr`.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no constraint, one by group, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> primal_bwc(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'primal_bwc'
    """
    need_constraints(problem)
    kept = for_constraints(problem, "primal", margin)
    return Policy(
        problem=problem,
        model=model,
        goals=(*kept, *hard_limits(problem, hard)),
        choice=Lottery(readings(*kept)),
        name=name or "primal_bwc",
    )
