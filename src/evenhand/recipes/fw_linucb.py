"""A concave objective of the average outcomes, by optimism at its slope.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from typing import Literal

from evenhand.choices import TopK
from evenhand.core.catalogue import named
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import need_no_constraints


@named("C2", source="Do et al. 2023, Algorithm 3 (FW-LinUCB) and Section 5")
def fw_linucb(
    problem: Problem,
    model: Model,
    *,
    optimism: Literal["row", "net"] = "row",
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play the candidate of highest optimistic worth at the objective's slope.

    Equation: a = argmax over arms of g.y_hat + bonus, g = grad f_{t-1}(z_{t-1}).
    With `Ridge` every outcome has its own bonus, scaled by |g_i|, as in the paper's experiments (their width is
    sqrt(epsilon) alpha_t, ours is the model's). With `Scalarised` and optimism="net" it is Algorithm 3.
    Guarantee: as for `fw`, where with probability 1 - delta, d = n M and X = L D_X (Theorem 19)
    R <= 4 alpha sqrt(T d ln(1 + T X^2 / (ridge d))) + L D sqrt(2 T ln(2/delta)),
    alpha = L D / 2 sqrt(2 ln(2/delta) + d ln(1 + T X^2 / (ridge d))) + sqrt(ridge) D_theta, for Algorithm 3 with
    `Scalarised(width=SelfNormalised(delta=delta / 2, noise=L D / 2, norm=D_theta))`, if means are linear in features
    with norms of up to D_X, and the parameters of all outcomes together have a norm of up to D_theta, in units of the
    outcomes' ranges. (The paper prints X for X^2 / ridge.) Its alpha_t (equation 76) is `WorstCase(n_parameters=n M,
    delta=delta / 2, noise=L D / 2, norm=D_theta, length=L D_X)`, whose last radius is then alpha. For `Ridge` it proves
    nothing.
    Deviation: where outcomes have ranges, bounds of `Ridge` are clipped at them unless it is told `clipped=False`.

    Args:
        problem: with any objective, and no constraints (`fw_dual` takes some).
        model: with widths.
        optimism: "row" gives every outcome its own bonus, "net" gives one to the priced sum.
        smoothing: where the objective has kinks; `objectives.smoothing.default_smoothing` by default.
        name: for tables and plots.

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_linucb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_linucb'
    """
    need_no_constraints(problem)
    goals = (frank_wolfe(problem, problem.objective, smoothing, optimism=optimism),)
    return Policy(problem=problem, model=model, goals=goals, choice=TopK(problem.n_plays), name=name or "fw_linucb")
