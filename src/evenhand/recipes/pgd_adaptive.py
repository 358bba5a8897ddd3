"""Dual gradient with a step that doubles, for constraints as tight as 1/sqrt(T).

Source: Chzhen, Giraud, Li & Stoltz, *Small total-cost constraints in contextual bandits with knapsacks, with
application to fairness*, NeurIPS 2023. Budgets are soft, as in the paper: they are kept on average and
overspending is reported; `hard=True` adds limits that are never exceeded.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.goals.steps import Doubling
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes._needs import need_constraints, with_limits
from evenhand.recipes._units import priced_rows
from evenhand.recipes._worth import worth_unit
from evenhand.recipes.defaults import default_margin, given


@named("K2", source="Chzhen et al. 2023, Box C and Algorithm 1; Theorem 1")
def pgd_adaptive(
    problem: Problem,
    model: Model,
    *,
    thresholds: tuple[float, ...] | None = None,
    reset: bool = False,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """PGD whose step doubles each time the excess costs of a regime pass a limit.

    Equation: step_k = 2^k / (P sqrt(T)); regime k ends when ||(sum over it of [c - (B - margin)])_+|| > M_k, with costs
    and rewards in units of the most that a play can bring.
    Guarantee: for rewards in [0, 1], costs in [-1, 1], widths that hold at every risk (the k-th regime takes delta / (4
    (k + 2)^2)), `theoretical_thresholds`, `reset=True`, the margin b_T of `theoretical_margin`, which is of order
    1 / sqrt(T), off all bounds, B >= 2 b_T and a problem that is feasible at B - 2 b_T: with probability 1 - delta,
    sum_t c_t <= T B and the regret is of order (1 + ||lam*||) sqrt(T) up to logarithms, with lam* the optimal prices at
    B - b_T. The defaults are those of experiments, and `hard=True` keeps budgets without any condition.
    Deviations: prices carry over from regime to regime, which reproduces the published numbers; the printed pseudo-code
    resets them (`reset=True`). M_k is that of the experiments (`experimental_thresholds`) rather than the theory's.

    Args:
        problem, model, margin, warmup, hard: as for `pgd`.
        thresholds: M_0, M_1, ...; `experimental_thresholds(problem)` by default, or `theoretical_thresholds(...)`.
        reset: start every regime from prices of 0.
        name: for tables and plots.

    Raises:
        InvalidInput: as for `pgd`, or a limit that is not positive.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd_adaptive(Court().problem, Logistic(n_features=5)).name
    'pgd_adaptive'
    """
    need_constraints(problem)
    excess = given(thresholds, lambda: experimental_thresholds(problem))
    gain, kept = reward(problem), hard_limits(problem, hard)
    first = worth_unit(problem, gain) / (problem.n_plays * math.sqrt(problem.horizon))
    step = Doubling(first, excess, reset=reset)
    rows, bound = priced_rows(problem, given(margin, lambda: default_margin(problem)))
    dual = DualGradient(rows=rows, bound=bound, step=step, on="optimistic")
    return Policy(
        problem=problem,
        model=model,
        goals=(gain, dual, *kept),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name=name or with_limits("pgd_adaptive", kept),
    )


def theoretical_margin(problem: Problem, delta: float, width_sum: float) -> float:
    """b_T = (1 + ceil(log2 T)) (M_ceil(log2 T) + 2 sqrt(d)) / T of Theorem 1; often larger than the budgets."""
    top = math.ceil(math.log2(problem.horizon))
    d = len(constraint_rows(problem)[0])
    last = theoretical_thresholds(problem, delta, width_sum)[top]
    return (1 + top) * (last + 2 * math.sqrt(d)) / problem.horizon


def experimental_thresholds(problem: Problem, c: float = 0.01) -> tuple[float, ...]:
    """M_k = c d sqrt(T ln(T (k+2))) of Appendix G.2; d counts a row and its negative once (6 for the court)."""
    horizon, d = problem.horizon, _directions(constraint_rows(problem)[0])
    return tuple(c * d * math.sqrt(horizon * math.log(horizon * (k + 2))) for k in range(_regimes(problem)))


def theoretical_thresholds(problem: Problem, delta: float, width_sum: float) -> tuple[float, ...]:
    """M_k = 4 sqrt(T) + 20 sqrt(d) Upsilon of Box C; `width_sum` bounds beta_T, the sum of the played widths."""
    horizon = problem.horizon
    d = len(constraint_rows(problem)[0])

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


def _directions(rows: Rows) -> int:
    """The number of different rows, counting a row and its negative once."""
    whole = np.column_stack([rows.always[:, None] * rows.learned, rows.always[:, None] * rows.known])
    inside = np.column_stack([rows.inside[:, None] * rows.learned, rows.inside[:, None] * rows.known])
    vectors = np.column_stack([whole, inside])
    first = vectors[np.arange(len(vectors)), (vectors != 0.0).argmax(1)]
    signed = vectors * np.where(first < 0, -1.0, 1.0)[:, None] + 0.0  # turns -0.0 into 0.0
    return len(np.unique(np.column_stack([rows.grouping, rows.column, signed]), axis=0))
