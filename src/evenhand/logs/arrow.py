"""Reads data frames, Parquet files and folders of them into typed columns, by way of Arrow."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.levels import level_of, plain
from evenhand.core.progress import Work
from evenhand.core.types import Ints
from evenhand.core.validate import on_disk
from evenhand.logs.columns import POINT, Column, Columns, Names
from evenhand.logs.reading import Form, GrowingNumbers, check_columns, held

FRAME = "the data frame"  # the name of a log that has none
_AT_ONCE = 100_000  # rows that are read at once
_BUFFER = 2**18  # bytes of a column
_FORM = Form()


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, polars, pyarrow or another library that exports its columns as Arrow does."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand over the columns."""


@dataclass(frozen=True, eq=False)
class Batches:
    """Columns of Arrow in memory; rows count from 1.

    Args:
        name: of the source, for messages.
        names: of the columns.
        batches: of rows, whose columns may have other types in each.
    """

    name: str
    names: list[str]
    batches: Sequence[Any]

    @staticmethod
    def of(name: str, table: Any) -> Batches:
        """Return the columns of a table."""
        return Batches(name, list(table.column_names), table.to_batches(max_chunksize=_AT_ONCE))

    def header(self, places: Mapping[str, str], form: Form = _FORM) -> list[str]:
        return list(self.names)

    def read(
        self, places: Mapping[str, str], *, numbers: Collection[str] = (), form: Form = _FORM, most: int | None = None
    ) -> Columns:
        check_columns(self.name, self.names, places)
        return _columns(self.name, _first(self.batches, most), places, numbers, form)

    def form(self, places: Mapping[str, str], form: Form = _FORM) -> Form:
        return form

    def arrow(self) -> Any:
        """Return the table.

        Raises:
            InvalidInput: a column has other types in other rows.
        """
        pa = pyarrow_for("data frames")
        none = pa.table({name: [] for name in self.names})
        try:
            each = (pa.Table.from_batches([batch]) for batch in self.batches)  # one may have no value, or no fractions
            return pa.concat_tables([none, *each], promote_options="permissive")
        except pa.ArrowException as error:
            raise InvalidInput(self.name, "columns of one kind each", str(error).partition("\n")[0]) from error


@dataclass(frozen=True, eq=False)
class Dataset:
    """Parquet or feather files, of which some rows are in memory at a time; rows count from 1.

    Folders named COLUMN=VALUE have a column. No more than the columns that are asked for is held in memory.
    """

    path: Path
    kind: str = "Parquet"

    @property
    def name(self) -> str:
        return self.path.name

    def header(self, places: Mapping[str, str], form: Form = _FORM) -> list[str]:
        return list(self._found.schema.names)

    def read(
        self, places: Mapping[str, str], *, numbers: Collection[str] = (), form: Form = _FORM, most: int | None = None
    ) -> Columns:
        found, _ = self._found, self._state
        check_columns(self.name, found.schema.names, places)
        with whole_files(self.name, self.kind):
            files = _files(found, places)
            batches = self._batches(list(places))
            with Work(f"reading {self.name}", "row", found.count_rows() if most is None else most) as work:
                columns = _columns(self.name, _told(work, _first(batches, most)), places, numbers, form)
        if len(files) < 2:
            return columns
        starts = np.array([start for start, _ in files])
        ends = np.searchsorted(starts, np.arange(len(columns)), side="right") - 1
        return replace(columns, lines=np.arange(len(columns)) - starts[ends] + 1, files=files)

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        if self.kind == "Parquet":
            for part in self._found.get_fragments():
                yield from parquet_batches(part, columns, _AT_ONCE)
        else:
            yield from self._found.to_batches(columns=columns, batch_size=_AT_ONCE, batch_readahead=1)

    def form(self, places: Mapping[str, str], form: Form = _FORM) -> Form:
        return form

    def arrow(self) -> Any:
        """Return the table.

        Raises:
            InvalidInput: a file is another one than when it was read.
        """
        if self._state != _state(self._found):
            raise InvalidInput(self.name, "the files as they were when they were read", "others since")
        with whole_files(self.name, self.kind):
            return self._found.to_table(use_threads=False, batch_size=_AT_ONCE, batch_readahead=1)

    @cached_property
    def _found(self) -> Any:
        return arrow_dataset(self.path, self.kind)

    @cached_property
    def _state(self) -> list[tuple[int, int]]:
        return _state(self._found)


