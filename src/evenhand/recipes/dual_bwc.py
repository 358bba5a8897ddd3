"""Convex constraints without an objective or contexts, by dual vectors."""

from __future__ import annotations

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.core.norms import Norm
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
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
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, no margin, a feasible problem, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, the distance of mean y
    from what is allowed is of order ||1_d|| sqrt(gamma A / T) + R / T, R being the regret of the updates over T rounds:
    sqrt(d T) for gradient descent in the Euclidean norm, sqrt(T ln d) for exponential weights in the sup norm (Theorem
    5.1). It bounds the distance of each set where there are several.

    Args:
        problem: under budgets, floors of everybody and convex sets, such as `Within`.
        model: with widths.
        norm: "euclidean" for gradient descent, "sup" for exponential weights, or another, as for `bwcr`.
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
