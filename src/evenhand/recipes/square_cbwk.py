"""Knapsacks by primal and dual updates: rewards minus costs at prices of an exponentiated gradient; or in two stages.

Budgets are hard here: an arm whose worst case does not fit is never played. In Han et al. 2022 a run stops when a
resource is nearly used up; here it stops then only if no arm is free.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.choices import Choice, Cycle, InverseGap, Rate, Schedule, Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import positive, whole
from evenhand.goals import DualHedge, TwoStage
from evenhand.models.base import Model
from evenhand.models.oracles import TwoOracles
from evenhand.models.sklearn import as_model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.hedge import even_budgets, hedge_step
from evenhand.recipes.terms import Terms


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
    scaled to be equal (`recipes.hedge.even_budgets`).

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
    return _policy(problem, model, choice, "net", max_price, step, name or "square_cbwk")  # no bonus is read


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
    all outcomes share one width. Budgets are scaled to be equal (`recipes.hedge.even_budgets`).

    Args:
        problem: with budgets; costs may be learned or known.
        model: with widths, such as `Ridge`.
        max_price, step: as for `square_cbwk`; the source knows Z, or explores to estimate it.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Fixed, Ridge
    >>> lin_cbwk(FixedContexts().problem, Ridge(n_features=52, n_outcomes=5, width=Fixed(7.2))).name
    'lin_cbwk'
    """
    return _policy(problem, model, TopK(problem.n_plays), "row", max_price, step, name or "lin_cbwk")


