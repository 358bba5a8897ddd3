"""Time zones by name: local times as moments of UTC, and those that a change of the clock makes doubtful."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text

_SECOND = timedelta(seconds=1)
_TWICE, _NEVER = "comes twice", "never comes"


def named(field: str, name: object) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        InvalidInput: there is none of this name.
    """
    try:
        return ZoneInfo(name)  # type: ignore[arg-type]  # refused below
    except (LookupError, OSError, TypeError, ValueError):
        near = suggestion(name, available_timezones()) if isinstance(name, str) else ""
        raise InvalidInput(field, 'a time zone by its name, such as "Europe/Prague"', value_text(name) + near) from None


def moment(when: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment of a time, in UTC and without an offset.

    Midnight is the moment at which a local day starts, whether the clock shows it once, twice or never. Any other local
    time that comes twice is the earlier one, unless its `fold` is 1. One that never comes is as much later as the clock
    is set forward.

    >>> prague = ZoneInfo("Europe/Prague")
    >>> print(moment(datetime(2026, 10, 25, 2, 30), prague), moment(datetime(2026, 3, 29, 2, 30), prague))
    2026-10-25 00:30:00 2026-03-29 01:30:00
    >>> print(moment(datetime(2018, 11, 4), ZoneInfo("America/Sao_Paulo")))  # from 00:00 to 01:00
    2018-11-04 03:00:00
    """
    found = _utc(when, zone)
    if when.tzinfo is not None or when.fold or when.time() != time() or occurrence(when, zone) != _NEVER:
        return found
    early, after = _utc(when.replace(fold=1), zone), at(found, zone).utcoffset()
    while found - early > _SECOND:  # the clock changes between the two, at a whole second
        middle = early + (found - early) // 2 // _SECOND * _SECOND
        early, found = (early, middle) if at(middle, zone).utcoffset() == after else (middle, found)
    return found


def at(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the local time of a moment, with its offset."""
    return moment.replace(tzinfo=UTC).astimezone(zone)


def doubt(when: datetime, zone: ZoneInfo) -> str:
    """Say why a time is doubtful; nothing if it is not, as one with an offset, or the midnight of a day.

    >>> prague, apia = ZoneInfo("Europe/Prague"), ZoneInfo("Pacific/Apia")
    >>> doubt(datetime(2026, 10, 25, 2, 30), prague), doubt(datetime(2026, 3, 29, 2, 30), prague)
    ('comes twice', 'never comes')
    >>> doubt(datetime(2026, 10, 25, 3), prague), doubt(datetime(2011, 12, 30), apia)
    ('', 'never comes')
    """
    if when.tzinfo is not None:
        return ""
    if when.time() == time():
        return "" if at(moment(when, zone), zone).date() == when.date() else _NEVER
    return occurrence(when, zone)


def occurrence(when: datetime, zone: ZoneInfo) -> str:
    """Say whether the clock shows a local time twice or never; nothing if once."""
    early, late = (_utc(when.replace(fold=fold), zone) for fold in (0, 1))
    return "" if early == late else _TWICE if early < late else _NEVER


def refuse_doubt(field: str, when: datetime, zone: ZoneInfo) -> None:
    """Refuse a time that is doubtful and does not say by its `fold` which one it is."""
    found = doubt(bounded(field, when), zone)
    if found and not (found == _TWICE and when.fold):
        way = "with its offset, as in 2026-10-25T02:30+01:00" if found == _TWICE else "that comes there"
        raise InvalidInput(field, f"a time {way}", f"{when.isoformat(' ')}, which {found} in {zone.key}")


def bounded(field: str, when: datetime) -> datetime:
    """Return a time, unless it is so near the first or the last year that it may have none in UTC."""
    if not 1 < when.year < 9999:
        raise InvalidInput(field, "a year from 2 to 9998, where there is a zone", when.isoformat(" "))
    return when


def _utc(when: datetime, zone: ZoneInfo) -> datetime:
    return (when if when.tzinfo is not None else when.replace(tzinfo=zone)).astimezone(UTC).replace(tzinfo=None)
