"""Concave rewards and convex knapsacks, without contexts: each side by primal or dual updates, or by a program.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*. `bwcr` pursues an objective under
constraints (Section 6); the source's Algorithms 3 to 5, which have one of the two sides alone, are `dual_bwr` and
`primal_bwr` (no constraints), `dual_bwc` and `primal_bwc` (no objective).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, get_args

from evenhand.core.catalogue import named
from evenhand.core.norms import Norm, known_norm
from evenhand.core.validate import one_of
from evenhand.goals.hard_limits import hard_limits
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes._needs import need_constraints, need_no_constraints
from evenhand.recipes._sides import both_sides
from evenhand.recipes.ucb_bwcr import ucb_bwcr

How = Literal["primal", "dual", "ucb"]


@named(
    "B7",
    source="Agrawal & Devanur 2014, Algorithm 6, each vector by primal or dual updates (Algorithms 3 to 5)",
    use="no features of cases",
    fits=(
        "budgets (never exceeded), hard budgets, floors, ratios, convex sets, known costs, learned costs, "
        "concave objectives, no contexts, late outcomes, no constraints"
    ),
)
def bwcr(
    problem: Problem,
    model: Model,
    *,
    objective_by: How | Smoothing | None = "primal",
    constraints_by: How = "primal",
    norm: Norm = "euclidean",
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Draw from the best lottery at the objective's slope that steers averages to the allowed sets; hard budgets.

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
        objective_by: "primal" updates need a slope, or a smoothing, which is given in place of the word, as for
            `fw_linucb`; "dual" ones a maximizer and a bounded slope; "ucb" maximises f itself, at averages within
            their intervals, by a program in every round (`ucb_bwcr`); None leaves the objective out.
        constraints_by: the same for what is allowed; "ucb" keeps to the lower ends of all rows at once. Curved sets
            then need the objective to be "ucb" as well.
        norm: of distances, for dual updates: "euclidean" for gradient descent, "sup" for exponential weights, "one", or
            any q of at least 1 for L_q and vectors in the ball of the dual norm. Primal updates are Euclidean.
        margin: taken off every budget b per round, and off every set on all sides; by default nothing of sets, and
            half of sqrt(c b / T) of budgets, or of b if that is less, with c the most that a round can use.

    Raises:
        InvalidInput: neither an objective nor constraints, constraints by group, an objective that does not allow the
            updates, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> bwcr(MixedArms().problem, Tabular(arms=4, n_outcomes=3, confidence=0.5)).name
    'bwcr'
    """
    pursued, smoothing = _pursuit(objective_by)
    if pursued is None:
        need_constraints(problem)
    else:
        one_of("objective_by", pursued, get_args(How))
    one_of("constraints_by", constraints_by, get_args(How))
    known_norm("norm", norm)
    both = (pursued, constraints_by)
    own = "bwcr" if both == ("primal", "primal") else f"bwcr, {pursued}-{constraints_by}"
    if both == ("ucb", "ucb"):
        return replace(ucb_bwcr(problem, model, margin=margin, hard=hard), name=name or own)
    goals, choice = both_sides(problem, pursued, constraints_by, smoothing, margin, norm)
    limits = hard_limits(problem, hard)
    return Policy(problem=problem, model=model, goals=(*goals, *limits), choice=choice, name=name or own)


def _pursuit(objective_by: How | Smoothing | None) -> tuple[How | None, Smoothing | None]:
    """The updates of the objective, and its smoothing where that stands for primal ones."""
    if objective_by is None or isinstance(objective_by, str):
        return objective_by, None
    return "primal", objective_by


@named(
    "B3",
    source="Agrawal & Devanur 2014, Algorithm 3",
    use="no features of cases",
    fits="concave objectives, no contexts, late outcomes, no constraints",
)
def dual_bwr(problem: Problem, model: Model, *, norm: Norm = "euclidean", name: str | None = None) -> Policy:
    """Play the arm with the highest optimistic worth at the objective's dual vector; no constraints.

    Equation: a = argmin theta.Z(theta)_a, with theta from losses f*(theta) - theta.Z(theta)_a (`goals.Fenchel`), and Z
    the end of each interval that makes theta.Z least. Arms that tie are drawn at random. With a model of features there
    is one theta for all contexts. This is `bwcr` with dual updates of the objective; arguments as there.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in a norm, and `Tabular`
    with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, OPT - f(mean y) is of order L
    ||1_d|| sqrt(gamma A / T) + R / T, R being the regret of the updates over T rounds: L sqrt(d T) for gradient descent
    in the Euclidean norm, L sqrt(T ln d) for exponential weights in the sup norm (Theorem 5.1).

    Raises:
        InvalidInput: constraints, or an objective without a maximizer or whose slope has no bound.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> dual_bwr(Lessons(constrained=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'dual_bwr'
    """
    need_no_constraints(problem, "bwcr")
    return bwcr(problem, model, objective_by="dual", norm=norm, name=name or "dual_bwr")


