"""Conversion of request bodies to values that JSON has, numbers of NumPy included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from evenhand.core.errors import InvalidInput


def plain(value: object, field: str = "") -> Any:
    """Return a value with numbers of other libraries, such as `numpy.int64`, as those of Python.

    Raises:
        InvalidInput: a number is not finite, or JSON has no such value; it names the field.

    >>> from fractions import Fraction
    >>> plain({"case": {"age": Fraction(67, 2), "town": "north"}, "frozen": True})
    {'case': {'age': 33.5, 'town': 'north'}, 'frozen': True}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {name: plain(z, f"{field}.{name}" if field else str(name)) for name, z in value.items()}
    if isinstance(value, list | tuple):
        return [plain(z, f"{field}[{i}]") for i, z in enumerate(value)]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, Real):
        raise InvalidInput(field, "a finite number", value)
    if type(value).__name__ in ("bool", "bool_"):  # of NumPy, which is no number
        return bool(value)
    raise InvalidInput(field, "a number, a text, true, false or None", f"{value!r:.60} ({type(value).__name__})")
