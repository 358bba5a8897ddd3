"""A concave objective and convex constraints at once, without contexts.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Section 6.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from evenhand.core.catalogue import named
from evenhand.core.norms import Norm, known_norm
from evenhand.core.validate import one_of
from evenhand.goals.hard_budget import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._sides import both_sides
from evenhand.recipes.ucb_bwcr import ucb_bwcr

How = Literal["primal", "dual", "ucb"]


@named("B7", source="Agrawal & Devanur 2014, Algorithm 6, each vector by primal or dual updates (Algorithms 3 to 5)")
def bwcr(
    problem: Problem,
    model: Model,
    *,
    objective: How = "primal",
    constraints: How = "primal",
    norm: Norm = "euclidean",
    smoothing: Smoothing | None = None,
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Draw from the best lottery at the objective's slope that steers averages to what is allowed; hard budgets.

    Equation: p = argmax g.y_ucb p s.t. phi.c_lcb p <= h(phi), over lotteries p, with h the support function of what is
    allowed, such as phi.(B - margin) for budgets. With primal updates g = grad f_{t-1} at the average of y_ucb, and
    phi = (c - (B - margin))_+ at the average c of c_lcb (c_ucb while phi is 0, as in eq. 17), both over the arms that
    were drawn. With dual updates -g and phi are vectors that learn from the losses f*(-g) + g.y_ucb and
    h(phi) - phi.c_lcb (`goals.Fenchel`).
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz, no margin, `hard=False`, a
    feasible problem, and `Tabular` with `confidence` gamma of order ln(A T d / delta) (`theoretical_gamma`): with
    probability 1 - delta, OPT - f(mean y) is of order L ||1_d|| sqrt(gamma A / T) + e_f, and the distance of mean y
    from what is allowed of order ||1_d|| sqrt(gamma A / T) + e_S. Dual updates have e_f = L sqrt(d / T) and e_S =
    sqrt(d / T) in the Euclidean norm, L sqrt(ln(d) / T) and sqrt(ln(d) / T) in the sup norm; primal ones, in the
    Euclidean norm, e_f = beta ln(T) / T for a beta-smooth f, L sqrt(d ln(T) / T) for a smoothed one, and e_S = sqrt(d
    ln(T) / T) (Theorem 6.1). A side that is "ucb" has neither. The theorem is for averages over lotteries. `hard=True`
    keeps budgets without any condition.
    Budgets and floors have one phi, every convex set another, and the lottery keeps to each of these constraints.
    While phi is 0, every lottery is allowed. With `Tabular` on an environment `WithoutContexts` this is the source's
    algorithm. With a model of features there is a lottery for every context, and each must meet the constraint by
    itself, so little budget is saved for contexts where it is worth more, unlike with `resolving` and `fw_dual`.
    Deviations: averages are over the drawn arms rather than the lotteries; g is smoothed by beta / sqrt(t) rather than
    by one eta; known outcomes have no confidence bounds; where no lottery is feasible, the candidate of most slack is
    played; sums count in units of the most that one play adds, and outcomes of sets in units of their ranges (of the
    widest of them, if the set is curved), so that distances add up what can be added.

    Args:
        problem: with any objective, under budgets, floors of everybody and convex sets, such as `Within`.
        model: with widths.
        objective: "primal" updates need a slope, or smoothing; "dual" ones a maximizer and a bounded slope; "ucb"
            maximises f itself, at averages within their intervals, by a program in every round (`ucb_bwcr`).
        constraints: the same for what is allowed; "ucb" keeps to the lower ends of all rows at once. Curved sets then
            need the objective to be "ucb" as well.
        norm: of distances, for dual updates: "euclidean" for gradient descent, "sup" for exponential weights, "one", or
            any q of at least 1 for L_q and vectors in the ball of the dual norm. Primal updates are Euclidean.
        smoothing: for primal updates of the objective, as for `fw_linucb`.
        margin: taken off every budget b per round, and off every set on all sides; by default nothing of sets, and
            half of sqrt(c b / T) of budgets, or of b if that is less, with c the most that a round can use.
        hard: never exceed a budget.
        name: for tables and plots.

    Raises:
        InvalidInput: constraints by group, an objective that does not allow the updates, or a margin that leaves
            nothing of a budget or a set.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> bwcr(MixedArms().problem, Tabular(arms=4, n_outcomes=3, confidence=0.5)).name
    'bwcr'
    """
    one_of("objective", objective, get_args(How))
    one_of("constraints", constraints, get_args(How))
    known_norm("norm", norm)
    own = "bwcr" if (objective, constraints) == ("primal", "primal") else f"bwcr, {objective}-{constraints}"
    if objective == constraints == "ucb":
        return replace(ucb_bwcr(problem, model, margin=margin, hard=hard), name=name or own)
    goals, choice = both_sides(problem, objective, constraints, smoothing, margin, norm)
    limits = hard_limits(problem, hard)
    return Policy(problem=problem, model=model, goals=(*goals, *limits), choice=choice, name=name or own)


def theoretical_gamma(problem: Problem, delta: float = 0.05) -> float:
    """ln(A T M / delta), the `confidence` of `Tabular` that Theorem 6.1 asks for, up to a constant.

    >>> from evenhand.environments import Lessons
    >>> round(theoretical_gamma(Lessons().problem), 1)
    16.3
    """
    return math.log(len(problem.actions) * problem.horizon * len(problem.names) / delta)
