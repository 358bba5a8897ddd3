"""Knapsacks with regression oracles: predict, price, and play by inverse gaps.

Source: Han, Zeng, Wang, Xiang & Zhang, *Optimal contextual bandits with knapsacks under realizability via regression
oracles*, 2022. Budgets are hard here: an arm whose worst case does not fit is never played. In the paper a run
stops when a resource is nearly used up; here it stops then only if no arm is free.
"""

from __future__ import annotations

import math

from evenhand.choices import InverseGap, Rate
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualHedge
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import evened, given, need_spending


@named("S1", source="Han et al. 2022, Algorithm 1; Theorem 1")
def square_cbwk(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | float,
    max_price: float | None = None,
    step: float | None = None,
    name: str | None = None,
) -> Policy:
    """Inverse-gap weighting of predicted rewards minus priced costs, prices by exponentiated gradient; hard budgets.

    Equation: l_a = r_hat_a + lam.(B/T - c_hat_a), p by inverse gaps on l, lam on {lam >= 0, ||lam||_1 <= Z} with
    loss <B/T - c_t, lam> of the observed costs.
    Deviations: the stopping rule is exact: an arm is masked when its worst case exceeds what is left. Budgets are
    scaled to be equal (`recipes.defaults.evened`).

    Args:
        problem: with budgets; costs may be learned or known.
        model: any oracle; its bonuses are not read.
        rate: learning rate of the choice; `square_cbwk_rate` gives the theory's.
        max_price: Z, in units of worth per unit of the scarcest budget; what the best plays are worth over what a round
            may spend by default, so that prices may outweigh any reward.
        step: of the dual, per unit of the scarcest budget b; sqrt(ln(d + 1) / (T b most)) by default, with what a round
            can use at most.
        name: for tables and plots.

    Raises:
        InvalidInput: no budget, or numbers that are not positive.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Glmtron
    >>> problem = FixedContexts().problem
    >>> square_cbwk(problem, Glmtron(n_features=52, n_outcomes=5), rate=20.0).name
    'square_cbwk'
    """
    need_spending(problem)
    objective = reward(problem)
    even = evened(problem, objective)
    hedge = DualHedge(
        rows=even.rows,
        bound=even.bound,
        max_price=given(max_price, lambda: even.max_price),
        step=given(step, lambda: even.step),
        optimism="net",  # no bonus is read
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(objective, hedge, *hard_limits(problem, True)),
        choice=InverseGap(Rate.of(rate), problem.n_plays),
        name=name or "square_cbwk",
    )


def square_cbwk_rate(
    problem: Problem, arms: int, reward_regret: float, cost_regret: float, max_price: float | None = None
) -> float:
    """gamma = sqrt(A T / (Reg_r + c^2 Reg_c + 4 ln 2T)) from bounds on the oracles' regrets.

    For rewards in [0, 1]; c is T/B + 1 as in Theorem 1, or, if a max_price Z is given, Z as in Theorem 2.

    >>> from evenhand.environments import MixedArms
    >>> round(square_cbwk_rate(MixedArms().problem, arms=5, reward_regret=30.0, cost_regret=30.0), 2)
    5.64
    """
    factor = given(max_price, lambda: evened(problem, reward(problem)).max_price + 1)
    return math.sqrt(
        arms * problem.horizon / (reward_regret + factor**2 * cost_regret + 4 * math.log(2 * problem.horizon))
    )
