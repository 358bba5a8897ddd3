"""Rows of constraints in units that suit prices, the most that a play can be worth, and goals of convex sets."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.linear_reward import LinearReward
from evenhand.objectives import DistancePenalty, Moreau, WeightedSum
from evenhand.planning.pace import Pace
from evenhand.problem.constraints import constraint_rows, per_row, regions, stated_rows
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units


def priced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """State all constraints as rows in units of the most that one play can add to each row, `()->(d)`.

    Steps and prices that suit one problem then suit it in any units. Factors of groups do not count as units.
    """
    return in_units_of_plays(problem, *constraint_rows(problem, margin=margin))


def paced(problem: Problem) -> Pace | None:
    """Return the pace of all rows; None if no row has spans of time."""
    spans = tuple(per_row(problem.stated, lambda s: s.spans))
    return Pace(problem=problem, spans=spans) if any(s is not None for s in spans) else None


def in_units_of_plays(problem: Problem, rows: Rows, bound: Floats) -> tuple[Rows, Floats]:
    """Restate rows and bounds in units of the most that one play can add to each row, `(d)->(d)`."""
    size = sizes(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0))


def balanced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """State all constraints as rows in units for which one step of dual prices suits all of them, `()->(d)`.

    Equation: row j is divided by c_j (most_j rms_j)^(1/2), with c_j the most that a play can add without factors of
    groups, and most_j and rms_j the largest size and the root mean square of the factor of a play, a play being in a
    group with the probability of its share. Rows of everybody have factors of 1.

    A price of w / (c_j most_j) takes all that a play is worth, w, and a round of P independent plays varies by
    sqrt(P) c_j rms_j. With constant steps eta, a row exceeds its bound by at most price / (eta T) on average, and the
    variation costs eta / 2 times its square per round; eta = price / (variation sqrt(T)) balances the two. In these
    units that is w / sqrt(P T) for all rows.

    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.problem import Floor
    >>> labels = {"item 0": "a", "item 1": "b", "item 2": "b", "item 3": "b"}
    >>> audience = Audience(users=np.eye(4), items=np.eye(4))
    >>> floor = (Floor("exposure", rate=0.2, by="label"),)
    >>> world = Ranking(audience=audience, horizon=100, slots=1, labels=labels, subject_to=floor)
    >>> rows, bound = balanced_rows(world.problem)  # of a quarter of the items, `most` is 4 and `rms` is 2
    >>> (-0.2 / bound).round(3)
    array([2.828, 1.241])

    The sets of `Curved` constraints are left to `region_goals`.
    """
    rows, bound = stated_rows(problem, margin=margin)
    size, (most, rms) = sizes(problem, rows), group_factors(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0) * np.sqrt(most * rms))


def steadied_rows(problem: Problem) -> tuple[Rows, Floats]:
    """State all constraints as rows, tightened by the fluctuation of the last rounds, `()->(d)`.

    Equation: row j of a constraint that is not spent loses 5 sqrt(P) c_j rms_j / T of its bound, at most half of it:
    five standard deviations of a round of P independent plays, with c_j and rms_j as for `balanced_rows`. A sum that
    prices can pull back by one of them per round is x of them too high with a probability of about exp(-2 x). Hard
    limits keep what is spent.

    >>> from evenhand.environments import Matching
    >>> from evenhand.problem import Parity
    >>> world = Matching(groups={"near": 0.5, "far": 0.5}, subject_to=(Parity("match", by="group", tolerance=0.5),))
    >>> steadied_rows(world.problem)[1].round(4)
    array([0.4965, 0.4965, 0.4965, 0.4965])
    """
    rows, bound = constraint_rows(problem)
    spent = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    margin = 5.0 * math.sqrt(problem.n_plays) * sizes(problem, rows) * group_factors(problem, rows)[1] / problem.horizon
    return rows, np.where(spent, bound, bound - np.minimum(margin, 0.5 * np.abs(bound)))


def group_factors(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """Return the maximum and the root mean square of the size of a play's factor in every row, `->(d),(d)`."""
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.always + rows.inside / np.where(rows.by_share, share, 1.0)
    most = np.maximum(np.abs(inside), np.abs(rows.always) * (share < 1.0))
    return most, np.sqrt(share * inside**2 + (1.0 - share) * rows.always**2)


def spread(problem: Problem, rows: Rows, bound: Floats) -> Floats:
    """Compute by how much a round moves every row, in the units of the row, `(d)->(d)`.

    Equation: u_j = (P most_j |b_j|)^(1/2) for a row of everybody, most_j being what a play can add and b_j the bound
    per play: outcomes in [0, most] whose average is b have at most the root mean square (most b)^(1/2). Rows by group,
    and rows with a bound of 0 up to rounding, as facets through 0 have, have P^(1/2) times the units of
    `balanced_rows`.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> spread(problem, *constraint_rows(problem)).round(2)
    array([0.67, 0.54])
    """
    size, (most, rms) = sizes(problem, rows), group_factors(problem, rows)
    size, plays = np.where(size > 0.0, size, 1.0), problem.n_plays
    each = np.abs(bound) / plays
    everybody = of_everybody(size, most, each)
    return np.asarray(math.sqrt(plays) * np.where(everybody, np.sqrt(size * each), size * np.sqrt(most * rms)))


def of_everybody(size: Floats, most: Floats, each: Floats) -> Bools:
    """Return whether each row is of everybody and has a bound other than 0, `(d),(d),(d)->(d)`."""
    return np.asarray((most == 1.0) & (each > 1e-12 * size))


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
