"""Policies that were planned within a budget: the values of rows, and the effect of rows on where the budget ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints
from evenhand.offline.plans.allocation import Allocation, Resource
from evenhand.offline.plans.frontier import Point
from evenhand.offline.plans.limits import Bound


class Planned(Protocol):
    """A policy that was planned within a budget."""

    def of(self, table: Floats) -> Floats:
        """Return the value of every row in a table of actions, `(N or 1,A)->(N)`."""

    def total(self, table: Floats) -> float:
        """Return the total over all rows of a table of actions, `(N or 1,A)->`."""

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        """Return the correction to the influence of rows, since they determine where the budget ends, `(N)->(N)`."""

    def margin(self, brings: Brings) -> float:
        """Return the worth of one more unit of the budget."""

    def probabilities(self, n_actions: int) -> Floats:
        """Return the lottery of every row, `->(N,A)`."""


@dataclass(frozen=True, eq=False)
class ProgramPlan:
    """A policy within several limits: an action per row, and lotteries in at most as many rows as limits bind.

    Args:
        found: the optimum of the linear program.
        bounds: its limits; the first one is the budget of a curve.
    """

    found: Allocation
    bounds: Sequence[Bound]

    def of(self, table: Floats) -> Floats:
        return self.found.of(table)

    def total(self, table: Floats) -> float:
        return float(self.of(table).sum())

    def offset(self, spent: Floats, brings: object = None) -> Floats:
        """The correction has the price of every limit, as rows determine where each of them binds."""
        found = np.zeros(len(self.found.actions))
        for bound, prices in zip(self.bounds, self.found.prices, strict=True):
            if prices.any():
                found += bound.resource.influence(self.of(bound.resource.use), prices)
        return found

    def margin(self, brings: object = None) -> float:
        """The worth of one more unit of the budget, or of the limit that a curve varies, by the room that it gives."""
        if self.bounds[0].more is None:
            return float(self.found.prices[0][0])
        pairs = zip(self.bounds, self.found.prices, strict=True)
        return sum(float(prices @ bound.gives(self.of)) for bound, prices in pairs)

    def probabilities(self, n_actions: int) -> Floats:
        found = np.zeros((len(self.found.actions), n_actions))
        found[np.arange(len(found)), self.found.actions] = 1.0
        found[self.found.split] = self.found.lotteries
        return found


_ROUNDED = 1e-13  # of the largest total: what sums over rows differ by if they are the same
T = TypeVar("T")
Brings = Callable[[Planned], Floats]  # what a policy brings of the objective in every row, `->(N)`


@dataclass(frozen=True, eq=False)
class Mixture:
    """A lottery of planned policies, all of which are the best at the prices of the last one.

    Args:
        policies: those of the lottery.
        shares: of each.
        last: the best policy at the final prices.
    """

    policies: Sequence[Planned]
    shares: Sequence[float]
    last: Planned

    def of(self, table: Floats) -> Floats:
        parts = (share * policy.of(table) for policy, share in zip(self.policies, self.shares, strict=True))
        return np.asarray(sum(parts))

    def total(self, table: Floats) -> float:
        return sum(share * policy.total(table) for policy, share in zip(self.policies, self.shares, strict=True))

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        return self.last.offset(spent, brings)

    def margin(self, brings: Brings) -> float:
        return self.last.margin(brings)

    def probabilities(self, n_actions: int) -> Floats:
        parts = zip(self.policies, self.shares, strict=True)
        return np.asarray(sum(share * policy.probabilities(n_actions) for policy, share in parts))


class Once:
    """A policy that a line has at all budgets; what rows have of a table is looked up once.

    Args:
        policy: the actions of rows.
        known: tables, each with what rows have of it under the policy, where that does not follow from the actions.
    """

    def __init__(self, policy: Point, known: Iterable[tuple[Floats, Floats]] = ()) -> None:
        self._policy, self._found = policy, list(known)
        self.offset, self.margin, self.probabilities = policy.offset, policy.margin, policy.probabilities

    def of(self, table: Floats) -> Floats:
        return _once(table, self._found, lambda: self._policy.of(table))

    def total(self, table: Floats) -> float:
        return float(self.of(table).sum())


@dataclass(frozen=True, eq=False)
class Constant:
    """One action in every row, of which nothing is stored.

    Args:
        action: its number.
        rows: N.
    """

    action: int
    rows: int

    def of(self, table: Floats) -> Floats:
        return np.broadcast_to(table[:, self.action], self.rows)

    def total(self, table: Floats) -> float:
        return float(self.of(table).sum())

    def offset(self, spent: Floats, brings: object = None) -> Floats:
        return np.zeros(self.rows)

    def margin(self, brings: object = None) -> float:
        return 0.0

    def probabilities(self, n_actions: int) -> Floats:
        return np.broadcast_to(np.eye(n_actions)[self.action], (self.rows, n_actions))


@dataclass(frozen=True, eq=False)
class Single:
    """One action for a random share of the rows, and the cheapest action for the others.

    Args:
        cheapest, single: the policies that are mixed.
        share: of the rows that get the action.
        step: what the action costs on average beyond the cheapest one, in units of the limit that binds.
        bound: this limit and its row, if it is not that of a curve's budget.
        more: by how much it gives way for one more unit of what a curve varies.
    """

    cheapest: Once
    single: Once | Constant
    share: float
    step: float
    bound: tuple[Resource, int] | None = None
    more: float = 1.0

    @staticmethod
    def within(budget: float, cheapest: Once, single: Once | Constant, cost: Floats) -> Single:
        """Return the policy that spends a budget on an action, `(N or 1,A)->`."""
        least = float(cheapest.of(cost).mean())
        step = float(single.of(cost).mean()) - least
        share = min(max(budget - least, 0.0) / step, 1.0) if step > 0.0 else 1.0
        return Single(cheapest, single, share, step)

    def of(self, table: Floats) -> Floats:
        base = self.cheapest.of(table)
        return np.asarray(base + self.share * (self.single.of(table) - base))

    def total(self, table: Floats) -> float:
        return float(self.of(table).sum())

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        """The correction arises because the share depends on the costs of the rows."""
        slope = self._slope(brings) if self.share > 0.0 else 0.0
        if self.bound is None:
            return np.asarray(slope * (spent - spent.mean()))
        resource, row = self.bound
        return resource.influence(self.of(resource.use), slope * np.eye(len(resource.most))[row])

    def margin(self, brings: Brings) -> float:
        return self.more * self._slope(brings)

    def probabilities(self, n_actions: int) -> Floats:
        base = self.cheapest.probabilities(n_actions)
        return np.asarray(base + self.share * (self.single.probabilities(n_actions) - base))

    def _slope(self, brings: Brings) -> float:
        if self.share == 1.0:
            return 0.0
        return float(brings(self.single).mean() - brings(self.cheapest).mean()) / self.step


class Parts:
    """Parts of the rows, such as folds, and their parts of tables, which are looked up once.

    Args:
        members: the rows of each part.
        places: the same as slices, if each part follows the one before.

    >>> parts = Parts([np.array([2, 0]), np.array([1])])
    >>> parts.joined([np.array([5.0, 6.0]), np.array([7.0])]).tolist()
    [6.0, 7.0, 5.0]
    """

    def __init__(self, members: Sequence[Ints], places: Sequence[slice] = ()) -> None:
        self.members, self._in_order = tuple(members), bool(places)
        self._places: Sequence[Ints | slice] = places or self.members
        self._dealt, self._found = list[tuple[Floats, Floats]](), list[tuple[Floats, list[Floats]]]()

    @cached_property
    def order(self) -> Ints:
        """The rows of all parts, one part after the other."""
        return np.concatenate(self.members)

    @cached_property
    def runs(self) -> Parts:
        """The parts of rows in that order."""
        if self._in_order:
            return self
        ends = np.cumsum([0, *map(len, self.members)]).tolist()
        return Parts([np.arange(*z) for z in pairwise(ends)], [slice(*z) for z in pairwise(ends)])

    def dealt(self, table: Floats) -> Floats:
        """Return a table with the rows in that order, `(N or 1,A)->`."""
        if len(table) == 1 or self._in_order:
            return table
        return _once(table, self._dealt, lambda: table[self.order])

    def of(self, table: Floats) -> list[Floats]:
        """Return the lines of each part, `(N or 1,A)->`."""
        if len(table) == 1:
            return [table] * len(self.members)
        return _once(table, self._found, lambda: self.runs.split(self.dealt(table)))

    def split(self, each: Floats) -> list[Floats]:
        """Return numbers of the rows of each part, `(N,...)->`."""
        return [each[rows] for rows in self._places]

    def joined(self, each: Sequence[Floats]) -> Floats:
        """Put numbers of the rows of each part at the positions of the rows, `(N_k or 1,...)->(N,...)`."""
        found = np.empty((sum(map(len, self.members)), *each[0].shape[1:]))
        for rows, own in zip(self._places, each, strict=True):
            found[rows] = own
        return found


def _once(table: Floats, known: list[tuple[Floats, T]], look: Callable[[], T]) -> T:
    """Return the stored result for a table, or compute it."""
    for other, found in known:
        if other is table:
            return found
    known.append((table, look()))
    return known[-1][1]


@dataclass(frozen=True, eq=False)
class Parted:
    """A policy in which each part of the rows was planned separately, within the budget.

    Args:
        rows: of the parts.
        parts: their policies.
    """

    rows: Parts
    parts: Sequence[Planned]

    def of(self, table: Floats) -> Floats:
        return self.rows.joined([part.of(own) for part, own in zip(self.parts, self.rows.of(table), strict=True)])

    def total(self, table: Floats) -> float:
        return sum(part.total(own) for part, own in zip(self.parts, self.rows.of(table), strict=True))

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        own = zip(self.parts, self.rows.split(spent), strict=True)
        return self.rows.joined([part.offset(each, brings) for part, each in own])

    def margin(self, brings: Brings) -> float:
        own = zip(self.parts, self.rows.members, strict=True)
        return sum(len(rows) * part.margin(brings) for part, rows in own) / sum(map(len, self.rows.members))

    def probabilities(self, n_actions: int) -> Floats:
        return self.rows.joined([part.probabilities(n_actions) for part in self.parts])


def worth_of_limits(name: str, plan: Parted, objective: str) -> Iterator[str]:
    """Say what one more unit of each limit of a plan is predicted to bring, if it is one of a linear program."""
    found, whole = dict[str, float](), sum(map(len, plan.rows.members))
    for rows, part in zip(plan.rows.members, plan.parts, strict=True):
        last = part.last if isinstance(part, Mixture) else part
        if isinstance(last, ProgramPlan):
            for bound, prices in zip(last.bounds, last.found.prices, strict=True):
                found[bound.label] = found.get(bound.label, 0.0) + len(rows) / whole * float(prices.sum())
    dear = [f"{amount(price)} for {label}" for label, price in found.items() if amount(price) != "0"]
    if dear:
        brings = f"predicted to bring {name!r} so much {objective}: {'; '.join(dear)}"
        yield f"a limit that gives way by one unit is {brings}"
    elif found:
        yield f"no limit binds in {name!r}"


def moves(totals: Floats, rows: int) -> Floats:
    """Return by how much fold k changes the total of a plan in fold j, `(...,K,K)->(...,K,K)`.

    Equation: d_jk = (V_jj - V_jk) / N, where V_jj is what the rows of fold j have together, and V_jk what they have if
    the plan is made without fold k as well. The errors e_j and e_k of the value in two folds have E e_j e_k =
    E d_jk d_kj, up to what the plans differ in truth: the part of e_j that owes nothing to fold k has mean 0 given fold
    k, and so has that of e_k given fold j. Values of plans that are nearly the best hardly differ in truth. What they
    use, or how even they are, may differ, so that this is not a guide to the errors of these. Where plans are the same,
    d is exactly 0, as totals of different sums differ by rounding.

    Args:
        totals: V.
        rows: N.
    """
    own = np.diagonal(totals, axis1=-2, axis2=-1)
    found = own[..., None] - totals
    rounded = np.abs(found) <= _ROUNDED * np.abs(totals).max((-2, -1), keepdims=True)
    return np.asarray(np.where(rounded, 0.0, found / rows))
