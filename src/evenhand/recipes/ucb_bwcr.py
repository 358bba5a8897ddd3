"""A concave objective under budgets and convex sets: the best lottery that optimistic outcomes allow.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 4.1.
"""

from __future__ import annotations

from typing import Any

from evenhand.choices import OptimisticProgram
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.intervals import Intervals
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import in_units, select
from evenhand.recipes.defaults import fluctuation, given, nothing_to_do


@named("B1", source="Agrawal & Devanur 2014, Algorithm 1, in its convex form")
def ucb_bwcr(
    problem: Problem,
    model: Model,
    *,
    margin: float | None = None,
    hard: bool = True,
    every: int = 1,
    tolerance: float = 1e-4,
    name: str | None = None,
) -> Policy:
    """Draw from the best lottery if all outcomes are as good as their intervals allow, in every round; hard budgets.

    Equation: p = argmax f(u) s.t. y_lcb p <= u <= y_ucb p, c_lcb p <= B - margin, z_lcb p <= v <= z_ucb p, v in S, over
    lotteries p. It needs no slope to follow, no smoothing and no prices: the program is solved with its kinks, by
    cutting planes, in about half a millisecond per replica.
    With `Tabular` on an environment `WithoutContexts` this is the source's algorithm. With a model of features there is
    a program for every context, which must keep to the constraints by itself.
    Deviations: where no lottery is feasible, the largest excess is made as small as can be, as for
    `choices.OptimisticProgram`; hard budgets mask arms that no longer fit; an action that is declared to do nothing is
    not learned.

    Args:
        problem: with any objective, under budgets and convex sets: constraints that name their `outcomes`, and the set
            that these are to be `within`.
        model: with widths.
        margin: taken off every budget per round, and off every set on all sides, as for `bwcr`.
        hard: never exceed a budget.
        every: how many rounds one lottery serves.
        tolerance: of the optimum, per unit of what outcomes can add to f.
        name: for tables and plots.

    Raises:
        InvalidInput: constraints by group, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> ucb_bwcr(Lessons(parity=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'ucb_bwcr'
    """
    sets: list[Any] = [c for c in problem.subject_to if hasattr(c, "within")]
    placed = select(problem, tuple(name for c in sets for name in c.outcomes))
    if len(problem.spending) + len(sets) < len(problem.subject_to) or placed.by_group:
        expected = "budgets and convex sets, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)
    names = tuple(problem.objective.outcomes)
    rows, full = constraint_rows(problem, problem.spending)
    off = given(margin, lambda: fluctuation(problem)[[c.spends for c in problem.subject_to]])
    kept = constraint_rows(problem, problem.spending, off)[1] / full
    return Policy(
        problem=problem,
        model=model,
        goals=(
            Intervals(rows=select(problem, names)),
            Intervals(rows=in_units(rows, full, full)[0], ends="lower"),
            Intervals(rows=placed),
            *hard_limits(problem, hard),
        ),
        choice=OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=tuple(kept.tolist()),
            regions=tuple(c.within.shrunk(margin, c.norm) if margin else c.within for c in sets),
            nothing=nothing_to_do(problem),
            every=every,
            tolerance=tolerance,
        ),
        name=name or "ucb_bwcr",
    )
