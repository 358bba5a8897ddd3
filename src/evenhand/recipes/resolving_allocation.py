"""Re-solving where many users are allocated at once: budgets, floors and parity over the horizon."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.goals.resolving import Resolving
from evenhand.models.base import Model
from evenhand.planning.rounds import SharedArms
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._allocating import allocating
from evenhand.recipes._needs import where_constrained
from evenhand.recipes._units import steadied_rows
from evenhand.welfare import Oracle


@named("X1", source="evenhand's own; re-solving as in network revenue management (Jasin & Kumar 2012)")
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
    price of its matches (`goals.Resolving` with `planning.rounds.SharedArms`). Rounds have prices of matches of their
    own, from the oracle. Plans know who may stay without an arm, but of no capacities. Bounds of parities and
    floors are tightened by how much the last rounds may be off their plan (`defaults.steadied_rows`).
    Guarantee: none on the objective. Budgets are never exceeded, whatever the model says.

    Args:
        problem: measures one `welfare.Satisfaction`, and maximises the outcome that it sums up; with any constraints.
        model: any, for the learned outcomes; a width is added as it is.
        oracle: finds the allocation; `welfare.Priced` by default.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether users may stay without an arm where that is worth more, as where budgets run short.
        contexts: how many different users are kept at most.
        every: largest number of rounds between two solves.
        name: for tables and plots.

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
