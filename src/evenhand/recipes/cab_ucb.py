"""Many users to arms with diminishing returns, with the bonus of each pair beside satisfaction."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Oracle


@named("A1", source="Shibukawa et al. 2026, Algorithm 1 (CAB-UCB)")
def cab_ucb(
    problem: Problem,
    model: Model,
    *,
    oracle: Oracle | None = None,
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
    name: str | None = None,
) -> Policy:
    """Allocate for satisfaction at the estimated means plus the bonus of every pair; no constraints.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta)) + sum_i c1 ||x_{i pi(i)}||_{V^-1}. The paper's
    experiments have lambda_0 = n and c1 = sqrt(n); kappa, which they do not state, is 1 here:
    `Logistic(n_features=n, ridge=n, width=Fixed(sqrt(n)), clipped=False)`.
    Deviations: our oracle by default; the paper's is `welfare.Sequential()`.

    Args:
        problem: measures one `welfare.Satisfaction`, from which r and the number of arms are taken, and maximises the
            outcome that it sums up.
        model: with a width per pair, which is added as it is; without one, nothing is explored.
        oracle: finds the allocation; `welfare.Priced` by default.
        capacity: the most users of each arm; by default there is no limit.
        may_stay: whether users may stay without an arm where that is worth more.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Fixed, Logistic
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Logistic(n_features=5, ridge=5.0, width=Fixed(5**0.5), clipped=False)
    >>> cab_ucb(world.problem, model).name
    'cab_ucb'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    return Policy(
        problem=problem,
        model=model,
        goals=(reward(problem),),
        choice=allocating(problem, oracle, capacity=capacity, may_stay=may_stay),
        name=name or "cab_ucb",
    )
