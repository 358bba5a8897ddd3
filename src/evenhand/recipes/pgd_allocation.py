"""Dual gradient with a fixed step, where many users are allocated at once."""

from __future__ import annotations

import math

from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.goals.steps import Steady
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._allocating import allocating
from evenhand.recipes._needs import need_constraints
from evenhand.recipes._units import priced_rows
from evenhand.recipes._worth import worth_unit
from evenhand.recipes.defaults import default_margin, given
from evenhand.welfare import Oracle


@named("X2", source="evenhand's own; the prices of Chzhen et al. 2023, Box B, beside the satisfaction of a round")
def pgd_allocation(
    problem: Problem,
    model: Model,
    *,
    step: float | None = None,
    margin: float | None = None,
    oracle: Oracle | None = None,
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
    name: str | None = None,
) -> Policy:
    """Allocate for satisfaction at dual prices of the constraints that follow a projected gradient; hard budgets.

    Equation: arms pi(i) with a large sum_a r_a(sum_i m_i,pi(i)) + sum_i (bonus - lam.v)_i,pi(i);
    lam <- (lam + step (v - (B - margin)))_+ with the rows v of the round, on which outcomes are observed.
    Guarantee: none on the objective. The sum of a row is at most its bound, less the margin, times T, plus the last
    price over the step, whatever the model says. Budgets are never exceeded.

    Args:
        problem: measures one `welfare.Satisfaction`, and maximises the outcome that it sums up; with constraints.
        model: any, for the learned outcomes; a width is added as it is.
        step: of the prices, where the most that a play can add to a row, and the most that it can be worth, are 1;
            2 / (N sqrt(T)) by default, for N users.
        margin: taken off every budget per round; by default as for `pgd`.
        oracle, capacity, may_stay: as for `resolving_allocation`.
        name: for tables and plots.

    Raises:
        InvalidInput: no constraints, a margin that leaves nothing of a budget, or a problem without a satisfaction or
            with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic
    >>> from evenhand.problem import Budget
    >>> world = Matching(users=6, arms=3, horizon=100, costs=(0, 1, 2), subject_to=(Budget("cost", rate=2.0),))
    >>> pgd_allocation(world.problem, Logistic(n_features=5), step=0.02).name
    'pgd_allocation(step=0.02)'
    """
    need_constraints(problem)
    step = given(step, lambda: 2.0 / (problem.n_plays * math.sqrt(problem.horizon)))
    rows, bound = priced_rows(problem, given(margin, lambda: default_margin(problem)))
    gain = reward(problem)
    dual = DualGradient(rows=rows, bound=bound, step=Steady(step * worth_unit(problem, gain)), on="observed")
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, dual, *hard_limits(problem, True)),
        choice=allocating(problem, oracle, capacity=capacity, may_stay=may_stay),
        name=name or f"pgd_allocation(step={step:.3g})",
    )
