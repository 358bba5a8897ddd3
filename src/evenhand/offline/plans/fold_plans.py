"""Plans that are made fold by fold, by models of the other folds; and fair plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.progress import Work
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.logs.clusters import Clusters
from evenhand.offline.events import Occurrences
from evenhand.offline.evidence import Evidence, Models, Tables, as_logged
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.plans.allocation import Resource, nearest
from evenhand.offline.plans.frontier import Frontier, Stop
from evenhand.offline.plans.limits import Bound, Population, allocate_named, bounds_of, budget_of
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.plans.planned_policies import Parted, Parts, Planned, ProgramPlan
from evenhand.problem.constraints.statements import Statement

_STEPS = 80  # of a bisection: beyond the last bit of a double
_FREE = 500  # rows of a fold about which the first program of several limits decides
_PASSES = 6  # of plans that are only compared, where limits may be a little too narrow for any plan


class Fold(NamedTuple):
    """The rows of a fold, with what is predicted of them."""

    aim: Aim
    cost: Floats  # (n or 1,A) what a budget limits
    tables: Mapping[str, Tables]  # by outcome
    rows: Ints  # (n,)
    apart: bool = False  # planned without another fold as well, so that limits may be exceeded: no value is stated


Planner = Callable[[Fold], Iterator[Planned]]  # yields a plan for every budget
Fixed = Callable[[Fold], list[Bound]]  # the limits of a fold that are the same at every budget
Vary = Callable[[Fold], Callable[[float], list[Bound]]]  # those that are not, at a budget


class Split(NamedTuple):
    """The amount that each group gets per head."""

    budgets: Floats  # (G,)
    price: float  # at which the groups that are not clipped spend
    slope: float  # what the last unit per head of all is worth; below 0 where evenness forces it


@dataclass(frozen=True, kw_only=True)
class FairFrontier:
    """The policies with the greatest average worth whose average costs by group are within a tolerance of everybody's.

    Equation: max sum_g s_g V_g(b_g) over b s.t. x = sum_g s_g b_g <= B and |b_g - x| <= tolerance, where V_g is the
    frontier of group g and s_g its share. At a price, b_g is what the group would spend, clipped to the tolerance.

    Args:
        rows: of each group.
        frontiers: of each group.
        shares: `(G)` of the rows.

    >>> worth = np.array([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.5]])
    >>> fair = FairFrontier.of(worth, np.array([[0.0, 1.0]]), np.array([0, 0, 1, 1]))
    >>> [fair.split(0.5, tolerance).budgets.tolist() for tolerance in (0.0, 1.0)]
    [[0.5, 0.5], [1.0, 0.0]]
    """

    rows: Parts
    frontiers: tuple[Frontier, ...]
    shares: Floats

    @staticmethod
    def of(worth: Floats, cost: Floats, groups: Ints) -> FairFrontier:
        """Compute the frontiers of groups, `(N,A),(N or 1,A),(N)->`."""
        rows = Parts([np.flatnonzero(groups == g) for g in np.unique(groups)])
        own = zip(rows.members, rows.of(cost), strict=True)
        each, sizes = tuple(Frontier.of(worth[m], c) for m, c in own), [len(m) for m in rows.members]
        return FairFrontier(rows=rows, frontiers=each, shares=np.array(sizes) / len(worth))

    def split(self, budget: float, tolerance: float) -> Split:
        """Return the amount that each group gets per head.

        Raises:
            InvalidInput: a negative tolerance.
            InfeasibleProblem: no policy within the budget is as even as that.
        """
        if not tolerance >= 0.0:
            raise InvalidInput("tolerance", "at least 0", tolerance)
        low, high = float(self.shares @ self._ends[0]), min(budget, float(self.shares @ self._ends[1]))
        found = self._spend(high, tolerance)
        best = found
        if not isinstance(found, Split) or found.slope < 0.0:  # less than all of it is better
            best = self._spend(low, tolerance)
            for _ in range(_STEPS):
                middle = 0.5 * (low + high)
                found = self._spend(middle, tolerance)
                if found == "more" or (isinstance(found, Split) and found.slope >= 0.0):
                    low = middle
                else:
                    high = middle
                best = found if isinstance(found, Split) else best
        if not isinstance(best, Split):
            raise InfeasibleProblem(
                f"no policy within a budget of {amount(budget, 6)} per case is even within {amount(tolerance, 6)}"
            )
        return best

    def at(self, budget: float, tolerance: float) -> FairPoint:
        """Return the actions of all rows at a budget.

        Raises:
            InvalidInput, InfeasibleProblem: as for `split`.
        """
        split = self.split(budget, tolerance)
        points = tuple(f.beyond(b) for f, b in zip(self.frontiers, split.budgets.tolist(), strict=True))
        return FairPoint(rows=self.rows, points=points, price=split.price, slope=split.slope)

    @cached_property
    def _prices(self) -> Floats:
        """The prices of all groups, falling."""
        return np.unique(np.concatenate([f.price for f in self.frontiers]))[::-1].copy()

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The least and the most that each group can cost per head."""
        most = [float(f.spend[-1]) if len(f.spend) else f.least for f in self.frontiers]
        return np.array([f.least for f in self.frontiers]), np.array(most)

    @cached_property
    def _slack(self) -> float:
        """The rounding error of sums of costs, in their own unit."""
        return 1e-12 * float(np.abs(self._ends).max())

    def _spend(self, x: float, tolerance: float) -> Split | str:
        """Spend x per head of all in the best way; "more" or "less" where that is not possible."""
        least, most = self._ends
        low, high = np.maximum(x - tolerance, least), np.minimum(x + tolerance, most)
        slack = self._slack
        if (least > x + tolerance + slack).any() or self.shares @ low > x + slack:
            return "more"
        if (most < x - tolerance - slack).any() or self.shares @ high < x - slack:
            return "less"
        low = np.minimum(low, high)
        prices = self._prices
        first, last = 0, len(prices)  # the first price at which all segments of at least it cost x or more
        while first < last:
            middle = (first + last) // 2
            if self.shares @ self._wanted(prices[middle], low, high, "right") >= x:
                last = middle
            else:
                first = middle + 1
        if first == len(prices):
            return Split(high, 0.0, self._slope(high, x, tolerance, 0.0))
        price = float(prices[first])
        found = self._wanted(price, low, high, "left")
        more = self._wanted(price, low, high, "right") - found
        for g in range(len(found)):  # segments of the same price, from the first group on
            left = x - float(self.shares @ found)
            found[g] += min(more[g], max(left, 0.0) / self.shares[g])
        return Split(found, price, self._slope(found, x, tolerance, price))

    def _wanted(self, price: float, low: Floats, high: Floats, side: Literal["left", "right"]) -> Floats:
        """The amount that each group spends on segments of more than a price ("left"), or of at least it ("right")."""
        spent = []
        for f in self.frontiers:
            k = f.dearer(price, side)
            spent.append(float(f.spend[k - 1]) if k else f.least)
        return np.clip(spent, low, high)

    def _slope(self, budgets: Floats, x: float, tolerance: float, price: float) -> float:
        """The cost of one unit per head less: clipped groups move with the average, the others at the price."""
        free, total = 1.0, 0.0
        for share, f, b in zip(self.shares, self.frontiers, budgets, strict=True):
            if abs(abs(b - x) - tolerance) <= self._slack and len(f.price):
                own = float(f.price[min(int(np.searchsorted(f.spend, b - self._slack)), len(f.price) - 1)])
                total, free = total + share * own, free - share
        return total + max(free, 0.0) * price


