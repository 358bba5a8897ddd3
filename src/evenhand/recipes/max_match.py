"""The most matches, however they are spread over arms: a baseline."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import allocating, need_no_constraints
from evenhand.welfare import Greedy, Linear


@named("A6", source="Shibukawa et al. 2026, Appendix F.1 (Algorithm 5, Max match)")
def max_match(problem: Problem, model: Model, *, name: str | None = None) -> Policy:
    """Give each user the arm of the largest optimistic mean: a baseline without diminishing returns; no constraints.

    Equation: pi(i) = argmax_a mu(x_ia.theta) + c1 ||x_ia||_{V^-1}, which is `cab_ucb` with r(x) = x.
    Guarantee: none for satisfaction; the source has it as a baseline.

    Args:
        problem, model: as for `cab_ucb`.
        name: for tables and plots.

    Raises:
        InvalidInput: a problem with constraints, without a satisfaction, or with another objective.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Logistic
    >>> max_match(Matching(users=6, arms=3, horizon=100).problem, Logistic(n_features=5)).name
    'max_match'
    """
    need_no_constraints(problem, keeper="resolving_allocation")
    choice = allocating(problem, Greedy(), curve=Linear())
    return Policy(problem=problem, model=model, goals=(reward(problem),), choice=choice, name=name or "max_match")
