"""A concave objective under budgets and convex sets: the best lottery that optimistic outcomes allow.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 4.1.
"""

from __future__ import annotations

from evenhand.choices import OptimisticProgram
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.intervals import Intervals
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import rows_and_sets, tightened
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select
from evenhand.recipes._needs import nothing_to_do
from evenhand.recipes._units import in_units_of_plays
from evenhand.recipes.defaults import fluctuation, given


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
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in a norm, no margin,
    `hard=False`, `every=1`, a feasible problem, and `Tabular` with `confidence` gamma of order ln(A T d / delta): with
    probability 1 - delta, OPT - f(mean y) and the distance of mean y from S are of order L ||1_d|| sqrt(gamma A / T)
    and ||1_d|| sqrt(gamma A / T), ||1_d|| being the norm of the vector of ones (Theorem 4.1). With n linear features
    per outcome (`Stacked`), n takes the place of sqrt(A) (Section 4.1.1). With a margin e of at least the second bound,
    and a point of value OPT - K e that is that far inside S, S itself is kept, and the first bound grows by K e.
    `hard=True` keeps budgets without any condition.
    With `Tabular` on an environment `WithoutContexts` this is the source's algorithm. With a model of features there is
    a program for every context, which must keep to the constraints by itself.
    Deviations: where no lottery is feasible, the largest excess is made as small as can be, as for
    `choices.OptimisticProgram`; hard budgets mask arms that no longer fit; an action that is declared to do nothing is
    not learned.

    Args:
        problem: with any objective, under budgets, floors of everybody and convex sets, such as `Within`.
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
    off = given(margin, lambda: fluctuation(problem))
    rows, bound, sets = rows_and_sets(problem, tightened(problem, margin), off)
    placed = select(problem, tuple(name for region in sets for name in region.outcomes))
    if rows.by_share.any() or placed.by_group:
        expected = "budgets, floors and convex sets, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)
    rows, bound = in_units_of_plays(problem, rows, bound)
    names = tuple(problem.objective.outcomes)
    return Policy(
        problem=problem,
        model=model,
        goals=(
            Intervals(rows=select(problem, names)),
            Intervals(rows=rows, ends="lower"),
            Intervals(rows=placed),
            *hard_limits(problem, hard),
        ),
        choice=OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=tuple(bound.tolist()),
            regions=tuple(region.within for region in sets),
            nothing=nothing_to_do(problem),
            every=every,
            tolerance=tolerance,
        ),
        name=name or "ucb_bwcr",
    )