@dataclass(frozen=True, kw_only=True, eq=False)
class FairPoint:
    """The actions of all rows within a budget that is shared about equally per head between groups.

    Args:
        rows: of each group.
        points: of each group.
        price, slope: as of `Split`.
    """

    rows: Parts
    points: tuple[Stop, ...]
    price: float
    slope: float

    def of(self, table: Floats) -> Floats:
        """Return the value of every row in a table of actions, `(N or 1,A)->(N)`."""
        return self.rows.joined([point.of(own) for point, own in self._each(table)])

    def total(self, table: Floats) -> float:
        """Return the total over all rows of a table of actions, `(N or 1,A)->`."""
        return sum(point.total(own) for point, own in self._each(table))

    def offset(self, spent: Floats, brings: object = None) -> Floats:
        """Return the correction to the influence of rows, since they determine where the budget ends, `(N)->(N)`.

        Equation: price_g (c_i - b_g) + price (b_g - x) for row i of group g. The last term is there because the log
        says how large groups are: where more rows are of a dear group, the others have to spend less.
        """
        average, found = float(spent.mean()), []
        for rows, point in zip(self.rows.members, self.points, strict=True):
            own = spent[rows]
            found.append(point.offset(own) + self.price * (float(own.mean()) - average))
        return self.rows.joined(found)

    def margin(self, brings: object = None) -> float:
        """Return the worth of one more unit of the budget."""
        return max(self.slope, 0.0)

    def probabilities(self, n_actions: int) -> Floats:
        """Return the lottery of every row, `->(N,A)`."""
        return self.rows.joined([point.probabilities(n_actions) for point in self.points])

    def _each(self, table: Floats) -> Iterator[tuple[Stop, Floats]]:
        return zip(self.points, self.rows.of(table), strict=True)


