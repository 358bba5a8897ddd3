"""A concave objective without constraints or contexts, by dual vectors."""

from __future__ import annotations

from evenhand.choices import Lottery
from evenhand.core.catalogue import named
from evenhand.core.norms import Norm
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._sides import for_objective, readings
from evenhand.recipes.defaults import need_no_constraints


@named("B3", source="Agrawal & Devanur 2014, Algorithm 3")
def dual_bwr(problem: Problem, model: Model, *, norm: Norm = "euclidean", name: str | None = None) -> Policy:
    """Play the arm of highest optimistic worth at the objective's dual vector; no constraints.

    Equation: a = argmin theta.Z(theta)_a, with theta from losses f*(theta) - theta.Z(theta)_a (`goals.Fenchel`), and Z
    the end of each interval that makes theta.Z least.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in a norm, and `Tabular`
    with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, OPT - f(mean y) is of order L
    ||1_d|| sqrt(gamma A / T) + R / T, R being the regret of the updates over T rounds: L sqrt(d T) for gradient descent
    in the Euclidean norm, L sqrt(T ln d) for exponential weights in the sup norm (Theorem 5.1).
    Arms that tie are drawn at random. With a model of features there is one theta for all contexts.

    Args:
        problem: with any objective, without constraints.
        model: with widths.
        norm: "euclidean" for gradient descent, "sup" for exponential weights, or another, as for `bwcr`.
        name: for tables and plots.

    Raises:
        InvalidInput: constraints, or an objective without a maximizer or whose slope has no bound.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> dual_bwr(Lessons(constrained=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'dual_bwr'
    """
    need_no_constraints(problem, "bwcr")
    slope = for_objective(problem, "dual", norm=norm)
    return Policy(
        problem=problem, model=model, goals=(slope,), choice=Lottery(readings(slope)), name=name or "dual_bwr"
    )
