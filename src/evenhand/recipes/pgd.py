"""Dual gradient for constraints as tight as 1/sqrt(T): with a fixed step, with one that doubles, and at fixed prices.

Source: Chzhen, Giraud, Li & Stoltz, *Small total-cost constraints in contextual bandits with knapsacks, with
application to fairness*, NeurIPS 2023. Budgets are soft, as in the paper: they are kept on average and
overspending is reported; `hard=True` adds limits that are never exceeded.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.choices import Staged, TopK
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.goals.dual import DualGradient
from evenhand.goals.steps import Doubling, Steady, Step
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import slack_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows
from evenhand.recipes.terms import Terms, with_limits


@named(
    "K1",
    source="Chzhen et al. 2023, Box B; Lemmas 1 and 2",
    use="budgets and fairness",
    fits=(
        "budgets (on average; never exceeded with hard=True), hard budgets (with hard=True), "
        "budgets per period (prices follow what is left), parity, floors, ratios, known costs, learned costs, "
        "several plays, contexts, no contexts, late outcomes"
    ),
)
def pgd(
    problem: Problem,
    model: Model,
    *,
    step: float | None = None,
    margin: float | Floats | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the best action at dual prices that are updated by projected gradient descent with a fixed step.

    Equation: a = argmax r_ucb(a) - lam.c_lcb(a), lam <- (lam + step (c - (B - margin)))_+.
    Guarantee: for rewards in [0, 1] and costs in [-1, 1], widths that hold together with probability 1 - delta / 4, and
    a margin m off all d bounds of a problem that is feasible at some bounds below B - m: with probability 1 - delta,
    for all t <= T, ||(sum_{s<=t} [c_s - (B - m)])_+|| <= (1 + 3 ||lam*||) / step + 20 sqrt(d) U and regret_t <=
    ||lam*|| (t m sqrt(d) + 6 U) + 36 step sqrt(d) U^2 + 8 ln(4 T^2 / delta), with lam* the optimal prices at B - m, and
    U = max(sum of the played widths, 2 sqrt(d T ln(4 T^2 / delta)), sqrt(2 T ln(8 (d + 1) T / delta))). So budgets hold
    if m T is at least the first bound. With a step of order (1 + ||lam*||) / sqrt(T), an m of order 1 / sqrt(T) is
    enough, and regret is of order (1 + ||lam*||) sqrt(T), up to logarithms. The default margin and step are those of
    experiments, and `hard=True` keeps budgets without any condition. `evenhand.run.theory` has this m and step for a
    problem, with a bound of ||lam*||.
    Prices step at the decision, on lower confidence bounds of the costs, so that known costs do not wait for late
    outcomes.
    Deviations: the margin is taken off budgets only, as in the paper's experiments. Where a budget has spans of time, B
    is what they leave for each case to come (`planning.pace`), of which nothing is proven.

    Args:
        problem: with at least one constraint.
        model: for the learned outcomes, with optimism of its own.
        step: of the prices, where the most that a play can add to a row, and the most that it can be worth, are 1;
            2 / (P sqrt(T)) by default, for P plays per round.
        margin: taken off every budget per round, one number for all or one per constraint; half of c / sqrt(T) by
            default, or of the budget if that is less; c is the most that a round can use of it.

    Raises:
        InvalidInput: no constraints, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd(Court().problem, Logistic(n_features=5), step=0.02).name
    'pgd(step=0.02)'
    """
    terms, step = Terms(problem).with_constraints(), default_step(problem) if step is None else step
    prices = _dual(terms, Steady(step * terms.worth), margin)
    return _at_prices(terms, model, prices, warmup, hard, name, f"pgd(step={step:.3g})")


