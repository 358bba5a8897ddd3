"""A concave objective of the average outcomes, by Frank-Wolfe: candidates are valued at the objective's slope.

The variants differ in the choice alone: the best optimistic candidate, inverse-gap weighting, or epsilon-greedy.

Source: Do, Dohmatob, Pirotta, Lazaric & Usunier 2023, *Contextual bandits with concave rewards, and an application to
fair ranking*.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from evenhand.choices import Choice, EpsilonGreedy, InverseGap, OracleRate, Rate, Schedule, TopK
from evenhand.core.catalogue import named
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._needs import need_no_constraints


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

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_linucb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_linucb'
    """
    return _at_slope(problem, model, TopK(problem.n_plays), name or "fw_linucb", smoothing, optimism)


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

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_squarecb(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1), rate=Rate(1e4, 0.5)).name
    'fw_squarecb'
    """
    return _at_slope(problem, model, InverseGap(rate, problem.n_plays), name or "fw_squarecb", smoothing, "net")


@named("C4", source="Do et al. 2023, Section 5 (FW-epsilon-greedy)")
def fw_epsilon_greedy(
    problem: Problem,
    model: Model,
    *,
    epsilon: float = 0.01,
    smoothing: Smoothing | None = None,
    name: str | None = None,
) -> Policy:
    """Play the candidate of highest worth at the objective's slope, or a random one with probability epsilon.

    Equation: a = argmax g.y_hat with probability 1 - epsilon, else uniform, g = grad f_{t-1}(z_{t-1}).
    Guarantee: none of its own. That of `fw` holds for whatever scalar regret it has, which the paper does not bound.
    Playing at random alone costs up to epsilon L D per round for ever.

    Args:
        problem, smoothing: as for `fw_linucb`.
        model: any; bonuses are not read.
        epsilon: in [0, 1].

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Ridge
    >>> fw_epsilon_greedy(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, ridge=0.1)).name
    'fw_epsilon_greedy'
    """
    choice = EpsilonGreedy(epsilon, problem.n_plays)
    return _at_slope(problem, model, choice, name or "fw_epsilon_greedy", smoothing, "net")


def _at_slope(
    problem: Problem,
    model: Model,
    choice: Choice,
    name: str,
    smoothing: Smoothing | None,
    optimism: Literal["row", "net"],
) -> Policy:
    """Choose by the worth at the slope of the objective at the average outcomes."""
    need_no_constraints(problem)
    slope = frank_wolfe(problem, problem.objective, smoothing, optimism=optimism)
    return Policy(problem=problem, model=model, goals=(slope,), choice=choice, name=name)


def fw_squarecb_rate(problem: Problem, *, regret: float, growth: float = 0.0, delta: float = 0.05) -> OracleRate:
    """Compute gamma_t of Theorem 20, from a bound regret + growth ln(1 + t) on the regret of the regression.

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
