"""Budgets under traffic that changes: prices are the slope of a Lyapunov function of the violation so far.

Source: Sarkar & Sinha, *A simple reduction scheme for constrained contextual bandits with adversarial contexts via
regression*, arXiv 2602.05019, 2026; Sinha & Sarkar, *Constrained contextual bandits with adversarial contexts*, arXiv
2605.06190, 2026.
"""

from __future__ import annotations

import math

from evenhand.choices import Staged, TopK
from evenhand.choices.base import Choice
from evenhand.core.catalogue import named
from evenhand.goals.lyapunov import Lyapunov
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms


@named(
    "X17",
    source="Sarkar & Sinha 2026, arXiv 2602.05019; Sinha & Sarkar 2026, arXiv 2605.06190",
    use="budgets and fairness",
    fits=(
        "budgets (never exceeded), hard budgets, parity, floors, ratios, convex sets, known costs, learned costs, "
        "concave objectives, several plays, contexts, no contexts, late outcomes, "
        "drift (no forecast of cases is needed), no constraints"
    ),
)
def lyapunov(
    problem: Problem,
    model: Model,
    *,
    choice: Choice | None = None,
    worth: float | None = None,
    warmup: int = 0,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Play the best action at its reward minus prices set from past use, without a forecast of cases.

    Equation: a = argmax r_ucb(a) - Phi'(Q).v_lcb(a), Q <- (Q + v - pace)_+, with pace what is left per round left
    (`goals.Lyapunov`); Phi' = worth / u (exp(Q / (u sqrt(T))) - 1), with u what a round moves a row by
    (`Terms.spread`). For a concave objective, r is the slope at the current average times the outcomes.
    Guarantee: none on regret; no hard budget is exceeded. The sources bound regret and violation for cases in any
    order, against policies that keep to the bound in every round, under inverse-gap weighting; with the pace of what
    is left that is not proved.
    Deviations: the pace, hard budgets, and the default choice, which is optimistic; `choice=InverseGap(...)` is that of
    the sources.

    Args:
        problem: with any objective and any constraints; costs may be learned or known.
        model: for the learned outcomes.
        choice: of P actions, after the warm-up; `TopK(P)` by default; use `InverseGap` with models without widths.
        worth: of a play, the unit of prices; by default what a play can be worth at the slope of the start.

    Raises:
        InvalidInput: a worth that is not positive, or a choice of another number of actions.

    >>> from evenhand.environments import Court
    >>> from evenhand.models import BayesianLogistic
    >>> lyapunov(Court().problem, BayesianLogistic(n_features=5)).name
    'lyapunov'
    """
    terms = Terms(problem)
    slope = terms.slope()
    unit = terms.worth_at(slope) if worth is None else worth
    prices = terms.constraint_goals(
        lambda: Lyapunov(
            rows=problem.demands.rows,
            bound=problem.demands.bound,
            horizon=problem.horizon,
            worth=unit,
            scale=math.sqrt(problem.horizon),
            unit=terms.spread,
        )
    )
    return Policy(
        problem=problem,
        model=model,
        goals=(slope, *terms.region_goals(slope), *prices, *terms.limits(hard)),
        choice=Staged(warmup, TopK(problem.n_plays) if choice is None else choice),
        name=name or "lyapunov",
    )
