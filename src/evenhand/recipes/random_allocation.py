"""An arm at random for every user, without learning: a baseline."""

from __future__ import annotations

from evenhand.core.catalogue import named
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import indifferent
from evenhand.models import NullModel
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._allocating import allocating
from evenhand.welfare import Anyone


@named("A6", source="Shibukawa et al. 2026, Section 5.1: Random")
def random_allocation(
    problem: Problem, n_features: int, *, capacity: tuple[int, ...] | None = None, name: str | None = None
) -> Policy:
    """Give each user an arm that is drawn uniformly; hard budgets.

    Guarantee: none; it is a baseline. Budgets are never exceeded.

    Args:
        problem: as for `cab_ucb`, with or without constraints; only budgets are kept to.
        n_features: of the contexts, which are ignored.
        capacity: the most users of each arm; by default there is no limit.
        name: for tables and plots.

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