@named(
    "K2",
    source="Chzhen et al. 2023, Box C and Algorithm 1; Theorem 1",
    use="budgets and fairness",
    fits=(
        "budgets (on average; never exceeded with hard=True), hard budgets (with hard=True), "
        "budgets per period (prices follow what is left), parity, floors, ratios, known costs, learned costs, "
        "several plays, contexts, no contexts, late outcomes"
    ),
)
def pgd_adaptive(
    problem: Problem,
    model: Model,
    *,
    thresholds: tuple[float, ...] | None = None,
    reset: bool = False,
    margin: float | Floats | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the best action at dual prices whose step doubles each time the excess costs of a regime pass a limit.

    Equation: step_k = 2^k / (P sqrt(T)); regime k ends when ||(sum over it of [c - (B - margin)])_+|| > M_k, with costs
    and rewards in units of the most that a play can bring.
    Guarantee: for rewards in [0, 1], costs in [-1, 1], widths that hold at every risk (the k-th regime takes delta / (4
    (k + 2)^2)), the thresholds of `evenhand.run.theory`, `reset=True`, its margin b_T, which is of order 1 / sqrt(T),
    off all bounds, B >= 2 b_T and a problem that is feasible at B - 2 b_T: with probability 1 - delta,
    sum_t c_t <= T B and the regret is of order (1 + ||lam*||) sqrt(T) up to logarithms, with lam* the optimal prices at
    B - b_T. The defaults are those of experiments, and `hard=True` keeps budgets without any condition.
    Deviations: prices carry over from regime to regime, which reproduces the published numbers; the printed pseudo-code
    resets them (`reset=True`). M_k is that of the experiments (`experimental_thresholds`) rather than the theory's.

    Args:
        problem, model, margin: as for `pgd`.
        thresholds: M_0, M_1, ...; `experimental_thresholds(problem)` by default, or those of `evenhand.run.theory`.
        reset: start every regime from prices of 0.

    Raises:
        InvalidInput: as for `pgd`, or a limit that is not positive.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> pgd_adaptive(Court().problem, Logistic(n_features=5)).name
    'pgd_adaptive'
    """
    terms = Terms(problem).with_constraints()
    excess = experimental_thresholds(problem) if thresholds is None else thresholds
    first = terms.worth / (problem.n_plays * math.sqrt(problem.horizon))
    prices = _dual(terms, Doubling(first, excess, reset=reset), margin)
    return _at_prices(terms, model, prices, warmup, hard, name, "pgd_adaptive")


@named(
    "K4",
    source="Chzhen et al. 2023, Appendix G.2, mixed policy",
    use="to compare with",
    fits=(
        "budgets (at true prices that you state; never exceeded with hard=True), parity, floors, known costs, "
        "learned costs, several plays, contexts, no contexts, late outcomes"
    ),
)
def mixed_oracle(
    problem: Problem,
    model: Model,
    prices: tuple[float, ...],
    *,
    margin: float | Floats | None = None,
    warmup: int = 50,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the best action at the optimal dual prices of the true problem, held fixed; only rewards are learned.

    A baseline that shows why prices must be learned with the model: it fails on fairness.
    Guarantee: none; the source has it as a baseline.

    Args:
        problem, model, margin: as for `pgd`.
        prices: lam*, one per constraint row, from `evenhand.run.optimum.opt(...)` with the same margin.

    Raises:
        InvalidInput: prices of the wrong number, or negative.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import Logistic
    >>> mixed_oracle(Court().problem, Logistic(n_features=5), prices=(0.1,) * 10).name
    'mixed_oracle'
    """
    terms = Terms(problem).with_constraints()
    rows, bound = terms.straight(terms.margin if margin is None else margin)
    if len(prices) != len(rows):
        raise InvalidInput("prices", f"{len(rows)}, one per constraint row", len(prices))
    fixed = DualGradient(rows=rows, bound=bound, step=Steady(0.0), on="optimistic", start_at=prices)
    return _at_prices(terms, model, fixed, warmup, hard, name, "mixed_oracle")


def _dual(terms: Terms, step: Step, margin: float | Floats | None) -> DualGradient:
    """Step prices by the optimistic costs, with a margin off budgets."""
    rows, bound = terms.rows_by_reach(terms.margin if margin is None else margin)
    return DualGradient(rows=rows, bound=bound, step=step, on="optimistic", pace=terms.pace)


def _at_prices(
    terms: Terms, model: Model, prices: DualGradient, warmup: int, hard: bool, name: str | None, own: str
) -> Policy:
    """Play the best action at dual prices, with limits if `hard`; a soft policy has the recipe's own name."""
    limits = terms.limits(hard)
    return Policy(
        problem=terms.problem,
        model=model,
        goals=(terms.reward, prices, *limits),
        choice=Staged(warmup, TopK(terms.problem.n_plays)),
        name=name or with_limits(own, limits),
    )


def default_step(problem: Problem) -> float:
    """Compute 2 / (P sqrt(T)), the step of `pgd` in units of the most that a play can bring."""
    return 2.0 / (problem.n_plays * math.sqrt(problem.horizon))


def experimental_thresholds(problem: Problem, c: float = 0.01) -> tuple[float, ...]:
    """Compute M_k = c d sqrt(T ln(T (k+2))) of Appendix G.2; d counts a row and its negative once (6 for the court).

    A row that nothing can exceed is not counted.
    """
    horizon, (rows, _) = problem.horizon, Terms(problem).straight()
    d = max(_directions(rows.take(np.flatnonzero(~slack_rows(problem)))), 1)
    return tuple(c * d * math.sqrt(horizon * math.log(horizon * (k + 2))) for k in range(regimes(problem)))


def regimes(problem: Problem) -> int:
    """Compute ceil(log2 T), the number of regimes that have a threshold of their own."""
    return max(1, math.ceil(math.log2(problem.horizon)))


def _directions(rows: Rows) -> int:
    """Count the different rows, a row and its negative once."""
    whole = np.column_stack([rows.always[:, None] * rows.learned, rows.always[:, None] * rows.known])
    inside = np.column_stack([rows.inside[:, None] * rows.learned, rows.inside[:, None] * rows.known])
    vectors = np.column_stack([whole, inside])
    first = vectors[np.arange(len(vectors)), (vectors != 0.0).argmax(1)]
    signed = vectors * np.where(first < 0, -1.0, 1.0)[:, None] + 0.0  # turns -0.0 into 0.0
    return len(np.unique(np.column_stack([rows.grouping, rows.column, signed]), axis=0))
