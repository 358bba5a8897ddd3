"""The best policies for a budget of which each group gets about as much per head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.faces import amount
from evenhand.core.types import Floats, Ints
from evenhand.offline.frontier import Frontier, Stop
from evenhand.offline.planned import Parts

_STEPS = 80  # of a bisection: beyond the last bit of a double


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
        """Return what every row gets.

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
        """By how much sums of costs are rounded, in their own unit."""
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
        """What each group spends on segments of more than a price ("left"), or of at least it ("right")."""
        spent = []
        for f in self.frontiers:
            k = f.dearer(price, side)
            spent.append(float(f.spend[k - 1]) if k else f.least)
        return np.clip(spent, low, high)

    def _slope(self, budgets: Floats, x: float, tolerance: float, price: float) -> float:
        """What one unit per head less would cost: clipped groups move with the average, the others at the price."""
        free, total = 1.0, 0.0
        for share, f, b in zip(self.shares, self.frontiers, budgets, strict=True):
            if abs(abs(b - x) - tolerance) <= self._slack and len(f.price):
                own = float(f.price[min(int(np.searchsorted(f.spend, b - self._slack)), len(f.price) - 1)])
                total, free = total + share * own, free - share
        return total + max(free, 0.0) * price


@dataclass(frozen=True, kw_only=True, eq=False)
class FairPoint:
    """What every row gets within a budget that is shared about equally per head between groups.

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
