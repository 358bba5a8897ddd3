"""Many users to arms with diminishing returns, at a drawn parameter for each user."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Oracle


@named("A3", source="Shibukawa et al. 2026, Algorithm 3 (CAB-TS(theta), a heuristic)")
def cab_ts_parameter(
    problem: Problem, model: Model, *, oracle: Oracle | None = None, name: str | None = None
) -> Policy:
    """Allocate for satisfaction at the means under a drawn parameter per user; no constraints.

    Equation: arms pi(i) with a large sum_a r_a(sum_i mu(x_ia.theta_i)), theta_i ~ N(theta, a^2 H^-1) independently per
    user: `Sampled(inner=Logistic(...), scale=a, units=users)`. The paper's theory does not cover it.
    Guarantee: none; the source has it as a heuristic.

    Args:
        problem, oracle: as for `cab_ucb`.
        model: one that draws, such as `Sampled`.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic, Sampled
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> model = Sampled(inner=Logistic(n_features=5, ridge=5.0), scale=30**0.5, units=6)
    >>> cab_ts_parameter(world.problem, model).name
    'cab_ts_parameter'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    choice = allocating(problem, oracle, optimism="inside")
    return Policy(
        problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "cab_ts_parameter"
    )
