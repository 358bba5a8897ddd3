"""Concave rewards and convex knapsacks, without contexts: each side by primal or dual updates, or by a program.

Each side is pursued by its slope at the average of estimates ("primal") or by a dual vector ("dual"). Constraints on
sums and every convex set have a goal each, so that no set has to be intersected with others: the lottery keeps to the
half-space of each of them, and the theory bounds each distance.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*. `bwcr` pursues an objective under
constraints (Section 6); the source's Algorithms 3 to 5, which have one of the two sides alone, are `dual_bwr` and
`primal_bwr` (no constraints), `dual_bwc` and `primal_bwc` (no objective).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from evenhand.choices import LinearProgram, Lottery, OptimisticProgram
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, norm_of
from evenhand.core.types import Floats
from evenhand.core.validate import one_of
from evenhand.goals.base import Priced
from evenhand.goals.fenchel import Fenchel, fenchel, fenchel_within
from evenhand.goals.frank_wolfe import FrankWolfe
from evenhand.goals.linear_reward import Intervals, LinearReward
from evenhand.models.base import Model
from evenhand.objectives import DistancePenalty, Linear, Moreau, Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.constraints import Region, constraint_rows, tighten
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units, select
from evenhand.recipes.terms import Terms, in_units_of_plays
from evenhand.recipes.ucb_bwcr import ucb_bwcr
from evenhand.sets import Box, ConvexSet, units

Updates = Literal["primal", "dual"]
Side = LinearReward | FrankWolfe | Fenchel
SAME_ROUND = "budgets, floors and convex sets only, as constraints by group are not supported"
How = Literal["primal", "dual", "ucb"]


class SetRows(NamedTuple):
    """Rows whose averages are to be in a set, both in units of the most that one play can add."""

    rows: Rows
    within: ConvexSet
    start_at: tuple[float, ...]  # a point of the set
    ends: tuple[tuple[float, ...], tuple[float, ...]] | None  # of the ranges that cut the set, where it has no bounds


def for_objective(terms: Terms, updates: Updates, smoothing: Smoothing | None = None, norm: Norm = "euclidean") -> Side:
    """Make the goal of the objective."""
    one_of("objective_by", updates, ("primal", "dual"))
    if updates == "primal" and isinstance(terms.problem.objective, Linear):  # its slope needs no estimates of averages
        return replace(terms.reward, optimism="row")
    if updates == "primal":
        return terms.slope(smoothing, on="optimistic")
    return fenchel(terms.problem, terms.problem.objective, norm=norm)


def for_constraints(
    terms: Terms, updates: Updates, margin: float | None = None, norm: Norm = "euclidean"
) -> tuple[Side, ...]:
    """Make the goals of the distances from the allowed sets, a reading each; () without constraints.

    Raises:
        InvalidInput: constraints by group, or a margin that leaves nothing of a budget or a set.
    """
    one_of("constraints_by", updates, ("primal", "dual"))
    rows, bound, placed = terms.rows_and_sets(margin)
    _refuse_shares(terms.problem, rows)
    kept = [*_sums(terms.problem, rows, bound), *(_set(terms.problem, region) for region in placed)]
    if updates == "dual":
        return tuple(fenchel_within(terms.problem, k.rows, k.within, norm=norm) for k in kept)
    return tuple(
        FrankWolfe(
            rows=k.rows,
            objective=DistancePenalty(k.rows.names, k.within, *(k.ends or ())),
            smoothing=Moreau(1.0),  # any size will do: only the direction of phi counts (Section 5.3)
            start_at=k.start_at,
            on="optimistic",
            optimism="net",  # a single reading, and the same as by row where widths are per outcome
        )
        for k in kept
    )


def _refuse_shares(problem: Problem, rows: Rows) -> None:
    """Refuse rows of groups, which are divided by shares."""
    if rows.by_share.any():
        raise InvalidInput("problem.subject_to", SAME_ROUND, problem.subject_to)


def _sums(problem: Problem, rows: Rows, bound: Floats) -> list[SetRows]:
    """Collect all rows in the set below their bounds, `()->(d)`; [] without any; equal rows count once."""
    rows, bound = in_units_of_plays(problem, rows, bound)
    alike: dict[bytes, int] = {}
    for j in np.argsort(bound, kind="stable").tolist():
        alike.setdefault(np.append(rows.weights[j] + 0.0, rows.column[j]).tobytes(), j)
    which = np.array(sorted(alike.values()), np.int64)
    if not len(which):
        return []
    kept, bounds = rows.take(which), tuple(bound[which].tolist())
    names = tuple(n if kept.names.count(n) == 1 else f"{n} ({i})" for i, n in enumerate(kept.names))
    return [SetRows(replace(kept, names=names), Box.below(bounds), bounds, None)]


def _set(problem: Problem, region: Region) -> SetRows:
    """Return the outcomes of a convex set, and the set."""
    low, high = problem.ranges(region.outcomes, plays=1)
    width = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
    within, unit = units.in_units(region.within, width)
    rows, near = in_units(select(problem, region.outcomes), np.array(problem.middle(region.outcomes)), unit)
    ends = tuple(tuple((end / unit).tolist()) for end in problem.ranges(region.outcomes))
    return SetRows(rows, within, tuple(within.project(near).tolist()), ends)  # type: ignore[arg-type]


def both_sides(
    terms: Terms,
    objective_by: Updates | Literal["ucb"] | None,
    constraints_by: Updates | Literal["ucb"],
    smoothing: Smoothing | None,
    margin: float | None,
    norm: Norm,
) -> tuple[tuple[Side | Intervals, ...], Lottery | LinearProgram | OptimisticProgram]:
    """Goals of both sides, and the choice of the best lottery, with an optimistic program on at most one of them.

    Without an objective the arm that leads back to all sets at once is played.
    """
    problem = terms.problem
    if objective_by == "ucb":
        names = tuple(problem.objective.outcomes)
        kept = for_constraints(terms, constraints_by, margin, norm)  # type: ignore[arg-type]
        program = OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=(0.0,) * len(kept),
        )
        return (Intervals(rows=select(problem, names)), *kept), program
    if objective_by is None:
        kept = for_constraints(terms, constraints_by, margin, norm)  # type: ignore[arg-type]
        return kept, Lottery(readings(*kept))
    slope = for_objective(terms, objective_by, smoothing, norm)
    wanted = readings(slope)
    if constraints_by == "ucb" and problem.subject_to:
        off = terms.fluctuation if margin is None else margin
        rows, bound = constraint_rows(problem, tighten(problem, margin), off)
        _refuse_shares(problem, rows)
        rows, bound = in_units_of_plays(problem, rows, bound)
        return (slope, Intervals(rows=rows, ends="lower")), LinearProgram(wanted, tuple(bound.tolist()))
    kept = () if constraints_by == "ucb" else for_constraints(terms, constraints_by, margin, norm)
    return (slope, *kept), Lottery(wanted) if len(kept) < 2 else LinearProgram(wanted, (0.0,) * len(kept))


def readings(*sides: Priced) -> int:
    """Count the readings of all goals together."""
    return sum(side.price(side.start(1))[0].shape[1] for side in sides)


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
    terms, (pursued, smoothing) = Terms(problem), _pursuit(objective_by)
    if pursued is None:
        terms.with_constraints()
    else:
        one_of("objective_by", pursued, get_args(How))
    one_of("constraints_by", constraints_by, get_args(How))
    norm_of("norm", norm)
    both = (pursued, constraints_by)
    own = "bwcr" if both == ("primal", "primal") else f"bwcr, {pursued}-{constraints_by}"
    if both == ("ucb", "ucb"):
        return replace(ucb_bwcr(problem, model, margin=margin, hard=hard), name=name or own)
    goals, choice = both_sides(terms, pursued, constraints_by, smoothing, margin, norm)
    limits = terms.limits(hard)
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
    Terms(problem).without_constraints("bwcr")
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
    Terms(problem).without_constraints("bwcr")
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