class Plans(NamedTuple):
    """A plan whose folds are planned by models of the other folds."""

    own: Parted
    totals: Floats  # (M,K,K) what the rows of fold j have of M tables if they are planned without fold k as well


@dataclass(frozen=True, eq=False)
class Crossed:
    """The folds of a log, with predictions in each.

    Equation: fold k gets the best policy within the budget by models of the other folds, whose threshold is found among
    the rows of fold k alone. So what it brings is unbiased given the other folds. With a threshold that all folds
    share, a fold whose outcomes are low by chance is predicted high, and is given more.

    Args:
        evidence: the log.
        folds, seed, model: of the cross-fitting.

    Raises:
        InvalidInput: less than 3 folds, as plans are also made without two of them.
    """

    evidence: Evidence
    folds: int
    seed: int
    model: Callable[[], Regressor] = RidgeByErrors

    def __post_init__(self) -> None:
        whole("folds", self.folds, 3)

    @cached_property
    def models(self) -> Models:
        """The models of outcomes."""
        return self.evidence.models(folds=self.folds, seed=self.seed, model=self.model)

    @cached_property
    def tables_dealt(self) -> dict[str, Tables]:
        """Predictions and scores of the rows one fold after the other, in which order they are planned and valued."""
        return self.evidence.tables_dealt(self.models)

    @cached_property
    def tables(self) -> dict[str, Tables]:
        """Predictions and scores of the rows in the order of the log."""
        return as_logged(self.tables_dealt, self.rows.members)

    def in_order(self) -> Crossed:
        """Return the same with tables in the order of the log alone, where nothing more is planned."""
        found = replace(self)
        found.__dict__["tables"] = self.tables  # as a cached property is stored
        return found

    @cached_property
    def counted(self) -> dict[str, Tables]:
        """The tables times the number of cases of its fold that each row counts as, by which folds are planned."""
        weights = self.clusters_dealt.weights
        if weights is None:
            return self.tables_dealt
        ends = self.rows.runs.split(weights)
        return {
            name: _times(table, np.concatenate([w / w.mean() for w in ends]))
            for name, table in self.tables_dealt.items()
        }

    @cached_property
    def rows(self) -> Parts:
        """The rows of the folds, in random order, which breaks ties."""
        return Parts(self.models.members)

    @cached_property
    def aim(self) -> Aim:
        """The objective."""
        return replace(Aim.of(self.evidence, self.tables), clusters=self.evidence.clusters)

    @cached_property
    def dealt(self) -> Aim:
        """The objective over the rows one fold after the other, as lines have them."""
        return replace(Aim.of(self.evidence, self.tables_dealt), clusters=self.clusters_dealt)

    @cached_property
    def clusters_dealt(self) -> Clusters:
        """The clusters of the rows one fold after the other."""
        return self.evidence.clusters.dealt(self.rows.order)

    @cached_property
    def occurrences_dealt(self) -> dict[str, Occurrences]:
        """The occurrences of learned outcomes, over the rows one fold after the other."""
        return {name: each.dealt(self.rows.order) for name, each in self.evidence.occurrences.items()}

    @cached_property
    def weights_dealt(self) -> Floats:
        """The number of rows that each one represents under each action, one fold after the other, `()->(N,A)`."""
        played, p = self.evidence.played[self.rows.order], self.evidence.propensities[self.rows.order]
        there, found = np.flatnonzero(played >= 0), np.zeros((len(played), len(self.evidence.names)))
        found[there, played[there]] = 1.0 / p[there]
        return found

    def cost_dealt(self, outcome: str | None) -> Tables:
        """Return the table of the outcome that a budget limits, of the rows one fold after the other; 0 without one."""
        return self._nothing if outcome is None else self.tables_dealt[outcome]

    def cost(self, outcome: str | None) -> Tables:
        """Return the table of the outcome that a budget limits; 0 without one."""
        return self._nothing if outcome is None else self.tables[outcome]

    @property
    def _nothing(self) -> Tables:
        return Tables(*[np.zeros((1, len(self.evidence.names)))] * 2)

    def least(self, outcome: str, fixed: Fixed | None = None) -> float:
        """Return the least budget that pays for the cheapest actions in every fold, within fixed limits.

        Raises:
            InfeasibleProblem: no policy keeps to the fixed limits in some fold.
        """
        if fixed is None:
            return max(float(own.min(1).mean()) for own in self.rows.runs.of(self.counted[outcome].predicted))
        every = ((fold, np.zeros((len(fold.rows), 1)) - fold.cost) for fold in self.each_fold(outcome))
        return max(-allocate_named(less, fixed(fold), np.arange(len(less))).value for fold, less in every)

    def enough(self, outcome: str, fixed: Fixed | None = None) -> float:
        """Return the budget beyond which more money is worth nothing in any fold, by predictions."""
        found = [self.least(outcome, fixed)]
        for fold in self.each_fold(outcome):
            if fixed is not None:
                found.append(float(next(program(fixed, None, [0.0])(fold)).of(fold.cost).mean()))
            elif fold.aim.linear:
                found.append(Frontier.of(fold.aim.worth, fold.cost, above=0.0).enough)
            else:
                found.append(float(fold.aim.best(within(fold.cost, np.inf)).of(fold.cost).mean()))
        return max(found)

    def plans(self, planner: Planner, outcome: str | None, tables: Sequence[Floats] = ()) -> Iterator[Plans]:
        """Yield plans for a sequence of budgets on an outcome, fold by fold, and how folds move totals of tables.

        Args:
            planner: of some rows.
            outcome: what budgets limit, None if nothing does.
            tables: `(N or 1,A)` M of them, of the rows one fold after the other, of which totals are asked for.
        """
        count, parts = len(self.rows.members), [self.rows.runs.of(table) for table in tables]
        pairs = [(j, k) for j in range(count) for k in range(count) if j != k] if tables else []
        with Work("planning", "pair of folds") as work:
            found = {
                (j, k): list(self._apart(planner, outcome, j, k, [part[j] for part in parts]))
                for j, k in work.each(pairs)
            }
        for b, own in enumerate(self.own(planner, outcome)):
            totals = np.zeros((len(tables), count, count))
            for m, each in enumerate(parts):
                np.fill_diagonal(totals[m], [plan.total(mine) for plan, mine in zip(own.parts, each, strict=True)])
            for j, k in pairs:
                totals[:, j, k] = found[j, k][b]
            yield Plans(own, totals)

    def own(self, planner: Planner, outcome: str | None) -> Iterator[Parted]:
        """Yield plans for a sequence of budgets, without those that leave out one more fold."""
        found = [planner(fold) for fold in self.each_fold(outcome)]
        return (Parted(self.rows, parts) for parts in zip(*found, strict=True))

    def each_fold(self, outcome: str | None) -> Iterator[Fold]:
        """Yield the folds, and the cost of an outcome in each."""
        runs = self.rows.runs
        costs = runs.of((self._nothing if outcome is None else self.counted[outcome]).predicted)
        for k, (aim, cost, rows) in enumerate(zip(self._aims, costs, self.rows.members, strict=True)):
            tables = {name: Tables(*(runs.of(z)[k] for z in each)) for name, each in self.counted.items()}
            yield Fold(aim, cost, tables, rows)

    @cached_property
    def _aims(self) -> list[Aim]:
        """The objective in each fold."""
        aim = self.dealt if self.counted is self.tables_dealt else Aim.of(self.evidence, self.counted)
        return [aim.of_part(self.rows.runs, k) for k in range(len(self.rows.members))]

    def _apart(
        self, planner: Planner, outcome: str | None, fold: int, other: int, tables: Sequence[Floats]
    ) -> Iterator[list[float]]:
        """Yield what a fold has of tables if it is planned without another one as well, budget by budget."""
        known, rows = self.evidence.tables_apart(self.models, fold, other), self.rows.members[fold]
        if (weights := self.evidence.clusters.weights) is not None:
            known = {name: _times(table, weights[rows] / weights[rows].mean()) for name, table in known.items()}
        cost = self._nothing if outcome is None else known[outcome]
        for plan in planner(Fold(Aim.of(self.evidence, known, len(rows)), cost.predicted, known, rows, True)):
            yield [plan.total(table) for table in tables]


