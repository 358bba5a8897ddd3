"""Typed columns that grow by the arrays of Arrow: numbers stay numbers, and texts are stored once."""

from __future__ import annotations

from array import array
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from evenhand.core.types import Ints
from evenhand.replay.columns import POINT, Column, Names, plain
from evenhand.replay.growing import GrowingNumbers, held


class Nested(Exception):
    """Values that are lists, tables, bytes or durations, which have a unit that nobody stated."""


class ArrowNumbers:
    """A column of numbers; truth counts as 1 and 0, and texts are parsed."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._grown = decimal, GrowingNumbers(decimal)

    def extend(self, values: Any) -> None:
        if _is_number(str(values.type)):
            found = np.asarray(values.cast("float64", safe=False).to_numpy(zero_copy_only=False), float)
            self._grown.add(found, lambda row: "")
        else:
            self._grown.add_texts(*_texts(values, self._decimal))

    def column(self) -> Column:
        return self._grown.column()


class ArrowNames:
    """A column of names; other values are written as a file of texts would."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._codes, self._places = decimal, array("i"), dict[str, int]()

    def extend(self, values: Any) -> None:
        codes, each = _texts(values, self._decimal)
        ours = np.array([self._places.setdefault(text, len(self._places)) for text in each], np.intc)
        self._codes.frombytes(ours[codes].tobytes())

    def column(self) -> Column:
        return Names(held(self._codes), tuple(self._places))


def _is_number(kind: str) -> bool:
    return kind == "bool" or kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal"))


def _texts(values: Any, decimal: str) -> tuple[Ints, list[str]]:
    """Return the number of every value's text, and the texts; that of a missing value is empty."""
    if str(values.type) == "string_view":  # which has no dictionary of its own
        values = values.cast("large_string")
    if str(values.type).startswith(("list", "large_list", "struct", "map", "fixed_size", "binary", "large_binary")):
        raise Nested(str(values.type))
    if str(values.type).startswith("duration"):
        raise Nested(f"{values.type}: divide it by a unit, such as pandas.Timedelta(hours=1)")
    coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    each = [_written(value, decimal) for value in coded.dictionary.to_pylist()]
    codes = coded.indices.fill_null(len(each)).to_numpy(zero_copy_only=False)
    return np.asarray(codes, np.int64), [*each, ""]


def _written(value: object, decimal: str) -> str:
    """Write a value as a text, as a file would have it."""
    if isinstance(value, datetime):
        midnight = value.tzinfo is None and value == datetime.combine(value.date(), time())
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float | Decimal):
        return plain(float(value)).replace(POINT, decimal)
    return "" if value is None else str(value).strip()
