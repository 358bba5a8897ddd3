"""Dates as numbers: days since the start of 1970. They are written as 2026-11-23 or, in much of Europe, 23.11.2026.

Dates with slashes, and those with hyphens whose year comes last, are read where their order is stated. Years of two
digits are those from 1950 to 2049. A time zone changes nothing: the day is the one that is written.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import numpy as np

_START = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
ORDERS = ("day/month/year", "month/day/year")
_TIME = r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?"
_WITH_POINTS = re.compile(rf"(\d{{1,2}})\. ?(\d{{1,2}})\. ?(\d{{4}}|\d{{2}}){_TIME}", re.ASCII)
_WITH_SLASHES = re.compile(rf"(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}|\d{{2}}){_TIME}", re.ASCII)
_WITH_HYPHENS = re.compile(r"^(\d{1,2})-(\d{1,2})-(?=\d{4})", re.ASCII)


def days(value: object, order: str | None = None) -> float:
    """Return a date as days since the start of 1970; NaN for anything else. A time zone changes nothing.

    Args:
        value: a date, or a text.
        order: of the numbers of a text with slashes or hyphens, one of `ORDERS`; None reads none.

    >>> days("1970-01-03"), days("1970-01-01T12:00"), days(date(1970, 1, 2)), days("yesterday")
    (2.0, 0.5, 1.0, nan)
    >>> days("1970-01-03T00:00+02:00"), days("1970-01-03 00:30:00-05:00") < 2.1, days("1970/01/03")
    (2.0, True, 2.0)
    >>> days("3.1.1970"), days("03. 01. 1970 12:00"), days("31.02.1970")
    (2.0, 2.5, nan)
    >>> days("1/3/70", "month/day/year"), days("3/1/1970", "day/month/year"), days("3/1/1970"), days("3.1.70")
    (2.0, 2.0, nan, 2.0)
    >>> days("03-01-1970", "day/month/year"), days("01-03-1970 12:00", "month/day/year"), days("03-01-1970")
    (2.0, 2.5, nan)
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        try:
            value = _read(value, order)
        except (TypeError, ValueError):
            return np.nan
    return (value.replace(tzinfo=None) - _START) / _DAY


def offset(text: str) -> str:
    """Return the time zone that a text states, nothing if it states none.

    >>> offset("2024-03-01T00:00+0200"), offset("2024-03-01T00:00Z"), offset("2024-03-01")
    ('UTC+02:00', 'UTC', '')
    """
    try:
        return str(datetime.fromisoformat(text).tzinfo or "")
    except ValueError:
        return ""


def slashed(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of a text that may be a date with slashes or hyphens; None for other texts.

    >>> slashed("3/11/26"), slashed("3-11-2026"), slashed("3.11.26"), slashed("2026-11-03")
    ((3, 11), (3, 11), None, None)
    """
    found = _with_slashes(text)
    return None if found is None else (int(found[1]), int(found[2]))


def short(text: str) -> bool:
    """Whether a text may be a date whose year has two digits.

    >>> short("3.11.26"), short("3.11.2026")
    (True, False)
    """
    found = _WITH_POINTS.fullmatch(text) or _with_slashes(text)
    return found is not None and len(found[3]) == 2


def _with_slashes(text: str) -> re.Match[str] | None:
    """Match a date with slashes, or one with hyphens and its year of four digits at the end."""
    return _WITH_SLASHES.fullmatch(_WITH_HYPHENS.sub(r"\1/\2/", text))


def _read(text: object, order: str | None) -> datetime:
    found = _WITH_POINTS.fullmatch(text) if isinstance(text, str) else None
    if found is None and order is not None and isinstance(text, str):
        found = _with_slashes(text)
    if found is None:
        return datetime.fromisoformat(text.replace("/", "-") if isinstance(text, str) else "")
    day, month, year, hour, minute, second = (int(z or 0) for z in found.groups())
    if "/" in found[0] and order == ORDERS[1]:
        day, month = month, day
    if len(found[3]) == 2:
        year += 1900 if year >= 50 else 2000
    return datetime(year, month, day, hour, minute, second)


def written(value: float) -> str:
    """Return the date of a number.

    >>> written(2.5)
    '1970-01-03'
    """
    return (_START + timedelta(days=value)).date().isoformat()
