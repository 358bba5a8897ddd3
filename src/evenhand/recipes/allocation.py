"""Allocations of many users to arms under constraints: by plans, by dual prices, and at random."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from evenhand.choices import Allocate
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number, positive, whole
from evenhand.goals.dual import DualGradient
from evenhand.goals.linear_reward import indifferent
from evenhand.goals.resolving import Resolving
from evenhand.goals.steps import Steady
from evenhand.models import NullModel
from evenhand.models.base import Model
from evenhand.planning.rounds import SharedArms
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.pgd import default_step
from evenhand.recipes.terms import Terms
from evenhand.welfare import Anyone, Curve, Oracle, Priced, satisfaction_of
from evenhand.welfare.curves import PIECEWISE, curves_of


def allocation_choice(
    problem: Problem,
    oracle: Oracle | None = None,
    *,
    curve: Curve | None = None,
    optimism: Literal["beside", "inside"] = "beside",
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
) -> Allocate:
    """Make the choice that allocates the users of a problem for its satisfaction, or for another curve.

    Raises:
        InvalidInput: the problem measures no satisfaction, or does not maximise the outcome that it sums up.
    """
    measured = satisfaction_of(problem)
    if dict(getattr(problem.objective, "weights", {})) != {measured.of: 1.0}:
        raise InvalidInput("problem.maximize", f"{measured.of!r}, which the satisfaction sums up", problem.objective)
    return Allocate(
        users=problem.n_plays,
        arms=measured.arms,
        curve=measured.curve if curve is None else curve,
        oracle=Priced() if oracle is None else oracle,
        optimism=optimism,
        capacity=capacity,
        may_stay=may_stay,
    )


class Constants(NamedTuple):
    """Constants of `cab_ucb` and `cab_ts`: the model's two penalties, the bonus, and the scale of draws."""

    penalty: float  # kappa lambda_0, of the likelihood
    start: float  # lambda_0, where V starts
    bonus: float  # c1, of ||x||_{V^-1}
    scale: float  # a, of draws


def theoretical_constants(
    problem: Problem,
    n_features: int,
    *,
    norm_bound: float,
    kappa: float | None = None,
    steepest: float = 0.25,
    noise: float = 0.5,
    delta: float = 0.05,
) -> Constants:
    """Compute lambda_0 and c1 of Theorem D.4, and a of Theorem D.5, for features of length 1 at most.

    Equation: lambda_0 = (noise / kappa)^2 (n ln(1 + N T / n) + 2 ln(1 / delta)),
    c1 = (L_r steepest / kappa) (noise sqrt(n l + 2 ln(1 / delta)) + kappa D sqrt(lambda_0)) with
    l = ln(1 + N T / (n lambda_0)), and a = c1 sqrt(steepest N), for N users and L_r the slope of satisfaction at 0.
    They are far larger than those of the paper's experiments: kappa falls exponentially in the norm for logistic links.

    Args:
        problem: measures one `welfare.Satisfaction`; its horizon is T.
        n_features: n.
        norm_bound: D, a bound of |theta|.
        kappa: the least slope of the link where |theta - truth| <= max(D + 1, 2 D); by default of the logistic one.
        steepest: the largest slope of the link, L_mu; 1/4 for the logistic one.
        noise: sigma, of sub-Gaussian outcomes around their means; 1/2 is always enough in [0, 1].
        delta: the risk, in (0, 1); below 1 / T for `cab_ts`.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Fixed, GeneralizedLinear
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> penalty, start, bonus, scale = theoretical_constants(world.problem, 5, norm_bound=1.0)
    >>> [round(z, 2) for z in (penalty, start, bonus, scale)]
    [165.85, 3671.17, 22.01, 26.96]
    >>> width = Fixed(bonus)
    >>> model = GeneralizedLinear(
    ...     n_features=5, link="logistic", ridge=penalty, width_ridge=start, width=width, clipped=False
    ... )
    """
    whole("n_features", n_features, 1)
    positive("norm_bound", norm_bound)
    positive("steepest", steepest)
    positive("noise", noise)
    number("delta", delta, "a risk in (0, 1)", lambda x: 0 < x < 1)
    if kappa is None:
        kappa = 1.0 / (
            2.0 + 2.0 * math.cosh(norm_bound + max(norm_bound + 1.0, 2.0 * norm_bound))
        )  # the slope of the logistic link
    number("kappa", kappa, "a number in (0, steepest]", lambda x: 0 < x <= steepest)
    choice, risk = allocation_choice(problem), 2.0 * math.log(1.0 / delta)
    plays, n = problem.n_plays * problem.horizon, n_features
    start = (noise / kappa) ** 2 * (n * math.log1p(plays / n) + risk)
    width = noise * math.sqrt(n * math.log1p(plays / (n * start)) + risk) + kappa * norm_bound * math.sqrt(start)
    bonus = steepest_return(choice.curve, choice.arms) * steepest / kappa * width
    return Constants(kappa * start, start, bonus, bonus * math.sqrt(steepest * problem.n_plays))


def steepest_return(curve: Curve, arms: int) -> float:
    """Compute L_r, the largest slope of satisfaction, which is that at 0.

    >>> from evenhand.welfare import Capped, Piecewise
    >>> steepest_return(Capped(3.0), 2), steepest_return(Piecewise((2.0, 4.0), (5.0, 6.0)), 2)
    (1.0, 2.5)
    """
    c = curves_of("curve", curve, arms)
    first = (c.values[:, 1] - c.values[:, 0]) / (c.knots[:, 1] - c.knots[:, 0])
    return float(np.where(c.kind == PIECEWISE, first, 1.0).max())


