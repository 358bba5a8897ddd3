"""A concave objective of the average outcomes under constraints, a case that Do et al. 2023 leave open."""

from __future__ import annotations

import math

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.steps import Falling, Steady, Step
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._needs import where_constrained
from evenhand.recipes._units import balanced_rows
from evenhand.recipes._worth import region_goals, worth_of_a_play
from evenhand.recipes.defaults import fluctuation, given


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
    name: str | None = None,
) -> Policy:
    """Play the best action at the objective's slope minus costs at dual prices; hard budgets.

    Equation: a = argmax g.y_ucb(a) - lam.c_lcb(a), g = grad f_{t-1}(z_{t-1}),
    lam <- (lam + step_t (c - (B - margin)))_+, with c observed, at commit where costs are known.
    Guarantee: none on the objective. After the warm-up, the sum of a row is at most its bound times T plus the moves of
    lam, each over the step of its round, whatever the model says; widths do not add to that. `hard=True` never exceeds
    a budget.
    A convex set that no rows describe (`Within`) is kept by a price on the distance of the average from it
    (`defaults.region_goals`). Without constraints and warm-up it is `fw_linucb`. With a linear objective it is `pgd`,
    but the defaults differ: step, warm-up and hard budgets. `resolving` gets closer to the optimum where contexts
    differ.

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
        name: for tables and plots.

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
        goals=(slope, *region_goals(problem, slope), *prices, *hard_limits(problem, hard)),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name=name or "fw_dual",
    )


def gentle(problem: Problem, goal: FrankWolfe, step: float | None) -> Step:
    """A constant step, or by default w / (2 sqrt(P t)) for `balanced_rows`: half of what balances a run of t rounds.

    w is the most that a play can be worth at the slope of the start.
    """
    if step is not None:
        return Steady(step)
    return Falling(worth_of_a_play(problem, goal) / (2.0 * math.sqrt(problem.n_plays)))
