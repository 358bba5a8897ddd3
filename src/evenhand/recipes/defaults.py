"""What recipes share: default numbers, and checks of the problem.

Defaults are per round of P plays: what one play can use is multiplied by P.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from evenhand.choices import Allocate
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number
from evenhand.goals.base import Goal
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.linear_reward import LinearReward
from evenhand.objectives import DistancePenalty, Moreau, WeightedSum
from evenhand.problem.constraints import constraint_rows, per_row, regions, stated_rows
from evenhand.problem.feasible import reach, sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units
from evenhand.welfare import Curve, Oracle, Priced, satisfaction_of

T = TypeVar("T")
U = TypeVar("U")


def given(value: T | None, default: Callable[[], U]) -> T | U:
    """The value, or the default where it is None.

    >>> given(None, lambda: 0.5), given(0.0, lambda: 0.5)
    (0.5, 0.0)
    """
    return default() if value is None else value


def positive(field: str, value: float | None) -> float | None:
    """The value, which is None or a finite number above 0.

    Raises:
        InvalidInput: it is neither.

    >>> positive("step", 0.1), positive("step", None)
    (0.1, None)
    """
    return None if value is None else number(field, value, "a finite number above 0", lambda x: 0 < x < math.inf)


def need_constraints(problem: Problem) -> None:
    """Refuse a problem without constraints."""
    if not problem.subject_to:
        raise InvalidInput("problem.subject_to", "at least one constraint to set prices for", problem.subject_to)


def need_spending(problem: Problem) -> None:
    """Refuse a problem without budgets."""
    if not problem.spending:
        raise InvalidInput("problem.subject_to", "at least one Budget", problem.subject_to)


def need_budgets_only(problem: Problem) -> None:
    """Refuse a problem with other constraints than budgets."""
    if len(problem.spending) < len(problem.subject_to):
        expected = "budgets only, as constraints by group are not supported"
        raise InvalidInput("problem.subject_to", expected, problem.subject_to)


def nothing_to_do(problem: Problem) -> int | None:
    """The first action under which all outcomes are declared to be 0, None if there is none.

    >>> from evenhand.environments import MixedArms
    >>> nothing_to_do(MixedArms().problem)
    0
    """
    idle = problem.free.all(1) & (problem.declared == 0.0).all(1)
    return int(np.argmax(idle)) if idle.any() else None


def need_no_constraints(problem: Problem, keeper: str = "fw_dual") -> None:
    """Refuse a problem with constraints, and name the recipe that keeps to them."""
    if problem.subject_to:
        raise InvalidInput("problem.subject_to", f"no constraints; {keeper} keeps to them", problem.subject_to)


def allocating(
    problem: Problem,
    oracle: Oracle | None = None,
    *,
    curve: Curve | None = None,
    optimism: Literal["beside", "inside"] = "beside",
    capacity: tuple[int, ...] | None = None,
    may_stay: bool = False,
) -> Allocate:
    """The choice that allocates the users of a problem for its satisfaction, or for another curve.

    Raises:
        InvalidInput: the problem measures no satisfaction, or does not maximise the outcome that it sums up.
    """
    measured = satisfaction_of(problem)
    if dict(getattr(problem.objective, "weights", {})) != {measured.of: 1.0}:
        raise InvalidInput("problem.maximize", f"{measured.of!r}, which the satisfaction sums up", problem.objective)
    return Allocate(
        users=problem.n_plays,
        arms=measured.arms,
        curve=given(curve, lambda: measured.curve),
        oracle=given(oracle, Priced),
        optimism=optimism,
        capacity=capacity,
        may_stay=may_stay,
    )


def where_constrained(problem: Problem, goal: Callable[[], Goal]) -> tuple[Goal, ...]:
    """The goal that keeps to all constraints; () where there are none."""
    return (goal(),) if problem.subject_to else ()


def with_limits(name: str, limits: tuple[HardBudget, ...]) -> str:
    """The name of a soft recipe, with a suffix if it has hard limits."""
    return f"{name}, hard" if limits else name


def priced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """The rows and bounds of all constraints, in units of the most that one play can add to each row, `()->(d)`.

    Steps and prices that suit one problem then suit it in any units. Factors of groups do not count as units.
    """
    return in_units_of_plays(problem, *constraint_rows(problem, margin=margin))


def in_units_of_plays(problem: Problem, rows: Rows, bound: Floats) -> tuple[Rows, Floats]:
    """Rows and bounds in units of the most that one play can add to each row, `(d)->(d)`."""
    size = sizes(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0))


def balanced_rows(problem: Problem, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
    """The rows and bounds of all constraints, in units in which one step of dual prices suits all of them, `()->(d)`.

    Equation: row j is divided by c_j (most_j rms_j)^(1/2), with c_j the most that a play can add without factors of
    groups, and most_j and rms_j the largest size and the root mean square of the factor of a play, a play being in a
    group with the probability of its share. Rows of everybody have factors of 1.

    A price of w / (c_j most_j) takes all that a play is worth, w, and a round of P independent plays varies by
    sqrt(P) c_j rms_j. With constant steps eta, a row exceeds its bound by at most price / (eta T) on average, and the
    variation costs eta / 2 times its square per round; eta = price / (variation sqrt(T)) balances the two. In these
    units that is w / sqrt(P T) for all rows.

    >>> from evenhand.environments import Audience, Ranking
    >>> from evenhand.problem import Floor
    >>> labels = {"item 0": "a", "item 1": "b", "item 2": "b", "item 3": "b"}
    >>> audience = Audience(users=np.eye(4), items=np.eye(4))
    >>> floor = (Floor("exposure", rate=0.2, by="label"),)
    >>> world = Ranking(audience=audience, horizon=100, slots=1, labels=labels, subject_to=floor)
    >>> rows, bound = balanced_rows(world.problem)  # of a quarter of the items, `most` is 4 and `rms` is 2
    >>> (-0.2 / bound).round(3)
    array([2.828, 1.241])

    What `Curved` constraints ask beside their rows is left to `region_goals`.
    """
    rows, bound = stated_rows(problem, margin=margin)
    size, (most, rms) = sizes(problem, rows), _factors(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0) * np.sqrt(most * rms))


def region_goals(
    problem: Problem, slope: FrankWolfe, optimism: Literal["row", "net"] = "row"
) -> tuple[FrankWolfe, ...]:
    """A goal for every convex set that no rows describe: minus L times the distance of the average from it.

    Equation: L = 4 w / u, with w what a play can be worth at the objective's slope at its start, and u the length of
    the ranges of the set's outcomes: a distance that one play makes up is worth four plays. Where optimal prices of
    the set are higher than L, averages stay out of the set.

    >>> from evenhand.environments import Court
    >>> from evenhand.goals.frank_wolfe import frank_wolfe
    >>> problem = Court().problem
    >>> region_goals(problem, frank_wolfe(problem, problem.objective))
    ()
    """
    goals = []
    for region in regions(problem.stated):
        low, high = problem.ranges(region.outcomes, plays=1)
        size = np.where(np.isfinite(high - low), high - low, 1.0)
        penalty = DistancePenalty(region.outcomes, region.within)
        price = 4.0 * worth_of_a_play(problem, slope) / float(np.linalg.norm(size))
        start_at = tuple(region.within.project(np.array(problem.middle(region.outcomes))).tolist())
        weighted, wide = WeightedSum(((price, penalty),)), float(size.max())
        smoothing = Moreau(0.01 * wide * (wide / worth_of_a_play(problem, slope)))
        goals.append(frank_wolfe(problem, weighted, smoothing, start_at=start_at, optimism=optimism))
    return tuple(goals)


def worth_of_a_play(problem: Problem, goal: FrankWolfe) -> float:
    """The most that a play can be worth at the slope of the start.

    A play is in one group of every grouping: of sums over groups that the objective reads, it moves one per grouping.
    """
    low, high = problem.ranges(goal.rows.names, plays=1)
    size = np.where(np.isfinite(high - low), high - low, 1.0)
    worth = _of_a_play(np.abs(goal.slope(np.array([goal.start_at]), np.zeros(1))[0]) * size, goal.rows)
    if worth == 0.0:  # the slope is 0 at the start, but not everywhere
        steep = goal.objective.lipschitz
        worth = steep * math.sqrt(_of_a_play(size**2, goal.rows)) if math.isfinite(steep) else 1.0
    return worth


def _of_a_play(most: Floats, rows: Rows) -> float:
    """The largest sum over the rows that one play can move, `(d)->()`."""
    inside = rows.column >= 0
    if not inside.any():
        return float(most.sum())
    column, grouping = rows.column[inside], rows.grouping[inside]
    largest = np.zeros(grouping.max() + 1)
    np.maximum.at(largest, grouping, np.bincount(column, most[inside])[column])
    return float(most[~inside].sum() + largest.sum())


def steadied_rows(problem: Problem) -> tuple[Rows, Floats]:
    """The rows and bounds of all constraints, tightened by how much the last rounds may be off their plan, `()->(d)`.

    Equation: row j of a constraint that is not spent loses 5 sqrt(P) c_j rms_j / T of its bound, at most half of it:
    five standard deviations of a round of P independent plays, with c_j and rms_j as for `balanced_rows`. A sum that
    prices can pull back by one of them per round is x of them too high with a probability of about exp(-2 x). Hard
    limits keep what is spent.

    >>> from evenhand.environments import Matching
    >>> from evenhand.problem import Parity
    >>> world = Matching(groups={"near": 0.5, "far": 0.5}, subject_to=(Parity("match", by="group", tolerance=0.5),))
    >>> steadied_rows(world.problem)[1].round(4)
    array([0.4965, 0.4965, 0.4965, 0.4965])
    """
    rows, bound = constraint_rows(problem)
    spent = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    margin = 5.0 * math.sqrt(problem.n_plays) * sizes(problem, rows) * _factors(problem, rows)[1] / problem.horizon
    return rows, np.where(spent, bound, bound - np.minimum(margin, 0.5 * np.abs(bound)))


def _factors(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """The largest size and the root mean square of the factor of a play in every row, `->(d),(d)`."""
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.always + rows.inside / np.where(rows.by_share, share, 1.0)
    most = np.maximum(np.abs(inside), np.abs(rows.always) * (share < 1.0))
    return most, np.sqrt(share * inside**2 + (1.0 - share) * rows.always**2)


def worth_unit(problem: Problem, goal: LinearReward) -> float:
    """The most that one play can be worth; 1 if all weights are 0.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.goals.linear_reward import reward
    >>> problem = FixedContexts().problem  # rewards are in [-2, 2]
    >>> worth_unit(problem, reward(problem))
    2.0
    """
    return float(np.abs(np.array(goal.weights)) @ sizes(problem, goal.rows)) or 1.0


def default_margin(problem: Problem) -> Floats:
    """Half of c / sqrt(T) of every budget, but at most half of the budget, one per constraint.

    c is the most that a round can use of the budget, or P where that is not bounded. Prices that move by steps of
    1 / sqrt(T) overspend that much before they are high enough.

    >>> from evenhand.environments import Court
    >>> default_margin(Court(horizon=10_000).problem)
    array([0.005, 0.005, 0.   , 0.   ])
    """
    return _margins(problem, lambda most, limit: most / math.sqrt(problem.horizon))


def fluctuation(problem: Problem) -> Floats:
    """Half of sqrt(c b / T) of every budget b, but at most half of the budget, one per constraint.

    The average of T uses that are at most c and b on average spreads by at most sqrt(c b / T). It suits recipes with
    hard limits, which only have to last until the end.

    >>> from evenhand.environments import Court
    >>> fluctuation(Court(horizon=10_000).problem).round(4)
    array([0.0011, 0.0022, 0.    , 0.    ])
    """
    return _margins(problem, lambda most, limit: math.sqrt(most * limit / problem.horizon))


def _margins(problem: Problem, size: Callable[[float, float], float]) -> Floats:
    margins = np.zeros(len(problem.stated))
    for i, s in enumerate(problem.stated):
        if s.spends:
            most = float(reach(problem, s.rows)[1].max())
            most = problem.n_plays * (most if 0.0 < most < math.inf else 1.0)
            margins[i] = 0.5 * min(size(most, s.limit), s.limit)
    return margins


class Evened(NamedTuple):
    """Constraints in the unit of the scarcest budget, and defaults for prices by exponentiated gradient."""

    rows: Rows
    bound: Floats  # (d) per round, the same for all budgets
    max_price: float  # Z, per unit of the scarcest budget
    step: float


def evened(problem: Problem, goal: LinearReward) -> Evened:
    """Restate all constraints so that all budgets are equal, as the analysis of knapsacks assumes.

    Equation: v_i = c_i b / b_i with b_i the limits per round and b that of the scarcest budget, the one with the least
    b_i / most_i, most_i being what a round of P plays can use. Rows that are not spent become as long as the row of
    the scarcest budget. Z = P worth / b, the price at which it takes all that the best plays are worth;
    step = sqrt(ln(d + 1) / (T b most)), as losses are at most `most` and b on average. Actions do not depend on units.

    >>> from evenhand.environments import FixedContexts
    >>> from evenhand.goals.linear_reward import reward
    >>> problem = FixedContexts(horizon=100).problem  # a play is worth 2 at most, and uses at most 2
    >>> evened(problem, reward(problem))[1:3]
    (array([0.25, 0.25, 0.25, 0.25]), 8.0)
    """
    rows, bound = constraint_rows(problem)
    most = problem.n_plays * sizes(problem, rows)
    spends = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    unused = most == 0.0
    most = np.where(unused, 1.0, most)
    least = int(np.argmin(np.where(spends, np.where(unused, sys.float_info.max, bound / most), np.inf)))
    one = bound[least]
    rows, bound = in_units(rows, bound, np.where(spends, bound / one, most / most[least]))
    step = math.sqrt(math.log(len(rows) + 1) / (problem.horizon * float(one * most[least])))
    return Evened(rows, bound, problem.n_plays * worth_unit(problem, goal) / float(one), step)


def spread(problem: Problem, rows: Rows, bound: Floats) -> Floats:
    """What a round moves every row by, in the units of the row, `(d)->(d)`.

    Equation: u_j = (P most_j |b_j|)^(1/2) for a row of everybody, most_j being what a play can add and b_j the bound
    per play: outcomes in [0, most] whose average is b have at most the root mean square (most b)^(1/2). Rows by group,
    and rows with a bound of 0 up to rounding, as facets through 0 have, have P^(1/2) times the units of
    `balanced_rows`.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> spread(problem, *constraint_rows(problem)).round(2)
    array([0.67, 0.54])
    """
    size, (most, rms) = sizes(problem, rows), _factors(problem, rows)
    size, plays = np.where(size > 0.0, size, 1.0), problem.n_plays
    each = np.abs(bound) / plays
    everybody = _of_everybody(size, most, each)
    return np.asarray(math.sqrt(plays) * np.where(everybody, np.sqrt(size * each), size * np.sqrt(most * rms)))


def _of_everybody(size: Floats, most: Floats, each: Floats) -> Bools:
    """Which rows are of everybody and have a bound other than 0, `(d),(d),(d)->(d)`."""
    return np.asarray((most == 1.0) & (each > 1e-12 * size))


def hedged(problem: Problem, worth: float, rows: Rows, bound: Floats) -> Evened:
    """The rows of all constraints in units in which they vary alike, for exponentiated gradient on all of them.

    Equation: row j is divided by u_j, by which a round moves it (`spread`).
    Z = P^(1/2) worth max(2, (most_i / b_i)^(1/2)) over the budgets b_i, for plays that are worth at most `worth`; at
    this price the scarcest budget takes all that the best plays are worth.
    step = 3 sqrt(ln(d + 1) / T). The theory's step is a third of it, and prices then need sqrt(T) rounds from where
    they start to where they belong.

    >>> from evenhand.environments import PackingCovering
    >>> problem = PackingCovering(costs=1, goods=1).problem
    >>> even = hedged(problem, 1.0, *constraint_rows(problem))
    >>> even.rows.learned.round(2), even.max_price
    (array([[ 0.  ,  1.49,  0.  ],
           [-0.  , -0.  , -1.84]]), 2.0)
    """
    size, most, plays = sizes(problem, rows), _factors(problem, rows)[0], problem.n_plays
    size, each = np.where(size > 0.0, size, 1.0), np.abs(bound) / plays
    everybody = _of_everybody(size, most, each)
    spends = np.array(per_row(problem.stated, lambda s: s.spends), bool)
    scarce = np.where(spends & everybody, np.sqrt(size / np.where(everybody, each, 1.0)), 2.0)
    rows, bound = in_units(rows, bound, spread(problem, rows, bound))
    highest = math.sqrt(plays) * worth * float(scarce.max(initial=2.0))
    return Evened(rows, bound, highest, 3.0 * hedge_step(rows, problem.horizon))


def hedge_step(rows: Rows, horizon: int) -> float:
    """sqrt(ln(d + 1) / T) for d rows, the step of exponentiated gradient on losses in [-1, 1]."""
    return math.sqrt(math.log(len(rows) + 1) / horizon)