@named(
    "X1",
    source="evenhand's own; re-solving as in network revenue management (Jasin & Kumar 2012)",
    use="many users to arms at once",
    fits=(
        "budgets (never exceeded), hard budgets, budgets per period (never exceeded, and planned for), parity, "
        "floors, known costs, allocation, contexts, late outcomes, no constraints"
    ),
)
def resolving_allocation(
    problem: Problem,
    model: Model,
    *,
    oracle: Oracle | None = None,
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
    contexts: int = 5000,
    every: int = 100,
    name: str | None = None,
) -> Policy:
    """Allocate for satisfaction at prices that are optimal for the budgets and rounds that are left; hard budgets.

    Equation: arms pi(i) with a large sum_a r_a(sum_i m_i,pi(i)) + sum_i (bonus - mu.v)_i,pi(i). The prices mu of the
    constraint rows v solve the dual of the remaining fluid problem, in which users so far are cases and every arm has a
    price of its matches (`goals.Resolving` with `planning.rounds.SharedArms`). Each round has its own prices of
    matches, from the oracle. Plans know who may stay without an arm, but know no capacities. Bounds of parities and
    floors are tightened by how much the last rounds may be off their plan (`Terms.tightened_rows`).
    Guarantee: none on the objective. Budgets are never exceeded, whatever the model says.

    Args:
        problem: measures one `welfare.Satisfaction`, and maximises the outcome that it sums up; with any constraints.
        model: any, for the learned outcomes; a width is added as it is.
        oracle, capacity: as for `cab_ucb`.
        may_stay: whether users may stay without an arm where that is worth more, as where budgets run short.
        contexts, every: as for `resolving`, of users.

    Raises:
        InvalidInput: a problem without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic
    >>> from evenhand.problem import Budget
    >>> world = Matching(users=6, arms=3, horizon=100, costs=(0, 1, 2), subject_to=(Budget("cost", rate=2.0),))
    >>> resolving_allocation(world.problem, Logistic(n_features=5)).name
    'resolving_allocation'
    """
    terms, choice = Terms(problem), allocation_choice(problem, oracle, capacity=capacity, may_stay=may_stay)
    objective = terms.reward

    def plan() -> Resolving:
        rows, bound = terms.tightened_rows()
        return Resolving(
            problem=problem,
            objective=objective,
            constraints=rows,
            bound=bound,
            spans=problem.demands.spans,
            sums=problem.demands.sums,
            contexts=contexts,
            every=every,
            rounds=SharedArms(curve=choice.curve, arms=choice.arms, may_stay=may_stay),
        )

    return Policy(
        problem=problem,
        model=model,
        goals=(objective, *terms.constraint_goals(plan), *terms.limits(True)),
        choice=choice,
        name=name or "resolving_allocation",
    )


@named(
    "X2",
    source="evenhand's own; the prices of Chzhen et al. 2023, Box B, beside the satisfaction of a round",
    use="many users to arms at once",
    fits="budgets (never exceeded), hard budgets, parity, floors, known costs, allocation, contexts, late outcomes",
)
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
    """Allocate for satisfaction at dual prices that are updated by projected gradient steps; hard budgets.

    Equation: arms pi(i) with a large sum_a r_a(sum_i m_i,pi(i)) + sum_i (bonus - lam.v)_i,pi(i);
    lam <- (lam + step (v - (B - margin)))_+ with the rows v of the round, on which outcomes are observed.
    Guarantee: none on the objective. The sum of a row is at most its bound, less the margin, times T, plus the last
    price over the step, whatever the model says. Budgets are never exceeded.

    Args:
        problem, model, oracle, capacity, may_stay: as for `resolving_allocation`, with constraints.
        step, margin: as for `pgd`, a play being that of a user.

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
    terms, step = Terms(problem).with_constraints(), default_step(problem) if step is None else step
    rows, bound = terms.rows_by_reach(terms.margin if margin is None else margin)
    by = Steady(step * terms.worth)
    dual = DualGradient(rows=rows, bound=bound, step=by, on="observed", pace=terms.pace)
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, dual, *terms.limits(True)),
        choice=allocation_choice(problem, oracle, capacity=capacity, may_stay=may_stay),
        name=name or f"pgd_allocation(step={step:.3g})",
    )


@named(
    "A6",
    source="Shibukawa et al. 2026, Section 5.1: Random",
    use="many users to arms at once",
    fits="budgets (never exceeded), hard budgets, known costs, allocation, contexts, late outcomes, no constraints",
)
def random_allocation(
    problem: Problem, n_features: int, *, capacity: tuple[int, ...] | None = None, name: str | None = None
) -> Policy:
    """Give each user an arm that is drawn uniformly; hard budgets.

    Guarantee: none; it is a baseline. Budgets are never exceeded.

    Args:
        problem, capacity: as for `cab_ucb`; of constraints, only budgets are kept to.
        n_features: of the contexts, which are ignored.

    >>> from evenhand.environments import Matching
    >>> random_allocation(Matching(users=6, arms=3, horizon=100).problem, n_features=5).name
    'random_allocation'
    """
    return Policy(
        problem=problem,
        model=NullModel(n_features=n_features, n_outcomes=len(problem.learned)),
        goals=(indifferent(problem), *Terms(problem).limits(True)),
        choice=allocation_choice(problem, Anyone(), capacity=capacity),
        name=name or "random_allocation",
    )
