"""A concave objective of the average outcomes, by inverse-gap weighting at its slope.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from evenhand.choices import InverseGap, Rate
from evenhand.core.catalogue import named
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import need_no_constraints


@named("C3", source="Do et al. 2023, Algorithm 4 (FW-SquareCB)")
def fw_squarecb(
    problem: Problem, model: Model, *, rate: Rate, smoothing: Smoothing | None = None, name: str | None = None
) -> Policy:
    """Play by inverse-gap weighting of the worth at the objective's slope.

    Equation: p_a = 1 / (A + gamma_t (s_b - s_a)), s = y_hat g, b the best; gamma_t = gamma_0 sqrt(t) in experiments.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        rate: of the choice, such as Rate(1e4, 0.5).
        name: for tables and plots.

    Raises:
        InvalidInput: as for `fw_linucb`.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_squarecb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1), rate=Rate(1e4, 0.5)).name
    'fw_squarecb'
    """
    need_no_constraints(problem)
    goals = (frank_wolfe(problem, problem.objective, smoothing, optimism="net"),)
    return Policy(
        problem=problem, model=model, goals=goals, choice=InverseGap(rate, problem.n_plays), name=name or "fw_squarecb"
    )
