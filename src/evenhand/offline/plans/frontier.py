"""The greatest worth for every budget: the order in which rows get dearer actions, one action per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.texts import amount
from evenhand.core.types import Floats, Ints, Places

_FEW = 16  # equal numbers, which are sorted one by one


class Point(NamedTuple):
    """The action of every row at one budget; at most one row has a lottery of two actions."""

    actions: Places  # (N,)
    row: int  # the row with a lottery, -1 if there is none
    other: int  # its second action
    share: float  # the probability of the second action
    price: float  # what one more unit of the budget is worth; 0 where the budget does not bind

    def of(self, table: Floats) -> Floats:
        """Return the value of every row in a table of actions, `(N,A)->(N)`; a table of one row is that of all."""
        found = np.empty(len(self.actions))
        _chosen(self.actions, table, found)
        if self.row >= 0:
            line = table[self.row % len(table)]
            found[self.row] += self.share * (line[self.other] - found[self.row])
        return found

    def total(self, table: Floats) -> float:
        """Return the total over all rows of a table of actions, `(N or 1,A)->`."""
        return float(self.of(table).sum())

    def offset(self, spent: Floats, brings: object = None) -> Floats:
        """Return the correction to the influence of rows, since they determine where the budget ends, `(N)->(N)`."""
        return np.asarray(self.price * (spent - spent.mean()))

    def margin(self, brings: object = None) -> float:
        """Return the worth of one more unit of the budget."""
        return self.price

    def probabilities(self, n_actions: int) -> Floats:
        """Return the lottery of every row, `->(N,A)`."""
        found = np.zeros((len(self.actions), n_actions))
        found[np.arange(len(found)), self.actions] = 1.0
        if self.row >= 0:
            found[self.row, self.actions[self.row]] -= self.share
            found[self.row, self.other] += self.share
        return found


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The policies with the greatest average worth for every average cost.

    Equation: for a budget B, max mean_i sum_a p_ia w_ia s.t. mean_i sum_a p_ia c_ia <= B, where p_i is a lottery.

    Every row begins with its cheapest action. The concave hull of its points (cost, worth) has segments of falling
    slope; all segments, sorted by slope, are the order in which a growing budget is spent. The slope is the price.
    This is the fractional knapsack problem with several choices (Sinha and Zoltners 1979), as Sverdrup, Wu, Athey and
    Wager (*Qini curves for multi-armed treatment rules*, 2024) use it for values of policies.

    Args:
        start: `(N)` the action of every row at the least cost.
        row, action: `(S)` what each segment gives to which row; in 4 bytes each, as they are read at random.
        price: `(S)` its worth per unit of cost, falling; below 0 where only costs rise.
        spend: `(S)` the average cost after each segment.
        least: the average cost at the start.

    >>> worth = np.array([[0.0, 1.0, 1.5], [0.0, 0.2, 3.0]])
    >>> frontier = Frontier.of(worth, np.array([[0.0, 1.0, 2.0]]))
    >>> frontier.row.tolist(), frontier.action.tolist(), frontier.price.tolist()
    ([1, 0, 0], [2, 1, 2], [1.5, 1.0, 0.5])
    >>> [frontier.at(budget).of(worth).tolist() for budget in (0.0, 0.5, 1.25)]
    [[0.0, 0.0], [0.0, 1.5], [0.5, 3.0]]
    """

    start: Places
    row: Places
    action: Places
    price: Floats
    spend: Floats
    least: float

    @staticmethod
    def of(worth: Floats, cost: Floats, *, above: float = -np.inf) -> Frontier:
        """Compute the frontier, `(N,A),(N or 1,A)->`.

        Args:
            worth, cost: of every action in every row.
            above: segments of at most this price are left out; 0 where a budget need not be spent.

        Raises:
            InvalidInput: a table is not finite, or has another shape.
        """
        rows = len(worth)
        start, row, action, price, more = _hulls(worth, cost, above)
        order = _order(-price)
        least = float((cost[0, start] if len(cost) == 1 else cost[np.arange(rows), start]).mean())
        spend = least + np.cumsum(more[order]) / rows
        return Frontier(start=start, row=row[order], action=action[order], price=price[order], spend=spend, least=least)

    @cached_property
    def useful(self) -> int:
        """The number of segments that are worth something."""
        return self.dearer(0.0, "left")

    def dearer(self, price: float, side: Literal["left", "right"]) -> int:
        """Return how many segments have more than a price ("left"), or at least it ("right")."""
        return len(self.price) - int(self.price[::-1].searchsorted(price, "right" if side == "left" else "left"))

    @property
    def enough(self) -> float:
        """The budget beyond which more money is worth nothing."""
        return float(self.spend[self.useful - 1]) if self.useful else self.least

    def at(self, budget: float) -> Stop:
        """Return the action of every row at a budget.

        Raises:
            InvalidInput: the budget is below the least cost.
        """
        return next(self.along([budget]))

    def along(self, budgets: Sequence[float]) -> Iterator[Stop]:
        """Yield the action of every row at each of some increasing budgets.

        Raises:
            InvalidInput: the first budget is below the least cost, or the budgets do not rise.
        """
        before, first = self.least, True
        for budget in budgets:
            if not budget >= before - 1e-12 * abs(before):
                least = f"{amount(before, 6)}, " + ("what the cheapest actions cost" if first else "the one before it")
                raise InvalidInput("budget", f"at least {least}", budget)
            yield self._stop(budget, self.useful)
            before, first = budget, False

    def beyond(self, budget: float) -> Stop:
        """Return the action of every row if the whole budget has to be spent, even where that is worth nothing."""
        return self._stop(budget, len(self.row))

    def reached(self, budget: float, most: int) -> int:
        """Return how many of the first `most` segments a budget pays for."""
        return int(np.searchsorted(self.spend[:most], budget, side="right"))

    def actions(self, until: int) -> Places:
        """Return the action of every row after the first segments, `->(N)`; quickest for increasing numbers of them."""
        done, actions = self._cursor if self._cursor[0] <= until else (0, self.start.copy())
        _advance(actions, self.row[done:until], self.action[done:until])
        self._cursor[:] = until, actions
        return actions.copy()

    def totals(self, table: Floats) -> Floats:
        """Return the total over all rows of a table before and after every segment, `(N or 1,A)->(S+1)`."""
        for known, found in self._totals:
            if known is table:
                return found
        gains = np.empty(len(self.row) + 1)
        gains[0] = Point(self.start, -1, 0, 0.0, 0.0).total(table)
        _gains(self.start.copy(), self.row, self.action, table, gains)
        self._totals.append((table, np.cumsum(gains)))
        return self._totals[-1][1]

    @cached_property
    def _cursor(self) -> list[Any]:
        return [0, self.start.copy()]

    @cached_property
    def _totals(self) -> list[tuple[Floats, Floats]]:
        return []

    def _stop(self, budget: float, most: int) -> Stop:
        until = self.reached(budget, most)
        if until == most:
            return Stop(self, until, 0.0, 0.0)
        before = float(self.spend[until - 1]) if until else self.least
        share = max(budget - before, 0.0) / (float(self.spend[until]) - before)
        return Stop(self, until, share, float(self.price[until]))


