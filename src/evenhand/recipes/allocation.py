"""Allocations of many users to arms under constraints: by plans, by dual prices, and at random."""

from __future__ import annotations

import math

from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.linear_reward import indifferent, reward
from evenhand.goals.resolving import Resolving
from evenhand.goals.steps import Steady
from evenhand.models import NullModel
from evenhand.models.base import Model
from evenhand.planning.rounds import SharedArms
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import per_row
from evenhand.problem.problem import Problem
from evenhand.recipes._allocating import allocating
from evenhand.recipes._needs import need_constraints, where_constrained
from evenhand.recipes._units import paced, priced_rows, steadied_rows, worth_unit
from evenhand.recipes.defaults import default_margin, given
from evenhand.welfare import Anyone, Oracle


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
    floors are tightened by how much the last rounds may be off their plan (`recipes._units.steadied_rows`).
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
    choice, objective = allocating(problem, oracle, capacity=capacity, may_stay=may_stay), reward(problem)

    def plan() -> Resolving:
        rows, bound = steadied_rows(problem)
        return Resolving(
            problem=problem,
            objective=objective,
            constraints=rows,
            bound=bound,
            spans=tuple(per_row(problem.stated, lambda s: s.spans)),
            sums=tuple(per_row(problem.stated, lambda s: s.spends)),
            contexts=contexts,
            every=every,
            rounds=SharedArms(curve=choice.curve, arms=choice.arms, may_stay=may_stay),
        )

    return Policy(
        problem=problem,
        model=model,
        goals=(objective, *where_constrained(problem, plan), *hard_limits(problem, True)),
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
    need_constraints(problem)
    step = given(step, lambda: 2.0 / (problem.n_plays * math.sqrt(problem.horizon)))
    rows, bound = priced_rows(problem, given(margin, lambda: default_margin(problem)))
    gain = reward(problem)
    by = Steady(step * worth_unit(problem, gain))
    dual = DualGradient(rows=rows, bound=bound, step=by, on="observed", pace=paced(problem))
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, dual, *hard_limits(problem, True)),
        choice=allocating(problem, oracle, capacity=capacity, may_stay=may_stay),
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
        goals=(indifferent(problem), *hard_limits(problem, True)),
        choice=allocating(problem, Anyone(), capacity=capacity),
        name=name or "random_allocation",
    )
