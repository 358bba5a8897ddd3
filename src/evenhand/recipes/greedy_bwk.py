"""Bandits with knapsacks: the arm of most reward per priced cost, as often as the budgets allow.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 6 (Implementability).
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


@named(
    "B8", source="Agrawal & Devanur 2014, Section 6 (Implementability): the greedy ratio, where not playing is allowed"
)
def greedy_bwk(
    problem: Problem, model: Model, *, step: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Play the best optimistic reward per priced optimistic cost, as often as budgets allow; hard budgets.

    Equation: a = argmax r_ucb(a) / phi.c_lcb(a), with probability min(1, B / (T phi.c_lcb(a))), else the action that
    does nothing; phi on the simplex, by exponentiated gradient. Only the ratios of phi count, so the slack of
    `DualHedge` changes nothing. Budgets are scaled to be equal (`recipes.defaults.evened`).
    Guarantee: none: the source's rests on the claim that the greedy ratio solves the linear program, which is wrong
    (see below). `hard=True` keeps budgets.
    The source says that this solves the linear program of `bwcr`, which is wrong: chances may add up to 1 only, and an
    arm of high reward that would use what is left over is never mixed in. Prefer `bwcr` or `ucb_bwk`.
    Deviations: prices step on observed costs; without an action that does nothing arms are played for certain.

    Args:
        problem: with a linear objective and budgets, on learned or known outcomes.
        model: with widths.
        step: of the prices, per unit of the scarcest budget, as for `lin_cbwk`.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or a negative step.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> greedy_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'greedy_bwk'
    """
    gain, prices, _ = ratio(problem, step)
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, prices, *hard_limits(problem, hard)),
        choice=GreedyRatio(1, nothing_to_do(problem)),
        name=name or "greedy_bwk",
    )
