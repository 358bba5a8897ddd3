"""The texts of levels, the same for a value from a file, a data frame or a case."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np

_WHOLE = re.compile(r"-?(0|[1-9]\d*)\.0+")  # a whole number as files have it whose column was of fractions


def plain(value: float) -> str:
    """Write a number as a file of texts would: whole numbers without a point.

    >>> plain(1.0), plain(0.25), plain(float("nan"))
    ('1', '0.25', '')
    """
    if np.isnan(value):
        return ""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def level_of(value: object) -> str | None:
    """Return the text of a level; None of what is none. Whole numbers have no point, and other texts stay.

    >>> [level_of(z) for z in (121, 121.0, "121.0", np.int8(7), "007", "1.10", True, date(2026, 11, 3), None)]
    ['121', '121', '121', '7', '007', '1.10', 'True', '2026-11-03', None]
    """
    if isinstance(value, str):
        return value.partition(".")[0] if value.endswith("0") and _WHOLE.fullmatch(value) else str(value)
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, float | np.floating | Decimal):
        return plain(float(value)) if np.isfinite(float(value)) else None
    if isinstance(value, datetime):
        midnight = value.tzinfo is None and value == datetime.combine(value.date(), time())
        return value.date().isoformat() if midnight else value.isoformat()
    return value.isoformat() if isinstance(value, date) else None


def level_among(value: object, levels: Iterable[str]) -> str | None:
    """Return the level that a value is, by their texts; None if it is none.

    >>> level_among(121, ("7.0", "121.0")), level_among(True, ("true", "false")), level_among("fax", ("web", "shop"))
    ('121.0', 'true', None)
    """
    levels, found = tuple(levels), level_of(value)
    if isinstance(value, str) and value in levels:
        return str(value)
    if isinstance(value, bool | np.bool_):
        return next((z for z in levels if z.casefold() == str(value).casefold()), None)
    return None if found is None else next((z for z in levels if level_of(z) == found), None)
