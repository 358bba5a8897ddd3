"""The goal of a problem's objective, linear or concave."""

from __future__ import annotations

from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.objectives import Linear as LinearObjective
from evenhand.problem.problem import Problem


def objective_goal(problem: Problem) -> LinearReward | FrankWolfe:
    """Return `LinearReward` for a linear objective, `FrankWolfe` for any other.

    The first applies optimism to the priced sum, the second to each outcome.

    >>> from evenhand.environments import Court, MultiObjective
    >>> [type(objective_goal(world.problem)).__name__ for world in (Court(), MultiObjective())]
    ['LinearReward', 'FrankWolfe']
    """
    if isinstance(problem.objective, LinearObjective):
        return reward(problem)
    return frank_wolfe(problem, problem.objective)
