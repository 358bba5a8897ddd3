"""Knapsacks in two stages: explore to learn how large prices need to be, then run `square_cbwk`."""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Cycle, InverseGap, Rate, Schedule, Staged
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import positive, whole
from evenhand.goals import DualHedge, TwoStage
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.models.oracles import TwoOracles
from evenhand.models.sklearn import as_model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.recipes._hedging import hedge_step
from evenhand.recipes._needs import need_spending
from evenhand.recipes.defaults import given


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
    need_spending(problem)
    whole("explore", explore, 1)
    length = (len(problem.actions) + 1) * explore
    model = as_model(model, len(problem.learned))
    radius = given(radius, lambda: linear_radius(problem, model.n_features, explore))
    taught = len(problem.actions) * explore
    _need_room(problem, explore, length, radius)
    rows, bound = constraint_rows(problem)
    rest, objective = problem.horizon - length, reward(problem)
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
        goals=(objective, prices, *hard_limits(problem, True)),
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
