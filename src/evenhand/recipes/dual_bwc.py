"""Convex constraints without an objective or contexts, by dual vectors."""

from __future__ import annotations

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives.steepness import Norm
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._sides import for_constraints, readings
from evenhand.recipes.defaults import need_constraints


@named("B3", source="Agrawal & Devanur 2014, Algorithm 3 for constraints")
def dual_bwc(
    problem: Problem,
    model: Model,
    *,
    norm: Norm = "euclidean",
    margin: float | None = None,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the arm that leads the average outcome to the constraints at a dual vector; the objective is ignored.

    Equation: a = argmin phi.Z(phi)_a, with phi from losses h(phi) - phi.Z(phi)_a (`goals.Fenchel`), h the support
    function of what is allowed, and Z the end of each interval that makes phi.Z least. Arms that tie are drawn at
    random.

    Args:
        problem: under budgets, floors of everybody and convex sets (`Within`).
        model: with widths.
        norm: "euclidean" for gradient descent, "sup" for exponential weights.
        margin: as for `bwcr`.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no constraint, one by group, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> dual_bwc(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'dual_bwc'
    """
    need_constraints(problem)
    kept = for_constraints(problem, "dual", margin, norm)
    return Policy(
        problem=problem,
        model=model,
        goals=(*kept, *hard_limits(problem, hard)),
        choice=Lottery(readings(*kept)),
        name=name or "dual_bwc",
    )
