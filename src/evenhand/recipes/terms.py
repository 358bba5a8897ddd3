"""The terms of a problem, from which recipes are made: each part is computed once, at its first use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import Goal, Limits
from evenhand.goals.frank_wolfe import FrankWolfe, frank_wolfe, objective_goal
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.linear_reward import LinearReward, reward
from evenhand.objectives import DistancePenalty, Moreau, Smoothing, WeightedSum
from evenhand.planning.pace import Pace
from evenhand.problem.constraints import Region, rows_and_sets, tighten
from evenhand.problem.constraints.statements import bounds, refuse_sets, slack_rows
from evenhand.problem.feasible import reach, sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, in_units


@dataclass(frozen=True, eq=False)
class Terms:
    """The parts that recipes derive from a problem: its reward, rows and units, margins, prices' pace and hard limits.

    A recipe makes it first and takes everything from it. Every part is computed once, at its first use, which is also
    where a problem that does not allow it is refused. D is the number of rows of all constraints, and N that of
    constraints.

    >>> from evenhand.environments import Court
    >>> terms = Terms(Court(horizon=10_000).problem)
    >>> terms.worth, terms.margin
    (1.0, array([0.005, 0.005, 0.   , 0.   ]))
    """

    problem: Problem

    def with_constraints(self) -> Terms:
        """Return the terms; refuse a problem without constraints."""
        if not self.problem.subject_to:
            raise InvalidInput("problem.subject_to", "at least one constraint to set prices for", ())
        return self

    def with_budgets(self) -> Terms:
        """Return the terms; refuse a problem without budgets."""
        if not self.problem.spending:
            raise InvalidInput("problem.subject_to", "at least one Budget", self.problem.subject_to)
        return self

    def with_budgets_only(self) -> Terms:
        """Return the terms; refuse a problem without budgets, or with other constraints."""
        self.with_budgets()
        if len(self.problem.spending) < len(self.problem.subject_to):
            expected = "budgets only, as constraints by group are not supported"
            raise InvalidInput("problem.subject_to", expected, self.problem.subject_to)
        return self

    def without_constraints(self, keeper: str = "fw_dual") -> Terms:
        """Return the terms; refuse a problem with constraints, and name a recipe that takes them."""
        if self.problem.subject_to:
            expected = f"no constraints; {keeper} keeps to them"
            raise InvalidInput("problem.subject_to", expected, self.problem.subject_to)
        return self

    @cached_property
    def reward(self) -> LinearReward:
        """The goal of the objective; refuses one that is not linear."""
        return reward(self.problem)

    @cached_property
    def objective(self) -> LinearReward | FrankWolfe:
        """The goal of any objective: the reward of a linear one, the slope of others."""
        return objective_goal(self.problem)

    @cached_property
    def worth(self) -> float:
        """The most that one play can be worth, in units of a linear objective; 1 if all weights are 0.

        >>> from evenhand.environments import FixedContexts
        >>> Terms(FixedContexts().problem).worth  # rewards are in [-2, 2]
        2.0
        """
        return float(np.abs(np.array(self.reward.weights)) @ sizes(self.problem, self.reward.rows)) or 1.0

    @cached_property
    def idle(self) -> int | None:
        """The first action under which all outcomes are declared to be 0, None if there is none.

        >>> from evenhand.environments import MixedArms
        >>> Terms(MixedArms().problem).idle
        0
        """
        idle = self.problem.free.all(1) & (self.problem.declared == 0.0).all(1)
        return int(np.argmax(idle)) if idle.any() else None

    @cached_property
    def pace(self) -> Pace | None:
        """The pace of all rows; None if no row has spans of time."""
        spans = self.problem.demands.spans
        return Pace(problem=self.problem, spans=spans) if any(s is not None for s in spans) else None

    @cached_property
    def most(self) -> Floats:
        """The most that one play can add to each row, in its units, factors of groups apart, `->(D)`."""
        return sizes(self.problem, self.problem.demands.rows)

    @cached_property
    def unit(self) -> Floats:
        """The unit of each row: the most that one play can add, 1 where nothing can be added, `->(D)`."""
        return np.where(self.most > 0.0, self.most, 1.0)

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        """The maximum and the root mean square of the size of a play's factor in every row, `->(D),(D)`."""
        return group_factors(self.problem, self.problem.demands.rows)

    @cached_property
    def margin(self) -> Floats:
        """Half of c / sqrt(T) of every budget, per round in its units, at most half of the budget, `->(N)`.

        c is the most that a round can use of the budget, or P where that is not bounded. Prices that move by steps of
        1 / sqrt(T) overspend that much before they are high enough. A budget that nothing can exceed needs none.
        """
        return self._margins(lambda most, limit: most / math.sqrt(self.problem.horizon))

    @cached_property
    def fluctuation(self) -> Floats:
        """Half of sqrt(c b / T) of every budget b, per round in its units, at most half of the budget, `->(N)`.

        The average of T uses that are at most c and b on average spreads by at most sqrt(c b / T). It suits recipes
        with hard limits, which only have to last until the end. A budget that nothing can exceed needs none.

        >>> from evenhand.environments import Court
        >>> Terms(Court(horizon=10_000).problem).fluctuation.round(4)
        array([0.0011, 0.0022, 0.    , 0.    ])
        """
        return self._margins(lambda most, limit: math.sqrt(most * limit / self.problem.horizon))

    def _margins(self, size: Callable[[float, float], float]) -> Floats:
        margins = np.zeros(len(self.problem.stated))
        for i, s in enumerate(self.problem.stated):
            if s.spends and not slack_rows(self.problem, [s]).all():
                rows = replace(s.rows, always=s.rows.inside) if s.rows.inside_only else s.rows  # of a play in the group
                most = float(reach(self.problem, rows)[1].max())
                most = self.problem.n_plays * (most if 0.0 < most < math.inf else 1.0)
                margins[i] = 0.5 * min(size(most, s.limit), s.limit)
        return margins

    def limits(self, hard: bool) -> tuple[Limits, ...]:
        """Make the hard limits; those of constraints that leave it to the recipe if `hard`."""
        return hard_limits(self.problem, hard)

    def slope(
        self,
        smoothing: Smoothing | None = None,
        *,
        on: Literal["observed", "optimistic"] = "observed",
        optimism: Literal["row", "net"] = "row",
    ) -> FrankWolfe:
        """Make the goal of a concave objective."""
        return frank_wolfe(self.problem, self.problem.objective, smoothing, on=on, optimism=optimism)

    def constraint_goals(self, goal: Callable[[], Goal]) -> tuple[Goal, ...]:
        """Make the goal that keeps to all constraints; () without constraints."""
        return (goal(),) if self.problem.subject_to else ()

    def less(self, margin: float | Floats = 0.0) -> Floats:
        """Take a margin off the bounds of rows that spend, per round in their units, `(N)->(D)`."""
        return bounds(self.problem.stated, margin)

    def straight(self, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
        """State all constraints as rows less a margin, `(N)->(D)`; refuse convex sets that no rows describe."""
        refuse_sets(self.problem.stated)
        return self.problem.demands.rows, self.less(margin)

    def rows_and_sets(self, margin: float | None) -> tuple[Rows, Floats, tuple[Region, ...]]:
        """State constraints on sums as rows and the others as sets, all less a margin; by default sets lose nothing."""
        off = self.fluctuation if margin is None else margin
        return rows_and_sets(self.problem, tighten(self.problem, margin), off)

    def rows_by_reach(self, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
        """State all constraints as rows in units of the most that one play can add to each row, `(N)->(D)`.

        Steps and prices that suit one problem then suit it in any units. Factors of groups do not count as units.
        """
        return in_units(*self.straight(margin), self.unit)

    def rows_by_scale(self, margin: float | Floats = 0.0) -> tuple[Rows, Floats]:
        """State all constraints as rows in units for which one step of dual prices suits all of them, `(N)->(D)`.

        Equation: row j is divided by c_j (most_j rms_j)^(1/2), with c_j the most that a play can add without factors of
        groups, and most_j and rms_j the largest size and the root mean square of the factor of a play, a play being in
        a group with the probability of its share. Rows of everybody have factors of 1.

        A price of w / (c_j most_j) takes all that a play is worth, w, and a round of P independent plays varies by
        sqrt(P) c_j rms_j. With constant steps eta, a row exceeds its bound by at most price / (eta T) on average, and
        the variation costs eta / 2 times its square per round; eta = price / (variation sqrt(T)) balances the two. In
        these units that is w / sqrt(P T) for all rows.

        >>> from evenhand.environments import Audience, Ranking
        >>> from evenhand.problem import Floor
        >>> labels = {"item 0": "a", "item 1": "b", "item 2": "b", "item 3": "b"}
        >>> audience = Audience(users=np.eye(4), items=np.eye(4))
        >>> floor = (Floor("exposure", rate=0.2, by="label"),)
        >>> world = Ranking(audience=audience, horizon=100, slots=1, labels=labels, subject_to=floor)
        >>> rows, bound = Terms(world.problem).rows_by_scale()  # of a quarter of the items, `most` is 4 and `rms` is 2
        >>> (-0.2 / bound).round(3)
        array([2.828, 1.241])

        The sets of `Curved` constraints are left to `region_goals`.
        """
        most, rms = self.factors
        return in_units(self.problem.demands.rows, self.less(margin), self.unit * np.sqrt(most * rms))

    def tightened_rows(self) -> tuple[Rows, Floats]:
        """State all constraints as rows, tightened by the fluctuation of the last rounds, `->(D)`.

        Equation: row j of a constraint that is not spent loses 5 sqrt(P) c_j rms_j / T of its bound, at most half of
        it: five standard deviations of a round of P independent plays, with c_j and rms_j as for `rows_by_scale`. A sum
        that prices can pull back by one of them per round is x of them too high with a probability of about exp(-2 x).
        Hard limits keep what is spent.

        >>> from evenhand.environments import Matching
        >>> from evenhand.problem import Parity
        >>> world = Matching(groups={"near": 0.5, "far": 0.5}, subject_to=(Parity("match", by="group", tolerance=0.5),))
        >>> Terms(world.problem).tightened_rows()[1].round(4)
        array([0.4965, 0.4965, 0.4965, 0.4965])
        """
        (rows, bound), spent = self.straight(), np.array(self.problem.demands.sums, bool)
        off = 5.0 * math.sqrt(self.problem.n_plays) * self.most * self.factors[1] / self.problem.horizon
        return rows, np.where(spent, bound, bound - np.minimum(off, 0.5 * np.abs(bound)))

    @cached_property
    def everybody(self) -> Bools:
        """Whether each row is of everybody and has a bound other than 0 up to rounding, `->(D)`."""
        each = np.abs(self.problem.demands.bound) / self.problem.n_plays
        return np.asarray((self.factors[0] == 1.0) & (each > 1e-12 * self.unit))

    @cached_property
    def spread(self) -> Floats:
        """The amount by which a round moves every row, in the units of the row, `->(D)`.

        Equation: u_j = (P most_j |b_j|)^(1/2) for a row of everybody, most_j being what a play can add and b_j the
        bound per play: outcomes in [0, most] whose average is b have at most the root mean square (most b)^(1/2). Rows
        by group, and rows with a bound of 0 up to rounding, as facets through 0 have, have P^(1/2) times the units of
        `rows_by_scale`.

        >>> from evenhand.environments import PackingCovering
        >>> problem = PackingCovering(costs=1, goods=1).problem
        >>> Terms(problem).spread.round(2)
        array([0.67, 0.54])
        """
        size, (most, rms), plays = self.unit, self.factors, self.problem.n_plays
        whole = np.sqrt(size * (np.abs(self.problem.demands.bound) / plays))
        return np.asarray(math.sqrt(plays) * np.where(self.everybody, whole, size * np.sqrt(most * rms)))

    def region_goals(self, slope: FrankWolfe) -> tuple[FrankWolfe, ...]:
        """Make a goal for every convex set that no rows describe: minus L times the distance of the average from it.

        Equation: L = 4 w / u, with w what a play can be worth at the objective's slope at its start, and u the length
        of the ranges of the set's outcomes: a distance that one play makes up is worth four plays. Where optimal prices
        of the set are higher than L, averages stay out of the set. Optimism is that of the slope.

        >>> from evenhand.environments import Court
        >>> terms = Terms(Court().problem)
        >>> terms.region_goals(terms.slope())
        ()
        """
        goals = []
        for region in self.problem.demands.regions:
            low, high = self.problem.ranges(region.outcomes, plays=1)
            size, worth = np.where(np.isfinite(high - low), high - low, 1.0), self.worth_at(slope)
            penalty = DistancePenalty(region.outcomes, region.within)
            price = 4.0 * worth / float(np.linalg.norm(size))
            start_at = tuple(region.within.project(np.array(self.problem.middle(region.outcomes))).tolist())
            weighted, wide = WeightedSum(((price, penalty),)), float(size.max())
            smoothing = Moreau(0.01 * wide * (wide / worth))
            goal = frank_wolfe(self.problem, weighted, smoothing, start_at=start_at, optimism=slope.optimism)
            goals.append(goal)
        return tuple(goals)

    def worth_at(self, slope: FrankWolfe) -> float:
        """Compute the most that a play can be worth at the slope of the start, in units of the objective.

        A play is in one group of every grouping: of sums over groups that the objective reads, it moves one per
        grouping.
        """
        low, high = self.problem.ranges(slope.rows.names, plays=1)
        size = np.where(np.isfinite(high - low), high - low, 1.0)
        worth = _of_a_play(np.abs(slope.slope(np.array([slope.start_at]), np.zeros(1))[0]) * size, slope.rows)
        if worth == 0.0:  # the slope is 0 at the start, but not everywhere
            steep = slope.objective.lipschitz
            worth = steep * math.sqrt(_of_a_play(size**2, slope.rows)) if math.isfinite(steep) else 1.0
        return worth


def _of_a_play(most: Floats, rows: Rows) -> float:
    """Return the largest sum over the rows that one play can move, `(d)->()`."""
    inside = rows.column >= 0
    if not inside.any():
        return float(most.sum())
    column, grouping = rows.column[inside], rows.grouping[inside]
    largest = np.zeros(grouping.max() + 1)
    np.maximum.at(largest, grouping, np.bincount(column, most[inside])[column])
    return float(most[~inside].sum() + largest.sum())


def in_units_of_plays(problem: Problem, rows: Rows, bound: Floats) -> tuple[Rows, Floats]:
    """Restate rows and bounds in units of the most that one play can add to each row, `(d)->(d)`."""
    size = sizes(problem, rows)
    return in_units(rows, bound, np.where(size > 0.0, size, 1.0))


def group_factors(problem: Problem, rows: Rows) -> tuple[Floats, Floats]:
    """Return the maximum and the root mean square of the size of a play's factor in every row, `->(d),(d)`."""
    share = np.append(problem.shares, 1.0)[rows.column]
    alike = np.array([1.0 / len(g.names) for g in problem.groups] + [1.0])[rows.grouping]
    share = np.where(share > 0.0, share, alike)  # where it is estimated
    inside = rows.always + rows.inside / np.where(rows.by_share, share, 1.0)
    most = np.maximum(np.abs(inside), np.abs(rows.always) * (share < 1.0))
    return most, np.sqrt(share * inside**2 + (1.0 - share) * rows.always**2)


def with_limits(name: str, limits: tuple[Limits, ...]) -> str:
    """Return a recipe's name, with a suffix if it has hard limits."""
    return f"{name}, hard" if limits else name
