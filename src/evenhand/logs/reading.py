"""Reads a CSV file into typed columns, with the line of every row."""

from __future__ import annotations

import codecs
import csv
import itertools
import re
import textwrap
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats, Ints
from evenhand.logs.columns import (
    POINT,
    Column,
    Columns,
    Marks,
    Names,
    Numbers,
    main_sign,
    narrow,
    with_its_sign,
    with_sign,
)
from evenhand.logs.dates import ORDERS
from evenhand.logs.files import UNPLACED, UTF8, WINDOWS, Undecodable, marked, misread, packing, position, text_file

if TYPE_CHECKING:
    from _csv import Reader


@dataclass(frozen=True, kw_only=True)
class Form:
    """The format of the fields of a log.

    Args:
        separator: one character between fields; None finds it out from the header.
        encoding: the encoding of the text, by a name that Python knows; None finds it out.
        decimal: the character between whole numbers and fractions, "." or ","; None reads points, and refuses numbers
            in which these may separate thousands.
        missing: the texts that stand for a missing value.
        dates: the order of the numbers in dates with slashes or hyphens, "day/month/year" or "month/day/year"; None
            reads none.

    Raises:
        InvalidInput: a separator of several characters, or an unknown encoding or order.

    >>> Form(separator=";", decimal=",").missing
    ('',)
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ("",)
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, POINT, ","):
            raise InvalidInput("log.decimal", 'one of ".", ","', repr(self.decimal))
        if self.dates not in (None, *ORDERS):
            raise InvalidInput("log.dates", f"one of {', '.join(ORDERS)}", repr(self.dates))
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n\0'):
            raise InvalidInput("log.separator", 'one character, such as ";"', repr(self.separator))
        if self.encoding is not None and not _is_text(self.encoding):
            raise InvalidInput("log.encoding", 'the name of an encoding, such as "latin-1"', repr(self.encoding))

    @property
    def point(self) -> str:
        """The character between whole numbers and fractions as numbers are read and written."""
        return POINT if self.decimal is None else self.decimal


def _is_text(encoding: str) -> bool:
    try:
        return bool(getattr(codecs.lookup(encoding), "_is_text_encoding", True))
    except (LookupError, ValueError):
        return False


def held(values: array[Any]) -> Any:
    """Return the numbers of an array without a copy."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


_NARROW = 2**16  # rows of a column from which on they are held in fewer bytes


