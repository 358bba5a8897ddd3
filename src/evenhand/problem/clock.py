"""The clock of a problem, times as numbers and calendar periods; horizons that may end at any round between two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.types import Floats
from evenhand.core.validate import number, whole

Time = str | date | datetime | float | int
Per = str | float | int

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_PERIODS = ("hour", "day", "week", "month")
_MOST = 100_000  # periods of a run


class Between(int):
    """A number of rounds that is not known beforehand: the run may end after any round from the earliest to the latest.

    It counts as the latest one, so that a policy decides until then. `Resolving` spends the rest of a total B at the
    rate B / (max(t, a) (1 + ln(b / a))) in round t, as far as earlier rounds kept to it, where a is the earliest round
    and b the latest one: whenever the run ends, what it could spend is in about the same proportion to B.
    Source: Balseiro, Kroer & Kumar 2022, target rates for uncertain horizons; what earlier rounds left is spread in
    the same proportions.

    Args:
        earliest, latest: numbers of rounds, the earliest at least 1 and at most the latest.

    Raises:
        InvalidInput: numbers that are not whole, or an earliest end below 1 or after the latest one.

    >>> horizon = Between(1500, 4500)
    >>> horizon, horizon.earliest, horizon + 0
    (Between(1500, 4500), 1500, 4500)
    """

    earliest: int

    def __new__(cls, earliest: int, latest: int) -> Self:
        whole("Between.earliest", earliest, 1)
        whole("Between.latest", latest, 1)
        if earliest > latest:
            raise InvalidInput("Between.earliest", f"at most the latest end, {latest}", earliest)
        horizon = super().__new__(cls, latest)
        horizon.earliest = int(earliest)
        return horizon

    def __reduce__(self) -> tuple[type[Between], tuple[int, int]]:
        return Between, (self.earliest, int(self))

    def __repr__(self) -> str:
        return f"Between({self.earliest}, {int(self)})"


def earliest(horizon: float) -> float:
    """Return the earliest round after which a run may end.

    >>> earliest(Between(3, 5)), earliest(5)
    (3, 5)
    """
    return horizon.earliest if isinstance(horizon, Between) else horizon


@dataclass(frozen=True)
class Clock:
    """Reads times as numbers: days since the start of a run that has dates, or numbers as they are.

    Where a run has no dates, a time is a number from 0 on, and by default that of the round. Hours, days, weeks (from
    Monday) and months are those of the calendar, so that the first and the last one of a run may be shorter. A start
    with a time zone fixes that zone. Times without a zone are local times there.

    Args:
        since: the start; None if times are numbers.
        last: the end of the run, as a number.

    >>> clock = Clock.between("2026-11-23", "2026-12-24", 0)
    >>> clock.last, clock.read("time", "2026-11-24T06:00")
    (31.0, 1.25)
    >>> clock.edges("Budget.per", "week").tolist()
    [0.0, 7.0, 14.0, 21.0, 28.0, 35.0]
    """

    since: datetime | None
    last: float

    @staticmethod
    def between(since: Time | None, until: Time | None, horizon: float) -> Clock:
        """Return the clock of a run between two times; by default it counts rounds up to the horizon.

        Raises:
            InvalidInput: a start that is not a date, a start without an end, or an end that is not after the start.
        """
        if until is not None and earliest(horizon) < horizon:
            raise InvalidInput("horizon", "a number of rounds, as until= states the end of the run", horizon)
        if since is None:
            last = horizon if until is None else number("until", until, "a number above 0 where there is no since=")
            if not 0.0 < last < math.inf:
                raise InvalidInput("until", "a number above 0 where there is no since=", until)
            return Clock(None, float(last))
        start = _parse("since", since)
        if until is None:
            raise InvalidInput("until", "the end of the run, as since= states its start", None)
        last = Clock(start, math.inf).read("until", until)
        if last <= 0.0:
            raise InvalidInput("until", f"a time after since={since}", until)
        return Clock(start, last)

    def read(self, field: str, time: object) -> float:
        """Return a time as a number.

        Raises:
            InvalidInput: a number for a run with dates or the reverse, or a text that is not a date.
        """
        if self.since is None:
            return number(field, time, "a number of at least 0, as the problem has no since=", lambda t: t >= 0.0)
        when = _parse(field, time)
        if when.tzinfo is not None:
            when = when.astimezone(self.since.tzinfo or UTC)
        return (when.replace(tzinfo=None) - self.since.replace(tzinfo=None)) / _DAY

    def format(self, time: float) -> str:
        """Return a time as a text: a date, with the time of day unless it is midnight, or a number.

        >>> clock = Clock.between("2026-11-23", "2026-12-24", 0)
        >>> clock.format(1.0), clock.format(1.25)
        ('2026-11-24', '2026-11-24 06:00')
        """
        if self.since is None:
            return f"{time:,.6g}"
        when = (self.since + timedelta(seconds=round(time * 86_400))).replace(tzinfo=None)
        return when.date().isoformat() if when == _floor(when, "day") else when.isoformat(" ", "minutes")

    def of_micros(self, at: int) -> float | None:
        """Return the time of microseconds since 1970, None if times are numbers."""
        if self.since is None:
            return None
        return self.read("time", datetime.fromtimestamp(at // 1_000_000, UTC)) + at % 1_000_000 / 86_400e6

    def check(self, field: str, time: object, replicas: int) -> None:
        """Refuse anything but times from the start of the run on, `(1|R)`; those after its end are not errors."""
        if time is None:
            raise InvalidInput(field, "the time of the case, as the problem has until=", time)
        if not isinstance(time, np.ndarray) or time.dtype != np.float64 or time.shape not in ((1,), (replicas,)):
            raise InvalidInput(field, f"an array of numbers of shape (1,) or ({replicas},)", value_text(time))
        if not ((time >= 0.0) & (time < math.inf)).all():
            raise InvalidInput(field, f"at least 0, the start of the run{self._start}", time)

    @property
    def _start(self) -> str:
        return "" if self.since is None else f" ({self.since})"

    def edges(self, field: str, per: Per) -> Floats:
        """Return the ends of the periods from 0 to the end of the run, `()->(P+1)`; the last one may be later.

        Raises:
            InvalidInput: not "hour", "day", "week", "month" or a number, or a calendar period without dates.
        """
        if isinstance(per, str):
            found = self._calendar(field, per)
        else:
            length = number(field, per, _expectation(self.since), lambda n: 0.0 < n < math.inf)
            if self.last / length > _MOST:
                raise InvalidInput(field, f"at most {_MOST:,} periods until {self.last:g}", per)
            found = [length * i for i in range(math.ceil(self.last / length) + 1)]
        return np.array(found)

    def _calendar(self, field: str, per: str) -> list[float]:
        if per not in _PERIODS or self.since is None:
            raise InvalidInput(field, _expectation(self.since), repr(per))
        start, found = self.since.replace(tzinfo=None), [0.0]
        end = _floor(start, per)
        while found[-1] < self.last:
            end = _next(end, per)
            found.append((end - start) / _DAY)
            if len(found) > _MOST:
                raise InvalidInput(field, f"at most {_MOST:,} periods until {self.last:g}", repr(per))
        return found

    def phase(self, per: Per) -> float:
        """The part of a period that is over when the run starts, in units of the clock."""
        if not isinstance(per, str):
            return 0.0
        if self.since is None:
            raise InvalidInput("Traffic.per", _expectation(None), repr(per))
        start = self.since.replace(tzinfo=None)
        return (start - _floor(start, per)) / _DAY

    def months(self, edges: Floats) -> list[str]:
        """Return the names of the months in which periods start."""
        assert self.since is not None  # `edges` refused a calendar without dates
        return [(self.since + timedelta(days=e)).strftime("%B").lower() for e in edges[:-1].tolist()]


def refuse_truth(field: str, per: object) -> None:
    """Refuse True and False as a period, as these count as the numbers 1 and 0."""
    if isinstance(per, bool):
        raise InvalidInput(field, f"one of {_PERIODS}, or a number above 0", per)


def _expectation(since: datetime | None) -> str:
    if since is None:
        return "a number above 0, as the problem has no since="
    return f"one of {_PERIODS}, or a number of days above 0"


def _parse(field: str, time: object) -> datetime:
    """Read a date, with or without a time of day, as ISO 8601 writes it."""
    if isinstance(time, datetime):
        return time
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day)
    try:
        return datetime.fromisoformat(time)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidInput(field, 'a date, such as "2026-11-23" or "2026-11-23T10:15"', value_text(time)) from None


def _floor(time: datetime, per: str) -> datetime:
    """Return the start of the calendar period of a time."""
    if per == "hour":
        return time.replace(minute=0, second=0, microsecond=0)
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    if per == "week":
        return midnight - midnight.weekday() * _DAY
    return midnight.replace(day=1) if per == "month" else midnight


def _next(start: datetime, per: str) -> datetime:
    """Return the end of the calendar period that starts then."""
    if per == "month":
        return (start + 31 * _DAY).replace(day=1)
    return start + {"hour": _HOUR, "day": _DAY, "week": 7 * _DAY}[per]
