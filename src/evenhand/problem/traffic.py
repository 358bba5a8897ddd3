"""A forecast of the cases that are still to come."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import ClassVar

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.types import Floats
from evenhand.core.validate import number, positive
from evenhand.problem.clock import Clock, Per, Time, refuse_truth

_DAYS: dict[object, float] = {"hour": 1 / 24, "day": 1.0, "week": 7.0}


@dataclass(frozen=True)
class Traffic:
    """The number of cases expected per period, and how far the forecast is trusted.

    Equation: the cases of the rest of a span are F (q + n) / (q + m), with F those of the forecast, n the cases that
    came in the last periods (`memory` of them), m those that the forecast had for this time, and q = `trust`. Plans
    also learn how cases divide over a day and a week (`planning.profile`), unless the trust is infinite or a shape is
    that of a week, or of a run without dates.

    Args:
        cases: expected in a period.
        per: the period: "hour", "day", "week", or a number in units of the clock. A day of 23 or 25 hours has as many
            cases as any other.
        shape: how cases divide over equal parts of a period, such as 24 numbers for the hours of a day; in any unit,
            by default evenly.
        trust: the number of cases that the forecast weighs as much as, at least 1e-6; infinite to believe it in any
            case.
        memory: the periods over which cases are compared with the forecast, the present one included.
        closed: dates on which no cases are expected, such as holidays; those that come then teach nothing. Dates before
            and after the run change nothing.

    Raises:
        InvalidInput: numbers out of range, a shape that has only zeros, another period, or what is no date.

    >>> clock = Clock.between("2026-11-23", "2026-12-24", 0)
    >>> Traffic(400, per="day", shape=(1, 3)).expected(clock, np.array([0.0, 0.5, 2.0]))
    array([  0., 100., 800.])
    """

    cases: float
    _: KW_ONLY
    per: Per = "day"
    shape: tuple[float, ...] = ()
    trust: float = 100.0
    memory: int = 3
    closed: tuple[str | date, ...] = field(default=(), metadata={"new": True})

    margin: ClassVar[float] = 1.2

    def __post_init__(self) -> None:
        positive("Traffic.cases", self.cases)
        refuse_truth("Traffic.per", self.per)
        if isinstance(self.per, str) and self.per not in _DAYS:
            raise InvalidInput("Traffic.per", f"one of {tuple(_DAYS)}, or a number above 0", repr(self.per))
        if not isinstance(self.per, str):
            positive("Traffic.per", self.per)
        object.__setattr__(self, "shape", tuple(self.shape))
        for part in self.shape:
            number("Traffic.shape", part, "finite numbers of at least 0", lambda s: 0.0 <= s < math.inf)
        if self.shape and not any(self.shape):
            raise InvalidInput("Traffic.shape", "at least one number above 0", self.shape)
        number("Traffic.trust", self.trust, "a number of at least 1e-6, or infinity", lambda q: q >= 1e-6)
        number("Traffic.memory", self.memory, "a whole number of at least 1", lambda m: m >= 1 and m == int(m))
        if isinstance(self.closed, str | date) or not isinstance(self.closed, Iterable):
            raise InvalidInput("Traffic.closed", "a list of dates", value_text(self.closed))
        object.__setattr__(self, "closed", tuple(sorted({_day(day) for day in self.closed})))

    @property
    def length(self) -> float:
        """The length of a period in units of the clock."""
        return _DAYS[self.per] if isinstance(self.per, str) else float(self.per)

    def expected(self, clock: Clock, time: Floats) -> Floats:
        """Return the cases of the forecast from the start of the run up to some times, `(n)->(n)`."""
        start = self._cumulative(self._count(clock, np.array(0.0)))

        def every(time: Floats) -> Floats:
            return np.asarray(self.cases * (self._cumulative(self._count(clock, time)) - start))

        return self.without_closed(clock, every, time)

    def without_closed(self, clock: Clock, every: Callable[[Floats], Floats], time: Floats) -> Floats:
        """Return the cases up to some times by a count of all days, without those of closed days, `(n)->(n)`."""
        found = every(time)
        for start, end in self.closed_days(clock):
            found = found - (every(np.clip(time, start, end)) - every(np.full(np.shape(time), start)))
        return found

    def closed_days(self, clock: Clock) -> list[tuple[float, float]]:
        """Return the start and the end of every closed day of a run."""
        return _spans(tuple(map(str, self.closed)), clock) if self.closed else []

    def rounds(self, since: Time | None, until: Time | None, zone: str | None = None) -> int:
        """Return the rounds of the forecast between two times, at least 1.

        Raises:
            InvalidInput: no end, or times that `Clock.between` refuses.
        """
        if until is None:
            raise InvalidInput("until", "the end of the run, where traffic= is stated", None)
        if self.closed and since is None:
            raise InvalidInput("Traffic.closed", "nothing, as the problem has no since=", self.closed)
        clock = Clock.between(since, until, math.inf, zone)
        return max(round(float(self.expected(clock, np.array(clock.last)))), 1)

    def begin(self, clock: Clock, time: Floats) -> Floats:
        """Return the start of the periods that a time is compared with, `(n)->(n)`."""
        return self._start(clock, np.floor(self._count(clock, time)) - (self.memory - 1))

    def edges(self, clock: Clock) -> Floats:
        """Return the ends of the periods within a run, `()->(n)`."""
        ends = self._start(clock, np.arange(1.0, math.ceil(self._count(clock, np.array(clock.last)))))
        return np.asarray(ends[ends > 0.0])

    def changes(self, clock: Clock) -> Floats:
        """Return the ends of the periods within a run, and those of closed days, `()->(n)`."""
        found = self.edges(clock)
        if self.per in ("hour", "day"):
            return found  # which has them
        days = np.array(self.closed_days(clock)).ravel()
        return np.union1d(found, days[(days > 0.0) & (days < clock.last)])

    def _count(self, clock: Clock, time: Floats) -> Floats:
        """The periods, and the part of the last one, from the start of the first one up to a time."""
        if clock.zone is None or not isinstance(self.per, str):
            return np.asarray((time + clock.phase(self.per)) / self.length)
        starts = clock.grid(self.per)
        return np.interp(time, starts, np.arange(len(starts)))

    def _start(self, clock: Clock, count: Floats) -> Floats:
        """The time at which so many periods are over."""
        if clock.zone is None or not isinstance(self.per, str):
            return np.asarray(count * self.length - clock.phase(self.per))
        starts = clock.grid(self.per)
        return np.interp(count, np.arange(len(starts)), starts)

    def _cumulative(self, count: Floats) -> Floats:
        """The periods up to a time, the last one in the part of its cases that came by then."""
        whole = np.floor(count)
        part = count - whole
        if self.shape:
            ends = np.cumsum((0.0, *self.shape)) / sum(self.shape)
            part = np.interp(part, np.linspace(0.0, 1.0, len(ends)), ends)
        return np.asarray(whole + part)


@lru_cache(maxsize=16)  # as every decision asks
def _spans(days: tuple[str, ...], clock: Clock) -> list[tuple[float, float]]:
    """Return the start and the end of some dates within a run."""
    assert clock.since is not None  # see `Traffic.rounds`
    first = clock.since.date() - timedelta(days=1)  # some days of the first and the last years are no times of a zone
    dates = [z for z in map(datetime.fromisoformat, days) if 0 <= (z.date() - first).days <= clock.last + 2.0]
    each = [tuple(clock.read("Traffic.closed", z) for z in (day, day + timedelta(days=1))) for day in dates]
    return [(max(start, 0.0), min(end, clock.last)) for start, end in each if end > 0.0 and start < clock.last]


def _day(day: object) -> str:
    """Return a date as a text."""
    try:
        if isinstance(day, date) and not isinstance(day, datetime):
            return day.isoformat()
        return date.fromisoformat(day).isoformat()  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError):
        raise InvalidInput("Traffic.closed", 'dates, such as "2026-12-25"', value_text(day)) from None
