"""Events: the rows on which averages of an outcome rest, and intervals of shares and differences if they are few.

A normal interval of a share takes its width from the events that were seen. Where none was, it has none, though several
may well have been expected: of 34 actions with one expected event each, normal intervals of 95 % held in 64 %.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.texts import amount, few
from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.clusters import Clusters

# Effective rows with an event, less rounding, below which amounts have no error: 95 % of fewer held in 83 to 93 %.
FEW_EVENTS = 8.0 - 1e-9
_STRAY, _STRAY_EVENTS = 0.01, 0.2  # of the rows, and of those with the rarer value: up to so many others are told
_FAR = 10.0  # times the range of the middle half


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
        """Return the ends of the interval that has the confidence of a number of standard errors of a normal one.

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

    def negative(self) -> Share:
        """The share of the values times -1."""
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

    @property
    def is_of_shares(self) -> bool:
        """Whether both sides are shares."""
        return isinstance(self.one.events, Share) and isinstance(self.other.events, Share)

    def negative(self) -> Gap:
        """The difference times -1."""
        return self._replace(one=self.other, other=self.one)

    def _reach(self, a: float, b: float, z: float) -> float:
        more = a * a + b * b - z * z * (self.one.se**2 + self.other.se**2)
        return sqrt(max(z * z * self.se**2 + (1.0 - self.correlation) * more, 0.0))


def pair(y: Floats, least: float, most: float) -> tuple[float, float] | None:
    """Return the two values of an outcome, None if it has another one, `(N)->`.

    What a single row has may be any amount. Where all others have one end of the range, the two values are both ends.

    >>> pair(np.array([0.0, 1.0, 1.0, 0.0]), 0.0, 5.0), pair(np.arange(3.0), 0.0, 5.0)
    ((0.0, 1.0), None)
    >>> once = np.array([0.0, 2.5, 0.0])
    >>> pair(np.zeros(3), 0.0, 5.0), pair(once, 0.0, 5.0), pair(once, 0.0, inf), pair(once, -1.0, 5.0)
    ((0.0, 5.0), (0.0, 5.0), None, None)
    """
    low, high = float(y.min()), float(y.max())
    lower, upper = (int(np.count_nonzero(y == end)) for end in (low, high))
    if low < high and lower + upper < len(y):
        return None
    if low < high and min(lower, upper) > 1:
        return low, high
    usual = low if lower > upper else high
    return (least, most) if usual in (least, most) and np.isfinite([least, most]).all() else None


def stray_values(name: str, y: Floats, least: float, most: float) -> str | None:
    """Say that an outcome with a finite range has two values in 99 % of the rows, and others between them in a few.

    >>> stray_values("click", np.repeat([0.0, 1.0, 0.5], (700, 299, 1)), 0.0, 1.0)
    "outcome 'click' is 0 or 1 in all but 1 of 1,000 rows (0.5): its averages are those of amounts, and not shares"
    >>> [stray_values("click", y, 0.0, 1.0) for y in (np.repeat([0.0, 1.0], 50), np.linspace(0.0, 1.0, 50))]
    [None, None]
    """
    ends = float(y.min()), float(y.max())
    rarer = min(int(np.count_nonzero(y == end)) for end in ends)
    others = y[(y > ends[0]) & (y < ends[1])]
    if not np.isfinite([least, most]).all() or not 0 < len(others) <= min(_STRAY * len(y), _STRAY_EVENTS * rarer):
        return None
    told = f"outcome {name!r} is {amount(ends[0])} or {amount(ends[1])} in all but {len(others):,} of {len(y):,} rows"
    values = few(f"{z:.15g}" for z in np.unique(others).tolist())
    return f"{told} ({values}): its averages are those of amounts, and not shares"


def scaled(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    """Return the two values of an outcome times a factor, the smaller one first."""
    one, other = factor * ends[0], factor * ends[1]
    return min(one, other), max(one, other)


class Occurrences(NamedTuple):
    """The rows of a log on which averages of an outcome rest.

    An average of amounts rests on the rows whose amount is far from that of most: by more than ten times the range of
    the middle half. Where they have most of the variance, such as purchases of few customers, and are few, nothing
    tells how large the next one is. An outcome that has two values has a share instead, of one in each row.

    Args:
        ends: the two values, None if there are others, or if something multiplies them.
        far: `(N)` the rows on which averages rest, None where these are all rows.
        may: `(N)` the rows in which it is not declared to be 0, None where these are all rows.
    """

    ends: tuple[float, float] | None
    far: Bools | None
    may: Bools | None

    @staticmethod
    def of(y: Floats, least: float, most: float, may: Bools | None, is_multiplied: bool) -> Occurrences:
        """Return the rows for an outcome with a range, given the rows in which it may be other than 0.

        >>> Occurrences.of(np.array([0.0, 7.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]), 0.0, 9.0, None, False).far.tolist()
        [False, True, False, False, False, True, False, False, False]
        >>> Occurrences.of(np.arange(5.0), 0.0, 9.0, None, False).far is None
        True
        """
        y = y if may is None else np.where(may, y, 0.0)
        ends = None if is_multiplied else pair(y, least, most)
        if ends is not None:
            return Occurrences(ends, None, may)
        low, middle, high = np.quantile(y, (0.25, 0.5, 0.75))
        off = (y - middle) ** 2
        far = np.asarray(off > (_FAR * (high - low)) ** 2)
        return Occurrences(None, far if 2.0 * off[far].sum() >= off.sum() else None, may)

    def effective(self, w: Floats, clusters: Clusters) -> float:
        """Return the effective number of rows of an average with some weights; infinite if no row is far from others.

        They are no more than their part of the weight makes of the effective cases: nine rows that a policy hardly
        plays tell it little of the amounts that it would have.
        """
        if self.far is None or not self.risks(w):
            return inf
        rare, total = w * self.far, float(clusters.times(w).sum())
        part = float(clusters.times(rare).sum()) / total if total else 0.0
        return min(clusters.effective(rare), clusters.effective(w) * part)

    def are_few(self, w: Floats, clusters: Clusters) -> bool:
        """Whether an average with some weights rests on too few rows for an error."""
        return self.effective(w, clusters) < FEW_EVENTS

    def dealt(self, order: Ints) -> Occurrences:
        """Return the occurrences with the rows in another order."""
        far, may = (None if rows is None else rows[order] for rows in (self.far, self.may))
        return Occurrences(self.ends, far, may)

    def risks(self, w: Floats) -> bool:
        """Whether any row with a weight may have another outcome than 0."""
        return self.may is None or bool((w * self.may).any())
