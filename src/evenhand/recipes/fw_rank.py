"""Rankings that pursue any concave objective under any constraints."""

from __future__ import annotations

from evenhand.choices import Choice
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import balanced_rows, fluctuation, given, region_goals, where_constrained
from evenhand.recipes.fw_dual import gentle


@named("X6", source="evenhand's own: Do et al. 2023, Proposition 4, with the dual prices of Chzhen et al. 2023")
def fw_rank(
    problem: Problem,
    model: Model,
    choice: Choice,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Rank by worth at the objective's slope minus what constraints charge, with any model and any choice.

    Equation: candidate i is worth g_y.y_hat_i + g_e,i - lam.v_i per exposure, g = grad f_{t-1}(z_{t-1}) at the averages
    of outcomes and of exposures, lam as in `fw_dual`. If everything that a play brings is conditional on its exposure,
    to rank by this worth is optimal for any position weights that never increase, and these need not be known
    (Proposition 4). What is due for every placement (`Outcome(sure=True)`) makes the best ranking an assignment
    problem; ranking by worth is then a heuristic, and limits hold nevertheless.
    Guarantee: none beyond that of `fw_linucb_rank`, which holds with `TopK` and without constraints.

    Args:
        problem: with any objective and any constraints, and `n_plays` slots.
        model: with widths, such as `Bilinear`; or without, if the choice explores.
        choice: of `n_plays`: `TopK`, `EpsilonGreedy`, or `Gibbs`, which draws rankings of the Plackett-Luce model, the
            same as the k best after adding Gumbel noise; all state the probability of each place.
        smoothing, step, margin, hard: as for `fw_dual`.
        name: for tables and plots.

    Raises:
        InvalidInput: a choice of another number of plays, an objective that cannot be smoothed, or a margin that leaves
            nothing of a budget.

    >>> import numpy as np
    >>> from evenhand.choices import Gibbs
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Logistic
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1, flat=True)
    >>> fw_rank(world.problem, Logistic(n_features=world.n_features), Gibbs(0.1, n_plays=1)).name
    'fw_rank'
    """
    slope = frank_wolfe(problem, problem.objective, smoothing, optimism="net")
    rows, bound = balanced_rows(problem, given(margin, lambda: fluctuation(problem)))
    prices = where_constrained(
        problem,
        lambda: DualGradient(rows=rows, bound=bound, step=gentle(problem, slope, step), optimism="net"),
    )
    regions = region_goals(problem, slope, optimism="net")
    goals = (slope, *regions, *prices, *hard_limits(problem, hard))
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name=name or "fw_rank")
