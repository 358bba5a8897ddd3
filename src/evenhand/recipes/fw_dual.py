"""A concave objective of the average outcomes under constraints, a case that Do et al. 2023 leave open."""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.goals.dual import DualGradient
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.steps import Falling, Steady, Step
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.defaults import balanced_rows, fluctuation, given, where_constrained


@named("X2", source="evenhand's own: Do et al. 2023 with the dual prices of Chzhen et al. 2023")
def fw_dual(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    warmup: int = 20,
    hard: bool = True,
) -> Policy:
    """Play the best action at the objective's slope minus costs at dual prices; hard budgets.

    Equation: a = argmax g.y_ucb(a) - lam.c_lcb(a), g = grad f_{t-1}(z_{t-1}),
    lam <- (lam + step_t (c - (B - margin)))_+, with c observed, at commit where costs are known.
    After the warm-up, the sum of a row is at most its bound times T plus the moves of lam, each over the step of its
    round, whatever the model says; widths do not add to that.
    Without constraints and warm-up it is `fw_linucb`. With a linear objective it is `pgd`, but the defaults differ:
    step, warm-up and hard budgets. `resolving` gets closer to the optimum where contexts differ.

    Args:
        problem: with any objective and any constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        step: a constant one, of the prices of rows in units of what a play adds (`defaults.balanced_rows`); by default
            w / (2 sqrt(P t)) in round t, with w what a play can be worth at the slope of the start.
        margin: taken off every budget b per round; half of sqrt(c b / T) by default, or of b if that is less, with
            c the most that a round can use.
        warmup: rounds played uniformly at first.
        hard: never exceed a budget.

    Raises:
        InvalidInput: an objective that cannot be smoothed, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_dual(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_dual'
    """
    slope = frank_wolfe(problem, problem.objective, smoothing)
    rows, bound = balanced_rows(problem, given(margin, lambda: fluctuation(problem)))
    prices = where_constrained(
        problem,
        lambda: DualGradient(rows=rows, bound=bound, step=gentle(problem, slope, step)),
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(slope, *prices, *hard_limits(problem, hard)),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name="fw_dual",
    )


def gentle(problem: Problem, goal: FrankWolfe, step: float | None) -> Step:
    """A constant step, or by default w / (2 sqrt(P t)) for `balanced_rows`: half of what balances a run of t rounds.

    w is the most that a play can be worth at the slope of the start. A play is in one group of every grouping: of sums
    over groups that the objective reads, it moves one per grouping.
    """
    if step is not None:
        return Steady(step)
    low, high = problem.ranges(goal.rows.names, plays=1)
    size = np.where(np.isfinite(high - low), high - low, 1.0)
    worth = _of_a_play(np.abs(goal.slope(np.array([goal.start_at]), np.zeros(1))[0]) * size, goal.rows)
    if worth == 0.0:  # the slope is 0 at the start, but not everywhere
        steep = goal.objective.lipschitz
        worth = steep * math.sqrt(_of_a_play(size**2, goal.rows)) if math.isfinite(steep) else 1.0
    return Falling(worth / (2.0 * math.sqrt(problem.n_plays)))


def _of_a_play(most: Floats, rows: Rows) -> float:
    """The largest sum over the rows that one play can move, `(d)->()`."""
    inside = rows.column >= 0
    if not inside.any():
        return float(most.sum())
    column, grouping = rows.column[inside], rows.grouping[inside]
    largest = np.zeros(grouping.max() + 1)
    np.maximum.at(largest, grouping, np.bincount(column, most[inside])[column])
    return float(most[~inside].sum() + largest.sum())
