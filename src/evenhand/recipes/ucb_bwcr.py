"""The best lottery that optimistic outcomes allow: for a concave objective, and for bandits with knapsacks.

Source: Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, Sections 4.1 and 4.2.
"""

from __future__ import annotations

from evenhand.choices import LinearProgram, OptimisticProgram
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number
from evenhand.goals.linear_reward import Intervals
from evenhand.models.base import Model
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.problem.rows import in_units, select
from evenhand.recipes.terms import Terms, in_units_of_plays


@named(
    "B1",
    source="Agrawal & Devanur 2014, Algorithm 1, in its convex form",
    use="no features of cases",
    fits=(
        "budgets (never exceeded), hard budgets, floors, ratios, convex sets, known costs, learned costs, "
        "concave objectives, no contexts, late outcomes, no constraints"
    ),
)
def ucb_bwcr(
    problem: Problem,
    model: Model,
    *,
    margin: float | None = None,
    hard: bool = True,
    every: int = 1,
    tolerance: float = 1e-4,
    name: str | None = None,
) -> Policy:
    """Draw from the best lottery if all outcomes are as good as their intervals allow, in every round; hard budgets.

    Equation: p = argmax f(u) s.t. y_lcb p <= u <= y_ucb p, c_lcb p <= B - margin, z_lcb p <= v <= z_ucb p, v in S, over
    lotteries p. It needs no slope to follow, no smoothing and no prices: the program is solved with its kinks, by
    cutting planes, in about half a millisecond per replica.
    Guarantee: without contexts, for outcomes in [0, 1] of d rows and A arms, f L-Lipschitz in a norm, no margin,
    `hard=False`, `every=1`, a feasible problem, and `Tabular` with `confidence` gamma of order ln(A T d / delta): with
    probability 1 - delta, OPT - f(mean y) and the distance of mean y from S are of order L ||1_d|| sqrt(gamma A / T)
    and ||1_d|| sqrt(gamma A / T), ||1_d|| being the norm of the vector of ones (Theorem 4.1). With n linear features
    per outcome (`Stacked`), n takes the place of sqrt(A) (Section 4.1.1). With a margin e of at least the second bound,
    and a point of value OPT - K e that is that far inside S, S itself is kept, and the first bound grows by K e.
    `hard=True` keeps budgets without any condition.
    With `Tabular` on an environment `WithoutContexts` this is the source's algorithm. With a model of features there is
    a program for every context, which must keep to the constraints by itself.
    Deviations: where no lottery is feasible, the largest excess is made as small as can be, as for
    `choices.OptimisticProgram`; hard budgets mask arms that no longer fit; an action that is declared to do nothing is
    not learned.

    Args:
        problem: with any objective, under budgets, floors of everybody and convex sets, such as `Within`.
        model: with widths.
        margin: taken off every budget per round, and off every set on all sides, as for `bwcr`.
        every: how many rounds one lottery serves.
        tolerance: of the optimum, per unit of what outcomes can add to f.

    Raises:
        InvalidInput: constraints by group, or a margin that leaves nothing of a budget or a set.

    >>> from evenhand.environments import Lessons
    >>> from evenhand.models import Tabular
    >>> ucb_bwcr(Lessons(parity=False).problem, Tabular(arms=5, n_outcomes=4, confidence=0.5)).name
    'ucb_bwcr'
    """
    terms = Terms(problem)
    rows, bound, sets = terms.rows_and_sets(margin)
    placed = select(problem, tuple(name for region in sets for name in region.outcomes))
    if rows.by_share.any() or placed.by_group:
        expected = "budgets, floors and convex sets, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)
    rows, bound = in_units_of_plays(problem, rows, bound)
    names = tuple(problem.objective.outcomes)
    return Policy(
        problem=problem,
        model=model,
        goals=(
            Intervals(rows=select(problem, names)),
            Intervals(rows=rows, ends="lower"),
            Intervals(rows=placed),
            *terms.limits(hard),
        ),
        choice=OptimisticProgram(
            objective=problem.objective,
            start_at=problem.middle(names),
            candidates=len(problem.actions),
            bound=tuple(bound.tolist()),
            regions=tuple(region.within for region in sets),
            nothing=terms.idle,
            every=every,
            tolerance=tolerance,
        ),
        name=name or "ucb_bwcr",
    )


@named(
    "B2",
    source="Agrawal & Devanur 2014, Algorithm 2",
    use="no features of cases",
    fits="budgets (never exceeded), hard budgets, known costs, learned costs, no contexts, late outcomes",
)
def ucb_bwk(
    problem: Problem, model: Model, *, epsilon: float | None = None, hard: bool = True, name: str | None = None
) -> Policy:
    """Draw from the lottery with the highest optimistic reward whose optimistic costs keep all budgets; hard budgets.

    Equation: p = argmax r_ucb.p s.t. c_lcb p <= (1 - epsilon) B / T, over lotteries p. Costs are in units of their
    budgets, so that actions do not depend on units.
    Guarantee: without contexts, for rewards and costs in [0, 1], A arms, d budgets of B each, `Tabular` with
    `confidence` gamma = ln(A T d / delta), gamma A of at most order B, and the source's epsilon: with probability 1 -
    delta no budget is exceeded and T OPT - sum_t r_t is of order sqrt(gamma) (T OPT sqrt(A / B) + sqrt(A T OPT) + A
    sqrt(gamma)) (Theorem 4.2). `hard=True` keeps budgets without any condition.
    With `Tabular` on an environment `WithoutContexts` this is the source's algorithm. With a model of features there is
    a program for every context, which must keep to the budgets by itself.
    Deviations: hard budgets mask arms that no longer fit, where the source ends the run with a round that overspends;
    where no lottery keeps to the budgets, the largest excess is made as small as can be; an action that is declared to
    do nothing is not learned.

    Args:
        problem: with a linear objective and budgets, on learned or known outcomes.
        model: with widths.
        epsilon: the part of every budget that is left out, in [0, 1); by default half of sqrt(c / (b T)), at most a
            half, with c the most that a round can use of a budget b per round. The source's number,
            sqrt(gamma A / B) + ln(T) gamma A / B, easily exceeds 1.

    Raises:
        InvalidInput: no budget, other constraints, an objective that is not linear, or an epsilon out of its range.

    >>> from evenhand.environments import MixedArms
    >>> from evenhand.models import Tabular
    >>> ucb_bwk(MixedArms().problem, Tabular(arms=5, n_outcomes=3, confidence=0.5)).name
    'ucb_bwk'
    """
    terms = Terms(problem).with_budgets_only()
    rows, bound = terms.straight()
    rows, one = in_units(rows, bound, bound)
    if epsilon is None:
        kept = one - terms.fluctuation / bound
    else:
        number("epsilon", epsilon, "a number in [0, 1)", lambda e: 0.0 <= e < 1.0)
        kept = (1.0 - epsilon) * one
    return Policy(
        problem=problem,
        model=model,
        goals=(terms.reward, Intervals(rows=rows, ends="lower"), *terms.limits(hard)),
        choice=LinearProgram(1, tuple(kept.tolist()), terms.idle),
        name=name or "ucb_bwk",
    )
