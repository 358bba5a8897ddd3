"""Dates as numbers: days since the start of 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np

_START = datetime(1970, 1, 1)
_DAY = timedelta(days=1)


def days(value: object) -> float:
    """Return a date as days since the start of 1970; NaN for anything else. A time zone is converted to UTC.

    >>> days("1970-01-03"), days("1970-01-01T12:00"), days(date(1970, 1, 2)), days("yesterday")
    (2.0, 0.5, 1.0, nan)
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        try:
            value = datetime.fromisoformat(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return np.nan
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # the first or last day that there is
            return np.nan
    return (value - _START) / _DAY


def written(value: float) -> str:
    """Return the date of a number.

    >>> written(2.5)
    '1970-01-03'
    """
    return (_START + timedelta(days=value)).date().isoformat()