class GrowingNumbers:
    """A column of numbers that grows by texts; of those with signs, as € or %, and without, the most are numbers."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._parts, self._last, self._odd = decimal, list[Any](), array("d"), dict[int, str]()
        self._rows = 0
        self._signs = defaultdict[str, "array[int]"](lambda: array("q"))  # the rows of each
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
        start = self._rows
        self._rows += len(found)
        self._last.frombytes(found.tobytes())
        if len(self._last) >= _NARROW:
            self._parts.append(narrow(held(self._last)))
            self._last = array("d")
        self._odd |= {start + i: text(i) for i in np.flatnonzero(np.isnan(found)).tolist()}

    def add_texts(self, codes: Ints, each: Sequence[str]) -> None:
        """Add the texts of rows, by the number of each text."""
        read = [with_sign(text, self._decimal) for text in each]
        self._look(each)
        for sign in {sign for sign, number in read if sign and np.isfinite(number)}:
            has = np.array([its == sign and bool(np.isfinite(number)) for its, number in read])
            self._signs[sign].frombytes((np.flatnonzero(has[codes]) + self._rows).tobytes())
        self.add(np.array([number for _, number in read], float)[codes], lambda i: each[codes[i]])

    def _look(self, texts: Sequence[str]) -> None:
        """Look at the points of some texts, unless one is known that cannot separate thousands."""
        if not self._marks.fraction:
            self._marks = self._marks.beside(Marks.of(texts))

    def column(self) -> Column:
        values = np.concatenate([*self._parts, narrow(held(self._last))])
        rows, odd = {sign: held(z) for sign, z in self._signs.items()}, dict(self._odd)
        counts = {sign: len(z) for sign, z in rows.items()}
        if bare := len(values) - len(odd) - sum(counts.values()):
            counts[""] = bare
        most = main_sign(counts)
        if len(counts) > 1:
            values = values.astype(float)
            if most:
                rows[""] = np.setdiff1d(np.flatnonzero(~np.isnan(values)), np.concatenate(list(rows.values())))
            for sign, some in ((sign, some) for sign, some in rows.items() if sign != most):
                odd |= {i: with_its_sign(sign, float(values[i])) for i in some.tolist()}
                values[some] = np.nan
            values, odd = narrow(values), dict(sorted(odd.items()))
        return Numbers(values, odd, self._marks, most)


class GrowingNames:
    """A column of names that grows by texts; spaces around them do not count."""

    def __init__(self) -> None:
        self._codes, self._places = array("i"), defaultdict[str, int]()
        self._places.default_factory = self._places.__len__

    def extend(self, texts: Sequence[str]) -> None:
        self._codes.extend(map(self._places.__getitem__, texts))

    def column(self) -> Column:
        codes, stripped = held(self._codes), tuple(map(str.strip, self._places))
        if stripped == tuple(self._places):
            return Names(codes, stripped)
        names = Names.of(stripped)
        return Names(names.codes[codes], names.values)


DELIMITERS = (",", ";", "\t", "|")
MARK = "?"  # in a draft, in place of a column that the user has to name
LONGEST = 300  # characters of a header in a message
_SAID = {";": "semicolons", "\t": "tabs", "|": "bars"}
_FORM = Form()
_MB = 10**6  # bytes

T = TypeVar("T")


def read_csv(
    path: Path, places: Mapping[str, str], *, numbers: Collection[str] = (), form: Form = _FORM, most: int | None = None
) -> Columns:
    """Read the columns named by the keys of `places`; its values name the setting of each column for error messages.

    The delimiter is the one that gives the header most of the requested columns, and the encoding that of the
    byte-order mark, UTF-8, or else Windows-1252, unless `form` states them. What was found is among the notes.

    Args:
        path, places: the file, and its columns.
        numbers: the columns that are read as numbers; all others are texts.
        form: how the file is written.
        most: how many rows are read; None reads all.

    Raises:
        InvalidInput: the file is missing, empty, not CSV, or lacks a column.
    """

    def read(file: TextIO) -> Columns:
        cut = form.separator or _delimiter(file, places)
        size = None if packing(path) in UNPLACED else path.stat().st_size // _MB + 1
        with Work(f"reading {path.name}", "MB", size) as work:
            found = _read(path.name, file, cut, places, numbers, form.point, most, work).lacking(form.missing)
        found = replace(found, cut=cut, stated=form.decimal is not None)
        return found if cut == "," or form.separator else replace(found, notes=[f"fields separated by {_SAID[cut]}"])

    found, said = _decoded(path, form, read)
    said += found.notes
    return replace(found, notes=[f"{path.name} was found to be {', '.join(said)}"] if said else [])


def header_of(path: Path, places: Mapping[str, str], form: Form = _FORM) -> list[str]:
    """Return the names of all columns; `places` as for `read_csv`, by which the delimiter is chosen.

    Raises:
        InvalidInput: the file is missing or empty.
    """

    def read(file: TextIO) -> list[str]:
        cut = form.separator or _delimiter(file, places)
        file.seek(0)
        return _header(path.name, csv.reader(file, delimiter=cut, strict=True))

    return _decoded(path, form, read)[0]


def form_of(path: Path, places: Mapping[str, str], form: Form = _FORM) -> Form:
    """Return how a file like this one is to be written: in UTF-8, with a byte-order mark unless this one is plain.

    Raises:
        InvalidInput: the file is missing or empty.
    """

    def read(file: TextIO) -> str:
        found = form.separator or _delimiter(file, places)
        deque(file, maxlen=0)  # to the end, as the first letter that tells the encoding may be anywhere
        return found

    cut, said = _decoded(path, form, read)
    plain = cut == "," and form.encoding is None and not said
    return replace(form, separator=cut, encoding="utf-8" if plain else UTF8)


def _decoded(path: Path, form: Form, read: Callable[[TextIO], T]) -> tuple[T, list[str]]:
    """Read a file in the encoding that is stated or found; also return what was found, unless it is plain UTF-8."""
    packed, mark = packing(path), marked(path)
    said = [] if packed is None else [f"compressed by {packed}"]
    stated = form.encoding
    if stated is not None:
        encoding = UTF8 if codecs.lookup(stated).name == "utf-8" else stated
    else:
        encoding = mark or UTF8
        said += [] if mark is None else ["UTF-8 with a byte-order mark" if mark == UTF8 else "text in UTF-16"]
    try:
        with text_file(path, EXPECTED, encoding) as file:
            return read(file), said
    except Undecodable as error:
        if encoding != UTF8 or stated is not None or mark is not None or error.begins_so:
            raise
        try:
            with text_file(path, EXPECTED, WINDOWS) as file:
                found = read(file)
        except Undecodable:
            raise error from None
        return found, [*said, f"text in Windows-1252, as it is not UTF-8 ({error.field}){error.doubt}"]


def _read(
    name: str,
    file: TextIO,
    cut: str,
    places: Mapping[str, str],
    numbers: Collection[str],
    decimal: str,
    most: int | None,
    work: Work,
) -> Columns:
    file.seek(0)
    reader = csv.reader(file, delimiter=cut, strict=True)
    lines, torn = [np.zeros(0, np.int64)], list[int]()
    header = _header(name, reader)
    check_columns(f"{name}, line 1", header, places)
    indices = [header.index(column) for column in places]
    growing = {c: GrowingNumbers(decimal) if c in numbers else GrowingNames() for c in places}
    for part in parts(name, reader, len(header), most):
        for column, i in zip(growing.values(), indices, strict=True):
            column.extend(list(map(itemgetter(i), part.rows)))
        lines.append(part.lines)
        torn += part.torn
        work.update(position(file) // _MB - work.done)
    each = {name: column.column() for name, column in growing.items()}
    found = Columns(each=each, lines=np.concatenate(lines), torn=torn, decimal=decimal)
    _refuse_zeros(name, found)
    return found


def _refuse_zeros(name: str, found: Columns) -> None:
    """Refuse texts with the character NUL, which binary files have, and text in UTF-16 without a mark."""
    for column, part in found.each.items():
        if isinstance(part, Names) and "\0" not in "".join(part.values):
            continue
        row = part.first(lambda text: "\0" in text)
        if row is not None:
            got = "the character NUL, as in files that are not text"
            raise InvalidInput(f"{name}, {found.where(row)}: {column!r}", "a text or a number", got)


def _delimiter(file: TextIO, places: Mapping[str, str]) -> str:
    """Choose the delimiter that gives the header most of the requested columns; ties are broken by most columns."""
    first = file.readline()

    def columns(delimiter: str) -> tuple[int, int]:
        header = [field.strip().strip('"') for field in first.split(delimiter)]
        return len(set(header) & set(places)), len(header)

    return max(DELIMITERS, key=columns)


def _header(name: str, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = next(reader, None)
    except csv.Error as error:
        raise InvalidInput(f"{name}, line 1", EXPECTED, error) from error
    if not header or not any(header):
        raise InvalidInput(name, "a header line and rows", "an empty file" if header is None else "an empty first line")
    if re.match("sep=", header[0], re.IGNORECASE) and len(header) <= 2:
        raise InvalidInput(f"{name}, line 1", "a header line", "'sep=', which spreadsheets read: delete this line")
    return [field.strip() for field in header]


def check_columns(where: str, header: Sequence[str], places: Mapping[str, str]) -> None:
    """Refuse a header that has no column of a name, or several; `places` as for `read_csv`."""
    column = next((column for column in places if header.count(column) != 1), None)
    if column is None:
        return
    expected = f"a column of {where} ({textwrap.shorten(', '.join(map(str, header)), LONGEST)})"
    if column in header:
        got = "several of that name: rename all but one, or delete columns that are empty"
    elif column == MARK:
        got = "nothing yet: the draft leaves this to you, as it does at every '?'"
    else:
        got = f"none of that name{misread(column, header) or suggestion(column, header)}"
    raise InvalidInput(f"{places[column]}: {column!r}", expected, got)


EXPECTED = "a CSV file in UTF-8"
_PART = 2_000  # rows that are held as texts: they fit into a cache
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


def parts(name: str, reader: Reader, fields: int, most: int | None, at_once: int = _PART) -> Iterator[Part]:
    """Read the rows after the header in parts.

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
