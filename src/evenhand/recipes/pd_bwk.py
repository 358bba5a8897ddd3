"""Bandits with knapsacks, primal-dual: the arm of most reward per priced cost, with time as a resource.

Source: Badanidiyuru, Kleinberg & Slivkins 2013, *Bandits with knapsacks*, Section 5.
"""

from __future__ import annotations

from evenhand.choices import GreedyRatio
from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._ratios import ratio
from evenhand.recipes.defaults import nothing_to_do


@named("B8", source="Badanidiyuru et al. 2013, Bandits with knapsacks, Algorithm 2 (PD-BwK)")
def pd_bwk(
    problem: Problem, model: Model, *, step: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Play the best optimistic reward per priced optimistic cost, time being a resource with a price; hard budgets.

    Equation: a = argmax r_ucb(a) / (w.c_lcb(a) + w_0 b), w on the simplex of d + 1 coordinates by multiplicative
    weights, the last one that of time, of which every play uses b, the budget per round. Budgets are scaled to be equal
    (`recipes.defaults.evened`).
    Guarantee: without contexts, for rewards and costs in [0, 1], A arms, d budgets of B each, and intervals of
    confidence of order ln(A T d): T OPT - sum_t r_t is at most of order sqrt(ln(A T d)) (sqrt(A T OPT) + T OPT sqrt(A /
    B) + A sqrt(ln(A T d))), as in the source. `hard=True` keeps budgets without any condition.
    Deviations: weights step on observed costs rather than their lower bounds, by exp(epsilon c) rather than
    (1 + epsilon)^c; hard budgets mask arms that no longer fit, where the source stops; the source plays each arm once
    at first, which optimism does by itself if the model's intervals begin as whole ranges; an action that is declared
    to do nothing is not learned.

    Args:
        problem: with a linear objective and budgets, on learned or known outcomes.
        model: with widths.
        step: epsilon, per unit of the scarcest budget; sqrt(ln(d + 1) / B) by default, for costs of at most 1.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or a negative step.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> pd_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'pd_bwk'
    """
    gain, prices, rate = ratio(problem, step)
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, prices, *hard_limits(problem, hard)),
        choice=GreedyRatio(1, nothing_to_do(problem), rent=rate),
        name=name or "pd_bwk",
    )
