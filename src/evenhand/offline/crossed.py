"""Plans that are made fold by fold, so that no outcome of a fold decides what that fold is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.offline.aims import Aim
from evenhand.offline.cross_fitting import RidgeByErrors, members_of
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.fair import FairFrontier, FairPoint
from evenhand.offline.frontier import Frontier, Point
from evenhand.offline.outcome_models import Regressor
from evenhand.offline.planned import Parted, Parts, Planned

Planner = Callable[[Aim, Floats, Ints], Iterator[Planned]]  # of some rows, `(n or 1,A),(n)`: a plan for every budget


class Plans(NamedTuple):
    """A plan whose folds are planned by models of the other folds."""

    own: Parted
    without: tuple[Parted, ...]  # by fold, the same if that fold was not there


@dataclass(frozen=True, eq=False)
class Crossed:
    """The folds of a log, with what is predicted in each.

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
    def tables(self) -> dict[str, Tables]:
        """What is predicted and scored."""
        return self.evidence.tables(folds=self.folds, seed=self.seed, model=self.model)

    @cached_property
    def rows(self) -> Parts:
        """The rows of the folds, in random order, which breaks ties."""
        rows = self.evidence.rows
        return Parts(members_of(rows, min(self.folds, rows), self.seed))

    @cached_property
    def aim(self) -> Aim:
        """What is maximised."""
        return Aim.of(self.evidence, self.tables)

    def cost(self, outcome: str | None) -> Tables:
        """Return the table of what a budget limits; 0 without one."""
        nothing = np.zeros((1, len(self.evidence.names)))
        return Tables(nothing, nothing) if outcome is None else self.tables[outcome]

    def least(self, outcome: str) -> float:
        """Return the least budget that pays for the cheapest actions in every fold."""
        return max(float(own.min(1).mean()) for own in self.rows.of(self.tables[outcome].predicted))

    def enough(self, outcome: str) -> float:
        """Return the budget beyond which money is worth nothing in any fold, by predictions."""
        cost, found = self.tables[outcome].predicted, [self.least(outcome)]
        for rows, own in zip(self.rows.members, self.rows.of(cost), strict=True):
            aim = self.aim.part(rows)
            if aim.linear:
                found.append(Frontier.of(aim.worth, own).enough)
            else:
                found.append(float(aim.best(within(own, np.inf)).of(own).mean()))
        return max(found)

    def plans(self, planner: Planner, outcome: str | None) -> Iterator[Plans]:
        """Yield plans for a sequence of budgets on an outcome, fold by fold."""
        count = len(self.rows.members)
        without = [
            self._planned(tables, planner, outcome, [j for j in range(count) if j != k])
            for k, tables in enumerate(self._without)
        ]
        for own in self.own(planner, outcome):
            others = []
            for k, each in enumerate(without):
                rest = [next(plans) for plans in each]
                others.append(Parted(self.rows, [*rest[:k], own.parts[k], *rest[k:]]))
            yield Plans(own, tuple(others))

    def own(self, planner: Planner, outcome: str | None) -> Iterator[Parted]:
        """Yield plans for a sequence of budgets, without those that leave out one more fold."""
        own = self._planned(self.tables, planner, outcome, range(len(self.rows.members)))
        return (Parted(self.rows, parts) for parts in zip(*own, strict=True))

    @cached_property
    def _without(self) -> tuple[dict[str, Tables], ...]:
        return self.evidence.without(folds=self.folds, seed=self.seed, model=self.model)

    def _planned(
        self, tables: Mapping[str, Tables], planner: Planner, outcome: str | None, folds: Sequence[int]
    ) -> list[Iterator[Planned]]:
        aim, cost = Aim.of(self.evidence, tables), self.cost(None).predicted
        if outcome is not None:
            cost = tables[outcome].predicted
        found = []
        for rows in (self.rows.members[k] for k in folds):
            found.append(planner(aim.part(rows), cost if len(cost) == 1 else cost[rows], rows))
        return found


def best(budgets: Sequence[float]) -> Planner:
    """Return what plans the policies of the greatest worth within budgets; the cheapest ones where these are less."""

    def plan(aim: Aim, cost: Floats, rows: Ints) -> Iterator[Planned]:
        first = Frontier.of(aim.worth, cost)
        paid = [max(b, first.least) for b in budgets]
        return first.along(paid) if aim.linear else (aim.best(within(cost, b)) for b in paid)

    return plan


def even(budgets: Sequence[float], groups: Ints, tolerance: float) -> Planner:
    """Return what plans the best policies whose average use by group is within a tolerance of everybody's, `(N)`."""

    def plan(aim: Aim, cost: Floats, rows: Ints) -> Iterator[Planned]:
        mine = groups[rows]
        if aim.linear:
            frontiers = FairFrontier.of(aim.worth, cost, mine)
            return (frontiers.at(b, tolerance) for b in budgets)
        return (aim.best(partial(_evenly, cost, mine, b, tolerance)) for b in budgets)

    return plan


def _evenly(cost: Floats, groups: Ints, budget: float, tolerance: float, worth: Floats) -> FairPoint:
    return FairFrontier.of(worth, cost, groups).at(budget, tolerance)


def within(cost: Floats, budget: float) -> Callable[[Floats], Point]:
    """Return what plans the best policy within a budget for what actions are worth, `(N or 1,A)->`."""
    return lambda worth: Frontier.of(worth, cost).at(budget)
