"""A concave objective without constraints or contexts, by its slope at the average."""

from __future__ import annotations

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._sides import for_objective, readings
from evenhand.recipes.defaults import need_no_constraints


@named("B4", source="Agrawal & Devanur 2014, Algorithm 4, with the smoothing of Section 5.3")
def primal_bwr(
    problem: Problem, model: Model, *, smoothing: Smoothing | None = None, name: str | None = None
) -> Policy:
    """Play the arm of highest optimistic worth at the objective's slope; no constraints.

    Equation: a = argmax g.y_ucb_a with g = grad f_{t-1} at the average of the y_ucb of the arms that were played, f_t
    being smoothed by beta / sqrt(t) where f has kinks.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in the Euclidean norm, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, OPT - f(mean y) is of
    order L sqrt(d) sqrt(gamma A / T) + beta ln(T) / T if f is beta-smooth (Theorem 5.2), and L sqrt(d) (sqrt(gamma A /
    T) + sqrt(ln(T) / T)) if it is smoothed by eta = sqrt(d ln(2 T) / T) (Theorem 5.4).
    Arms that tie are drawn at random. With observed outcomes in the average, and contexts, this is `fw_linucb`.

    Args:
        problem: with any objective, without constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        name: for tables and plots.

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> primal_bwr(Lessons(constrained=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'primal_bwr'
    """
    need_no_constraints(problem, "bwcr")
    slope = for_objective(problem, "primal", smoothing)
    return Policy(
        problem=problem, model=model, goals=(slope,), choice=Lottery(readings(slope)), name=name or "primal_bwr"
    )
