"""Plans that are made fold by fold, so that no outcome of a fold decides what that fold is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from evenhand.core.progress import Work
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.offline.aims import Aim
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.events import Occurrences
from evenhand.offline.evidence import Evidence, Models, Tables, as_logged
from evenhand.offline.fair import FairFrontier, FairPoint
from evenhand.offline.fold_models import Regressor
from evenhand.offline.frontier import Frontier, Stop
from evenhand.offline.planned import Parted, Parts, Planned
from evenhand.replay.clusters import Clusters

Planner = Callable[[Aim, Floats, Ints], Iterator[Planned]]  # of some rows, `(n or 1,A),(n)`: a plan for every budget


class Plans(NamedTuple):
    """A plan whose folds are planned by models of the other folds."""

    own: Parted
    totals: Floats  # (M,K,K) what the rows of fold j have of M tables if they are planned without fold k as well


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
    def models(self) -> Models:
        """The models of outcomes."""
        return self.evidence.models(folds=self.folds, seed=self.seed, model=self.model)

    @cached_property
    def tables_dealt(self) -> dict[str, Tables]:
        """What is predicted and scored, of the rows one fold after the other, in which they are planned and valued."""
        return self.evidence.tables_dealt(self.models)

    @cached_property
    def tables(self) -> dict[str, Tables]:
        """The same of the rows as they are."""
        return as_logged(self.tables_dealt, self.rows.members)

    @cached_property
    def rows(self) -> Parts:
        """The rows of the folds, in random order, which breaks ties."""
        return Parts(self.models.members)

    @cached_property
    def aim(self) -> Aim:
        """What is maximised."""
        return replace(Aim.of(self.evidence, self.tables), clusters=self.evidence.clusters)

    @cached_property
    def dealt(self) -> Aim:
        """The same of the rows one fold after the other, as lines have them."""
        return replace(Aim.of(self.evidence, self.tables_dealt), clusters=self.clusters_dealt)

    @cached_property
    def clusters_dealt(self) -> Clusters:
        """Which of the rows one fold after the other belong together."""
        return self.evidence.clusters.dealt(self.rows.order)

    @cached_property
    def occurrences_dealt(self) -> dict[str, Occurrences]:
        """Those of learned outcomes, of the rows one fold after the other."""
        return {name: each.dealt(self.rows.order) for name, each in self.evidence.occurrences.items()}

    @cached_property
    def weights_dealt(self) -> Floats:
        """How many rows each one represents under each action, of the rows one fold after the other, `()->(N,A)`."""
        played, p = self.evidence.played[self.rows.order], self.evidence.propensities[self.rows.order]
        there, found = np.flatnonzero(played >= 0), np.zeros((len(played), len(self.evidence.names)))
        found[there, played[there]] = 1.0 / p[there]
        return found

    def cost_dealt(self, outcome: str | None) -> Tables:
        """Return the table of what a budget limits, of the rows one fold after the other; 0 without one."""
        return self._nothing if outcome is None else self.tables_dealt[outcome]

    def cost(self, outcome: str | None) -> Tables:
        """Return the table of what a budget limits; 0 without one."""
        return self._nothing if outcome is None else self.tables[outcome]

    @property
    def _nothing(self) -> Tables:
        return Tables(*[np.zeros((1, len(self.evidence.names)))] * 2)

    def least(self, outcome: str) -> float:
        """Return the least budget that pays for the cheapest actions in every fold."""
        return max(float(own.min(1).mean()) for own in self.rows.runs.of(self.tables_dealt[outcome].predicted))

    def enough(self, outcome: str) -> float:
        """Return the budget beyond which more money is worth nothing in any fold, by predictions."""
        cost, found = self.tables_dealt[outcome].predicted, [self.least(outcome)]
        for aim, own in zip(self._aims, self.rows.runs.of(cost), strict=True):
            if aim.linear:
                found.append(Frontier.of(aim.worth, own, above=0.0).enough)
            else:
                found.append(float(aim.best(within(own, np.inf)).of(own).mean()))
        return max(found)

    def plans(self, planner: Planner, outcome: str | None, tables: Sequence[Floats] = ()) -> Iterator[Plans]:
        """Yield plans for a sequence of budgets on an outcome, fold by fold, and what they move of tables of actions.

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
        costs, found = self.rows.runs.of(self.cost_dealt(outcome).predicted), []
        for aim, cost, rows in zip(self._aims, costs, self.rows.members, strict=True):
            found.append(planner(aim, cost, rows))
        return (Parted(self.rows, parts) for parts in zip(*found, strict=True))

    @cached_property
    def _aims(self) -> list[Aim]:
        """What is maximised in each fold."""
        return [self.dealt.of_part(self.rows.runs, k) for k in range(len(self.rows.members))]

    def _apart(
        self, planner: Planner, outcome: str | None, fold: int, other: int, tables: Sequence[Floats]
    ) -> Iterator[list[float]]:
        """Yield what a fold has of tables if it is planned without another one as well, budget by budget."""
        known, rows = self.evidence.tables_apart(self.models, fold, other), self.rows.members[fold]
        cost = self._nothing if outcome is None else known[outcome]
        for plan in planner(Aim.of(self.evidence, known, len(rows)), cost.predicted, rows):
            yield [plan.total(table) for table in tables]


def best(budgets: Sequence[float]) -> Planner:
    """Return a planner for the best policies within budgets; the cheapest ones if budgets are below their cost."""

    def plan(aim: Aim, cost: Floats, rows: Ints) -> Iterator[Planned]:
        first = Frontier.of(aim.worth, cost, above=0.0)
        paid = [max(b, first.least) for b in budgets]
        return first.along(paid) if aim.linear else (aim.best(within(cost, b)) for b in paid)

    return plan


def even(budgets: Sequence[float], groups: Ints, tolerance: float) -> Planner:
    """Return a planner for the best policies whose average use by group is within a tolerance of everybody's, `(N)`."""

    def plan(aim: Aim, cost: Floats, rows: Ints) -> Iterator[Planned]:
        mine = groups[rows]
        if aim.linear:
            frontiers = FairFrontier.of(aim.worth, cost, mine)
            return (frontiers.at(b, tolerance) for b in budgets)
        return (aim.best(partial(_evenly, cost, mine, b, tolerance)) for b in budgets)

    return plan


def _evenly(cost: Floats, groups: Ints, budget: float, tolerance: float, worth: Floats) -> FairPoint:
    return FairFrontier.of(worth, cost, groups).at(budget, tolerance)


def within(cost: Floats, budget: float) -> Callable[[Floats], Stop]:
    """Return a planner for the best policy within a budget, given the worth of actions, `(N or 1,A)->`."""
    return lambda worth: Frontier.of(worth, cost, above=0.0).at(budget)
