"""A concave objective of the average outcomes under constraints, a case that Do et al. 2023 leave open."""

from __future__ import annotations

import math
from typing import Literal

from evenhand.choices import Choice, Staged, TopK
from evenhand.core.catalogue import named
from evenhand.goals.base import Goal
from evenhand.goals.dual import DualGradient
from evenhand.goals.frank_wolfe import FrankWolfe
from evenhand.goals.steps import Falling, Steady, Step
from evenhand.models.base import Model
from evenhand.objectives import Smoothing
from evenhand.policy.policy import Policy
from evenhand.problem.problem import Problem
from evenhand.recipes.terms import Terms


@named(
    "X2",
    source="evenhand's own: Do et al. 2023 with the dual prices of Chzhen et al. 2023",
    use="objectives that are not a plain sum",
    fits=(
        "budgets (never exceeded), hard budgets, budgets per period (prices follow what is left), parity, floors, "
        "ratios, convex sets, known costs, learned costs, concave objectives, several plays, contexts, "
        "no contexts, late outcomes, no constraints"
    ),
)
def fw_dual(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    warmup: int = 20,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Play the best action at the objective's slope minus costs at dual prices; hard budgets.

    Equation: a = argmax g.y_ucb(a) - lam.c_lcb(a), g = grad f_{t-1}(z_{t-1}),
    lam <- (lam + step_t (c - (B - margin)))_+, with c observed, at commit where costs are known.
    Guarantee: none on the objective. After the warm-up, the sum of a row is at most its bound times T plus the moves of
    lam, each over the step of its round, whatever the model says; widths do not add to that. `hard=True` never exceeds
    a budget.
    A convex set that no rows describe (`Within`) is kept by a price on the distance of the average from it
    (`Terms.region_goals`). Without constraints and warm-up it is `fw_linucb`. With a linear objective it is
    `pgd`, but the defaults differ: step, warm-up and hard budgets. `resolving` gets closer to the optimum where
    contexts differ.

    Args:
        problem: with any objective and any constraints.
        model: with widths.
        smoothing: as for `fw_linucb`.
        step: a constant one, of the prices of rows in units of what a play adds (`Terms.rows_by_scale`); by
            default w / (2 sqrt(P t)) in round t, with w what a play can be worth at the slope of the start.
        margin: taken off every budget b per round; half of sqrt(c b / T) by default, or of b if that is less, with
            c the most that a round can use.

    Raises:
        InvalidInput: an objective that cannot be smoothed, or a margin that leaves nothing of a budget.

    >>> from evenhand.environments import MultiObjective
    >>> from evenhand.models import Fixed, Ridge
    >>> fw_dual(MultiObjective().problem, Ridge(n_features=10, n_outcomes=5, width=Fixed(0.1))).name
    'fw_dual'
    """
    goals = _goals(problem, smoothing, step, margin, hard, "row")
    choice = Staged(warmup, TopK(problem.n_plays))
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name=name or "fw_dual")


@named(
    "X6",
    source="evenhand's own: Do et al. 2023, Proposition 4, with the dual prices of Chzhen et al. 2023",
    use="rankings",
    fits=(
        "budgets (never exceeded), hard budgets, parity, floors, ratios, known costs, learned costs, "
        "concave objectives, several plays, rankings, contexts, late outcomes, no constraints"
    ),
)
def fw_rank(
    problem: Problem,
    model: Model,
    choice: Choice,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Rank by worth at the objective's slope minus constraint prices, with any model and any choice.

    Equation: candidate i is worth g_y.y_hat_i + g_e,i - lam.v_i per exposure, g = grad f_{t-1}(z_{t-1}) at the averages
    of outcomes and of exposures, lam as in `fw_dual`. If everything that a play brings is conditional on its exposure,
    to rank by this worth is optimal for any position weights that never increase, and these need not be known
    (Proposition 4). What is due for every placement (`Outcome(sure=True)`) makes the best ranking an assignment
    problem; ranking by worth is then a heuristic, and limits hold nevertheless.
    Guarantee: none beyond that of `fw_linucb_rank`, which holds with `TopK` and without constraints.

    Args:
        problem: with any objective and any constraints, and `n_plays` slots.
        model: with widths, such as `Bilinear`; or without, if the choice explores.
        choice: of `n_plays`: `TopK`, `EpsilonGreedy`, or `Gibbs`, which draws rankings of the Plackett-Luce model, the
            same as the k best after adding Gumbel noise; all state the probability of each place.
        smoothing, step, margin: as for `fw_dual`.

    Raises:
        InvalidInput: a choice of another number of plays, an objective that cannot be smoothed, or a margin that leaves
            nothing of a budget.

    >>> import numpy as np
    >>> from evenhand.choices import Gibbs
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Logistic
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1, flat=True)
    >>> fw_rank(world.problem, Logistic(n_features=world.n_features), Gibbs(0.1, n_plays=1)).name
    'fw_rank'
    """
    goals = _goals(problem, smoothing, step, margin, hard, "net")
    return Policy(problem=problem, model=model, goals=goals, choice=choice, name=name or "fw_rank")


@named(
    "C5",
    source="Do et al. 2023, Algorithms 1 and 5 (FW-LinUCBRank)",
    use="rankings",
    fits=(
        "budgets (never exceeded), hard budgets, parity, floors, ratios, known costs, learned costs, "
        "concave objectives, several plays, rankings, contexts, late outcomes, no constraints"
    ),
)
def fw_linucb_rank(
    problem: Problem,
    model: Model,
    *,
    smoothing: Smoothing | None = None,
    step: float | None = None,
    margin: float | None = None,
    hard: bool = True,
    name: str | None = None,
) -> Policy:
    """Show the k items with the highest optimistic worth at the objective's slope, best first.

    Equation: the k largest of df/dz_u (theta_hat.x_i + bonus_i) + df/dz_i, with u the users' utility and z_i the
    exposure of item i, at the averages so far; position weights are not needed.
    Constraints are priced as in `fw_rank`, beyond the source. Without them and with beta = 0 it is `linucb_rank`.
    Guarantee: as for `fw` without constraints, where with probability 1 - delta (Theorem 5, Lemma 27)
    R <= 2 L alpha sqrt(T k) (sqrt(2 ln(3/delta)) + sqrt(2 d ln(1 + T k D_X^2 / (ridge d)))) +
    L D sqrt(2 T ln(3/delta)),
    alpha = 1/2 sqrt(2 ln(3/delta) + d ln(1 + T k D_X^2 / (ridge d))) + sqrt(ridge) D_theta, D <= k + 1: of the order of
    L d sqrt(k T) ln(T/delta). Conditions: items are worth theta.x with d features of norms up to D_X and
    |theta| <= D_theta, `SelfNormalised(delta=delta / 3, noise=1/2, norm_bound=D_theta)`, a ridge of at least k D_X^2, a
    slope of f in the users' utility above 0, and position weights that never increase.
    Deviation: the paper does not clip upper bounds; `Bilinear` and `Ridge` do by default, and are as printed with
    `clipped=False`. The guarantee holds either way, as clipped bounds are between the truth and those of the paper.
    While they are wide, clipped bounds tie at the end of the range, and the slope alone ranks.

    Args:
        problem: with an objective of utility and exposures, such as eq. 2 of the source; `n_plays` is k.
        model: `Bilinear`, or `Ridge` on products of factors, as printed with `clipped=False` and the widths of the
            source (`SelfNormalised`).
        smoothing, step, margin: as for `fw_dual`.

    >>> import numpy as np
    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.models import Bilinear
    >>> world = Ranking(audience=Audience(users=np.eye(2), items=np.eye(2)), horizon=100, slots=1)
    >>> fw_linucb_rank(world.problem, Bilinear(n_user_features=2, n_item_features=2)).name
    'fw_linucb_rank'
    """
    best = TopK(problem.n_plays)
    name = name or "fw_linucb_rank"
    return fw_rank(problem, model, best, smoothing=smoothing, step=step, margin=margin, hard=hard, name=name)


def _goals(
    problem: Problem,
    smoothing: Smoothing | None,
    step: float | None,
    margin: float | None,
    hard: bool,
    optimism: Literal["row", "net"],
) -> tuple[Goal, ...]:
    """Return the objective's slope, and prices of all constraints."""
    terms = Terms(problem)
    slope = terms.slope(smoothing, optimism=optimism)
    rows, bound = terms.rows_by_scale(terms.fluctuation if margin is None else margin)
    prices = terms.constraint_goals(
        lambda: DualGradient(
            rows=rows, bound=bound, step=gentle(terms, slope, step), optimism=optimism, pace=terms.pace
        )
    )
    return (slope, *terms.region_goals(slope), *prices, *terms.limits(hard))


def gentle(terms: Terms, goal: FrankWolfe, step: float | None) -> Step:
    """Return a constant step, or w / (2 sqrt(P t)) for `Terms.rows_by_scale`: half of what balances a run of t rounds.

    w is the most that a play can be worth at the slope of the start.
    """
    if step is not None:
        return Steady(step)
    return Falling(terms.worth_at(goal) / (2.0 * math.sqrt(terms.problem.n_plays)))
