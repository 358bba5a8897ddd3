"""The profile of traffic: how cases divide over a day and over the days of a week, learned from those that came."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.clock import Clock
from evenhand.problem.traffic import Traffic

_HOURS, _WEEK = 24, 7
_FADE = 6 / 7  # of the cases of earlier cycles, per cycle
_FADE_WEEK = 3 / 4  # of those of a day of the week, per week
_DOUBT = 0.5  # cases per part that the prior of another shape weighs as much as
_ODDS = -7.0  # logarithm of the odds of another shape than the stated one, before any case
_STRAY = 0.01  # of the cases come at any time under the stated shape too
_SPREAD, _SPREAD_DAYS = 0.2, 2.0  # of days about the mean of their day of the week, before any; days that it counts as
_LEAST = 0.05  # of the mean of days are the cases of any day of the week
_SILENCE = 8 * _WEEK  # days without a case that are entered at most


@dataclass
class ProfileState:
    """Cases by part of a cycle, and by day of the week."""

    first: Ints  # (R,) the first cycle that was seen from its start, -1 before any case
    present: Ints  # (R,) the present cycle
    now: Floats  # (R, N) its cases, by part
    parts: Floats  # (R, N) those of earlier cycles, faded
    days: Floats  # (R, 7) cases by day of the week, faded; (R, 0) if a cycle is not a day of the calendar
    squares: Floats  # (R, 7) squares of the cases of a day, faded
    seen: Floats  # (R, 7) days, faded

    def of(self, replica: int) -> ProfileState:
        """Return a copy for one replica."""
        return ProfileState(**{name: z[replica : replica + 1].copy() for name, z in vars(self).items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """Divides the cases of a forecast over time, as far as those that came differ from its shape.

    A cycle is a day of the calendar, or the period of the forecast if there are no dates. It has 24 parts or more, such
    that the stated shape is constant within each.

    Equation: the share of part i is s_i + w ((d_i + n_i) / (d + n) - s_i), with s_i as stated, n_i the cases that came
    in finished cycles, each weighing 6/7 of the next one, d_i a prior of half a case per part, divided half as stated
    and half evenly, and w the probability of these cases under that prior against the stated shape, from odds of
    exp(-7). The cases of a day of the week are 1 + b (m_j / m - 1) times the mean, with m_j the mean of such days, each
    weighing 3/4 of the next one, and b = max(0, 1 - 2 v / var m_j), where v is the variance of m_j by the differences
    between equal days. Source: evenhand's own; b is that of James and Stein for 7 means, but for its factor.

    Args:
        traffic: the forecast, which has the level.
        clock: of the problem.

    >>> profile = Profile(traffic=Traffic(240, per=1.0), clock=Clock.between(None, 4.0, 0))
    >>> state, day = profile.start(1), np.array([[0.25, 1.0, 3.25, 4.0]])
    >>> profile.expected(state, day)
    array([[ 60., 240., 780., 960.]])
    >>> for case in range(900):  # in the first quarter of three days
    ...     profile.enter(state, np.array([case // 300 + case % 300 / 1200]), np.ones(1))
    >>> profile.enter(state, np.array([3.0]), np.ones(1))
    >>> profile.expected(state, day).round()
    array([[237., 240., 957., 960.]])
    """

    traffic: Traffic
    clock: Clock

    @staticmethod
    def of(traffic: Traffic | None, clock: Clock) -> Profile | None:
        """Return the profile of a forecast that is not trusted without end, None for one that is, and for none.

        A shape of a week, or of a period without dates, is believed: days differ by more than chance, so that a week
        says little against it.
        """
        if traffic is None or math.isinf(traffic.trust):
            return None
        believed = traffic.shape and (clock.since is None or traffic.per not in ("hour", "day"))
        return None if believed else Profile(traffic=traffic, clock=clock)

    def start(self, n_replicas: int) -> ProfileState:
        n, days = len(self._stated), _WEEK if self._daily else 0
        return ProfileState(
            first=np.full(n_replicas, -1),
            present=np.full(n_replicas, -1),
            now=np.zeros((n_replicas, n)),
            parts=np.zeros((n_replicas, n)),
            days=np.zeros((n_replicas, days)),
            squares=np.zeros((n_replicas, days)),
            seen=np.zeros((n_replicas, days)),
        )

    def enter(self, state: ProfileState, time: Floats, counted: Floats) -> None:
        """Enter decided cases, `(),()`; a cycle that was not seen from its start never counts."""
        cycle, part = self._place(np.minimum(time, self.clock.last))
        over = (counted > 0.0) & (cycle > state.present)
        if over.any():
            self._close(state, over, cycle)
        at = np.minimum((part * len(self._stated)).astype(np.int64), len(self._stated) - 1)
        state.now[np.arange(len(time)), at] += counted

    def expected(self, state: ProfileState, time: Floats) -> Floats:
        """Return the cases from a fixed time on up to some times, at the level of the forecast, `(n)->(n)`."""
        return self.traffic.without_closed(self.clock, lambda z: self._expected(state, z), time)

    def _expected(self, state: ProfileState, time: Floats) -> Floats:
        """The cases as if no day was closed, `(n)->(n)`."""
        shares, (cycle, part) = self.shares(state), self._place(time)
        before, place = np.pad(np.cumsum(shares, 1), ((0, 0), (1, 0))), part * shares.shape[1]
        at = np.minimum(place.astype(np.int64), shares.shape[1] - 1)
        cycles = np.take_along_axis(before, at, 1) + (place - at) * np.take_along_axis(shares, at, 1)
        if self._daily:
            factors, (weeks, day) = self.factors(state), np.divmod(cycle, _WEEK)
            before = np.pad(np.cumsum(factors, 1), ((0, 0), (1, 0)))
            cycles = np.take_along_axis(before, day, 1) + cycles * np.take_along_axis(factors, day, 1)
            cycle = _WEEK * weeks
        return np.asarray(self.traffic.cases * self._length / self.traffic.length * (cycle + cycles))

    def shares(self, state: ProfileState) -> Floats:
        """Return the share of every part of a cycle in its cases, `->(N)`."""
        from scipy.special import expit, gammaln

        stated, came, even = self._stated, state.parts, 1.0 / len(self._stated)
        doubt = _DOUBT * (stated / even + 1.0) / 2.0
        n, whole = came.sum(1, keepdims=True), doubt.sum()
        as_stated = came * np.log((1.0 - _STRAY) * stated + _STRAY * even)
        odds = (gammaln(doubt + came) - gammaln(doubt) - as_stated).sum(1, keepdims=True)
        odds += gammaln(whole) - gammaln(whole + n) + _ODDS
        return np.asarray(stated + expit(odds) * ((doubt + came) / (whole + n) - stated))

    def factors(self, state: ProfileState) -> Floats:
        """Return the cases of each day of a week over their mean, `->(7)`; 1 until every one of them was seen."""
        seen = np.where(state.seen > 0.0, state.seen, np.nan)
        each = state.days / seen
        mean = np.maximum(each.mean(1, keepdims=True), 1e-9)
        alone = (2.0 - (1.0 - _FADE_WEEK) * seen) / (1.0 + _FADE_WEEK)  # sum of squared weights of days / sum of these
        apart = np.maximum(state.squares - state.days * each, 0.0).sum(1, keepdims=True)
        variance = (_SPREAD_DAYS * (_SPREAD * mean) ** 2 + apart) / (
            _SPREAD_DAYS + (seen - alone).sum(1, keepdims=True)
        )
        noise = variance * (alone / seen).mean(1, keepdims=True)
        differ = np.maximum(1.0 - 2.0 * noise / np.maximum(each.var(1, ddof=1, keepdims=True), 1e-9), 0.0)
        found = np.maximum(1.0 + differ * (each / mean - 1.0), _LEAST)
        found = np.where(np.isnan(found), 1.0, found)
        return np.asarray(found * (_WEEK / found.sum(1, keepdims=True)))

    def _close(self, state: ProfileState, over: Bools, cycle: Ints) -> None:
        """Begin the next cycle, and add the one before to the earlier ones if it was seen from its start, `(),()`."""
        begins = over & (state.first < 0)
        whole = over & (state.first >= 0) & (state.present >= state.first) & ~np.isin(state.present, self._closed)
        state.parts[whole] = _FADE * state.parts[whole] + state.now[whole]
        if self._daily:
            since = np.maximum(state.present, state.first)
            days = np.where(over & ~begins, np.minimum(cycle - since, _SILENCE), 0)
            cases = np.where(whole, state.now.sum(1), 0.0)
            for i in range(int(days.max())):  # days without a case included
                of = np.flatnonzero((i < days) & ~np.isin(since + i, self._closed))
                day, came = (since[of] + i) % _WEEK, cases[of] * (i == 0)
                for books, entry in ((state.days, came), (state.squares, came**2), (state.seen, 1.0)):
                    books[of, day] = _FADE_WEEK * books[of, day] + entry
        state.first[begins] = np.where(cycle + self._before > 0.0, cycle + 1, 0)[begins]
        state.now[over] = 0.0
        state.present = np.where(over, cycle, state.present)

    def _place(self, time: Floats) -> tuple[Ints, Floats]:
        """The cycle of some times, and the part of it that is over."""
        count = self.clock.days(time) if self._daily else time / self._length
        cycle = np.floor(count)
        return cycle.astype(np.int64), count - cycle

    @property
    def _daily(self) -> bool:
        return self.clock.since is not None

    @cached_property
    def _closed(self) -> Ints:
        """The cycles that are closed days, of which nothing is learned."""
        middles = np.array([(start + end) / 2.0 for start, end in self.traffic.closed_days(self.clock)])
        return self._place(middles)[0]

    @cached_property
    def _length(self) -> float:
        return 1.0 if self._daily else self.traffic.length

    @cached_property
    def _before(self) -> float:
        return self.clock.phase("day") if self._daily else 0.0

    @cached_property
    def _stated(self) -> Floats:
        """The shares of the parts by the forecast."""
        shape = self.traffic.shape or (1.0,)
        if self.traffic.per == "hour":
            shape *= _HOURS
        each = np.repeat(shape, math.ceil(_HOURS / len(shape)))
        return np.asarray(each / each.sum())