@dataclass(frozen=True, eq=False)
class Stop:
    """The point at which a budget ends on a frontier; the actions of rows there are looked up on demand.

    Args:
        frontier: of the rows.
        until: how many segments are paid for in full.
        share: what is paid of the next one, as the probability of its action.
        price: what one more unit of the budget is worth; 0 where the budget does not bind.
    """

    frontier: Frontier
    until: int
    share: float
    price: float

    @cached_property
    def point(self) -> Point:
        """The action of every row."""
        f, actions = self.frontier, self.frontier.actions(self.until)
        if not self.share:
            return Point(actions, -1, 0, 0.0, self.price)
        return Point(actions, int(f.row[self.until]), int(f.action[self.until]), self.share, self.price)

    def of(self, table: Floats) -> Floats:
        """Return the value of every row in a table of actions, `(N or 1,A)->(N)`."""
        return self.point.of(table)

    def total(self, table: Floats) -> float:
        """Return the total over all rows of a table of actions, `(N or 1,A)->`, by sums along the frontier."""
        totals = self.frontier.totals(table)
        found = float(totals[self.until])
        return found + self.share * (float(totals[self.until + 1]) - found) if self.share else found

    def offset(self, spent: Floats, brings: object = None) -> Floats:
        """Return the correction to the influence of rows, since they determine where the budget ends, `(N)->(N)`."""
        return np.asarray(self.price * (spent - spent.mean()))

    def margin(self, brings: object = None) -> float:
        """Return the worth of one more unit of the budget."""
        return self.price

    def probabilities(self, n_actions: int) -> Floats:
        """Return the lottery of every row, `->(N,A)`."""
        return self.point.probabilities(n_actions)


