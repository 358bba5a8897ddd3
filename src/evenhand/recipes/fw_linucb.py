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
