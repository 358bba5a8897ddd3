"""Bandits with knapsacks: the linear program on optimistic estimates, without contexts.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 4.2.
"""

from __future__ import annotations

from evenhand.choices import LinearProgram
from evenhand.core.catalogue import named
from evenhand.core.validate import number
from evenhand.goals.hard_budget import hard_limits
from evenhand.goals.intervals import Intervals
from evenhand.goals.linear_reward import reward
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import in_units
from evenhand.recipes._needs import need_budgets_only, need_spending, nothing_to_do
from evenhand.recipes.defaults import fluctuation


@named("B2", source="Agrawal & Devanur 2014, Algorithm 2")
def ucb_bwk(
    problem: Problem, model: Model, *, epsilon: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Draw from the lottery of highest optimistic reward whose optimistic costs keep to all budgets; hard budgets.

    Equation: p = argmax r_ucb.p s.t. c_lcb p <= (1 - epsilon) B / T, over lotteries p. Costs are in units of their
    budgets, so that actions do not depend on units.
    Guarantee: without contexts, for rewards and costs in [0, 1], A arms, d budgets of B each, `Tabular` with
    `confidence` gamma = ln(A T d / delta), gamma A of at most order B, and the source's epsilon: with probability 1 -
    delta no budget is exceeded and T OPT - sum_t r_t is of order sqrt(gamma) (T OPT sqrt(A / B) + sqrt(A T OPT) + A
    sqrt(gamma)) (Theorem 4.2). `hard=True` keeps budgets without any condition.
    With `Tabular` on an environment `WithoutContexts` this is the source's algorithm. With a model of features there is
    a program for every context, which must keep to the budgets by itself.
    Deviations: hard budgets mask arms that no longer fit, where the source ends the run with a round that overspends;
    where no lottery keeps to the budgets, the largest excess is made as small as can be; an action that is declared to
    do nothing is not learned.

    Args:
        problem: with a linear objective and budgets, on learned or known outcomes.
        model: with widths.
        epsilon: the part of every budget that is left out, in [0, 1); by default half of sqrt(c / (b T)), at most a
            half, with c the most that a round can use of a budget b per round. The source's number,
            sqrt(gamma A / B) + ln(T) gamma A / B, easily exceeds 1.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or an epsilon out of its range.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> ucb_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'ucb_bwk'
    """
    need_spending(problem)
    need_budgets_only(problem)
    rows, bound = constraint_rows(problem)
    rows, one = in_units(rows, bound, bound)
    if epsilon is None:
        kept = one - fluctuation(problem) / bound
    else:
        number("epsilon", epsilon, "a number in [0, 1)", lambda e: 0.0 <= e < 1.0)
        kept = (1.0 - epsilon) * one
    return Policy(
        problem=problem,
        model=model,
        goals=(reward(problem), Intervals(rows=rows, ends="lower"), *hard_limits(problem, hard)),
        choice=LinearProgram(1, tuple(kept.tolist()), nothing_to_do(problem)),
        name=name or "ucb_bwk",
    )
