"""Rankings that pursue any concave objective under any constraints, with any choice or by optimism.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from evenhand.choices import Choice, TopK
from evenhand.core.catalogue import named
from evenhand.goals.dual import DualGradient
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._needs import where_constrained
from evenhand.recipes._units import balanced_rows
from evenhand.recipes._worth import region_goals
from evenhand.recipes.defaults import fluctuation, given
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
        smoothing, step, margin, hard, name: as for `fw_dual`.

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


@named("C5", source="Do et al. 2023, Algorithms 1 and 5 (FW-LinUCBRank)")
def fw_linucb_rank(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Show the k items of highest optimistic worth at the objective's slope, best first.

    Equation: the k largest of df/dz_u (theta_hat.x_i + bonus_i) + df/dz_i, with u the users' utility and z_i the
    exposure of item i, at the averages so far; position weights are not needed.
    Constraints are priced as in `fw_rank`, beyond the source. Without them and with beta = 0 it is `linucb_rank`.
    Guarantee: as for `fw` without constraints, where with probability 1 - delta (Theorem 5, Lemma 27)
    R <= 2 L alpha sqrt(T k) (sqrt(2 ln(3/delta)) + sqrt(2 d ln(1 + T k D_X^2 / (ridge d)))) +
    L D sqrt(2 T ln(3/delta)),
    alpha = 1/2 sqrt(2 ln(3/delta) + d ln(1 + T k D_X^2 / (ridge d))) + sqrt(ridge) D_theta, D <= k + 1: of the order of
    L d sqrt(k T) ln(T/delta). Conditions: items are worth theta.x with d features of norms up to D_X and
    |theta| <= D_theta, `SelfNormalised(delta=delta / 3, noise=1/2, norm=D_theta)`, a ridge of at least k D_X^2, a slope
    of f in the users' utility above 0, and position weights that never increase.
    Deviation: the paper does not clip upper bounds; `Bilinear` and `Ridge` do by default, and are as printed with
    `clipped=False`. The guarantee holds either way, as clipped bounds are between the truth and those of the paper.
    While they are wide, clipped bounds tie at the end of the range, and the slope alone ranks.

    Args:
        problem: with an objective of utility and exposures, such as eq. 2 of the source; `n_plays` is k.
        model: `Bilinear`, or `Ridge` on products of factors, as printed with `clipped=False` and the widths of the
            source (`SelfNormalised`).
        smoothing, step, margin, hard, name: as for `fw_dual`.

    Raises:
        InvalidInput: an objective that cannot be smoothed, or a margin that leaves nothing of a budget.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> fw_linucb_rank(world.problem, Bilinear(who=2, what=2)).name
    'fw_linucb_rank'
    """
    best = TopK(problem.n_plays)
    name = name or "fw_linucb_rank"
    return fw_rank(problem, model, best, smoothing=smoothing, step=step, margin=margin, hard=hard, name=name)
