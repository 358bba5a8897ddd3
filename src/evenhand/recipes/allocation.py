"""Allocations of many users to arms under constraints: by plans, by dual prices, and at random."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.linear_reward import indifferent
from evenhand.goals.resolving import Resolving
from evenhand.goals.steps import Steady
from evenhand.models import NullModel
from evenhand.models.base import Model
from evenhand.planning.rounds import SharedArms
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._allocating import allocating
from evenhand.recipes.pgd import default_step
from evenhand.recipes.terms import Terms
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
    floors are tightened by how much the last rounds may be off their plan (`Terms.steadied`).
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
    terms, choice = Terms(problem), allocating(problem, oracle, capacity=capacity, may_stay=may_stay)
    objective = terms.reward

    def plan() -> Resolving:
        rows, bound = terms.steadied()
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
        goals=(objective, *terms.constrained(plan), *terms.limits(True)),
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
    rows, bound = terms.priced(terms.margin if margin is None else margin)
    by = Steady(step * terms.worth)
    dual = DualGradient(rows=rows, bound=bound, step=by, on="observed", pace=terms.pace)
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, dual, *terms.limits(True)),
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
        goals=(indifferent(problem), *Terms(problem).limits(True)),
        choice=allocating(problem, Anyone(), capacity=capacity),
        name=name or "random_allocation",
    )
