"""The most that a play can be worth, and the goals of convex sets that are priced by it."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.core.types import Floats
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.linear_reward import LinearReward
from evenhand.objectives import DistancePenalty, Moreau, WeightedSum
from evenhand.problem.constraints import regions
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows


def region_goals(
    problem: Problem, slope: FrankWolfe, optimism: Literal["row", "net"] = "row"
) -> tuple[FrankWolfe, ...]:
    """Make a goal for every convex set that no rows describe: minus L times the distance of the average from it.

    Equation: L = 4 w / u, with w what a play can be worth at the objective's slope at its start, and u the length of
    the ranges of the set's outcomes: a distance that one play makes up is worth four plays. Where optimal prices of
    the set are higher than L, averages stay out of the set.

    >>> from evenhand.environments import Court
    >>> from evenhand.goals.frank_wolfe import frank_wolfe
    >>> problem = Court().problem
    >>> region_goals(problem, frank_wolfe(problem, problem.objective))
    ()
    """
    goals = []
    for region in regions(problem.stated):
        low, high = problem.ranges(region.outcomes, plays=1)
        size = np.where(np.isfinite(high - low), high - low, 1.0)
        penalty = DistancePenalty(region.outcomes, region.within)
        price = 4.0 * worth_of_a_play(problem, slope) / float(np.linalg.norm(size))
        start_at = tuple(region.within.project(np.array(problem.middle(region.outcomes))).tolist())
        weighted, wide = WeightedSum(((price, penalty),)), float(size.max())
        smoothing = Moreau(0.01 * wide * (wide / worth_of_a_play(problem, slope)))
        goals.append(frank_wolfe(problem, weighted, smoothing, start_at=start_at, optimism=optimism))
    return tuple(goals)


def worth_of_a_play(problem: Problem, goal: FrankWolfe) -> float:
    """Compute the most that a play can be worth at the slope of the start.

    A play is in one group of every grouping: of sums over groups that the objective reads, it moves one per grouping.
    """
    low, high = problem.ranges(goal.rows.names, plays=1)
    size = np.where(np.isfinite(high - low), high - low, 1.0)
    worth = _of_a_play(np.abs(goal.slope(np.array([goal.start_at]), np.zeros(1))[0]) * size, goal.rows)
    if worth == 0.0:  # the slope is 0 at the start, but not everywhere
        steep = goal.objective.lipschitz
        worth = steep * math.sqrt(_of_a_play(size**2, goal.rows)) if math.isfinite(steep) else 1.0
    return worth


def _of_a_play(most: Floats, rows: Rows) -> float:
    """Return the largest sum over the rows that one play can move, `(d)->()`."""
    inside = rows.column >= 0
    if not inside.any():
        return float(most.sum())
    column, grouping = rows.column[inside], rows.grouping[inside]
    largest = np.zeros(grouping.max() + 1)
    np.maximum.at(largest, grouping, np.bincount(column, most[inside])[column])
    return float(most[~inside].sum() + largest.sum())


def worth_unit(problem: Problem, goal: LinearReward) -> float:
    """Compute the most that one play can be worth; 1 if all weights are 0.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.goals.linear_reward import reward
    >>> problem = FixedContexts().problem  # rewards are in [-2, 2]
    >>> worth_unit(problem, reward(problem))
    2.0
    """
    return float(np.abs(np.array(goal.weights)) @ sizes(problem, goal.rows)) or 1.0
