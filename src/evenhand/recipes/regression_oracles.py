"""Knapsacks with regression oracles: predict, price, and play by inverse gaps.

Source: Han, Zeng, Wang, Xiang & Zhang, *Optimal contextual bandits with knapsacks under realizability via regression
oracles*, 2022. The budgets are hard here: an arm whose worst case does not fit is never played. In the paper a run
stops when a resource is nearly used up; so it does here where no arm is free.
"""

from __future__ import annotations

import math
from typing import Literal

from evenhand.choices import InverseGap, Rate, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals import DualHedge
from evenhand.goals.base import Goal
from evenhand.goals.hard_budget import hard_budget
from evenhand.goals.linear import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem


@named("S1", source="Han et al. 2022, Algorithm 1; Theorem 1")
def square_cbwk(
    problem: Problem,
    model: Model,
    *,
    gamma: Rate | float,
    scale: float | None = None,
    step: float | None = None,
) -> Policy:
    """Inverse-gap weighting of predicted rewards minus priced costs, prices by exponentiated gradient; hard budgets.

    Equation: l_a = r_hat_a + lam.(B/T - c_hat_a), p by inverse gaps on l, lam on {lam >= 0, ||lam||_1 <= Z} with
    loss <B/T - c_t, lam> of the observed costs.
    Deviation: the stopping rule is exact: arms are masked when their worst case does not fit in what is left.

    Args:
        problem: with budgets; costs may be learned or known.
        model: any oracle; its bonuses are not read.
        gamma: learning rate of the choice; `square_cbwk_gamma` gives the theory's.
        scale: Z; T / B of the smallest budget by default, so that prices may outweigh any reward.
        step: of the dual; sqrt(ln(d + 1) / T) by default.

    Raises:
        InvalidInput: no budget, or numbers that are not positive.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Glmtron
    >>> problem = FixedContexts().problem
    >>> square_cbwk(problem, Glmtron(n_features=52, n_outcomes=5), gamma=20.0).name
    'square_cbwk'
    """
    choice = InverseGap(gamma if isinstance(gamma, Rate) else Rate(gamma))
    goals = hedged(problem, scale, step, "net")  # no bonus is read
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name="square_cbwk")


@named("S4", source="Agrawal & Devanur 2016, Linear contextual bandits with knapsacks, Algorithm 1")
def lin_cbwk(
    problem: Problem,
    model: Model,
    *,
    scale: float | None = None,
    step: float | None = None,
) -> Policy:
    """Play the best optimistic reward minus optimistic costs at dual prices by multiplicative weights; hard budgets.

    Equation: a = argmax r_ucb(a) - Z theta.c_lcb(a), theta on the simplex with a slack, by exponentiated gradient.
    Deviation: every priced cost is read at its own lower bound; the source reads the priced sum, which is the same for
    widths that all outcomes share.

    Args:
        problem: with budgets; costs may be learned or known.
        model: with widths, such as `Ridge`.
        scale: Z; T / B of the smallest budget by default (the source is given it, or explores to estimate it).
        step: of the dual; sqrt(ln(d + 1) / T) by default.

    Raises:
        InvalidInput: no budget, or numbers that are not positive.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Fixed, Ridge
    >>> lin_cbwk(FixedContexts().problem, Ridge(n_features=52, n_outcomes=5, width=Fixed(7.2))).name
    'lin_cbwk'
    """
    goals = hedged(problem, scale, step, "row")
    return Policy(problem=problem, model=model, goals=goals, choice=TopK(1), name="lin_cbwk")


def hedged(
    problem: Problem, scale: float | None, step: float | None, optimism: Literal["row", "net"]
) -> tuple[Goal, ...]:
    """The goals of both: reward, prices on a simplex of the given scale, and hard budgets."""
    need_budgets(problem)
    rows, bound = constraint_rows(problem, problem.subject_to)
    scale = default_scale(problem) if scale is None else scale
    step = math.sqrt(math.log(len(rows) + 1) / problem.horizon) if step is None else step
    dual = DualHedge(rows=rows, bound=bound, scale=scale, step=step, optimism=optimism)
    return reward(problem), dual, hard_budget(problem)


def need_budgets(problem: Problem) -> None:
    """Refuse a problem without any."""
    if not problem.spending:
        raise InvalidInput("problem.subject_to", "at least one Budget", problem.subject_to)


def default_scale(problem: Problem) -> float:
    """Z = T / B of the smallest budget."""
    return 1.0 / min(b.limit(problem.horizon) for b in problem.spending)


def square_cbwk_gamma(
    problem: Problem, arms: int, reward_regret: float, cost_regret: float, scale: float | None = None
) -> float:
    """gamma = sqrt(A T / (Reg_r + c^2 Reg_c + 4 ln 2T)) from bounds on the oracles' regrets.

    c is T/B + 1 as in Theorem 1, or, if a scale Z is given, Z as in Theorem 2.

    >>> from evenhand.environments import MixedArms
    >>> round(square_cbwk_gamma(MixedArms().problem, arms=5, reward_regret=30.0, cost_regret=30.0), 2)
    5.64
    """
    factor = default_scale(problem) + 1 if scale is None else scale
    return math.sqrt(
        arms * problem.horizon / (reward_regret + factor**2 * cost_regret + 4 * math.log(2 * problem.horizon))
    )
