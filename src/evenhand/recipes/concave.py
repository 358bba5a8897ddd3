"""Concave objectives of the average outcomes, by Frank-Wolfe: any scalar policy becomes one for them.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*. Alone, or beside constraints, which that paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from evenhand.choices import EpsilonGreedy, InverseGap, Rate, Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal, Plans
from evenhand.goals.dual import DualGradient, Steady
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import hard_budget
from evenhand.goals.linear import Linear
from evenhand.models.base import Model
from evenhand.objectives import Linear as LinearObjective, Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.small_budgets import default_margin


@named("C2", source="Do et al. 2023, Algorithm 3 (FW-LinUCB) and Section 5")
def fw_linucb(
    problem: Problem,
    model: Model,
    *,
    optimism: Literal["row", "net"] = "row",
    smoothing: Smoothing | None = None,
) -> Policy:
    """Play the best optimistic worth at the objective's slope.

    Equation: a = argmax over arms of g.y_hat + bonus, g = grad f_{t-1}(z_{t-1}).
    With `Ridge` every outcome has a bonus of its own, which the price |g_i| scales, as in the paper's experiments
    (there sqrt(epsilon) alpha_t, here the model's width). With `Scalarised` and optimism="net" it is Algorithm 3.

    Args:
        problem: with any objective, and no constraints (`fw_dual` keeps to some).
        model: with widths.
        optimism: "row" gives every outcome a bonus, "net" one to the priced sum.
        smoothing: where the objective has kinks; `objectives.smoothing.default_smoothing` by default.

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_linucb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_linucb'
    """
    goals = (_slope(problem, smoothing, optimism),)
    return Policy(problem=problem, model=model, goals=goals, choice=TopK(1), name="fw_linucb")


@named("C3", source="Do et al. 2023, Algorithm 4 (FW-SquareCB)")
def fw_squarecb(problem: Problem, model: Model, *, gamma: Rate, smoothing: Smoothing | None = None) -> Policy:
    """Play by inverse gaps in worth at the objective's slope.

    Equation: p_a = 1 / (A + gamma_t (s_b - s_a)), s = y_hat g, b the best; gamma_t = gamma_0 sqrt(t) in experiments.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        gamma: such as Rate(1e4, 0.5).

    Raises:
        InvalidInput: as for `fw_linucb`.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_squarecb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1), gamma=Rate(1e4, 0.5)).name
    'fw_squarecb'
    """
    goals = (_slope(problem, smoothing, "net"),)
    return Policy(problem=problem, model=model, goals=goals, choice=InverseGap(gamma), name="fw_squarecb")


@named("C4", source="Do et al. 2023, Section 5 (FW-epsilon-greedy)")
def fw_epsilon_greedy(
    problem: Problem, model: Model, *, epsilon: float = 0.01, smoothing: Smoothing | None = None
) -> Policy:
    """Play the best worth at the objective's slope, and any candidate with probability epsilon.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any.
        epsilon: in [0, 1].

    Raises:
        InvalidInput: as for `fw_linucb`.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_epsilon_greedy(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'fw_epsilon_greedy'
    """
    goals = (_slope(problem, smoothing, "net"),)
    choice = EpsilonGreedy(epsilon)
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name="fw_epsilon_greedy")


@named("C1", source="Do et al. 2023, Section 3, Algorithm 2: the reduction")
def fw(problem: Problem, recipe: Callable[[Problem], Policy], *, smoothing: Smoothing | None = None) -> Policy:
    """Make a recipe for a linear objective maximise a concave one: its reward becomes the objective's slope.

    Equation: the scalar policy is run on the reward g_t.y, g_t = grad f_{t-1}(z_{t-1}).
    A recipe that bounds its prices by what a play can be worth (`lin_cbwk`, `square_cbwk`) takes that for at most 1 per
    outcome: give it a `scale` where slopes are larger.

    Args:
        problem: with any objective; constraints are what the recipe makes of them.
        recipe: such as `lambda p: lin_cbwk(p, model)`.
        smoothing: as for `fw_linucb`.

    Raises:
        InvalidInput: a recipe that is concave already, or plans ahead, which needs more than the slope where the
            average stands.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> from evenhand.recipes import optimistic
    >>> model = Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))
    >>> fw(MultiObjective().problem, lambda p: optimistic(p, model)).name
    'fw(optimistic)'
    """
    scalar = recipe(replace(problem, maximize=LinearObjective(dict.fromkeys(problem.objective.outcomes, 1.0))))
    if not isinstance(scalar, Policy):
        raise InvalidInput("recipe", "a function from a problem to a policy", scalar)
    if not any(isinstance(g, Linear) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose reward is a linear goal, to be replaced by the slope", scalar.name)
    if any(isinstance(g, Plans) for g in scalar.goals):
        raise InvalidInput("recipe", "one whose goals do not plan on a linear objective", scalar.name)
    slope = frank_wolfe(problem, problem.objective, smoothing)
    goals: tuple[Goal, ...] = tuple(slope if isinstance(g, Linear) else g for g in scalar.goals)
    return replace(scalar, problem=problem, goals=goals, name=f"fw({scalar.name})")


@named("X2", source="evenhand's own: Do et al. 2023 with the dual prices of Chzhen et al. 2023")
def fw_dual(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    gamma: float | None = None,
    margin: float | None = None,
    warmup: int = 20,
    hard: bool = True,
) -> Policy:
    """A concave objective and constraints together: its slope as the reward, dual prices as costs; budgets are hard.

    Equation: a = argmax g.y_ucb(a) - lam.c_lcb(a), g = grad f_{t-1}(z_{t-1}),
    lam <- (lam + gamma (c - (B - margin)))_+.
    Without constraints and warm-up it is `fw_linucb`; with a linear objective it is `pgd`, whose step, warm-up and soft
    budgets it does not have by default. `resolving` gets closer to the optimum where contexts differ.

    Args:
        problem: with any objective and any constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        gamma: step of the prices; w / (c^2 sqrt(T)) by default, c the most that one play can use of anything and w
            what a play can be worth at the slope of the start.
        margin: taken off every budget per round; as for `pgd` by default.
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
    goals: list[Goal] = [slope]
    if problem.subject_to:
        rows, bound = constraint_rows(
            problem, problem.subject_to, default_margin(problem) if margin is None else margin
        )
        step = Steady(_gentle_step(problem, slope, rows) if gamma is None else gamma)
        goals.append(DualGradient(rows=rows, bound=bound, step=step, on="optimistic"))
    if hard and problem.spending:
        goals.append(hard_budget(problem))
    choice = Staged(warmup, TopK(1))
    return Policy(problem=problem, model=model, goals=tuple(goals), choice=choice, name="fw_dual")


