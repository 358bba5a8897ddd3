"""The clock of a problem, times as numbers and calendar periods; horizons that may end at any round between two."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Self
from zoneinfo import ZoneInfo

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import value_text
from evenhand.core.types import Floats
from evenhand.core.validate import number, whole
from evenhand.problem import zones

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

    Where a run has no dates, a time is a number from 0 on, and by default that of the round. Days, weeks (from Monday)
    and months are those of the calendar, so that the first and the last one of a run may be shorter; hours are counted
    from the start of a day. Times without an offset are local times.

    With a zone, numbers are days of 24 hours that have elapsed, and calendar periods begin at local midnights: a day
    may have 23 or 25 hours. Without one, the offset of the start holds throughout.

    Args:
        since: the start; None if times are numbers.
        last: the end of the run, as a number.
        zone: the time zone, None for one offset.

    >>> clock = Clock.between("2026-11-23", "2026-12-24", 0)
    >>> clock.last, clock.read("time", "2026-11-24T06:00")
    (31.0, 1.25)
    >>> clock.edges("Budget.per", "week").tolist()
    [0.0, 7.0, 14.0, 21.0, 28.0, 35.0]
    >>> 24 * np.diff(Clock.between("2026-10-24", "2026-10-27", 0, "Europe/Prague").edges("Budget.per", "day"))
    array([24., 25., 24.])
    """

    since: datetime | None
    last: float
    zone: ZoneInfo | None = None

    @staticmethod
    def between(since: Time | None, until: Time | None, horizon: float, zone: str | None = None) -> Clock:
        """Return the clock of a run between two times; by default it counts rounds up to the horizon.

        Raises:
            InvalidInput: a start that is not a date, a start without an end, an end that is not after the start, ends
                that a clock change makes doubtful, ends of two offsets without a zone, or an unknown zone.
        """
        if until is not None and earliest(horizon) < horizon:
            raise InvalidInput("horizon", "a number of rounds, as until= states the end of the run", horizon)
        if since is None:
            if zone is not None:
                raise InvalidInput("zone", "nothing, as the problem has no since=", repr(zone))
            last = horizon if until is None else number("until", until, "a number above 0 where there is no since=")
            if not 0.0 < last < math.inf:
                raise InvalidInput("until", "a number above 0 where there is no since=", until)
            return Clock(None, float(last))
        start = _parse("since", since)
        if until is None:
            raise InvalidInput("until", "the end of the run, as since= states its start", None)
        own = start.tzinfo if isinstance(start.tzinfo, ZoneInfo) else None
        local = own if zone is None else zones.named("zone", zone)
        if local is not None:
            zones.refuse_doubt("since", start, local)
            start = zones.at(zones.moment(start, local), local)
        elif start.tzinfo is not None and (end := _parse("until", until)).utcoffset() not in (None, start.utcoffset()):
            expected = 'an end with the offset of since=, or a zone beside both, such as zone = "Europe/Prague"'
            raise InvalidInput("until", expected, end.isoformat(" "))
        last = Clock(start, math.inf, local).boundary("until", until)
        if last <= 0.0:
            raise InvalidInput("until", f"a time after since={since}", until)
        return Clock(start, last, local)

    def read(self, field: str, time: object) -> float:
        """Return a time as a number; see `zones.moment` for local times that come twice or never.

        Raises:
            InvalidInput: a number for a run with dates or the reverse, or a text that is not a date.
        """
        if self.since is None:
            return number(field, time, "a number of at least 0, as the problem has no since=", lambda t: t >= 0.0)
        when = _parse(field, time)
        if self.zone is not None:
            return (zones.moment(zones.bounded(field, when), self.zone) - self._origin) / _DAY
        if when.tzinfo is not None:
            when = when.astimezone(self.since.tzinfo or UTC)
        return (when.replace(tzinfo=None) - self._origin) / _DAY

    def boundary(self, field: str, time: object) -> float:
        """Return the end of a run or of a span as a number.

        Raises:
            InvalidInput: as `read`, or a local time that comes twice or never.
        """
        if self.zone is not None:
            zones.refuse_doubt(field, _parse(field, time), self.zone)
        return self.read(field, time)

    def is_doubtful(self, time: str) -> bool:
        """Whether a text is a local time that comes twice or never, as the clock changes."""
        if self.zone is None:
            return False
        try:
            return bool(zones.doubt(zones.bounded("time", _parse("time", time)), self.zone))
        except InvalidInput:
            return False

    def format(self, time: float) -> str:
        """Return a time as a text: a date, with the time of day unless the day starts then, or a number.

        >>> clock = Clock.between("2026-11-23", "2026-12-24", 0)
        >>> clock.format(1.0), clock.format(1.25)
        ('2026-11-24', '2026-11-24 06:00')
        """
        if self.since is None:
            return f"{time:,.6g}"
        moment = self._origin + timedelta(seconds=round(time * 86_400))
        when = self._wall(moment)
        if moment == self._moment(_floor(when, "day")):
            return when.date().isoformat()
        if self.zone is not None and zones.occurrence(when, self.zone):
            when = zones.at(moment, self.zone)  # with its offset
        return when.isoformat(" ", "minutes")

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
            start = "" if self.since is None else f" ({self.since})"
            raise InvalidInput(field, f"at least 0, the start of the run{start}", time)

    @property
    def start(self) -> datetime | None:
        """The start with its offset, that of UTC if it states none; None if times are numbers."""
        return self.since if self.since is None or self.since.tzinfo is not None else self.since.replace(tzinfo=UTC)

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
        moments, found = self._starts(per), [0.0]
        while found[-1] < self.last:
            end = (next(moments) - self._origin) / _DAY
            found += [end] * (end > found[-1])  # a day that a zone skips has no length
            if len(found) > _MOST:
                raise InvalidInput(field, f"at most {_MOST:,} periods until {self.last:g}", repr(per))
        return found

    def phase(self, per: Per) -> float:
        """The part of a period that is over when the run starts, in units of the clock."""
        if not isinstance(per, str):
            return 0.0
        if self.since is None:
            raise InvalidInput("Traffic.per", _expectation(None), repr(per))
        *_, begun = takewhile(lambda moment: moment <= self._origin, self._starts(per))
        return (self._origin - begun) / _DAY

    def grid(self, per: str) -> Floats:
        """Return the starts of all calendar periods of a run and the end of the last one, `()->(P+1)`.

        The first one may start before the run.
        """
        if per not in self._grids:
            self._grids[per] = np.array([-self.phase(per), *self._calendar("per", per)[1:]])
        return self._grids[per]

    def days(self, time: Floats) -> Floats:
        """Return the days of the calendar up to some times, from the start of the first one, `(n)->(n)`."""
        if self.zone is None:
            return np.asarray(time + self.phase("day"))
        starts = self.grid("day")
        return np.interp(time, starts, np.arange(len(starts)))

    @cached_property
    def _grids(self) -> dict[str, Floats]:
        return {}

    def months(self, edges: Floats) -> list[str]:
        """Return the names of the months in which periods start."""
        return [f"{self._wall(self._origin + timedelta(days=e)):%B}".lower() for e in edges[:-1].tolist()]

    @cached_property
    def _origin(self) -> datetime:
        """The start, in UTC if there is a zone and as local time elsewhere."""
        assert self.since is not None  # who asks has dates
        return (self.since if self.zone is None else self.since.astimezone(UTC)).replace(tzinfo=None)

    def _moment(self, wall: datetime) -> datetime:
        """Return when it is a local time, in UTC if there is a zone and as local time elsewhere."""
        return wall if self.zone is None else zones.moment(wall, self.zone)

    def _wall(self, moment: datetime) -> datetime:
        """Return the local time of a moment."""
        return moment if self.zone is None else zones.at(moment, self.zone).replace(tzinfo=None)

    def _starts(self, per: str) -> Iterator[datetime]:
        """Yield the starts of periods, in their order; the first one has begun when the run starts."""
        if per == "hour":
            for start, end in pairwise(self._starts("day")):
                yield from (start + i * _HOUR for i in range(math.ceil((end - start) / _HOUR)))
            return
        wall = _floor(self._wall(self._origin), per)
        while True:
            yield self._moment(wall)
            wall = _next(wall, per)


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
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if per == "week":
        return midnight - midnight.weekday() * _DAY
    return midnight.replace(day=1) if per == "month" else midnight


def _next(start: datetime, per: str) -> datetime:
    """Return the end of the calendar period that starts then."""
    if per == "month":
        return (start + 31 * _DAY).replace(day=1)
    return start + {"day": _DAY, "week": 7 * _DAY}[per]
