"""Columns of a file that is read part by part, so that its texts are never held all at once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.replay.columns import POINT, Column, Names, Numbers, as_number


def held(values: array[Any]) -> Any:
    """Return the numbers of an array without a copy."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


class GrowingNumbers:
    """A column of numbers that grows by texts."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._values, self._odd = decimal, array("d"), dict[int, str]()

    def extend(self, texts: Sequence[str]) -> None:
        start = len(self._values)
        found = self._parsed(texts)
        self._values.frombytes(found.tobytes())
        for i in np.flatnonzero(np.isnan(found)).tolist():
            self._odd[start + i] = texts[i].strip()

    def _parsed(self, texts: Sequence[str]) -> Floats:
        if self._decimal == POINT and "_" not in "".join(texts):
            with suppress(ValueError):  # most parts have numbers alone
                return np.array(list(map(float, texts)))
        each = {text: as_number(text.strip(), self._decimal) for text in set(texts)}
        return np.array(list(map(each.__getitem__, texts)), float)

    def column(self) -> Column:
        return Numbers(held(self._values), self._odd)


class GrowingNames:
    """A column of names that grows by texts; spaces around them do not count."""

    def __init__(self) -> None:
        self._codes, self._places = array("i"), defaultdict[str, int]()
        self._places.default_factory = self._places.__len__

    def extend(self, texts: Sequence[str]) -> None:
        self._codes.extend(map(self._places.__getitem__, texts))

    def column(self) -> Column:
        codes, stripped = held(self._codes), Names.of([text.strip() for text in self._places])
        same = len(stripped.values) == len(self._places)
        return Names(codes if same else stripped.codes[codes], stripped.values)