def _times(table: Tables, weights: Floats) -> Tables:
    """Return a table times weights of rows, `(N)->`."""
    predicted = weights[:, None] * table.predicted
    return Tables(predicted, predicted if table.scores is table.predicted else weights[:, None] * table.scores)


def best(budgets: Sequence[float]) -> Planner:
    """Return a planner for the best policies within budgets; the cheapest ones if budgets are below their cost."""

    def plan(fold: Fold) -> Iterator[Planned]:
        first = Frontier.of(fold.aim.worth, fold.cost, above=0.0)
        paid = [max(b, first.least) for b in budgets]
        return first.along(paid) if fold.aim.linear else (fold.aim.best(within(fold.cost, b)) for b in paid)

    return plan


def even(budgets: Sequence[float], groups: Ints, tolerance: float) -> Planner:
    """Return a planner for the best policies whose average use by group is within a tolerance of everybody's, `(N)`."""

    def plan(fold: Fold) -> Iterator[Planned]:
        cost, mine = fold.cost, groups[fold.rows]
        if fold.aim.linear:
            frontiers = FairFrontier.of(fold.aim.worth, cost, mine)
            return (frontiers.at(b, tolerance) for b in budgets)
        return (fold.aim.best(partial(_evenly, cost, mine, b, tolerance)) for b in budgets)

    return plan


