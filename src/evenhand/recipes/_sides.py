"""The two sides of bandits with concave rewards and convex knapsacks: goals of the objective and of the constraints.

Each is pursued by its slope at the average of estimates ("primal") or by a dual vector ("dual"). Constraints on sums
and every convex set have a goal each, so that no set has to be intersected with others: the lottery keeps to the
half-space of each of them, and the theory bounds each distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from evenhand.choices import LinearProgram, Lottery, OptimisticProgram
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import one_of
from evenhand.goals.base import Priced
from evenhand.goals.fenchel import Fenchel, fenchel, fenchel_within
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.intervals import Intervals
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.objectives import DistancePenalty, Linear, Moreau, Smoothing
from evenhand.objectives.steepness import Norm
from evenhand.problem.constraints import Constraint, Within, stated_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select
from evenhand.recipes.defaults import fluctuation, priced_rows
from evenhand.sets import Box, ConvexSet

Updates = Literal["primal", "dual"]
Side = LinearReward | FrankWolfe | Fenchel
TOGETHER = "budgets, floors and convex sets only, as constraints by group are not supported"


class Kept(NamedTuple):
    """Rows whose averages are to be in a set."""

    rows: Rows
    within: ConvexSet
    start_at: tuple[float, ...]  # a point of the set
    ends: tuple[tuple[float, ...], tuple[float, ...]] | None  # of the ranges that cut the set, where it has no bounds


def for_objective(
    problem: Problem, updates: Updates, smoothing: Smoothing | None = None, norm: Norm = "euclidean"
) -> Side:
    """The goal of the objective."""
    one_of("objective", updates, ("primal", "dual"))
    if updates == "primal" and isinstance(problem.objective, Linear):  # its slope needs no estimates of averages
        return replace(reward(problem), optimism="row")
    if updates == "primal":
        return frank_wolfe(problem, problem.objective, smoothing, on="optimistic")
    return fenchel(problem, problem.objective, norm=norm)


def for_constraints(
    problem: Problem, updates: Updates, margin: float | None = None, norm: Norm = "euclidean"
) -> tuple[Side, ...]:
    """The goals of the distances from what is allowed, a reading each; () without constraints.

    Raises:
        InvalidInput: constraints by group, or a margin that leaves nothing of a budget or a set.
    """
    one_of("constraints", updates, ("primal", "dual"))
    kept = [*sums(problem, margin), *sets(problem, margin)]
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


def sums(problem: Problem, margin: float | None) -> list[Kept]:
    """The tightest row of each name of all budgets and floors, in the set below their bounds; [] without any."""
    stated = [c for c in problem.subject_to if not isinstance(c, Within)]
    if not stated:
        return []
    if any(c.rows(problem).by_group for c in stated):
        raise InvalidInput("problem.subject_to", TOGETHER, problem.subject_to)
    each = fluctuation(problem) if margin is None else np.full(len(problem.subject_to), margin)
    off = each[[not isinstance(c, Within) for c in problem.subject_to]]
    rows, bound = stated_rows(problem, stated, off)
    tightest = {name: j for j, name in sorted(enumerate(rows.names), key=lambda z: -bound[z[0]])}
    which = np.array([tightest[name] for name in dict.fromkeys(rows.names)])
    bounds = tuple(bound[which].tolist())
    return [Kept(rows.take(which), Box.below(bounds), bounds, None)]


def sets(problem: Problem, margin: float | None) -> list[Kept]:
    """The outcomes of every convex set, and the set less the margin, which is 0 by default."""
    kept = []
    for c in problem.subject_to:
        if isinstance(c, Within):
            within = c.within.shrunk(margin, c.norm) if margin else c.within
            low, high = problem.ranges(c.outcomes)
            near = within.project(np.array(problem.middle(c.outcomes)))
            ends = tuple(low.tolist()), tuple(high.tolist())
            kept.append(Kept(select(problem, c.outcomes), within, tuple(near.tolist()), ends))
    return kept


def less(problem: Problem, margin: float) -> Iterator[Constraint]:
    """The constraints, with every set less a margin on all sides."""
    for c in problem.subject_to:
        yield replace(c, within=c.within.shrunk(margin, c.norm)) if isinstance(c, Within) and margin else c


def both_sides(
    problem: Problem,
    objective: Updates | Literal["ucb"],
    constraints: Updates | Literal["ucb"],
    smoothing: Smoothing | None,
    margin: float | None,
    norm: Norm,
) -> tuple[tuple[Side | Intervals, ...], Lottery | LinearProgram | OptimisticProgram]:
    """Goals of both sides, and the choice of the best lottery, with an optimistic program on at most one of them.

    Raises:
        InvalidInput: as for `bwcr`.
    """
    if objective == "ucb":
        names = tuple(problem.objective.outcomes)
        kept = for_constraints(problem, constraints, margin, norm)  # type: ignore[arg-type]
        program = OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=(0.0,) * len(kept),
        )
        return (Intervals(rows=select(problem, names)), *kept), program
    slope = for_objective(problem, objective, smoothing, norm)
    wanted = readings(slope)
    if constraints == "ucb" and problem.subject_to:
        if any(c.rows(problem).by_group for c in problem.subject_to):
            raise InvalidInput("problem.subject_to", TOGETHER, problem.subject_to)
        tighter = problem if margin is None else replace(problem, subject_to=tuple(less(problem, margin)))
        rows, bound = priced_rows(tighter, fluctuation(problem) if margin is None else margin)
        return (slope, Intervals(rows=rows, ends="lower")), LinearProgram(wanted, tuple(bound.tolist()))
    kept = () if constraints == "ucb" else for_constraints(problem, constraints, margin, norm)
    return (slope, *kept), Lottery(wanted) if len(kept) < 2 else LinearProgram(wanted, (0.0,) * len(kept))


def readings(*sides: Priced) -> int:
    """How many readings the goals have together."""
    return sum(side.price(side.start(1))[0].shape[1] for side in sides)
