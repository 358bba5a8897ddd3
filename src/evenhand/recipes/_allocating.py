"""The choice of recipes that allocate many users at once, and the constants with which theory bounds their regret."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from evenhand.choices import Allocate
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number, positive, whole
from evenhand.problem.problem import Problem
from evenhand.welfare import Curve, Oracle, Priced, satisfaction_of
from evenhand.welfare.curves import PIECEWISE, curves_of


def allocating(
    problem: Problem,
    oracle: Oracle | None = None,
    *,
    curve: Curve | None = None,
    optimism: Literal["beside", "inside"] = "beside",
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
) -> Allocate:
    """Make the choice that allocates the users of a problem for its satisfaction, or for another curve.

    Raises:
        InvalidInput: the problem measures no satisfaction, or does not maximise the outcome that it sums up.
    """
    measured = satisfaction_of(problem)
    if dict(getattr(problem.objective, "weights", {})) != {measured.of: 1.0}:
        raise InvalidInput("problem.maximize", f"{measured.of!r}, which the satisfaction sums up", problem.objective)
    return Allocate(
        users=problem.n_plays,
        arms=measured.arms,
        curve=measured.curve if curve is None else curve,
        oracle=Priced() if oracle is None else oracle,
        optimism=optimism,
        capacity=capacity,
        may_stay=may_stay,
    )


class Constants(NamedTuple):
    """Constants of `cab_ucb` and `cab_ts`: the model's two penalties, the bonus, and the scale of draws."""

    penalty: float  # kappa lambda_0, of the likelihood
    start: float  # lambda_0, where V starts
    bonus: float  # c1, of ||x||_{V^-1}
    scale: float  # a, of draws


def theoretical_constants(
    problem: Problem,
    n_features: int,
    *,
    norm_bound: float,
    kappa: float | None = None,
    steepest: float = 0.25,
    noise: float = 0.5,
    delta: float = 0.05,
) -> Constants:
    """Compute lambda_0 and c1 of Theorem D.4, and a of Theorem D.5, for features of length 1 at most.

    Equation: lambda_0 = (noise / kappa)^2 (n ln(1 + N T / n) + 2 ln(1 / delta)),
    c1 = (L_r steepest / kappa) (noise sqrt(n l + 2 ln(1 / delta)) + kappa D sqrt(lambda_0)) with
    l = ln(1 + N T / (n lambda_0)), and a = c1 sqrt(steepest N), for N users and L_r the slope of satisfaction at 0.
    They are far larger than those of the paper's experiments: kappa falls exponentially in the norm for logistic links.

    Args:
        problem: measures one `welfare.Satisfaction`; its horizon is T.
        n_features: n.
        norm_bound: D, a bound of |theta|.
        kappa: the least slope of the link where |theta - truth| <= max(D + 1, 2 D); by default of the logistic one.
        steepest: the largest slope of the link, L_mu; 1/4 for the logistic one.
        noise: sigma, of sub-Gaussian outcomes around their means; 1/2 is always enough in [0, 1].
        delta: the risk, in (0, 1); below 1 / T for `cab_ts`.

    >>> from evenhand.environments import Matching
    >>> from evenhand.models import Fixed, GeneralizedLinear
    >>> world = Matching(users=6, arms=3, horizon=100)
    >>> penalty, start, bonus, scale = theoretical_constants(world.problem, 5, norm_bound=1.0)
    >>> [round(z, 2) for z in (penalty, start, bonus, scale)]
    [165.85, 3671.17, 22.01, 26.96]
    >>> width = Fixed(bonus)
    >>> model = GeneralizedLinear(
    ...     n_features=5, link="logistic", ridge=penalty, width_ridge=start, width=width, clipped=False
    ... )
    """
    whole("n_features", n_features, 1)
    positive("norm_bound", norm_bound)
    positive("steepest", steepest)
    positive("noise", noise)
    number("delta", delta, "a risk in (0, 1)", lambda x: 0 < x < 1)
    if kappa is None:
        kappa = 1.0 / (
            2.0 + 2.0 * math.cosh(norm_bound + max(norm_bound + 1.0, 2.0 * norm_bound))
        )  # the slope of the logistic link
    number("kappa", kappa, "a number in (0, steepest]", lambda x: 0 < x <= steepest)
    choice, risk = allocating(problem), 2.0 * math.log(1.0 / delta)
    plays, n = problem.n_plays * problem.horizon, n_features
    start = (noise / kappa) ** 2 * (n * math.log1p(plays / n) + risk)
    width = noise * math.sqrt(n * math.log1p(plays / (n * start)) + risk) + kappa * norm_bound * math.sqrt(start)
    bonus = steepest_return(choice.curve, choice.arms) * steepest / kappa * width
    return Constants(kappa * start, start, bonus, bonus * math.sqrt(steepest * problem.n_plays))


def steepest_return(curve: Curve, arms: int) -> float:
    """Compute L_r, the largest slope of satisfaction, which is that at 0.

    >>> from evenhand.welfare import Capped, Piecewise
    >>> steepest_return(Capped(3.0), 2), steepest_return(Piecewise((2.0, 4.0), (5.0, 6.0)), 2)
    (1.0, 2.5)
    """
    c = curves_of("curve", curve, arms)
    first = (c.values[:, 1] - c.values[:, 0]) / (c.knots[:, 1] - c.knots[:, 0])
    return float(np.where(c.kind == PIECEWISE, first, 1.0).max())
