"""A concave objective of the average outcomes, by inverse-gap weighting at its slope.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

import numpy as np

from evenhand.choices import InverseGap, OracleRate, Rate, Schedule
from evenhand.core.catalogue import named
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.defaults import need_no_constraints


@named("C3", source="Do et al. 2023, Algorithm 4 (FW-SquareCB)")
def fw_squarecb(
    problem: Problem,
    model: Model,
    *,
    rate: Rate | Schedule | float,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play by inverse-gap weighting of the worth at the objective's slope.

    Equation: p_a = 1 / (A + gamma_t (s_b - s_a)), s = y_hat g, b the best; gamma_t = gamma_0 sqrt(t) in experiments.
    Guarantee: as for `fw`, where with probability 1 - delta (Theorem 20)
    R <= 4 L sqrt(A T (R_o(T) + 8 D^2 ln(4 T^2 / delta))) + L D sqrt(2 T ln(2/delta)), if the rate is the theory's,
    gamma_t = (2 / L) sqrt(t A / (R_o(t) + 8 D^2 ln(4 t^2 / delta))) (`fw_squarecb_rate`), the means are in the model's
    class, its square loss exceeds the least of the class by at most R_o(t), and predictions and outcomes lie in a set
    of diameter D.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        rate: of the choice, such as Rate(1e4, 0.5), what `fw_squarecb_rate` gives, or a number for a fixed one.
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


def fw_squarecb_rate(problem: Problem, *, regret: float, growth: float = 0.0, delta: float = 0.05) -> OracleRate:
    """The gamma_t of Theorem 20 for a problem, from a bound regret + growth ln(1 + t) on the regret of the regression.

    L is that of the objective, and D the diagonal of the ranges of its outcomes, each of a round.

    Raises:
        InvalidInput: an objective without a Lipschitz constant, an outcome without a range, or a number out of its
            range.

    >>> from evenhand.environments import Lessons
    >>> rate = fw_squarecb_rate(Lessons().problem, regret=10.0)
    >>> round(rate.lipschitz, 3), rate.diameter
    (1.152, 2.0)
    """
    low, high = problem.ranges(problem.objective.outcomes)
    return OracleRate(
        regret=regret,
        growth=growth,
        delta=delta,
        lipschitz=problem.objective.lipschitz,
        diameter=float(np.linalg.norm(high - low)),
    )
