"""The two sides of bandits with concave rewards and convex knapsacks: goals of the objective and of the constraints.

Each is pursued by its slope at the average of estimates ("primal") or by a dual vector ("dual").
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.core.validate import one_of
from evenhand.goals.fenchel import Fenchel, fenchel, fenchel_within
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.objectives import ExcessPenalty, Moreau, Smoothing
from evenhand.objectives.steepness import Norm
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.defaults import fluctuation, given, need_budgets_only
from evenhand.sets import Box

Updates = Literal["primal", "dual"]
Side = FrankWolfe | Fenchel


class Bounded(NamedTuple):
    """Rows that are to stay below bounds."""

    rows: Rows
    bound: Floats


def for_objective(
    problem: Problem, updates: Updates, smoothing: Smoothing | None = None, norm: Norm = "euclidean"
) -> Side:
    """The goal of the objective."""
    one_of("objective", updates, ("primal", "dual"))
    if updates == "primal":
        return frank_wolfe(problem, problem.objective, smoothing, on="optimistic")
    return fenchel(problem, problem.objective, norm=norm)


def for_constraints(
    problem: Problem, updates: Updates, margin: float | None = None, norm: Norm = "euclidean"
) -> tuple[Side, ...]:
    """The goals of the distances from the budgets together; () without constraints.

    Raises:
        InvalidInput: other constraints, or a margin that leaves nothing of a budget.
    """
    one_of("constraints", updates, ("primal", "dual"))
    need_budgets_only(problem)
    if not problem.subject_to:
        return ()
    rows, bound = budgets(problem, margin)
    if updates == "dual":
        return (fenchel_within(problem, rows, Box.below(tuple(bound.tolist())), norm=norm),)
    bounds = tuple(bound.tolist())
    distance = ExcessPenalty(rows.names, bounds)
    return (
        FrankWolfe(
            rows=rows,
            objective=distance,
            smoothing=Moreau(1.0),  # any size will do: the lottery only reads the direction of phi (Section 5.3)
            start_at=bounds,
            on="optimistic",
            optimism="net",  # the same as by row where widths are per outcome, as phi >= 0; and a single reading
        ),
    )


def budgets(problem: Problem, margin: float | None) -> Bounded:
    """The tightest row of each name, with its bound less the margin, `->(d)`."""
    off = given(margin, lambda: fluctuation(problem))
    rows, bound = constraint_rows(problem, problem.spending, off)
    tightest = {name: j for j, name in sorted(enumerate(rows.names), key=lambda z: -bound[z[0]])}
    which = np.array([tightest[name] for name in dict.fromkeys(rows.names)])
    return Bounded(rows.take(which), bound[which])


def readings(*sides: Side) -> int:
    """How many readings the goals have together."""
    return sum(side.price(side.start(1))[0].shape[1] for side in sides)
