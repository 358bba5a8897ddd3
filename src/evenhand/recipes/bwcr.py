"""A concave objective and convex constraints at once, without contexts.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 6.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import DistancePenalty, Moreau, Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.defaults import fluctuation, given, where_constrained
from evenhand.sets import Box


@named("B7", source="Agrawal & Devanur 2014, Algorithm 6, with primal updates (Algorithms 4 and 5) of both vectors")
def bwcr(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    margin: float | None = None,
    hard: bool = True,
) -> Policy:
    """Draw from the best lottery at the objective's slope that steers average costs to the budgets; hard budgets.

    Equation: p = argmax g.y_ucb p s.t. phi.c_lcb p <= phi.(B - margin), over lotteries p, with g = grad f_{t-1} at the
    average of y_ucb and phi = (c - (B - margin))_+ at the average c of c_lcb (c_ucb while phi is 0, as in eq. 17), both
    over the arms that were drawn.
    While the average is within the budgets, phi is 0 and every lottery is allowed. With `Tabular` on an environment
    `WithoutContexts` this is the source's algorithm. With a model of features there is a lottery for every context, and
    each must meet the constraint by itself, so little budget is saved for contexts where it is worth more, unlike with
    `resolving` and `fw_dual`.
    Deviations: averages are over the drawn arms rather than the lotteries; g is smoothed by beta / sqrt(t) rather than
    by one eta; known outcomes have no confidence bounds; where no lottery is feasible, the candidate of most slack is
    played.

    Args:
        problem: with any objective; budgets are the only constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        margin: taken off every budget b per round; half of sqrt(c b / T) by default, or of b if that is less, with
            c the most that a round can use.
        hard: never exceed a budget.

    Raises:
        InvalidInput: a parity, an objective that cannot be smoothed, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> bwcr(MixedArms().problem, Tabular(arms=4, n_outcomes=3, confidence=0.5)).name
    'bwcr'
    """
    _need_budgets_only(problem)
    slope = frank_wolfe(problem, problem.objective, smoothing, on="optimistic")
    off = given(margin, lambda: fluctuation(problem))
    penalty = where_constrained(problem, lambda: _keep_within(*constraint_rows(problem, problem.subject_to, off)))
    return Policy(
        problem=problem,
        model=model,
        goals=(slope, *penalty, *hard_limits(problem, hard)),
        choice=Lottery(slope.price(slope.start(1))[0].shape[1]),
        name="bwcr",
    )


def theoretical_gamma(problem: Problem, delta: float = 0.05) -> float:
    """ln(A T M / delta), the `confidence` of `Tabular` that Theorem 6.1 asks for, up to a constant.

    >>> from evenhand.environments import Lessons
    >>> round(theoretical_gamma(Lessons().problem), 1)
    16.3
    """
    return math.log(len(problem.actions) * problem.horizon * len(problem.names) / delta)


def _need_budgets_only(problem: Problem) -> None:
    if len(problem.spending) < len(problem.subject_to):
        expected = "budgets only, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)


def _keep_within(rows: Rows, bound: Floats) -> FrankWolfe:
    """The goal of the distance from the budgets, with reading phi.(bound - c); the tightest row of each name."""
    tightest = {name: j for j, name in sorted(enumerate(rows.names), key=lambda z: -bound[z[0]])}
    first = {name: tightest[name] for name in rows.names}
    names, which = tuple(first), np.array(list(first.values()))
    bounds = tuple(bound[which].tolist())
    return FrankWolfe(
        rows=rows.take(which),
        objective=DistancePenalty(names, Box.below(bounds)),
        smoothing=Moreau(1.0),  # any size will do: the lottery only reads the direction of phi (Section 5.3)
        start_at=bounds,
        on="optimistic",
    )
