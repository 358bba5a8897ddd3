"""A concave objective of the average outcomes under constraints, a case that Do et al. 2023 leave open."""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient, Steady
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import fluctuation, given, priced_rows, where_constrained


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
    lam <- (lam + step (c - (B - margin)))_+, with c observed, at commit where costs are known.
    After the warm-up, the average of a row is at most its bound + lam / (step T), whatever the model says. A parity
    thus overshoots, by its price P^2 / (w sqrt(T)) at the default step, and widths do not add to that.
    Without constraints and warm-up it is `fw_linucb`. With a linear objective it is `pgd`, but the defaults differ:
    step, warm-up and hard budgets. `resolving` gets closer to the optimum where contexts differ.

    Args:
        problem: with any objective and any constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        step: of the prices of rows in units of the most that a play can add to each; w / (P^2 sqrt(T)) by default, with
            w what a play can be worth at the slope of the start.
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
    rows, bound = priced_rows(problem, given(margin, lambda: fluctuation(problem)))
    prices = where_constrained(
        problem,
        lambda: DualGradient(rows=rows, bound=bound, step=Steady(given(step, lambda: gentle_step(problem, slope)))),
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(slope, *prices, *hard_limits(problem, hard)),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name="fw_dual",
    )


def gentle_step(problem: Problem, goal: FrankWolfe) -> float:
    """The step w / (P^2 sqrt(T)): prices move by at most P steps a round, so they can reach w / P in sqrt(T) rounds."""
    low, high = problem.ranges(goal.rows.names)
    start = np.array([goal.start_at])
    size = np.where(np.isfinite(high - low), high - low, 1.0)
    worth = float((np.abs(goal.slope(start, np.zeros(1))[0]) * size).sum())
    if worth == 0.0:  # the slope is 0 at the start, but not everywhere
        steep = goal.objective.lipschitz
        worth = steep * math.sqrt(float(size @ size)) if math.isfinite(steep) else 1.0
    return worth / (problem.n_plays**2 * math.sqrt(problem.horizon))
