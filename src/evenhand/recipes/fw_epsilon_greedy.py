"""A concave objective of the average outcomes, by epsilon-greedy at its slope.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from evenhand.choices import EpsilonGreedy
from evenhand.core.catalogue import named
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import need_no_constraints


@named("C4", source="Do et al. 2023, Section 5 (FW-epsilon-greedy)")
def fw_epsilon_greedy(
    problem: Problem,
    model: Model,
    *,
    epsilon: float = 0.01,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play the candidate of highest worth at the objective's slope, or a random one with probability epsilon.

    Equation: a = argmax g.y_hat with probability 1 - epsilon, else uniform, g = grad f_{t-1}(z_{t-1}).
    Guarantee: none of its own. That of `fw` holds for whatever scalar regret it has, which the paper does not bound.
    Playing at random alone costs up to epsilon L D per round for ever.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any.
        epsilon: in [0, 1].
        name: for tables and plots.

    Raises:
        InvalidInput: as for `fw_linucb`.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_epsilon_greedy(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'fw_epsilon_greedy'
    """
    need_no_constraints(problem)
    goals = (frank_wolfe(problem, problem.objective, smoothing, optimism="net"),)
    choice = EpsilonGreedy(epsilon, problem.n_plays)
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name=name or "fw_epsilon_greedy")
