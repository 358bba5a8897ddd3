"""Dual gradient policies for constraints as tight as 1/sqrt(T).

Source: Chzhen, Giraud, Li & Stoltz, *Small total-cost constraints in contextual bandits with knapsacks, with
application to fairness*, NeurIPS 2023. All are soft as in the paper: budgets are kept on average and what is overspent
is reported; `hard=True` adds limits that are never exceeded.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals import Doubling, DualGradient, Steady, Step
from evenhand.goals.base import Goal
from evenhand.goals.hard_budget import hard_budget
from evenhand.goals.linear import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.feasible import reach
from evenhand.problem.problem import Problem


@named("K1", source="Chzhen et al. 2023, Box B; Lemmas 1 and 2")
def pgd(
    problem: Problem,
    model: Model,
    *,
    gamma: float | None = None,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
) -> Policy:
    """Play the best action at dual prices that follow a projected gradient of fixed step.

    Equation: a = argmax r_ucb(a) - lam.c_lcb(a), lam <- (lam + gamma (c - (B - margin)))_+.
    The step is taken at once, on the lower-confidence costs: known costs move prices even while outcomes are late.
    Deviation: the margin is taken off budgets only, as in the paper's experiments.

    Args:
        problem: with at least one budget or parity.
        model: for the learned outcomes, with optimism of its own.
        gamma: step size; 2 / sqrt(T) by default.
        margin: taken off every budget per round; half of 1/sqrt(T), or of the smallest budget if that is less.
        warmup: rounds played uniformly at first.
        hard: never exceed a budget.

    Raises:
        InvalidInput: no constraints, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd(Court().problem, Logistic(n_features=5), gamma=0.02).name
    'pgd(gamma=0.02)'
    """
    gamma = 2.0 / math.sqrt(problem.horizon) if gamma is None else gamma
    step = Steady(gamma)
    return _dual(problem, model, f"pgd(gamma={gamma:.3g})", step, margin, warmup, hard)


@named("K2", source="Chzhen et al. 2023, Box C and Algorithm 1; Theorem 1")
def pgd_adaptive(
    problem: Problem,
    model: Model,
    *,
    limits: tuple[float, ...] | None = None,
    reset: bool = False,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
) -> Policy:
    """PGD whose step doubles each time the costs of a regime exceed their plan by too much.

    Equation: gamma_k = 2^k / sqrt(T); regime k ends when ||(sum over it of [c - (B - margin)])_+|| > M_k.
    Deviations: prices are carried over from regime to regime, which reproduces the published numbers, where the printed
    pseudo-code resets them (`reset=True`); M_k as in the experiments (`experimental_limits`) rather than the theory's.

    Args:
        problem, model, margin, warmup, hard: as for `pgd`.
        limits: M_0, M_1, ...; `experimental_limits(problem)` by default, or `theoretical_limits(...)`.
        reset: start every regime from prices of 0.

    Raises:
        InvalidInput: as for `pgd`, or a limit that is not positive.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd_adaptive(Court().problem, Logistic(n_features=5)).name
    'pgd_adaptive'
    """
    limits = experimental_limits(problem) if limits is None else limits
    step = Doubling(1.0 / math.sqrt(problem.horizon), limits, reset=reset)
    return _dual(problem, model, "pgd_adaptive", step, margin, warmup, hard)


@named("K4", source="Chzhen et al. 2023, Appendix G.2, mixed policy")
def mixed_oracle(
    problem: Problem,
    model: Model,
    prices: tuple[float, ...],
    *,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
) -> Policy:
    """Play the best action at the optimal dual prices of the true problem, held fixed; only rewards are learned.

    A baseline that shows why prices must be learned with the model: it fails on fairness.

    Args:
        problem, model, margin, warmup, hard: as for `pgd`.
        prices: lam*, one per constraint row, from `evenhand.run.optimum.opt(...)` with the same margin.

    Raises:
        InvalidInput: prices of the wrong number, or negative.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> mixed_oracle(Court().problem, Logistic(n_features=5), prices=(0.1,) * 10).name
    'mixed_oracle'
    """
    return _dual(problem, model, "mixed_oracle", Steady(0.0), margin, warmup, hard, prices)


def default_margin(problem: Problem) -> float:
    """Half of c / sqrt(T), c the least of 1 and what one play can use of a budget; at most half the smallest budget.

    >>> from evenhand.environments import Court
    >>> default_margin(Court(horizon=10_000).problem)
    0.005
    """
    smallest = min((b.limit(problem.horizon) for b in problem.spending), default=math.inf)
    most = np.array([reach(problem, b.rows(problem))[1].max() for b in problem.spending])
    unit = min(1.0, problem.n_plays * float(most[most > 0].min(initial=1.0)))
    return 0.5 * min(unit / math.sqrt(problem.horizon), smallest)


def theoretical_margin(problem: Problem, delta: float, width_sum: float) -> float:
    """b_T = (1 + ceil(log2 T)) (M_ceil(log2 T) + 2 sqrt(d)) / T of Theorem 1; often larger than the budgets."""
    top = math.ceil(math.log2(problem.horizon))
    d = len(constraint_rows(problem, problem.subject_to)[0])
    last = theoretical_limits(problem, delta, width_sum)[top]
    return (1 + top) * (last + 2 * math.sqrt(d)) / problem.horizon


def experimental_limits(problem: Problem, c: float = 0.01) -> tuple[float, ...]:
    """M_k = c d sqrt(T ln(T (k+2))) of Appendix G.2, a row and its negative counted once in d (6 for the court)."""
    horizon = problem.horizon
    rows = len(constraint_rows(problem, problem.subject_to)[0])
    d = len(problem.spending) + (rows - len(problem.spending)) / 2
    return tuple(c * d * math.sqrt(horizon * math.log(horizon * (k + 2))) for k in range(_regimes(problem)))


def theoretical_limits(problem: Problem, delta: float, width_sum: float) -> tuple[float, ...]:
    """M_k = 4 sqrt(T) + 20 sqrt(d) Upsilon of Box C; `width_sum` bounds beta_T, the sum of the played widths."""
    horizon = problem.horizon
    d = len(constraint_rows(problem, problem.subject_to)[0])

    def upsilon(risk: float) -> float:
        return max(
            width_sum,
            2 * math.sqrt(d * horizon * math.log(4 * horizon**2 / risk)),
            math.sqrt(2 * horizon * math.log(8 * (d + 1) * horizon / risk)),
        )

    risks = (delta / (k + 2) ** 2 for k in range(_regimes(problem) + 1))
    return tuple(4 * math.sqrt(horizon) + 20 * math.sqrt(d) * upsilon(risk) for risk in risks)


def _regimes(problem: Problem) -> int:
    return max(1, math.ceil(math.log2(problem.horizon)))


def _dual(
    problem: Problem,
    model: Model,
    name: str,
    step: Step,
    margin: float | None,
    warmup: int,
    hard: bool,
    prices: tuple[float, ...] | None = None,
) -> Policy:
    if not problem.subject_to:
        raise InvalidInput("problem.subject_to", "at least one constraint to set prices for", problem.subject_to)
    margin = default_margin(problem) if margin is None else margin
    rows, bound = constraint_rows(problem, problem.subject_to, margin)
    if prices is not None and len(prices) != len(rows):
        raise InvalidInput("prices", f"{len(rows)}, one per constraint row", len(prices))
    dual = DualGradient(rows=rows, bound=bound, step=step, on="optimistic", start_at=prices or ())
    goals: tuple[Goal, ...] = (reward(problem), dual)
    return Policy(
        problem=problem,
        model=model,
        goals=(*goals, hard_budget(problem)) if hard else goals,
        choice=Staged(warmup, TopK(1)),
        name=f"{name}, hard" if hard else name,
    )