@named(
    "B4",
    source="Agrawal & Devanur 2014, Algorithm 4, with the smoothing of Section 5.3",
    use="no features of cases",
    fits="concave objectives, no contexts, late outcomes, no constraints",
)
def primal_bwr(
    problem: Problem, model: Model, *, smoothing: Smoothing | None = None, name: str | None = None
) -> Policy:
    """Play the arm with the highest optimistic worth at the objective's slope; no constraints.

    Equation: a = argmax g.y_ucb_a with g = grad f_{t-1} at the average of the y_ucb of the arms that were played, f_t
    being smoothed by beta / sqrt(t) where f has kinks. Arms that tie are drawn at random. With observed outcomes in the
    average, and contexts, this is `fw_linucb`. It is `bwcr` without constraints; arguments as there.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in the Euclidean norm, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, OPT - f(mean y) is of
    order L sqrt(d) sqrt(gamma A / T) + beta ln(T) / T if f is beta-smooth (Theorem 5.2), and L sqrt(d) (sqrt(gamma A /
    T) + sqrt(ln(T) / T)) if it is smoothed by eta = sqrt(d ln(2 T) / T) (Theorem 5.4).

    Raises:
        InvalidInput: constraints, or an objective that cannot be smoothed.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> primal_bwr(Lessons(constrained=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'primal_bwr'
    """
    need_no_constraints(problem, "bwcr")
    return bwcr(problem, model, objective_by="primal" if smoothing is None else smoothing, name=name or "primal_bwr")


@named(
    "B3",
    source="Agrawal & Devanur 2014, Algorithm 3 for constraints",
    use="no features of cases",
    fits=(
        "budgets (on average; never exceeded with hard=True), hard budgets (with hard=True), floors, ratios, "
        "convex sets, known costs, learned costs, no contexts, late outcomes"
    ),
)
def dual_bwc(
    problem: Problem,
    model: Model,
    *,
    norm: Norm = "euclidean",
    margin: float | None = None,
    hard: bool = False,
    name: str | None = None,
) -> Policy:
    """Play the arm that steers the average outcome to the constraints by a dual vector; the objective is ignored.

    Equation: a = argmax phi.Z(phi)_a, with phi from losses h(phi) - phi.Z(phi)_a (`goals.Fenchel`), h the support
    function of what is allowed, and Z the end of each interval that makes phi.Z least. Arms that tie are drawn at
    random. This is `bwcr` with dual updates and no objective, and with soft budgets by default; arguments as there.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, no margin, a feasible problem, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, the distance of mean y
    from what is allowed is of order ||1_d|| sqrt(gamma A / T) + R / T, R being the regret of the updates over T rounds:
    sqrt(d T) for gradient descent in the Euclidean norm, sqrt(T ln d) for exponential weights in the sup norm (Theorem
    5.1). It bounds the distance of each set where there are several.

    Raises:
        InvalidInput: no constraint, one by group, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> dual_bwc(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'dual_bwc'
    """
    own = name or "dual_bwc"
    return bwcr(problem, model, objective_by=None, constraints_by="dual", norm=norm, margin=margin, hard=hard, name=own)


@named(
    "B6",
    source="Agrawal & Devanur 2014, Algorithm 5 (after Blackwell 1956)",
    use="no features of cases",
    fits=(
        "budgets (on average; never exceeded with hard=True), hard budgets (with hard=True), floors, ratios, "
        "convex sets, known costs, learned costs, no contexts, late outcomes"
    ),
)
def primal_bwc(
    problem: Problem, model: Model, *, margin: float | None = None, hard: bool = False, name: str | None = None
) -> Policy:
    """Play the arm that steers the average outcome straight back to the constraints; the objective is ignored.

    Equation: a = argmin phi.Z(phi)_a with phi = x - the point of S that is nearest to x, x being the average of the
    Z(phi) of the arms that were played, the ends of intervals that make phi.Z least. While x is in S, and where arms
    tie, they are drawn at random. The directions of budgets and of several sets add up, in the units of `bwcr`. This is
    `bwcr` without an objective, and with soft budgets by default; arguments as there.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, no margin, a feasible problem, and
    `Tabular` with `confidence` gamma of order ln(A T d / delta): with probability 1 - delta, the Euclidean distance of
    mean y from what is allowed is of order sqrt(d) (sqrt(gamma A / T) + sqrt(ln(T) / T)) (Theorem 5.4). It bounds the
    distance of each set where there are several.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> primal_bwc(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'primal_bwc'
    """
    return bwcr(problem, model, objective_by=None, margin=margin, hard=hard, name=name or "primal_bwc")


def theoretical_gamma(problem: Problem, delta: float = 0.05) -> float:
    """Compute ln(A T M / delta), the `confidence` of `Tabular` in Theorem 6.1, up to a constant.

    >>> from evenhand.environments import Lessons
    >>> round(theoretical_gamma(Lessons().problem), 1)
    16.3
    """
    return math.log(len(problem.actions) * problem.horizon * len(problem.names) / delta)
