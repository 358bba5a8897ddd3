"""Dual gradient with a fixed step, for constraints as tight as 1/sqrt(T).

Source: Chzhen, Giraud, Li & Stoltz, *Small total-cost constraints in contextual bandits with knapsacks, with
application to fairness*, NeurIPS 2023. Budgets are soft, as in the paper: they are kept on average and
overspending is reported; `hard=True` adds limits that are never exceeded.
"""

from __future__ import annotations

import math

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.goals.steps import Steady
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._needs import need_constraints, with_limits
from evenhand.recipes._units import priced_rows
from evenhand.recipes._worth import worth_unit
from evenhand.recipes.defaults import default_margin, given


@named("K1", source="Chzhen et al. 2023, Box B; Lemmas 1 and 2")
def pgd(
    problem: Problem,
    model: Model,
    *,
    step: float | None = None,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the best action at dual prices that follow a projected gradient with a fixed step.

    Equation: a = argmax r_ucb(a) - lam.c_lcb(a), lam <- (lam + step (c - (B - margin)))_+.
    Guarantee: for rewards in [0, 1] and costs in [-1, 1], widths that hold together with probability 1 - delta / 4, and
    a margin m off all d bounds of a problem that is feasible at some bounds below B - m: with probability 1 - delta,
    for all t <= T, ||(sum_{s<=t} [c_s - (B - m)])_+|| <= (1 + 3 ||lam*||) / step + 20 sqrt(d) U and regret_t <=
    ||lam*|| (t m sqrt(d) + 6 U) + 36 step sqrt(d) U^2 + 8 ln(4 T^2 / delta), with lam* the optimal prices at B - m, and
    U = max(sum of the played widths, 2 sqrt(d T ln(4 T^2 / delta)), sqrt(2 T ln(8 (d + 1) T / delta))). So budgets hold
    if m T is at least the first bound. With a step of order (1 + ||lam*||) / sqrt(T), an m of order 1 / sqrt(T) is
    enough, and regret is of order (1 + ||lam*||) sqrt(T), up to logarithms. The default margin and step are those of
    experiments, and `hard=True` keeps budgets without any condition.
    Prices step at the decision, on lower confidence bounds of the costs, so that known costs do not wait for late
    outcomes.
    Deviation: the margin is taken off budgets only, as in the paper's experiments.

    Args:
        problem: with at least one constraint.
        model: for the learned outcomes, with optimism of its own.
        step: of the prices, where the most that a play can add to a row, and the most that it can be worth, are 1;
            2 / (P sqrt(T)) by default, for P plays per round.
        margin: taken off every budget per round; half of c / sqrt(T) by default, or of the budget if that is less;
            c is the most that a round can use of it.
        warmup: rounds played uniformly at first.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no constraints, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd(Court().problem, Logistic(n_features=5), step=0.02).name
    'pgd(step=0.02)'
    """
    need_constraints(problem)
    step = given(step, lambda: 2.0 / (problem.n_plays * math.sqrt(problem.horizon)))
    rows, bound = priced_rows(problem, given(margin, lambda: default_margin(problem)))
    gain, limits = reward(problem), hard_limits(problem, hard)
    dual = DualGradient(rows=rows, bound=bound, step=Steady(step * worth_unit(problem, gain)), on="optimistic")
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, dual, *limits),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name=name or with_limits(f"pgd(step={step:.3g})", limits),
    )
