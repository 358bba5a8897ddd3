"""Knapsacks by primal and dual updates: predicted rewards minus costs at prices of an exponentiated gradient.

Budgets are hard here: an arm whose worst case does not fit is never played. In Han et al. 2022 a run stops when a
resource is nearly used up; here it stops then only if no arm is free.
"""

from __future__ import annotations

import math
from typing import Literal

from evenhand.choices import Choice, InverseGap, Rate, Schedule, TopK
from evenhand.core.catalogue import named
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._hedging import evened
from evenhand.recipes._needs import need_spending
from evenhand.recipes.defaults import given


@named(
    "S1",
    source="Han et al. 2022, Algorithm 1; Theorem 3.1, and A.1 for other Z",
    use="budgets and fairness",
    fits=(
        "budgets (never exceeded), hard budgets, known costs, learned costs, several plays, contexts, "
        "no contexts, late outcomes"
    ),
)
def square_cbwk(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | Schedule | float,
    max_price: float | None = None,
    step: float | None = None,
    name: str | None = None,
) -> Policy:
    """Draw by inverse gaps of predicted rewards minus priced costs, prices by exponentiated gradient; hard budgets.

    Equation: l_a = r_hat_a + lam.(B/T - c_hat_a), p by inverse gaps on l, lam on {lam >= 0, ||lam||_1 <= Z} with
    loss <B/T - c_t, lam> of the observed costs.
    Guarantee: for rewards and costs in [0, 1], an action that costs nothing, and oracles whose square errors on means
    add up to at most Reg_r and Reg_c over T rounds, the latter of the largest error of all costs: with Z = T/B and the
    rate of `square_cbwk_rate`, T OPT - sum_t r_t is, in the mean, of order sqrt(A T (Reg_r + ln(d T))) + (T/B + 1)
    sqrt(A T Reg_c) for budgets of order T (Theorem 3.1); with any Z >= T OPT / B and the rate for it, of order (Z + 1)
    sqrt(A T (Reg_r + Reg_c + ln(d T))) (Theorem A.1). Budgets are never exceeded.
    Deviations: the stopping rule is exact: an arm is masked when its worst case exceeds what is left. Budgets are
    scaled to be equal (`recipes._hedging.evened`).

    Args:
        problem: with budgets; costs may be learned or known.
        model: any oracle; its bonuses are not read.
        rate: learning rate of the choice; `square_cbwk_rate` gives the theory's.
        max_price: Z, in units of worth per unit of the scarcest budget; what the best plays are worth over what a round
            may spend by default, so that prices may outweigh any reward.
        step: of the dual, per unit of the scarcest budget b; sqrt(ln(d + 1) / (T b most)) by default, with what a round
            can use at most.

    Raises:
        InvalidInput: no budget, or numbers that are not positive.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Glmtron
    >>> problem = FixedContexts().problem
    >>> square_cbwk(problem, Glmtron(n_features=52, n_outcomes=5), rate=20.0).name
    'square_cbwk'
    """
    choice = InverseGap(rate, problem.n_plays)
    return _priced(problem, model, choice, "net", max_price, step, name or "square_cbwk")  # no bonus is read


@named(
    "S4",
    source="Agrawal & Devanur 2016, Linear contextual bandits with knapsacks, Algorithm 1",
    use="budgets and fairness",
    fits=(
        "budgets (never exceeded), hard budgets, known costs, learned costs, several plays, contexts, "
        "no contexts, late outcomes"
    ),
)
def lin_cbwk(
    problem: Problem,
    model: Model,
    *,
    max_price: float | None = None,
    step: float | None = None,
    name: str | None = None,
) -> Policy:
    """Play the best optimistic reward minus priced optimistic costs, prices by multiplicative weights; hard budgets.

    Equation: a = argmax r_ucb(a) - Z theta.c_lcb(a), theta on the simplex with a slack, by exponentiated gradient.
    Guarantee: for rewards and costs in [0, 1] that are linear in n features, an action that costs nothing, widths of
    the self-normalised ellipsoid, and Z of order T OPT / B + 1: T OPT - sum_t r_t is of order (T OPT / B + 1) n sqrt(T)
    up to logarithms, with high probability, if B is of order n T^(3/4) at least, as in the source. Budgets are never
    exceeded.
    Outcomes are meant to arrive at once. Until the first one does, all actions promise the same, and the argmax is the
    one of least priced cost: where costs are known, nothing but what is free is played, as prices of the source's
    updates are never 0. `resolving` plays its plan's lottery instead.
    Deviation: every cost has its own lower confidence bound; the source bounds the priced sum, which is the same if
    all outcomes share one width. Budgets are scaled to be equal (`recipes._hedging.evened`).

    Args:
        problem: with budgets; costs may be learned or known.
        model: with widths, such as `Ridge`.
        max_price, step: as for `square_cbwk`; the source knows Z, or explores to estimate it.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Fixed, Ridge
    >>> lin_cbwk(FixedContexts().problem, Ridge(n_features=52, n_outcomes=5, width=Fixed(7.2))).name
    'lin_cbwk'
    """
    return _priced(problem, model, TopK(problem.n_plays), "row", max_price, step, name or "lin_cbwk")


def _priced(
    problem: Problem,
    model: Model,
    choice: Choice,
    optimism: Literal["row", "net"],
    max_price: float | None,
    step: float | None,
    name: str,
) -> Policy:
    """Choose by rewards minus priced costs, prices by exponentiated gradient; hard budgets."""
    need_spending(problem)
    objective = reward(problem)
    hedge = evened(problem, objective).prices(max_price, step, optimism)
    return Policy(
        problem=problem, model=model, goals=(objective, hedge, *hard_limits(problem, True)), choice=choice, name=name
    )


def square_cbwk_rate(
    problem: Problem, arms: int, reward_regret: float, cost_regret: float, max_price: float | None = None
) -> float:
    """Compute gamma = sqrt(A T / (Reg_r + c^2 Reg_c + 4 ln 2T)) from bounds on the oracles' regrets.

    For rewards and costs in [0, 1]: c is T/B + 1 with the smallest budget B, as in Theorem 3.1, or, if a max_price Z is
    given, Z as in Theorem A.1.

    >>> from evenhand.environments import FixedContexts
    >>> problem = FixedContexts(horizon=2000).problem  # T/B is 4
    >>> round(square_cbwk_rate(problem, arms=3, reward_regret=30.0, cost_regret=30.0), 2)
    2.72
    """
    need_spending(problem)
    factor = given(max_price, lambda: 1.0 / min(s.limit for s in problem.stated if s.spends) + 1.0)
    return math.sqrt(
        arms * problem.horizon / (reward_regret + factor**2 * cost_regret + 4 * math.log(2 * problem.horizon))
    )
