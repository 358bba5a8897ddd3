"""What the columns of a log look like: numbers, dates or names, how many of them, and how many rows have none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from evenhand.replay.columns import POINT, Columns, as_number
from evenhand.replay.dates import days

GAPS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "-", "?")  # that may stand for missing values
_COMMA = re.compile(r"[-+]?\d+,\d+")


class Look(NamedTuple):
    """How a column looks in a sample of rows.

    Args:
        name, place: of the column in the header.
        kind: "number", "date", "name", or "empty".
        gaps: the rows without a value.
        rows: of the sample.
        values: the different texts, the most frequent first, without those of missing values.
        counts: how often each occurs.
    """

    name: str
    place: int
    kind: str
    gaps: int
    rows: int
    values: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether all values of the column are whole numbers."""
        return self.kind == "number" and all(value.lstrip("+-").isdigit() for value in self.values)

    @property
    def words(self) -> list[str]:
        """The words of its name, in lower case and without accents."""
        plain = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).casefold())
        plain = "".join(z for z in plain if not unicodedata.combining(z))
        return [word for word in re.split(r"[\W_]+", plain) if word]

    @property
    def differs(self) -> bool:
        """Whether every row has a value of its own, as the numbers of customers."""
        return self.rows > 20 and len(self.values) == self.rows


class Looks(NamedTuple):
    """How a log is written, and how its columns look."""

    columns: tuple[Look, ...]
    decimal: str
    missing: tuple[str, ...]


def looks(columns: Columns) -> Looks:
    """Look at columns that were read as texts.

    >>> from evenhand.replay.columns import Names
    >>> read = Columns(each={"age": Names.of(["41", "NA", "30"]), "town": Names.of(["a", "b", ""])}, lines=np.arange(3))
    >>> [(look.name, look.kind, look.gaps) for look in looks(read).columns], looks(read).missing
    ([('age', 'number', 1), ('town', 'name', 1)], ('', 'NA'))
    """
    decimal = _decimal(columns)
    gaps = sorted(set(_gaps(columns, decimal)))
    missing = ("", *gaps)
    found = (_look(columns, name, place, decimal, missing) for place, name in enumerate(columns.each))
    return Looks(tuple(found), decimal, missing)


def _look(columns: Columns, name: str, place: int, decimal: str, missing: Collection[str]) -> Look:
    names = columns.names(name)
    times = np.bincount(names.codes, minlength=len(names.values)).tolist()
    each = sorted(((n, text) for text, n in zip(names.values, times, strict=True)), key=lambda z: (-z[0], z[1]))
    there = [(n, text) for n, text in each if text not in missing]
    texts = tuple(text for _, text in there)
    kind = _kind(texts, decimal)
    counts = tuple(n for n, _ in there)
    return Look(name, place, kind, len(columns) - sum(counts), len(columns), texts, counts)


def _kind(texts: tuple[str, ...], decimal: str) -> str:
    if not texts:
        return "empty"
    if all(np.isfinite(as_number(text, decimal)) for text in texts):
        return "number"
    return "date" if all(np.isfinite(days(text)) for text in texts) else "name"


def _decimal(columns: Columns) -> str:
    """The decimal comma, if a column has numbers only with it."""
    for name in columns.each:
        texts = [text for text in columns.names(name).values if text and text not in GAPS]
        commas = sum(_COMMA.fullmatch(text) is not None for text in texts)
        if commas and all(np.isfinite(as_number(text, ",")) for text in texts):
            return ","
    return POINT


def _gaps(columns: Columns, decimal: str) -> Iterator[str]:
    """Yield the texts for missing values in columns that else have numbers or dates alone."""
    for name in columns.each:
        texts = columns.names(name).values
        rest = tuple(text for text in texts if text and text not in GAPS)
        if _kind(rest, decimal) in ("number", "date"):
            yield from (text for text in texts if text in GAPS)
