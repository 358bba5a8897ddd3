"""The two sides of bandits with concave rewards and convex knapsacks: goals of the objective and of the constraints.

Each is pursued by its slope at the average of estimates ("primal") or by a dual vector ("dual"). Constraints on sums
and every convex set have a goal each, so that no set has to be intersected with others: the lottery keeps to the
half-space of each of them, and the theory bounds each distance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from evenhand.choices import LinearProgram, Lottery, OptimisticProgram
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm
from evenhand.core.types import Floats
from evenhand.core.validate import one_of
from evenhand.goals.base import Priced
from evenhand.goals.fenchel import Fenchel, fenchel, fenchel_within
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.intervals import Intervals
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.objectives import DistancePenalty, Linear, Moreau, Smoothing
from evenhand.problem.constraints import Region, constraint_rows, rows_and_sets, tightened
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units, select
from evenhand.recipes._units import in_units_of_plays
from evenhand.recipes.defaults import fluctuation, given
from evenhand.sets import Box, ConvexSet, units

Updates = Literal["primal", "dual"]
Side = LinearReward | FrankWolfe | Fenchel
TOGETHER = "budgets, floors and convex sets only, as constraints by group are not supported"


class Kept(NamedTuple):
    """Rows whose averages are to be in a set, both in units of what one play can add."""

    rows: Rows
    within: ConvexSet
    start_at: tuple[float, ...]  # a point of the set
    ends: tuple[tuple[float, ...], tuple[float, ...]] | None  # of the ranges that cut the set, where it has no bounds


def for_objective(
    problem: Problem, updates: Updates, smoothing: Smoothing | None = None, norm: Norm = "euclidean"
) -> Side:
    """Make the goal of the objective."""
    one_of("objective_by", updates, ("primal", "dual"))
    if updates == "primal" and isinstance(problem.objective, Linear):  # its slope needs no estimates of averages
        return replace(reward(problem), optimism="row")
    if updates == "primal":
        return frank_wolfe(problem, problem.objective, smoothing, on="optimistic")
    return fenchel(problem, problem.objective, norm=norm)


def for_constraints(
    problem: Problem, updates: Updates, margin: float | None = None, norm: Norm = "euclidean"
) -> tuple[Side, ...]:
    """Make the goals of the distances from the allowed sets, a reading each; () without constraints.

    Raises:
        InvalidInput: constraints by group, or a margin that leaves nothing of a budget or a set.
    """
    one_of("constraints_by", updates, ("primal", "dual"))
    rows, bound, placed = _stated(problem, margin)
    kept = [*_sums(problem, rows, bound), *(_set(problem, region) for region in placed)]
    if updates == "dual":
        return tuple(fenchel_within(problem, k.rows, k.within, norm=norm) for k in kept)
    return tuple(
        FrankWolfe(
            rows=k.rows,
            objective=DistancePenalty(k.rows.names, k.within, *(k.ends or ())),
            smoothing=Moreau(1.0),  # any size will do: only the direction of phi counts (Section 5.3)
            start_at=k.start_at,
            on="optimistic",
            optimism="net",  # a single reading, and the same as by row where widths are per outcome
        )
        for k in kept
    )


def _stated(problem: Problem, margin: float | None) -> tuple[Rows, Floats, tuple[Region, ...]]:
    """Return the rows and bounds of the constraints on sums, and the sets, all tightened by the margin, `()->(d)`.

    The default margin of sets is 0.
    """
    off = given(margin, lambda: fluctuation(problem))
    rows, bound, placed = rows_and_sets(problem, tightened(problem, margin), off)
    if rows.by_share.any():
        raise InvalidInput("problem.subject_to", TOGETHER, problem.subject_to)
    return rows, bound, placed


def _sums(problem: Problem, rows: Rows, bound: Floats) -> list[Kept]:
    """Collect all rows in the set below their bounds, `()->(d)`; [] without any; equal rows count once."""
    rows, bound = in_units_of_plays(problem, rows, bound)
    alike: dict[bytes, int] = {}
    for j in np.argsort(bound, kind="stable").tolist():
        alike.setdefault(np.append(rows.weights[j] + 0.0, rows.column[j]).tobytes(), j)
    which = np.array(sorted(alike.values()), np.int64)
    if not len(which):
        return []
    kept, bounds = rows.take(which), tuple(bound[which].tolist())
    names = tuple(n if kept.names.count(n) == 1 else f"{n} ({i})" for i, n in enumerate(kept.names))
    return [Kept(replace(kept, names=names), Box.below(bounds), bounds, None)]


def _set(problem: Problem, region: Region) -> Kept:
    """Return the outcomes of a convex set, and the set."""
    low, high = problem.ranges(region.outcomes, plays=1)
    width = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
    within, unit = units.in_units(region.within, width)
    rows, near = in_units(select(problem, region.outcomes), np.array(problem.middle(region.outcomes)), unit)
    ends = tuple(tuple((end / unit).tolist()) for end in problem.ranges(region.outcomes))
    return Kept(rows, within, tuple(within.project(near).tolist()), ends)  # type: ignore[arg-type]


def both_sides(
    problem: Problem,
    objective_by: Updates | Literal["ucb"] | None,
    constraints_by: Updates | Literal["ucb"],
    smoothing: Smoothing | None,
    margin: float | None,
    norm: Norm,
) -> tuple[tuple[Side | Intervals, ...], Lottery | LinearProgram | OptimisticProgram]:
    """Goals of both sides, and the choice of the best lottery, with an optimistic program on at most one of them.

    Without an objective the arm that leads back to all sets at once is played.
    """
    if objective_by == "ucb":
        names = tuple(problem.objective.outcomes)
        kept = for_constraints(problem, constraints_by, margin, norm)  # type: ignore[arg-type]
        program = OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=(0.0,) * len(kept),
        )
        return (Intervals(rows=select(problem, names)), *kept), program
    if objective_by is None:
        kept = for_constraints(problem, constraints_by, margin, norm)  # type: ignore[arg-type]
        return kept, Lottery(readings(*kept))
    slope = for_objective(problem, objective_by, smoothing, norm)
    wanted = readings(slope)
    if constraints_by == "ucb" and problem.subject_to:
        rows, bound = constraint_rows(problem, tightened(problem, margin), given(margin, lambda: fluctuation(problem)))
        if rows.by_share.any():
            raise InvalidInput("problem.subject_to", TOGETHER, problem.subject_to)
        rows, bound = in_units_of_plays(problem, rows, bound)
        return (slope, Intervals(rows=rows, ends="lower")), LinearProgram(wanted, tuple(bound.tolist()))
    kept = () if constraints_by == "ucb" else for_constraints(problem, constraints_by, margin, norm)
    return (slope, *kept), Lottery(wanted) if len(kept) < 2 else LinearProgram(wanted, (0.0,) * len(kept))


def readings(*sides: Priced) -> int:
    """Count the readings of all goals together."""
    return sum(side.price(side.start(1))[0].shape[1] for side in sides)