def _policy(
    problem: Problem,
    model: Model,
    choice: Choice,
    optimism: Literal["row", "net"],
    max_price: float | None,
    step: float | None,
    name: str,
) -> Policy:
    """Choose by rewards minus priced costs, prices by exponentiated gradient; hard budgets."""
    terms = Terms(problem).with_budgets()
    hedge = even_budgets(terms).prices(max_price, step, optimism)
    return Policy(
        problem=problem, model=model, goals=(terms.reward, hedge, *terms.limits(True)), choice=choice, name=name
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
    Terms(problem).with_budgets()
    factor = 1.0 / min(s.limit for s in problem.stated if s.spends) + 1.0 if max_price is None else max_price
    return math.sqrt(
        arms * problem.horizon / (reward_regret + factor**2 * cost_regret + 4 * math.log(2 * problem.horizon))
    )


@named(
    "S2",
    source="Han et al. 2022, Algorithm 2; Theorem 4.1",
    use="budgets and fairness",
    fits="budgets (never exceeded), hard budgets, known costs, learned costs, contexts, no contexts, late outcomes",
)
def two_stage_square_cbwk(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | Schedule | float,
    explore: int,
    statistical: Model | None = None,
    radius: float | None = None,
    step: float | None = None,
    name: str | None = None,
) -> Policy:
    """SquareCBwK that first explores to learn how large prices need to be; hard budgets.

    Equation: every arm is played T0 times in turn; over the T0 rounds after that, contexts are collected; then a linear
    program gives Z = T/B (OPT_hat + M) (`goals.TwoStage`), and `square_cbwk` plays the rest with budgets
    B - (A + 1) T0, whatever was spent. Costs must be within [0, 1]: rescale others. Prices of up to T OPT / B rather
    than T / B suit budgets that are not scarce.
    Guarantee: as for `square_cbwk`, and for oracles of the first stage whose mean square errors after T0 samples of an
    arm are E_r and E_c with probability 1 - 1/T, and M = `radius` of at least sqrt(A (E_r + d E_c) + 4 ln(T d) / T0):
    if B > max((A + 2) T0, T M), T OPT - sum_t r_t is of order (T OPT / B + 1) (sqrt(A T (Reg_r + Reg_c + 1)) + A T0),
    and T OPT / B <= Z <= (6 T M / B + 1) (T OPT / B + 1) with probability 1 - O(1 / T^2) (Lemma 4.1, Theorem 4.1).
    Budgets are never exceeded.
    Deviations: the rate is fixed before Z is known; arms are still played in turn while contexts are collected; the
    model keeps what it learned in the first stage; without a `statistical` oracle, the model itself is asked.

    Args:
        problem, model, step: as for `square_cbwk`.
        rate: learning rate of the choice; `square_cbwk_rate` gives the theory's for a guess of Z.
        explore: T0; `linear_exploration` or `smooth_exploration` give the theory's.
        statistical: the oracle that the program reads, taught by the T0 pulls of each arm alone (Assumption 4.1), such
            as `OnlineToBatch(inner=model)`; by default the program reads `model` as it is after the first stage.
        radius: M, by which estimates of OPT and of costs per round may be off; the theory's for linear classes by
            default, which is too large for most budgets: in practice, use a multiple of the noise over sqrt(T0).

    Raises:
        InvalidInput: no budget, numbers that are not positive, or a budget of at most max((A + 2) T0, T M).

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.models import Glmtron
    >>> problem = FixedContexts(horizon=8000).problem
    >>> two_stage_square_cbwk(problem, Glmtron(n_features=52, n_outcomes=5), rate=20.0, explore=40, radius=0.1).name
    'two_stage_square_cbwk'
    """
    terms = Terms(problem).with_budgets()
    whole("explore", explore, 1)
    length = (len(problem.actions) + 1) * explore
    model = as_model(model, len(problem.learned))
    radius = linear_radius(problem, model.n_features, explore) if radius is None else radius
    taught = len(problem.actions) * explore
    _need_room(problem, explore, length, radius)
    rows, bound = terms.straight()
    rest, objective = problem.horizon - length, terms.reward
    hedge = DualHedge(
        rows=rows,
        bound=_later(problem, length),
        max_price=1.0,
        step=hedge_step(rows, rest) if step is None else positive("step", step),
        optimism="net",
    )
    prices = TwoStage(
        hedge=hedge,
        objective=objective,
        bound=bound,
        smallest_budget=min(s.limit for s in problem.stated if s.spends),
        radius=radius,
        collect_from=taught,
        collect_until=length,
    )
    if statistical is not None:
        first = as_model(statistical, len(problem.learned))
        model = TwoOracles(statistical=first, online=model, taught=taught, answers=length)
    return Policy(
        problem=problem,
        model=model,
        goals=(objective, prices, *terms.limits(True)),
        choice=Staged(
            length,
            InverseGap(rate, problem.n_plays),
            warmup=Cycle(problem.n_plays),
        ),
        name=name or "two_stage_square_cbwk",
    )


def _need_room(problem: Problem, explore: int, length: int, radius: float) -> None:
    """Refuse a first stage that takes all of a budget or of the horizon."""
    smallest = min(s.total for s in problem.stated if s.spends)
    if smallest <= max(length + explore, problem.horizon * radius):
        needs = f"a budget above (A + 2) T0 = {length + explore} and T M = {problem.horizon * radius:.0f}"
        raise InvalidInput("explore, radius", needs, f"a budget of {smallest:g}: take smaller ones")
    if length >= problem.horizon:
        raise InvalidInput("explore", f"(A + 1) T0 below the horizon of {problem.horizon}", f"{length}")


def _later(problem: Problem, length: int) -> Floats:
    """Bounds per round of the second stage: every budget less 1 per round of the first, `->(d)`."""
    left = problem.horizon - length
    return np.concatenate(
        [np.full(len(s.rows), (s.total - length) / left) if s.spends else s.bound for s in problem.stated]
    )


def linear_exploration(problem: Problem, n_features: int) -> int:
    """T0 = (n d)^(1/3) sqrt(T / A) for linear classes of n features and d budgets.

    >>> from evenhand.environments import FixedContexts
    >>> linear_exploration(FixedContexts(horizon=8000).problem, n_features=52)
    306
    """
    t0: float = (n_features * len(problem.spending)) ** (1 / 3) * math.sqrt(problem.horizon / len(problem.actions))
    return max(1, round(t0))


def smooth_exploration(problem: Problem, p: float) -> int:
    """T0 = d^((2+p)/(6+2p)) A^(-1/(2+p)) T^((1+p)/(2+p)) for classes of metric entropy e^-p.

    >>> from evenhand.environments import FixedContexts
    >>> smooth_exploration(FixedContexts(horizon=8000).problem, p=1.0)
    466
    """
    d, arms = len(problem.spending), len(problem.actions)
    t0: float = d ** ((2 + p) / (6 + 2 * p)) * arms ** (-1 / (2 + p)) * problem.horizon ** ((1 + p) / (2 + p))
    return max(1, round(t0))


def linear_radius(problem: Problem, n_features: int, explore: int) -> float:
    """M(T0) = sqrt(A (E_r + d E_c) + 4 ln(T d) / T0) with E_r = n ln T / T0 and E_c = d E_r, for linear classes.

    >>> from evenhand.environments import FixedContexts
    >>> round(linear_radius(FixedContexts(horizon=8000).problem, n_features=52, explore=306), 1)
    8.8
    """
    whole("model.n_features", n_features, 1)
    d, horizon = len(problem.spending), problem.horizon
    error = n_features * math.log(horizon) / explore
    return math.sqrt(len(problem.actions) * (error + d * d * error) + 4 * math.log(horizon * d) / explore)
