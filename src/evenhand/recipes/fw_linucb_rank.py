"""Fair rankings by optimism at the slope of a concave objective.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from dataclasses import replace

from evenhand.choices import TopK
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.fw_rank import fw_rank


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
        smoothing: where the objective has kinks; `objectives.smoothing.default_smoothing` by default.
        step, margin, hard: as for `fw_dual`.
        name: for tables and plots.

    Raises:
        InvalidInput: an objective that cannot be smoothed, or a margin that leaves nothing of a budget.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> fw_linucb_rank(world.problem, Bilinear(who=2, what=2)).name
    'fw_linucb_rank'
    """
    policy = fw_rank(problem, model, TopK(problem.n_plays), smoothing=smoothing, step=step, margin=margin, hard=hard)
    return replace(policy, name=name or "fw_linucb_rank")
