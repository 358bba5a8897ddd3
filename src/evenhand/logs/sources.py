"""Where logs and lists come from: paths, pipes, data frames, columns by name and databases, all read in one way."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.texts import few
from evenhand.core.validate import file, on_disk
from evenhand.logs.arrow import FRAME, Batches, Dataset, Frame, arrow_table, pyarrow_for
from evenhand.logs.columns import Column, Columns, Marks, Names, Numbers
from evenhand.logs.files import READABLE, start, unpacked
from evenhand.logs.reading import Form, form_of, header_of, read_csv
from evenhand.logs.vowpal_wabbit import FIRST, VowpalWabbit, is_log

PIPE = "the standard input"
_QUERY = "the query"
_ROWS = 10_000  # of a query, that are fetched at once
_ZSTD = b"\x28\xb5\x2f\xfd"
_FORM = Form()
_OBJECT = re.compile(rb'\s*\{\s*"')  # how a line of JSON begins


@dataclass(frozen=True, eq=False)
class Query:
    """Rows that a database is asked for, by any connection of Python's DB-API; the query runs whenever it is read.

    Args:
        connection: such as of `sqlite3`, `psycopg` or `duckdb`.
        text: a statement of SQL.
        parameters: of the statement, as the database takes them.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("create table log as select 41 as age, 'yes' as letter")
    >>> table_of(Query(connection, "select age, letter from log where age > ?", (18,))).header({})
    ['age', 'letter']
    """

    connection: Any
    text: str
    parameters: Sequence[Any] | Mapping[str, Any] = ()

    def batches(self) -> Batches:
        """Run the query.

        Raises:
            InvalidInput: the database refuses it, it is none that selects, or a column has values of several kinds.
            MissingExtra: pyarrow is not installed.
        """
        pa, cursor = pyarrow_for("queries"), self.connection.cursor()
        given = (self.parameters,) if self.parameters else ()
        try:
            cursor.execute(self.text, *given)
            if cursor.description is None:
                raise InvalidInput(_QUERY, "a statement that selects rows", self.text)
            names, found = [str(column[0]) for column in cursor.description], list[Any]()
            while rows := cursor.fetchmany(_ROWS):
                columns = zip(*rows, strict=True)
                found.append(pa.record_batch([pa.array(column) for column in columns], names=names))
        except getattr(self.connection, "Error", ()) as error:
            raise InvalidInput(_QUERY, "a statement that the database runs", str(error).partition("\n")[0]) from error
        except (pa.ArrowException, TypeError) as error:
            raise InvalidInput(_QUERY, "columns of one kind each", str(error).partition("\n")[0]) from error
        finally:
            cursor.close()
        return Batches(_QUERY, names, found)


@dataclass(frozen=True, eq=False)
class TextFiles:
    """CSV files with the same columns, whose rows follow each other."""

    name: str
    paths: Sequence[Path]

    def header(self, places: Mapping[str, str], form: Form = _FORM) -> list[str]:
        """Return the names of all columns; a line is taken apart as by `read`."""
        return header_of(self.paths[0], places, form)

    def read(
        self, places: Mapping[str, str], *, numbers: Collection[str] = (), form: Form = _FORM, most: int | None = None
    ) -> Columns:
        """Read the columns named by the keys of `places`; see `read_csv`."""
        found, left = list[Columns](), most
        for path in self.paths:
            found.append(read_csv(path, places, numbers=numbers, form=form, most=left))
            left = None if left is None else left - len(found[-1])
        return found[0] if len(found) == 1 else _joined([path.name for path in self.paths], found)

    def form(self, places: Mapping[str, str], form: Form = _FORM) -> Form:
        """Return how a file like this one is to be written."""
        return form_of(self.paths[0], places, form)

    def arrow(self) -> None:
        """Return no table, as columns of texts have no types."""


Table = TextFiles | Batches | Dataset | VowpalWabbit  # columns by name, which can be read repeatedly
Given = str | Path | Frame | Query | Mapping[str, Any]  # what a table can be made of


def table_of(given: Given, field: str = "log") -> Table:
    """Return the table of a source.

    A folder has files of one kind, in the order of their names; those that begin with a dot or underscore do not count.
    What a file is shows in how it begins, whatever its name.

    Args:
        given: the path of a file or folder, "-" for the standard input, a data frame, columns by name, or a query.
        field: the name of the argument, for messages.

    Raises:
        InvalidInput: it is none of these, cannot be read, or is a stream that was read before.
        MissingExtra: pyarrow is not installed, which all but CSV and Vowpal Wabbit need.

    >>> table_of({"age": [41, 30]}).read({"age": "the header"}).names("age").texts()
    ['41', '30']
    """
    if isinstance(given, Query):
        return given.batches()
    if isinstance(given, Frame | Mapping):
        return Batches.of(FRAME, arrow_table(given))
    path = file(field, given)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        shown = [p for p in files if not any(part[0] in "._" for part in p.relative_to(path).parts)]
        if len(kinds := {p.suffix for p in shown}) > 1:
            raise InvalidInput(field, f"a file, or a folder of files of one kind, in {path.name}", sorted(kinds))
        paths = list(map(_copy_of, shown))
    else:
        path = _copy_of(path)
        paths = [path]
    kind = _kind(paths[0]) if paths else "Parquet"
    if kind == "Vowpal Wabbit":
        return VowpalWabbit(path.name, paths)
    if kind == "JSON":
        return _lines_of_json(path.name, paths)
    return TextFiles(path.name, paths) if kind == "text" else Dataset(path, kind)


def _kind(path: Path) -> str:
    """Return the kind of a file."""
    first = start(path, FIRST)
    if is_log(first):
        return "Vowpal Wabbit"
    if _OBJECT.match(first):
        return "JSON"
    return {b"PAR1": "Parquet", b"ARRO": "Feather"}.get(first[:4], "text")


def _copy_of(path: Path) -> Path:
    """Return the path of a file that can be read repeatedly: a copy of a pipe, and of what zstd compressed."""
    if str(path) == "-":
        return _copy(sys.stdin.buffer, PIPE)
    if path.exists() and not path.is_file():
        with on_disk(path.name, READABLE), path.open("rb") as data:
            return _copy(data, path.name)
    if start(path, 4) == _ZSTD:
        pa = pyarrow_for("zstd files")
        with on_disk(path.name, "a complete zstd file"), pa.input_stream(str(path), compression="zstd") as data:
            return _copy(data, path.name)
    return path


def _copy(data: BinaryIO, name: str) -> Path:
    """Copy a stream to a file that is removed when Python ends."""
    folder = tempfile.mkdtemp(prefix="evenhand-")
    weakref.finalize(_copy, shutil.rmtree, folder, ignore_errors=True)
    found = Path(folder, name)
    with found.open("wb") as out:
        shutil.copyfileobj(data, out)
    return _copy_of(found)


def _lines_of_json(name: str, paths: Sequence[Path]) -> Batches:
    """Read files with an object in each line."""
    pa, tables = pyarrow_for("lines of JSON"), list[Any]()
    for path in paths:
        with unpacked(path) as data:
            try:
                tables.append(pa.json.read_json(data))
            except pa.ArrowException as error:
                got = str(error).partition("\n")[0]
                raise InvalidInput(path.name, "an object of JSON in each line", got) from error
    return Batches.of(name, pa.concat_tables(tables, promote_options="permissive"))


def _joined(names: Sequence[str], parts: Sequence[Columns]) -> Columns:
    """Join the columns of files, whose rows count in each of them."""
    starts = np.cumsum([0, *map(len, parts)])[:-1].tolist()
    each = {name: _follow([part.each[name] for part in parts], starts) for name in parts[0].each}
    for name in each:
        signs = {_sign(part.each[name]) for part in parts} - {None}
        if len(signs) > 1:
            raise InvalidInput(name, "the same currency, % or neither in all files", few(sorted(map(repr, signs))))
    return replace(
        parts[0],
        each=each,
        lines=np.concatenate([part.lines for part in parts]),
        torn=[line for part in parts for line in part.torn],
        files=list(zip(starts, names, strict=True)),
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _sign(column: Column) -> str | None:
    """The sign of a column's numbers; None if it has none."""
    return column.sign if isinstance(column, Numbers) and len(column.odd) < len(column.values) else None


def _follow(parts: Sequence[Column], starts: Sequence[int]) -> Column:
    """Join the parts of a column."""
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if numbers:
        odd = {row + at: text for part, at in zip(numbers, starts, strict=True) for row, text in part.odd.items()}
        marks = reduce(Marks.beside, (part.marks for part in numbers))
        sign = next(filter(None, (part.sign for part in numbers)), "")
        return Numbers(np.concatenate([part.values for part in numbers]), odd, marks, sign)
    places, codes = dict[str, int](), list[Any]()
    for part in parts:
        assert isinstance(part, Names)
        codes.append(np.array([places.setdefault(text, len(places)) for text in part.values], np.int64)[part.codes])
    return Names(np.concatenate(codes), tuple(places))
