"""Linear bandits with knapsacks: play the best optimistic reward minus optimistic costs.

Source: Agrawal & Devanur, *Linear contextual bandits with knapsacks*, 2016.
"""

from __future__ import annotations

from evenhand.choices import TopK
from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._hedging import evened
from evenhand.recipes._needs import need_spending


@named("S4", source="Agrawal & Devanur 2016, Linear contextual bandits with knapsacks, Algorithm 1")
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
    all outcomes share one width. Budgets are scaled to be equal (`recipes.defaults.evened`).

    Args:
        problem: with budgets; costs may be learned or known.
        model: with widths, such as `Ridge`.
        max_price: Z, in units of worth per unit of the scarcest budget; what the best plays are worth over what a round
            may spend by default (the source knows Z, or explores to estimate it).
        step: of the dual, per unit of the scarcest budget b; sqrt(ln(d + 1) / (T b most)) by default, with what a round
            can use at most.

    Raises:
        InvalidInput: no budget, or numbers that are not positive.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Fixed, Ridge
    >>> lin_cbwk(FixedContexts().problem, Ridge(n_features=52, n_outcomes=5, width=Fixed(7.2))).name
    'lin_cbwk'
    """
    need_spending(problem)
    objective = reward(problem)
    hedge = evened(problem, objective).prices(max_price, step, "row")
    return Policy(
        problem=problem,
        model=model,
        goals=(objective, hedge, *hard_limits(problem, True)),
        choice=TopK(problem.n_plays),
        name=name or "lin_cbwk",
    )
