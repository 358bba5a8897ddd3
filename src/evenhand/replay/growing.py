"""Columns of a file that is read part by part, so that its texts are never held all at once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.replay.columns import POINT, Column, Marks, Names, Numbers, as_number, as_percentage


def held(values: array[Any]) -> Any:
    """Return the numbers of an array without a copy."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


class GrowingNumbers:
    """A column of numbers that grows by texts; percentages are numbers if all of them have the sign."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._values, self._odd = decimal, array("d"), dict[int, str]()
        self._percentages = array("q")  # the rows of those
        self._marks = Marks()

    def extend(self, texts: Sequence[str]) -> None:
        if self._decimal == POINT and "_" not in (whole := "".join(texts)):
            if not self._marks.fraction and (POINT in whole or not self._marks.more):
                self._look([text.strip() for text in set(texts)])
            with suppress(ValueError):  # most parts have numbers alone
                self.add(np.array(list(map(float, texts))), lambda i: texts[i].strip())
                return
        names = Names.of(texts)
        self.add_texts(names.codes, [text.strip() for text in names.values])

    def add(self, found: Floats, text: Callable[[int], str]) -> None:
        """Add numbers, NaN where there is none but a text, by its number among them."""
        start = len(self._values)
        self._values.frombytes(found.tobytes())
        self._odd |= {start + i: text(i) for i in np.flatnonzero(np.isnan(found)).tolist()}

    def add_texts(self, codes: Ints, each: Sequence[str]) -> None:
        """Add the texts of rows, by the number of each text."""
        start, plain = len(self._values), np.array([as_number(text, self._decimal) for text in each], float)
        shares = np.array([as_percentage(text, self._decimal) for text in each], float)
        self._look(each)
        self._percentages.frombytes((np.flatnonzero(np.isfinite(shares)[codes]) + start).tobytes())
        self.add(np.where(np.isfinite(shares), shares, plain)[codes], lambda i: each[codes[i]])

    def _look(self, texts: Sequence[str]) -> None:
        """Look at the points of some texts, unless one is known that cannot separate thousands."""
        if not self._marks.fraction:
            self._marks = self._marks.beside(Marks.of(texts))

    def column(self) -> Column:
        values, rows = held(self._values), held(self._percentages)
        if not 0 < len(rows) < len(values) - len(self._odd):
            return Numbers(values, self._odd, self._marks)
        odd = self._odd | {row: f"{100.0 * values[row]:.12g} %" for row in rows.tolist()}
        values = values.copy()
        values[rows] = np.nan
        return Numbers(values, dict(sorted(odd.items())), self._marks)


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
