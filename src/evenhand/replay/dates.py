"""Dates as numbers: days since the start of 1970. They are written as 2026-11-23 or, in much of Europe, 23.11.2026."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import numpy as np

_START = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_WITH_POINTS = re.compile(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?", re.ASCII)


def days(value: object) -> float:
    """Return a date as days since the start of 1970; NaN for anything else. A time zone is converted to UTC.

    >>> days("1970-01-03"), days("1970-01-01T12:00"), days(date(1970, 1, 2)), days("yesterday")
    (2.0, 0.5, 1.0, nan)
    >>> days("3.1.1970"), days("03. 01. 1970 12:00"), days("31.02.1970")
    (2.0, 2.5, nan)
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        try:
            value = _read(value)
        except (TypeError, ValueError):
            return np.nan
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # the first or last day that there is
            return np.nan
    return (value - _START) / _DAY


def _read(text: object) -> datetime:
    found = _WITH_POINTS.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return datetime.fromisoformat(text)  # type: ignore[arg-type]
    day, month, year, hour, minute, second = (int(z or 0) for z in found.groups())
    return datetime(year, month, day, hour, minute, second)


def written(value: float) -> str:
    """Return the date of a number.

    >>> written(2.5)
    '1970-01-03'
    """
    return (_START + timedelta(days=value)).date().isoformat()
