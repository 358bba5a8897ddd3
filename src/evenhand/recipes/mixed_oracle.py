"""Dual prices that are optimal from the start and stay fixed.

Source: Chzhen, Giraud, Li & Stoltz 2023, Appendix G.2.
"""

from __future__ import annotations

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.goals.dual import DualGradient
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.linear_reward import reward
from evenhand.goals.steps import Steady
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes._needs import need_constraints, with_limits
from evenhand.recipes.defaults import default_margin, given


@named("K4", source="Chzhen et al. 2023, Appendix G.2, mixed policy")
def mixed_oracle(
    problem: Problem,
    model: Model,
    prices: tuple[float, ...],
    *,
    margin: float | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the best action at the optimal dual prices of the true problem, held fixed; only rewards are learned.

    A baseline that shows why prices must be learned with the model: it fails on fairness.
    Guarantee: none; the source has it as a baseline.

    Args:
        problem, model, margin, warmup, hard: as for `pgd`.
        prices: lam*, one per constraint row, from `evenhand.run.optimum.opt(...)` with the same margin.
        name: for tables and plots.

    Raises:
        InvalidInput: prices of the wrong number, or negative.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> mixed_oracle(Court().problem, Logistic(n_features=5), prices=(0.1,) * 10).name
    'mixed_oracle'
    """
    need_constraints(problem)
    rows, bound = constraint_rows(problem, margin=given(margin, lambda: default_margin(problem)))
    _need_prices(prices, rows)
    limits = hard_limits(problem, hard)
    dual = DualGradient(rows=rows, bound=bound, step=Steady(0.0), on="optimistic", start_at=prices)
    return Policy(
        problem=problem,
        model=model,
        goals=(reward(problem), dual, *limits),
        choice=Staged(warmup, TopK(problem.n_plays)),
        name=name or with_limits("mixed_oracle", limits),
    )


def _need_prices(prices: tuple[float, ...], rows: Rows) -> None:
    if len(prices) != len(rows):
        raise InvalidInput("prices", f"{len(rows)}, one per constraint row", len(prices))