def cheapest(worth: Floats, cost: Floats) -> Point:
    """Return the policy of the least cost, and with the greatest worth among these, `(N,A),(N or 1,A)->`."""
    return Point(_hulls(worth, cost, np.inf)[0], -1, 0, 0.0, 0.0)


def _hulls(worth: Floats, cost: Floats, above: float) -> tuple[Places, Places, Places, Floats, Floats]:
    """Check tables, and return the arrays that `_segments` writes."""
    worth, cost = np.ascontiguousarray(worth, float), np.ascontiguousarray(cost, float)
    if worth.ndim != 2 or not worth.size or not np.isfinite(worth).all():
        raise InvalidInput("worth", "finite numbers of at least one row and one action", _told(worth))
    shapes = (worth.shape, (1, worth.shape[1]))
    if cost.shape not in shapes or not np.isfinite(cost).all():
        raise InvalidInput("cost", f"finite numbers of shape {shapes[0]} or {shapes[1]}", _told(cost))
    rows, actions = worth.shape
    start, row, action = np.empty(rows, np.int32), *np.empty((2, rows * max(actions - 1, 1)), np.int32)
    price, more = np.empty((2, len(row)))
    count = _segments(worth, cost, above, start, row, action, price, more)
    return start, row[:count], action[:count], price[:count], more[:count]


def _order(falling: Floats) -> Ints:
    """Return the order of numbers, in which equal ones keep theirs, `(S)->`: NumPy sorts pairs quicker than stably."""
    order = np.argsort(falling)
    _settle(order, falling)
    return order


@kernel
def _segments(
    worth: Floats, cost: Floats, above: float, start: Places, row: Places, action: Places, price: Floats, more: Floats
) -> int:
    """Write the segments above a price of the concave hull of every row, and its cheapest action; return how many."""
    rows, actions = worth.shape
    order, hull, slope = np.arange(actions), np.empty(actions, np.int64), np.empty(actions)
    count = 0
    for i in range(rows):
        w, c = worth[i], cost[i if len(cost) > 1 else 0]
        for p in range(1, actions):  # by cost and, among equals, from the best on
            a, q = order[p], p - 1
            while q >= 0 and (c[order[q]] > c[a] or (c[order[q]] == c[a] and w[order[q]] < w[a])):
                order[q + 1] = order[q]
                q -= 1
            order[q + 1] = a
        top, hull[0] = 0, order[0]
        for p in range(1, actions):
            a = order[p]
            if c[a] == c[order[p - 1]]:
                continue
            steep = (w[a] - w[hull[top]]) / (c[a] - c[hull[top]])
            while top > 0 and steep >= slope[top]:
                top -= 1
                steep = (w[a] - w[hull[top]]) / (c[a] - c[hull[top]])
            top += 1
            hull[top], slope[top] = a, steep
        start[i] = hull[0]
        for p in range(1, top + 1):
            if slope[p] <= above:  # as slopes fall, the others are not above it either
                break
            row[count], action[count] = i, hull[p]
            price[count], more[count] = slope[p], c[hull[p]] - c[hull[p - 1]]
            count += 1
    return count


@kernel
def _settle(order: Ints, falling: Floats) -> None:
    """Sort the places of equal numbers, which lie beside each other."""
    first = 0
    for s in range(1, len(order) + 1):
        if s == len(order) or falling[order[s]] != falling[order[first]]:
            if s - first > _FEW:
                order[first:s].sort()
            for p in range(first + 1, s):
                place, q = order[p], p - 1
                while q >= first and order[q] > place:
                    order[q + 1] = order[q]
                    q -= 1
                order[q + 1] = place
            first = s


@kernel
def _gains(actions: Places, row: Places, action: Places, table: Floats, gains: Floats) -> None:
    """Write the gain of each segment, after the first place."""
    for s in range(len(row)):
        i = row[s]
        line = table[i if len(table) > 1 else 0]
        gains[s + 1] = line[action[s]] - line[actions[i]]
        actions[i] = action[s]


@kernel
def _chosen(actions: Places, table: Floats, found: Floats) -> None:
    for i in range(len(actions)):
        found[i] = table[i if len(table) > 1 else 0, actions[i]]


@kernel
def _advance(actions: Places, row: Places, action: Places) -> None:
    for s in range(len(row)):
        actions[row[s]] = action[s]


def _told(table: Floats) -> str:
    return f"shape {table.shape}" if np.isfinite(table).all() else "NaN or an infinite number"
