"""Intervals of shares of cases, which hold where few of the cases have the event, and of differences.

A normal interval of a share takes its width from the events that were seen. Where none was, it has none, though several
may well have been expected: of 34 actions with 1.35 expected events each, normal intervals of 95 % held in 71 %.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.types import Bools, Floats


class Share(NamedTuple):
    """An estimate of the average of an outcome that has one of two values, such as a click: of a share of cases.

    Equation: let v be the share of the upper value, brought into [0, 1], se its standard error and m the effective
    cases, of which E = m min(v, 1 - v) have the rarer end. The variance is that of E events as they were seen and of
    one more as of cases drawn alike: s^2 = (E se^2 + v (1 - v) / m) / (E + 1). It is that of n = v (1 - v) / s^2 cases,
    or of m if v is 0 or 1, whose score interval (Wilson 1927) is {p: (v - p)^2 <= z^2 p (1 - p) / n}.

    Source: score intervals by effective cases are those of surveys (Kott and Carr 1997); the one event is ours. Without
    it, a standard error from a single event counts as much as one from a thousand.
    """

    value: float
    se: float
    cases: float
    low: float = 0.0
    high: float = 1.0

    @property
    def middle(self) -> float:
        """The value, between both ends."""
        return min(max(self.value, self.low), self.high)

    def within(self, errors: float) -> tuple[float, float]:
        """Return the ends of the interval that has a normal one's confidence for so many standard errors.

        >>> low, high = Share(0.0, 0.0, 300.0).within(1.96)
        >>> round(low, 4), round(high, 4)  # no event in 300 cases
        (0.0, 0.0126)
        >>> [round(z, 4) for z in Share(0.3, 0.0229, 400.0).within(1.96)]  # 0.3 -+ 0.0449
        [0.2572, 0.3466]
        """
        width, z2 = self.high - self.low, errors * errors
        v, n = self._counted
        spread = v * (1.0 - v)
        center = (v + z2 / (2.0 * n)) / (1.0 + z2 / n)
        reach = errors / (1.0 + z2 / n) * sqrt(spread / n + z2 / (4.0 * n * n))
        return self.low + width * max(center - reach, 0.0), self.low + width * min(center + reach, 1.0)

    def errors(self, bound: float) -> float:
        """Return of how many standard errors the interval is that ends at a bound, above 0 if that is above the value.

        >>> share = Share(0.02, 0.0081, 300.0)
        >>> [round(share.errors(end), 9) for end in share.within(1.96)]
        [-1.96, 1.96]
        """
        p = (bound - self.low) / (self.high - self.low)
        if not 0.0 < p < 1.0:
            return inf if p >= 1.0 else -inf
        v, n = self._counted
        return (p - v) * sqrt(n / (p * (1.0 - p)))

    def negative(self) -> Share:
        """The same of the values times -1."""
        return Share(-self.value, self.se, self.cases, -self.high, -self.low)

    @property
    def _counted(self) -> tuple[float, float]:
        """The share in [0, 1], and the number of cases n."""
        width = self.high - self.low
        v, se = (self.middle - self.low) / width, self.se / width
        spread, events = v * (1.0 - v), self.cases * min(v, 1.0 - v)
        variance = (events * se**2 + spread / self.cases) / (events + 1.0)
        return v, spread / variance if variance > 0.0 else self.cases


class Part(Protocol):
    """One side of a difference: a share, or an average of amounts."""

    @property
    def middle(self) -> float: ...

    @property
    def se(self) -> float: ...

    @property
    def events(self) -> object: ...

    def within(self, errors: float) -> tuple[float, float]: ...


class Gap(NamedTuple):
    """The difference of two averages of the same cases, of which one at least has no normal interval.

    Equation: with the reaches a of v downwards and b of w upwards, their standard errors s and t, the standard error d
    of v - w and the correlation r, from 0 to 1, of both, the difference reaches sqrt(z^2 d^2 + (1 - r) (a^2 + b^2 - z^2
    (s^2 + t^2))) downwards, and upwards likewise. Where they are independent that is sqrt(a^2 + b^2). What both
    have in common cancels, so that policies which hardly differ are told apart by the rows in which they do.

    Source: Zou and Donner 2008 (intervals from those of both parts), after Newcombe 1998; the part in common is ours.
    """

    one: Part
    other: Part
    se: float
    correlation: float

    def reach(self, errors: float, z: float) -> tuple[float, float]:
        """Return how far the interval reaches downwards and upwards, with a normal one's confidence.

        Errors are those of a normal distribution, which both sides turn into their own; z is that of the difference.

        A share of .02 beyond one of 0 in 300 cases, with a standard error of .0081, reaches .0166 downwards and .0230
        upwards; by normal errors that is .0159.
        """
        (low, high), (other_low, other_high) = self.one.within(errors), self.other.within(errors)
        v, w = self.one.middle, self.other.middle
        return self._reach(v - low, other_high - w, z), self._reach(high - v, w - other_low, z)

    def _reach(self, a: float, b: float, z: float) -> float:
        more = a * a + b * b - z * z * (self.one.se**2 + self.other.se**2)
        return sqrt(max(z * z * self.se**2 + (1.0 - self.correlation) * more, 0.0))


def pair(y: Floats, least: float, most: float) -> tuple[float, float] | None:
    """Return the two values of an outcome, None if it has another one, `(N)->`.

    Of an outcome with one value in all rows the other one is the other end of its range.

    >>> pair(np.array([0.0, 1.0, 1.0]), 0.0, 5.0), pair(np.zeros(3), 0.0, 5.0), pair(np.arange(3.0), 0.0, 5.0)
    ((0.0, 1.0), (0.0, 5.0), None)
    """
    low, high = float(y.min()), float(y.max())
    low, high = (low, high) if low < high else (least, most)
    return (low, high) if np.isfinite([low, high]).all() and ((y == low) | (y == high)).all() else None


def scaled(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    """Return the two values of an outcome times a factor, the smaller one first."""
    one, other = factor * ends[0], factor * ends[1]
    return min(one, other), max(one, other)


def uncommon(y: Floats) -> Bools | None:
    """Return the rows that do not have the value of most rows, None if most rows have no value in common, `(N)->(N)`.

    >>> uncommon(np.array([0.0, 7.0, 0.0])).tolist(), uncommon(np.arange(3.0))
    ([False, True, False], None)
    """
    found = np.asarray(y != np.partition(y, len(y) // 2)[len(y) // 2])  # what most rows have is the median
    return found if 2 * int(found.sum()) < len(y) else None