def _state(found: Any) -> list[tuple[int, int]]:
    """Return the size and the time of the last change of every file."""
    return [(z.st_size, z.st_mtime_ns) for z in (Path(file).stat() for file in found.files)]


def _files(found: Any, places: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return the first row and the name of every file of a folder, all of which have the columns."""
    files: list[tuple[int, str]] = []
    rows = 0
    for part in found.get_fragments():
        name, own = Path(part.path).name, {*part.physical_schema.names, *_folders(part)}
        for column, place in places.items():
            if column not in own:
                raise InvalidInput(f"{place}: {column!r}", f"a column of {name}, as of other files", "none")
        files.append((rows, name))
        rows += part.count_rows()
    return files


def pyarrow_for(what: str) -> Any:
    """Return pyarrow with its parts for files.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.json
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra(what, "parquet") from error
    return pyarrow


def arrow_table(frame: Frame | Mapping[str, Any]) -> Any:
    """Return a data frame, or columns by name, as a table of Arrow.

    Raises:
        InvalidInput: its columns are of several kinds, or their names are not texts; or it is a stream that has been
            read.
        MissingExtra: pyarrow is not installed.
    """
    pa = pyarrow_for("data frames")
    try:
        if hasattr(frame, "to_feather"):  # of pandas, whose index is not a column
            return pa.Table.from_pandas(_in_zones(_dense(frame)), preserve_index=False)
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        told = "; ".join(map(str, error.args))
        raise InvalidInput(FRAME, "columns of one kind each, by names that are texts", told) from error
    if not len(table) and not hasattr(frame, "__len__"):
        raise InvalidInput(FRAME, "a stream with rows", "none, as after it was read: keep it as pyarrow.table(stream)")
    return table


def _dense(frame: Any) -> Any:
    """Return a frame of pandas with all values of sparse columns, which Arrow does not have."""
    sparse = [name for name, kind in frame.dtypes.items() if str(kind).startswith("Sparse")]
    return frame.assign(**{name: frame[name].sparse.to_dense() for name in sparse}) if sparse else frame


def _in_zones(frame: Any) -> Any:
    """Return a frame of pandas with moments of several time zones as texts, as Arrow would have them in one."""
    objects = {name: column for name, column in frame.items() if column.dtype == object}
    for name, column in objects.items():
        if len({z.utcoffset() for z in column if isinstance(z, datetime)}) > 1:
            frame = frame.assign(**{name: column.map(datetime.isoformat, na_action="ignore")})
    return frame


def arrow_dataset(path: Path | str, kind: str = "Parquet") -> Any:
    """Return a Parquet or feather file, or a folder of them, as a dataset of Arrow; a text is a URL of a file system.

    Raises:
        InvalidInput: there is no file, or one that is not whole.
        MissingExtra: pyarrow is not installed.
    """
    pa, name = pyarrow_for("Parquet files"), Path(path).name
    with whole_files(name, kind):
        found = pa.dataset.dataset(path, format=kind.lower(), partitioning="hive")
    if not found.files:
        raise InvalidInput(name, f"a complete {kind} file, or a folder of them", "a folder without files")
    return found


def parquet_batches(part: Any, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield batches of rows of a file of a dataset, or of some of its row groups; folders have columns, too.

    A scan by Arrow holds whole row groups, which may be most of the memory.
    """
    pa = pyarrow_for("Parquet files")
    keys = pa.dataset.get_partition_keys(part.partition_expression)
    own, groups = [name for name in columns if name not in keys], [group.id for group in part.row_groups]
    with pa.parquet.ParquetFile(part.open(), buffer_size=_BUFFER, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=own, use_threads=False):
            yield pa.record_batch(
                [pa.repeat(keys[name], len(batch)) if name in keys else batch.column(name) for name in columns],
                names=list(columns),
            )


@contextmanager
def whole_files(name: str, kind: str = "Parquet") -> Iterator[None]:
    """Turn errors of Arrow into an `InvalidInput` that names the file or folder."""
    expected = f"a complete {kind} file, or a folder of them"
    with on_disk(name, expected):
        try:
            yield
        except pyarrow_for(f"{kind} files").ArrowException as error:
            raise InvalidInput(name, expected, str(error).partition("\n")[0]) from error


def _folders(part: Any) -> Iterable[str]:
    """The columns that the folders of a file state."""
    return (name.partition("=")[0] for name in Path(part.path).parts if "=" in name)


def _first(batches: Iterable[Any], most: int | None) -> Iterable[Any]:
    left = most
    for batch in batches:
        yield batch if left is None else batch.slice(0, left)
        if left is not None:
            left -= len(batch)
            if left <= 0:
                return


def _told(work: Work, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch
        work.update(len(batch))


def _columns(
    name: str, batches: Iterable[Any], places: Mapping[str, str], numbers: Collection[str], form: Form
) -> Columns:
    """Read the batches of a table one by one."""
    growing = {c: ArrowNumbers(form.point) if c in numbers else ArrowNames(form.point) for c in places}
    rows = 0
    for batch in batches:
        rows += len(batch)
        for column, part in growing.items():
            try:
                part.extend(batch.column(column))
            except Nested as error:
                raise InvalidInput(
                    f"{places[column]}: {column!r} of {name}", "numbers, texts or dates", error
                ) from None
    each = {column: part.column() for column, part in growing.items()}
    found = Columns(
        each=each, lines=np.arange(1, rows + 1), unit="row", decimal=form.point, stated=form.decimal is not None
    )
    return found.lacking(form.missing)


class Nested(Exception):
    """Values that are lists, tables, bytes or durations, which have a unit that nobody stated."""


class ArrowNumbers:
    """A column of numbers; truth counts as 1 and 0, and texts are parsed."""

    def __init__(self, decimal: str) -> None:
        self._decimal, self._grown = decimal, GrowingNumbers(decimal)

    def extend(self, values: Any) -> None:
        if str(values.type).startswith("decimal"):  # which Arrow would round twice
            codes, each = _coded(values)
            self._grown.add(np.array([*map(float, each), np.nan])[codes], lambda row: "")
        elif _is_number(str(values.type)):
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
    return kind == "bool" or kind.startswith(("int", "uint", "float", "double", "halffloat"))


def _texts(values: Any, decimal: str) -> tuple[Ints, list[str]]:
    """Return the number of every value's text, and the texts; that of a missing value is empty."""
    if str(values.type) == "string_view":  # which has no dictionary of its own
        values = values.cast("large_string")
    if str(values.type).startswith(("list", "large_list", "struct", "map", "fixed_size", "binary", "large_binary")):
        raise Nested(str(values.type))
    if str(values.type).startswith("duration"):
        raise Nested(f"{values.type}: divide it by a unit, such as pandas.Timedelta(hours=1)")
    codes, each = _coded(values)
    return codes, [*(_written(value, decimal) for value in each), ""]


def _coded(values: Any) -> tuple[Ints, list[Any]]:
    """Return the number of every value, and the values; a missing one has the number after the last."""
    coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    each = coded.dictionary.to_pylist()
    return np.asarray(coded.indices.fill_null(len(each)).to_numpy(zero_copy_only=False), np.int64), each


def _written(value: object, decimal: str) -> str:
    """Write a value as a text, as a file would have it."""
    if isinstance(value, float | Decimal):
        return plain(float(value)).replace(POINT, decimal)
    return level_of(value) or str(value) if isinstance(value, date) else "" if value is None else str(value).strip()