def _gentle_step(problem: Problem, goal: FrankWolfe, rows: Rows) -> float:
    """Prices move by at most c steps a round, are worth c again, and are to reach w / c in some sqrt(T) rounds."""
    low, high = problem.ranges(goal.rows.names)
    start = np.array([goal.start_at])
    size = np.where(np.isfinite(high - low), high - low, 1.0)
    worth = float((np.abs(goal.slope(start, np.zeros(1))[0]) * size).sum())
    if worth == 0.0:  # the start is as good as can be, which elsewhere is not
        steep = goal.objective.lipschitz
        worth = steep * math.sqrt(float(size @ size)) if math.isfinite(steep) else 1.0
    reach = np.maximum(np.abs(problem.low), np.abs(problem.high))
    known = np.abs(rows.known @ problem.declared.T).max(initial=0.0)
    learned = (np.abs(rows.learned) @ np.where(np.isfinite(reach), reach, 1.0)).max(initial=0.0)
    return worth / (max(float(known), float(learned), 1e-9) ** 2 * math.sqrt(problem.horizon))


def _slope(problem: Problem, smoothing: Smoothing | None, optimism: Literal["row", "net"]) -> FrankWolfe:
    """The one goal of a problem without constraints."""
    if problem.subject_to:
        raise InvalidInput("problem.subject_to", "no constraints; fw_dual keeps to them", problem.subject_to)
    return frank_wolfe(problem, problem.objective, smoothing, optimism=optimism)
