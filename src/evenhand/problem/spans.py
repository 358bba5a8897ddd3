"""Spans of time, each with an allowance for the use in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats, Ints


class Spans(NamedTuple):
    """Allowances over runs of consecutive periods, which may overlap.

    A play belongs to the period of its decision, and uses the allowance of every span that contains this period.

    ==========  =====  ===============================================================================================
    field       shape  meaning
    ==========  =====  ===============================================================================================
    edges       (P+1)  the ends of P periods, in units of the clock of the problem
    allowance   (S,)   what may be used in each of S spans
    first       (S,)   its first period
    last        (S,)   its last period
    averages           whether allowances are of the average of each span, and not of its sum; of any sign then
    ==========  =====  ===============================================================================================

    >>> days = Spans(np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 5.0]), np.array([0, 1]), np.array([1, 2]))
    >>> days.left(np.array([[4.0, 0.0, 0.0]]), days.period(np.array([1.5])))  # any two days: 5 - 4, and 5
    array([1.])
    >>> days.most
    10.0
    """

    edges: Floats
    allowance: Floats
    first: Ints
    last: Ints
    averages: bool = False

    @property
    def periods(self) -> int:
        return len(self.edges) - 1

    @property
    def ends(self) -> Floats:
        """The end of every span, `->(S)`."""
        return np.asarray(self.edges[self.last + 1])

    def period(self, time: Floats) -> Ints:
        """Return the period of a time, `()->()`; times before the first or after the last one count as these."""
        return np.clip(np.searchsorted(self.edges, time, "right") - 1, 0, self.periods - 1)

    def on(self, edges: Floats) -> Spans:
        """Return the same spans over shorter periods, whose ends include those of all periods here."""
        first, last = np.searchsorted(edges, self.edges[self.first]), np.searchsorted(edges, self.ends) - 1
        return Spans(edges, self.allowance, first, last, self.averages)

    def sums(self, by_period: Floats) -> Floats:
        """Return sums over the periods of every span, `(P)->(S)`."""
        so_far = np.concatenate([np.zeros((len(by_period), 1)), np.cumsum(by_period, 1)], 1)
        return np.asarray(so_far[:, self.last + 1] - so_far[:, self.first])

    def contain(self, period: Ints) -> Bools:
        """Return which spans contain a period, `()->(S)`."""
        return np.asarray((self.first <= period[:, None]) & (period[:, None] <= self.last))

    def allowed(self, rounds: Floats) -> Floats:
        """Return the sum that every span allows for its number of rounds, `(S)->(S)`."""
        return np.asarray(self.allowance * rounds if self.averages else np.broadcast_to(self.allowance, rounds.shape))

    def rest(self, used: Floats, period: Ints) -> Floats:
        """Return the amount left in every span that contains a period, infinity for others, `(P),()->(S)`."""
        return np.asarray(np.where(self.contain(period), self.allowance - self.sums(used), np.inf))

    def left(self, used: Floats, period: Ints) -> Floats:
        """Return the amount left in a period: the smallest over the spans that contain it, `(P),()->()`."""
        return np.asarray(self.rest(used, period).min(1))

    @property
    def floors(self) -> bool:
        """Whether the spans ask for least amounts: their allowances are then the negatives of these."""
        return not self.averages and bool((self.allowance < 0.0).all())

    @property
    def least(self) -> float:
        """The largest total that spans without common periods require, if all are floors.

        >>> edges, asked = np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 4.0, 3.0])
        >>> Spans(edges, -asked, np.array([0, 1, 2]), np.array([1, 2, 2])).least
        8.0
        """
        reach = np.zeros(len(self.edges))
        for p in range(self.periods):
            ends = -self.allowance[self.last == p] + reach[self.first[self.last == p]]
            reach[p + 1] = max(reach[p], ends.max(initial=0.0))
        return float(reach[-1])

    @property
    def most(self) -> float:
        """The most that can be used over all periods, infinity where no span contains one of them.

        By duality it is the length of the shortest path from the first edge to the last one, where a span leads from
        its first edge to its last one at the length of its allowance, and every edge leads to the one before at 0.
        """
        return self.most_from(0, self.allowance)

    def most_from(self, period: int, rest: Floats) -> float:
        """Return the most that can be used from a period on, given the amount left in every span, `(S)->`.

        >>> days = Spans(np.array([0.0, 1.0, 2.0]), np.array([5.0, 5.0]), np.array([0, 1]), np.array([0, 1]))
        >>> days.most_from(1, np.array([5.0, 3.0]))  # what the first day left is lost
        3.0
        """
        to_come = self.last >= period
        first, last, rest = np.maximum(self.first[to_come], period), self.last[to_come], rest[to_come]
        reach = np.full(len(self.edges), np.inf)
        reach[: period + 1] = 0.0
        while True:
            before = reach.copy()
            np.minimum.at(reach, last + 1, reach[first] + np.maximum(rest, 0.0))
            reach = np.minimum.accumulate(reach[::-1])[::-1]
            if np.array_equal(reach, before):
                return float(reach[-1])
