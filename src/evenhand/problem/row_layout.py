"""Makes the packed rows of cases that have hashed features: exact columns first, then a block for each hashed one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.row_pairs import Packed
from evenhand.core.types import Floats, Places
from evenhand.problem.hashes import Hashing


@dataclass(frozen=True, eq=False)
class Packing:
    """The layout of packed rows, `core.row_pairs`.

    The first pair is the intercept. Then every slot has one pair, and every hashed feature as many as it sets columns
    at most. Its columns are its own, so that no two features share one.

    Args:
        slots: the first column of each, and the one after the last; at most one of them is not 0 in a case.
        names: the feature of each slot.
        hashed: the features with a block of columns each.

    >>> from evenhand.problem.hashes import Hashed
    >>> Packing(slots=((1, 2),), names=("age",), hashed=(Hashed("query", hashed=64, at_most=8),)).size
    Packed(columns=66, pairs=10)
    """

    slots: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    hashed: tuple[Hashing, ...]

    @cached_property
    def size(self) -> Packed:
        """The numbers of columns and pairs."""
        pairs = 1 + len(self.slots) + sum(h.at_most for h in self.hashed)
        return Packed(self._starts[-1], pairs)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The first column of each hashed feature, and the one after the last."""
        found = [self.slots[-1][1] if self.slots else 1]
        for h in self.hashed:
            found.append(found[-1] + (h.hashed or 0))
        return tuple(found)

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """The name of the feature of each pair, "" for the intercept, `(k)`."""
        hashed = (h.name for h in self.hashed for _ in range(h.at_most))
        return ("", *self.names, *hashed)

    def row(self, exact: Sequence[float], case: Mapping[str, Any]) -> Floats:
        """Return the row of a case by its numbers in exact columns, and the values that are hashed, `(u)->(2k)`."""
        row, at = [0.0] * (2 * self.size.pairs), 2
        row[1] = 1.0
        for start, stop in self.slots:
            for i in range(start, stop):
                if exact[i] != 0.0:
                    row[at], row[at + 1] = i, exact[i]
            at += 2
        for h, start in zip(self.hashed, self._starts, strict=False):
            found = h.buckets(*[case[name] for name in h.reads])
            end, count = at + 2 * len(found), len(found)
            row[at:end:2] = [start + column for column in found]
            row[at + 1 : end : 2] = [1.0 / math.sqrt(count)] * count if found else []
            at += 2 * h.at_most
        return np.array(row)

    def rows(self, exact: Floats, buckets: Sequence[Places]) -> Floats:
        """Return the rows of cases with the bits of `row`, `(N,u)->(N,2k)`.

        Args:
            exact: the numbers in exact columns.
            buckets: for each hashed feature, what `table` returns for every case.
        """
        index, value = np.zeros((2, len(exact), self.size.pairs))
        value[:, 0], at = 1.0, 1
        for start, stop in self.slots:
            block = exact[:, start:stop]
            place = (block != 0.0).argmax(1)
            value[:, at] = found = block[np.arange(len(block)), place]
            index[:, at] = np.where(found != 0.0, start + place, 0)
            at += 1
        for h, first, found in zip(self.hashed, self._starts, buckets, strict=False):
            there, mine = found >= 0, slice(at, at + h.at_most)
            index[:, mine] = np.where(there, found + float(first), 0.0)
            value[:, mine] = np.where(there, 1.0 / np.sqrt(np.maximum(there.sum(1), 1))[:, None], 0.0)
            at += h.at_most
        return np.stack([index, value], 2).reshape(len(exact), 2 * self.size.pairs)


def table(feature: Hashing, columns: Sequence[Sequence[object]]) -> Places:
    """Return the columns that each case sets, -1 where it sets fewer than the most, `(N)->(N,at_most)`.

    Args:
        feature: that is hashed.
        columns: the values of the cases, for each name that the feature reads.
    """
    places: dict[tuple[object, ...], int] = {}  # by values and their types, as 1 == 1.0, which may be refused
    rows = zip(*columns, *(map(type, values) for values in columns), strict=True)
    codes = [places.setdefault(row, len(places)) for row in rows]
    found = np.full((len(places), feature.at_most), -1, np.int32)
    for i, values in enumerate(row[: len(columns)] for row in places):
        own = feature.buckets(*values)
        found[i, : len(own)] = own
    return found[codes] if len(codes) > len(places) else found
