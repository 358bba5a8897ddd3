"""Turn any scalar policy into one for a concave objective of the average outcomes.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Plans
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.linear_reward import LinearReward
from evenhand.objectives import Linear, Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem


@named("C1", source="Do et al. 2023, Section 3, Algorithm 2: the reduction")
def fw(
    problem: Problem,
    recipe: Callable[[Problem], Policy],
    *,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Make a recipe for a linear objective maximise a concave one: its reward becomes the objective's slope.

    Equation: the scalar policy is run on the reward g_t.y, g_t = grad f_{t-1}(z_{t-1}).
    The recipe is told to maximise the mean of the outcomes. `lin_cbwk` and `square_cbwk` bound their prices by what a
    play is then worth at most: give them a `max_price` where slopes make it worth more.

    Args:
        problem: with any objective; the recipe decides how constraints are kept.
        recipe: such as `lambda p: lin_cbwk(p, model)`.
        smoothing: as for `fw_linucb`.
        name: for tables and plots.

    Raises:
        InvalidInput: a recipe that is concave already, or plans ahead, which needs more than the slope where the
            average stands.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> from evenhand.recipes import ucb
    >>> model = Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))
    >>> fw(MultiObjective().problem, lambda p: ucb(p, model)).name
    'fw(ucb)'
    """
    names = problem.objective.outcomes
    scalar = recipe(replace(problem, maximize=Linear(dict.fromkeys(names, 1.0 / len(names)))))
    _check(scalar)
    slope = frank_wolfe(problem, problem.objective, smoothing)
    goals = tuple(slope if isinstance(g, LinearReward) else g for g in scalar.goals)
    return replace(scalar, problem=problem, goals=goals, name=name or f"fw({scalar.name})")


def _check(scalar: Policy) -> None:
    """Refuse a policy without a linear reward to replace, or one that needs more than the objective's slope."""
    if not isinstance(scalar, Policy):
        raise InvalidInput("recipe", "a function from a problem to a policy", scalar)
    if not any(isinstance(g, LinearReward) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose reward is a linear goal, to be replaced by the slope", scalar.name)
    if any(isinstance(g, Plans) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose goals do not plan on a linear objective", scalar.name)