def fixed_limits(evidence: Evidence, demands: Sequence[Statement]) -> Fixed:
    """Return the limits of constraints in a fold, by predictions."""
    return lambda fold: [*bounds_of(evidence, demands, Population.of(evidence, fold.tables, fold.rows))]


def parity(fixed: Fixed, groups: Ints, tolerance: float) -> Fixed:
    """Add to limits a tolerance of the average use of the budget between groups, `(N)`."""

    def limits(fold: Fold) -> list[Bound]:
        even = Resource.parity(fold.cost, groups[fold.rows], tolerance)
        return [*fixed(fold), Bound(f"a tolerance of {amount(tolerance, 6)} between groups", even)]

    return limits


def program(fixed: Fixed, outcome: str | None, budgets: Sequence[float], vary: Vary | None = None) -> Planner:
    """Return a planner for the best policies within budgets on an outcome, or what varies, and fixed limits."""

    def plan(fold: Fold) -> Iterator[Planned]:
        others, order, near = fixed(fold), np.arange(len(fold.rows)), None
        varied = None if vary is None else vary(fold)
        for budget in budgets:
            own = [] if outcome is None else [budget_of(outcome, fold.cost, budget)]
            bounds = [*(own if varied is None else varied(budget)), *others]

            def best_plan(worth: Floats, bounds: list[Bound] = bounds) -> ProgramPlan:
                nonlocal near
                if fold.apart:
                    # few passes from the prices of another budget may end far from the best plan
                    found = nearest(worth, [bound.resource for bound in bounds], order, None, _FREE, _PASSES)
                else:
                    found = allocate_named(worth, bounds, order, near, _FREE)
                    near = found.prices
                return ProgramPlan(found, bounds)

            yield fold.aim.best(best_plan)

    return plan


def _evenly(cost: Floats, groups: Ints, budget: float, tolerance: float, worth: Floats) -> FairPoint:
    return FairFrontier.of(worth, cost, groups).at(budget, tolerance)


def within(cost: Floats, budget: float) -> Callable[[Floats], Stop]:
    """Return a planner for the best policy within a budget, given the worth of actions, `(N or 1,A)->`."""
    return lambda worth: Frontier.of(worth, cost, above=0.0).at(budget)
