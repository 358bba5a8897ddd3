"""The objective over a log: a function of the averages of outcomes, with its error by the delta method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.objectives import Linear
from evenhand.objectives.base import Objective
from evenhand.offline.events import Gap, Occurrences, Share, scaled
from evenhand.offline.evidence import Evidence, Tables
from evenhand.offline.plans.planned_policies import Mixture, Parts, Planned, moves
from evenhand.offline.scores import STILL, Average, Estimate
from evenhand.planning.mixing import Averages, mixture

_ROUGH = 0.1  # of a standard error, by how much the delta method may be off
_GAP = 1e-7  # of what a row can add to the objective: how far a plan may be from the best one


def objective_of(objective: Objective, averages: Sequence[Average]) -> Average:
    """Return the objective of averages of its outcomes.

    Equation: f(z) with the influence psi_i = f'(z) . psi_i(z), where f' is a supergradient (the delta method). The
    influence is NaN if f has none, as on the edge of its domain, where f(z) may be -inf.

    >>> from evenhand.objectives import AlphaFair
    >>> one, two = Average.of(np.array([1.0, 3.0])), Average.of(np.array([1.0, 0.0]))
    >>> found = objective_of(AlphaFair(("a", "b"), alpha=1.0), [one, two])
    >>> round(found.value, 4), found.psi.tolist()
    (0.0, [0.5, -0.5])
    """
    z = np.array([average.value for average in averages])
    value, nothing = float(objective.value(z)), np.full(len(averages[0].psi), np.nan)
    try:
        slope = objective.supergradient(z)
    except InvalidInput:
        return averages[0]._replace(value=value, psi=nothing, moves=STILL)
    each = list(zip(slope.tolist(), averages, strict=True))
    psi = sum((g * average.psi for g, average in each), np.zeros(len(nothing)))
    moved = np.asarray(sum(g * average.moves for g, average in each))
    return averages[0]._replace(value=value, psi=psi, moves=moved)


def add_shares(
    parts: Iterable[tuple[str, float, Average]], occurrences: Mapping[str, Occurrences], w: Floats, clusters: Clusters
) -> Estimate:
    """Estimate a sum of parts by name, weight and weighted average, of which outcomes of two values are shares.

    Effective cases are those of the weights of rows, `(N)`.
    """
    cases, found = clusters.effective(w), list[tuple[Average, Estimate]]()
    for name, weight, part in parts:
        own = occurrences.get(name)
        ends = own.ends if own is not None and own.risks(w) else None
        found.append((part, part.counted(cases, None if ends is None else scaled(ends, weight))))
    total, value = found[0]
    for part, estimate in found[1:]:
        less = part.times(-1.0)
        total, value = total.less(less), total.beyond(value, less, estimate.negative())
    return value


def trouble(objective: Objective, averages: Sequence[Average], policy: str) -> str | None:
    """Say why an objective has no value or no valid standard error at some averages.

    The delta method follows a tangent. It is compared with what f itself does over an error of the averages: at the 2 m
    points z +- sqrt(m) l_j, where l_j are the columns of a root of their covariance (a cubature rule of degree 3).
    """
    z = np.array([average.value for average in averages])
    try:
        objective.check(z, f"the averages of {policy!r}")
    except InvalidInput as error:
        return f"{policy!r} has no value: {error}"
    psi = np.stack([average.psi for average in averages], 1)
    values, vectors = np.linalg.eigh(psi.T @ psi / len(psi) ** 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0) * len(z))
    around = objective.value(np.concatenate([z + root.T, z - root.T]))
    straight = float(np.sqrt((objective.supergradient(z) @ root) ** 2 @ np.ones(len(z)) / len(z)))
    bent = float(around.std()) if np.isfinite(around).all() else np.inf
    if abs(bent - straight) <= _ROUGH * straight + 1e-12 * float(np.abs(around[np.isfinite(around)]).max(initial=0.0)):
        return None
    return f"the objective bends within the error of {policy!r}: its standard error, by a tangent, is rough"


class At(NamedTuple):
    """A policy at one budget."""

    value: float
    psi: Floats  # (G,) the influence of every cluster
    spent: float  # by predictions, which are what is spent where it is known
    used: Estimate  # of what is spent, by scores
    price: float
    policy: Planned
    moves: Floats = STILL  # (K,K) by how much folds move each other's value
    events: Share | Gap | None = None  # of the value
    degrees: float = inf  # as of `Estimate`

    @property
    def average(self) -> Average:
        """The value with the influence of every cluster."""
        return Average(self.value, self.psi, self.moves, self.degrees)

    @property
    def estimate(self) -> Estimate:
        """The value with its interval, which for shares has the standard error of the average too."""
        found = self.average.estimate
        return found._replace(events=None if self.events is None else self.events._replace(se=found.se))

    def guess(self, learned: bool) -> At:
        """The value without an error, as of plays that were never logged; the use has one unless it is learned."""
        used = self.used._replace(se=float("nan"), events=None) if learned else self.used
        return self._replace(psi=np.full(len(self.psi), np.nan), moves=STILL, used=used, events=None)


@dataclass(frozen=True, eq=False)
class Aim:
    """An objective of averages over the rows of a log.

    Args:
        objective: f.
        tables: of each of its outcomes.
        middle: a point in its domain, from which plans begin.
        clusters: of the rows, for errors; None where each is one.

    >>> from evenhand.objectives import GeneralizedGini
    >>> from evenhand.offline.plans.frontier import Frontier
    >>> songs, films = (np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.5], [0.0, 0.5]]))
    >>> least = GeneralizedGini(("songs", "films"), (1.0, 0.0))
    >>> aim = Aim(least, (Tables(songs, songs), Tables(films, films)), np.zeros(2))
    >>> plan = aim.best(lambda worth: Frontier.of(worth, np.zeros((1, 2))).at(0.0))
    >>> [round(float(plan.of(z).mean()), 3) for z in (songs, films)]  # a minimum is worth most where both are equal
    [0.333, 0.333]
    """

    objective: Objective
    tables: tuple[Tables, ...]
    middle: Floats
    clusters: Clusters | None = None

    @staticmethod
    def of(evidence: Evidence, tables: Mapping[str, Tables], rows: int | None = None) -> Aim:
        """Return the objective of a problem; a weighted sum is that of one outcome, its worth.

        Args:
            evidence: which states the problem.
            tables: by outcome.
            rows: how many there are, by default those of the log.
        """
        if evidence.weights is not None:
            return Aim.summed(evidence.worth(tables, rows))
        objective = evidence.problem.objective
        each = tuple(tables[name] for name in objective.outcomes)
        if all(len(table.predicted) == 1 for table in each):  # costs that all rows share are those of each row
            count = evidence.rows if rows is None else rows
            each = tuple(Tables(*[np.repeat(table.predicted, count, 0)] * 2) for table in each)
        middle = np.array(evidence.problem.middle(tuple(objective.outcomes)))
        try:
            objective.check(middle, "the middle of outcomes")
        except InvalidInput:  # as of outcomes without a range: what a policy by chance alone is predicted to bring
            middle = np.array([float(table.predicted.mean()) for table in each])
        return Aim(objective, each, middle)

    @staticmethod
    def summed(worth: Tables) -> Aim:
        """Return the average of a table as an objective."""
        return Aim(Linear({"worth": 1.0}), (worth,), np.zeros(1))

    def part(self, rows: Ints) -> Aim:
        """Return the aim over some rows."""
        return Aim(self.objective, tuple(table.of(rows) for table in self.tables), self.middle)

    def of_part(self, rows: Parts, k: int) -> Aim:
        """Return the aim over one of several parts of the rows, whose tables are looked up once."""
        each = (Tables(*(rows.of(z)[k] for z in table)) for table in self.tables)
        return Aim(self.objective, tuple(each), self.middle)

    def dealt(self, rows: Parts) -> Aim:
        """Return the aim over the rows one part after the other."""
        each = tuple(Tables(*map(rows.dealt, table)) for table in self.tables)
        return Aim(self.objective, each, self.middle)

    @property
    def rows(self) -> int:
        return max(len(table.scores) for table in self.tables)

    @property
    def linear(self) -> bool:
        """Whether the best policy at one slope is the best of all."""
        return isinstance(self.objective, Linear)

    @property
    def worth(self) -> Floats:
        """The predicted worth of actions at the slope of a linear objective, or at the middle, `()->(N,A)`."""
        return self.predicted(self.objective.supergradient(self.middle))

    def predicted(self, slope: Floats) -> Floats:
        """Return the predicted worth of actions at slopes of f, `(m)->(N,A)`."""
        found = _along(slope, [table.predicted for table in self.tables])
        return found if len(found) == self.rows else np.repeat(found, self.rows, 0)

    def best(self, plan: Callable[[Floats], Planned]) -> Planned:
        """Return the best mixture of policies, by predictions and to 1e-7 of what a row can add.

        Equation: max f(z) over averages z of mixtures of plans, by `mixed`: at prices q of the outcomes, the best plan
        is the linear one for sum_j q_j y_j.

        Args:
            plan: returns the best policy for what actions are worth, `(N,A)->`.

        Raises:
            InvalidInput: f has no slope at the middle of its outcomes, or too many tangents are needed.
        """
        if self.linear:
            return plan(self.worth)
        finder = _Finder(self, plan)
        shares = mixture(self.objective, finder, np.zeros(0), self.middle, tolerance=_GAP).shares
        played = np.flatnonzero(shares > 0.0).tolist()
        return Mixture([finder.found[i] for i in played], shares[played].tolist(), finder.found[-1])

    def at(self, policy: Planned, cost: Tables, totals: Floats | None = None) -> At:
        """Return the value of a policy by scores, with the influence of every row on it, and its spending.

        Equation: V = f(z) and psi_i = f'(z) . (g_i - z) - offset_i, where g_i are the scores of row i and z is their
        average. The offset is there as the log says where the budget ends. What is used is that of the policy as it is.

        Args:
            policy: what rows get.
            cost: what a budget limits.
            totals: `(m,K,K)` of the scores of each outcome of f, as of `Plans`; none if it is not planned by a log.

        Raises:
            InvalidInput: f has no slope at the averages.
        """
        each = [policy.of(table.scores) for table in self.tables]
        z = np.array([Average.of(own, self.clusters).value for own in each])
        self.objective.check(z, "the averages of a policy")
        slope, spent = self.objective.supergradient(z), policy.of(cost.predicted)
        brings, own, mean = partial(self._brings, 1, slope), _along(slope, each), Average.of(spent, self.clusters).value
        weights = None if self.clusters is None else self.clusters.weights
        if weights is None:
            offset = policy.offset(spent, brings)
        else:  # what a row uses beyond the average counts as often as the row does
            offset = policy.offset(weights * (spent - mean), brings) / weights
        psi, price = own - offset, policy.margin(partial(self._brings, 0, slope))
        psi = psi - Average.of(psi, self.clusters).value
        found = Average.by(float(self.objective.value(z)), psi, self.clusters)
        used = spent if cost.scores is cost.predicted else policy.of(cost.scores)
        uses = Average.of(used, self.clusters).estimate
        moved = STILL if totals is None else _along(slope, list(moves(totals, len(own))))
        return At(found.value, found.psi, mean, uses, price, policy, moved, degrees=found.degrees)

    def _brings(self, part: int, slope: Floats, policy: Planned) -> Floats:
        found = _along(slope, [policy.of(table[part]) for table in self.tables])
        return found if self.clusters is None else self.clusters.times(found)


def _along(slope: Floats, each: Sequence[Floats]) -> Floats:
    """Sum numbers at slopes, `(m)->`; nothing is done to a single one at a slope of 1."""
    if len(slope) == 1 and slope[0] == 1.0:
        return each[0]
    return np.asarray(sum(q * own for q, own in zip(slope.tolist(), each, strict=True)))


class _Finder:
    """Finds the best policies at slopes of an objective, and keeps them."""

    labels = ()
    size = 1.0

    def __init__(self, aim: Aim, plan: Callable[[Floats], Planned]) -> None:
        self.aim, self.plan, self.rows = aim, plan, aim.rows
        self.most = np.array([float(np.abs(table.predicted).max()) for table in aim.tables])
        self.found: list[Planned] = []

    def first(self, slope: Floats) -> Averages:
        policy = self.plan(self.aim.predicted(slope))
        self.found.append(policy)
        return Averages(np.array([float(policy.of(t.predicted).mean()) for t in self.aim.tables]), np.zeros(0))

    def best(self, q: Floats, lam: Floats, tilts: list[Floats]) -> tuple[Averages, float]:
        found = self.first(q)
        return found, float(q @ found.outcomes)
