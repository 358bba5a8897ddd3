"""Columns of a file that is read part by part, so that its texts are never held all at once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from evenhand.replay.columns import Column, Names, Numbers, as_number


class GrowingNumbers:
    """A column of numbers that grows by texts."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._values, self._odd = decimal, array("d"), dict[int, str]()

    def extend(self, texts: Sequence[str]) -> None:
        start = len(self._values)
        found = np.array([as_number(text, self._decimal) for text in texts])
        self._values.frombytes(found.tobytes())
        for i in np.flatnonzero(np.isnan(found)).tolist():
            self._odd[start + i] = texts[i]

    def column(self) -> Column:
        return Numbers(np.array(self._values), self._odd)


class GrowingNames:
    """A column of names that grows by texts."""

    def __init__(self) -> None:
        self._codes, self._places = array("i"), defaultdict[str, int]()
        self._places.default_factory = self._places.__len__

    def extend(self, texts: Sequence[str]) -> None:
        self._codes.extend(map(self._places.__getitem__, texts))

    def column(self) -> Column:
        return Names(np.array(self._codes), tuple(self._places))
