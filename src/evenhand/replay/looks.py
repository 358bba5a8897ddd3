"""What the columns of a log look like: numbers, dates or names, how many of them, and how many rows have none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from evenhand.replay.columns import POINT, Columns, Marks, as_numbers, grouped, is_grouped
from evenhand.replay.dates import ORDERS, days, slashed

# Texts that may stand for missing values in English, German and Czech, in lower case and without spaces.
_GAPS = frozenset(("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "#nv", "nan", "null", "none", "-", "--", "?",
                   "unknown", "notknown", "notavailable", "missing",
                   "k.a.", "k.a", "k/a", "keineangabe", "unbekannt", "fehlt",
                   "neuvedeno", "nezadáno", "neznámé", "neznámý", "neznámá"))  # fmt: skip
_COMMA = re.compile(r"[-+]?\d+,\d+( ?%)?")
_FRACTION = re.compile(r"[-+]?\d+\.\d+( ?%)?")
_WHOLE = re.compile(r"[-+]*\d+(\.0+)?")
UNCLEAR = "unclear"


def is_gap(text: str) -> bool:
    """Whether a text may stand for a missing value.

    >>> is_gap("k. A."), is_gap("Unknown"), is_gap(""), is_gap("Ulm")
    (True, True, True, False)
    """
    found = "".join(text.casefold().split())
    return not found or found in _GAPS


def words_of(name: str) -> list[str]:
    """The words of the name of a column, in lower case and without accents.

    >>> words_of("KundenNummer"), words_of("délka hovoru")
    (['kunden', 'nummer'], ['delka', 'hovoru'])
    """
    plain = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())
    plain = "".join(z for z in plain if not unicodedata.combining(z))
    return [word for word in re.split(r"[\W_]+", plain) if word]


class Look(NamedTuple):
    """How a column looks in a sample of rows.

    Args:
        name, place: of the column in the header.
        kind: "number", "date", "name", "empty", or "unclear" for marks that may separate thousands or fractions.
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
        return self.kind == "number" and all(map(_WHOLE.fullmatch, self.values))

    @property
    def percentages(self) -> bool:
        """Whether the numbers of the column are percentages."""
        return self.kind == "number" and all(value.endswith("%") for value in self.values)

    @property
    def words(self) -> list[str]:
        """The words of its name, in lower case and without accents."""
        return words_of(self.name)

    @property
    def differs(self) -> bool:
        """Whether every row has a value of its own, as the numbers of customers."""
        return self.rows > 20 and len(self.values) == self.rows


class Looks(NamedTuple):
    """How a log is written, and how its columns look."""

    columns: tuple[Look, ...]
    decimal: str
    missing: tuple[str, ...]
    dates: str | None  # the order of the numbers in dates with slashes, if these say it


def looks(columns: Columns, separator: str | None = None) -> Looks:
    """Look at columns that were read as texts.

    A mark that three digits follow in every number of a column may separate thousands. Where fields are separated by
    commas, a decimal comma therefore needs a number that rules thousands out; where they are separated by semicolons,
    a decimal point does.

    Args:
        columns: of the sample.
        separator: of the fields, if the log is a CSV file.

    >>> from evenhand.replay.columns import Names
    >>> read = Columns(each={"age": Names.of(["41", "NA", "30"]), "town": Names.of(["a", "b", ""])}, lines=np.arange(3))
    >>> [(look.name, look.kind, look.gaps) for look in looks(read).columns], looks(read).missing
    ([('age', 'number', 1), ('town', 'name', 1)], ('', 'NA'))
    """
    decimal, order = _decimal(columns, separator), _order(columns)
    gaps = sorted(set(_gaps(columns, decimal, order)))
    missing = ("", *gaps)
    found = [_look(columns, name, place, decimal, order, missing) for place, name in enumerate(columns.each)]
    clear = separator != ";" or any(z.kind == "number" and _rules_out(z.values, _FRACTION) for z in found)
    found = [z._replace(kind=UNCLEAR) if _unclear(z, clear) else z for z in found]
    return Looks(tuple(found), decimal, missing, order)


def _look(columns: Columns, name: str, place: int, decimal: str, order: str | None, missing: Collection[str]) -> Look:
    names = columns.names(name)
    times = np.bincount(names.codes, minlength=len(names.values)).tolist()
    each = sorted(((n, text) for text, n in zip(names.values, times, strict=True)), key=lambda z: (-z[0], z[1]))
    there = [(n, text) for n, text in each if text not in missing]
    texts = tuple(text for _, text in there)
    kind = _kind(texts, decimal, order)
    counts = tuple(n for n, _ in there)
    return Look(name, place, kind, len(columns) - sum(counts), len(columns), texts, counts)


def _kind(texts: tuple[str, ...], decimal: str, order: str | None) -> str:
    if not texts:
        return "empty"
    if np.isfinite(as_numbers(texts, decimal)).all():
        return "number"
    return "date" if all(np.isfinite(days(text, order)) for text in texts) else "name"


def _decimal(columns: Columns, separator: str | None) -> str:
    """The decimal comma, if a column has numbers only with it, and they are not thousands."""
    for name in columns.each:
        texts = _there(columns, name)
        commas = any(map(_COMMA.fullmatch, texts)) if separator == ";" else _rules_out(texts, _COMMA)
        if commas and np.isfinite(as_numbers(texts, ",")).all():
            return ","
    return POINT


def _rules_out(texts: Collection[str], fraction: re.Pattern[str]) -> bool:
    """Whether a text has a decimal mark that cannot separate thousands."""
    return any(fraction.fullmatch(text) and not is_grouped(text) for text in texts)


def _unclear(look: Look, clear: bool) -> bool:
    """Whether the marks of a column separate thousands, or may; `clear` if those of other numbers do not."""
    marks = Marks.of(look.values)
    return (look.kind == "name" and grouped(look.values)) or (
        look.kind == "number" and bool(marks.may) and (marks.mixed or not clear)
    )


def _order(columns: Columns) -> str | None:
    """The order of dates with slashes or hyphens, if numbers above 12 say which is the day, and agree."""
    found: set[str] = set()
    for name in columns.each:
        each = [slashed(text) for text in _there(columns, name)]
        if None not in each:
            found |= {ORDERS[second > 12] for first, second in filter(None, each) if max(first, second) > 12}
    return found.pop() if len(found) == 1 else None


def _there(columns: Columns, name: str) -> tuple[str, ...]:
    """The texts of a column that cannot stand for missing values."""
    return tuple(text for text in columns.names(name).values if not is_gap(text))


def _gaps(columns: Columns, decimal: str, order: str | None) -> Iterator[str]:
    """Yield the texts for missing values in columns that else have numbers or dates alone."""
    for name in columns.each:
        if _kind(_there(columns, name), decimal, order) in ("number", "date"):
            yield from (text for text in columns.names(name).values if text and is_gap(text))
