"""Cuts a CSV file into parts of many rows, with the line at which every row begins."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Ints

if TYPE_CHECKING:
    from _csv import Reader

EXPECTED = "a CSV file in UTF-8"
_AT_ONCE = 2_000  # rows that are held as texts: they fit into a cache
_ENDS = re.compile(r"\r\n|\r|\n")


class Part(NamedTuple):
    """Some rows of a file.

    Args:
        rows: those with as many fields as the header.
        lines: at which each of them begins, counted from 1.
        torn: the lines at which rows with another number of fields begin; blank lines are none.
    """

    rows: list[list[str]]
    lines: Ints
    torn: list[int]


def parts(name: str, reader: Reader, fields: int, most: int | None, at_once: int = _AT_ONCE) -> Iterator[Part]:
    """Read what follows the header in parts.

    Args:
        name: of the file.
        reader: that has read the header.
        fields: of the header.
        most: how many rows are read; None reads all.
        at_once: rows of a part.

    Raises:
        InvalidInput: the file is not CSV; with the line.
    """
    left = most
    while left is None or left > 0:
        start, rows = reader.line_num + 1, list[list[str]]()
        try:
            rows.extend(itertools.islice(reader, at_once if left is None else min(at_once, left)))
        except csv.Error as error:  # the rows before it are in the list
            raise InvalidInput(f"{name}, line {start + int(_lengths(rows).sum())}", EXPECTED, error) from error
        if not rows:
            return
        left = None if left is None else left - len(rows)
        if reader.line_num + 1 - start == len(rows):  # every row is one line
            lines = np.arange(start, start + len(rows))
        else:
            lines = start + np.cumsum(_lengths(rows)) - _lengths(rows)
        if set(map(len, rows)) == {fields}:
            yield Part(rows, lines, [])
        else:
            whole = np.array([len(row) == fields for row in rows])
            torn = [line for row, line in zip(rows, lines.tolist(), strict=True) if row and len(row) != fields]
            yield Part(list(itertools.compress(rows, whole)), lines[whole], torn)


def _lengths(rows: Sequence[Sequence[str]]) -> Ints:
    """Count the lines of every row: one more than the line ends within its fields."""
    return np.array([1 + sum(len(_ENDS.findall(field)) for field in row) for row in rows], np.int64)
