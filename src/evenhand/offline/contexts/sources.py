"""Sources of a plan's contexts: arrays, data frames, Parquet files or Dask partitions, read in parts, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.logs.arrow import FRAME, Frame, arrow_dataset, arrow_table, parquet_batches, whole_files
from evenhand.logs.sources import Query, table_of
from evenhand.offline.contexts.reading import AT_ONCE, Reading, added, joined, luck_of, spread, thinned
from evenhand.planning.moments import Block, Job, Sums

_PIECES = 8  # of a table from which a sample is read


class Source(Protocol):
    """Contexts that can be read repeatedly, in ordered parts."""

    @property
    def names(self) -> Sequence[str]:
        """The available names: of outcomes and groupings, or of columns."""

    def has(self, outcome: str, actions: Sequence[str]) -> bool:
        """Whether there are values of an outcome under any action."""
        return not {f"{outcome}_{a}" for a in actions}.isdisjoint(self.names)

    def over(self, reading: Reading, job: Job) -> Sums:
        """Sum the results of a job over all parts, in the order of the parts."""

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        """Read a sample of contexts, spread over all."""

    def blocks(self, reading: Reading) -> Iterator[Block]:
        """Read all contexts in their order."""


@dataclass(frozen=True, eq=False)
class Rows(Source):
    """A table of Arrow."""

    table: Any

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    def over(self, reading: Reading, job: Job) -> Sums:
        return job(self.blocks(reading))

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        return joined(reading, thinned(self.blocks(reading), spread(len(self.table), count, luck_of(seed, count))))

    def blocks(self, reading: Reading) -> Iterator[Block]:
        own = self.table.select(reading.columns(self.names, FRAME))
        return _blocks(own.to_batches(max_chunksize=AT_ONCE), reading, self.names, FRAME)


@dataclass(frozen=True, eq=False)
class Files(Source):
    """A dataset of Arrow: Parquet files, of which a batch of rows is in memory at a time."""

    dataset: Any
    name: str

    @property
    def names(self) -> Sequence[str]:
        return list(self.dataset.schema.names)

    def over(self, reading: Reading, job: Job) -> Sums:
        return added(job(self._read(file, reading)) for file in self._files)

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        with whole_files(self.name):
            pieces = [piece for file in self._files for piece in _pieces(file)]
        some = [pieces[i] for i in spread(len(pieces), _PIECES, np.full(_PIECES, 0.5)).tolist()]
        luck, found = luck_of(seed, count), list[Block]()
        for own, (first, piece) in zip(np.array_split(luck, len(some)), some, strict=True):
            rows = spread(_count(piece), len(own), own)
            found += thinned(self._read(piece, reading, first), rows)
        return joined(reading, found)

    def blocks(self, reading: Reading) -> Iterator[Block]:
        for file in self._files:
            yield from self._read(file, reading)

    @cached_property
    def _files(self) -> list[Any]:
        with whole_files(self.name):
            files = list(self.dataset.get_fragments())
            if not all(hasattr(file, "row_groups") for file in files):
                raise InvalidInput("contexts", "a dataset of Parquet files", f"one of {self.dataset.files[0]}")
            return [file for file in files if file.count_rows()]

    def _read(self, file: Any, reading: Reading, first: int = 0) -> Iterator[Block]:
        wanted, place = reading.columns(self.names, self.name), Path(file.path).name
        with whole_files(place):
            yield from _blocks(parquet_batches(file, wanted, AT_ONCE), reading, self.names, place, first)


@dataclass(frozen=True, eq=False)
class Partitions(Source):
    """A data frame of Dask: jobs go to its partitions, and sums come back, by the scheduler of Dask."""

    frame: Any

    @property
    def names(self) -> Sequence[str]:
        return list(map(str, self.frame.columns))

    def over(self, reading: Reading, job: Job) -> Sums:
        return added(self._map(reading, _done, job))

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        parts = self.frame.npartitions
        some = spread(parts, _PIECES, np.full(_PIECES, 0.5)).tolist()
        found = self._sampled(reading, count, seed, some)
        if 2 * len(found.cell) < count and len(some) < parts:  # as partitions are empty, or few rows are left in them
            return self._sampled(reading, count, seed, list(range(parts)))
        return found

    def _sampled(self, reading: Reading, count: int, seed: int, only: list[int]) -> Block:
        each = np.array_split(luck_of(seed, count), len(only))
        return joined(reading, self._map(reading, _sampled, *each, only=only))

    def blocks(self, reading: Reading) -> Iterator[Block]:
        for i in range(self.frame.npartitions):
            (found,) = self._map(reading, _whole, None, only=[i])
            yield found

    def _map(self, reading: Reading, work: Callable[..., Any], *given: Any, only: list[int] | None = None) -> Any:
        compute, delayed = _dask()
        parts = self.frame[reading.columns(self.names, "contexts")].to_delayed()
        which = list(range(len(parts))) if only is None else only
        each = given * len(which) if len(given) == 1 else given
        run = delayed(work, pure=False)
        tasks = [run(parts[i], reading, g, f"partition {i}") for i, g in zip(which, each, strict=True)]
        return compute(*tasks)


def _dask() -> Any:
    from dask.base import compute
    from dask.delayed import delayed

    return compute, delayed


def _rows_of(part: Any, reading: Reading, place: str) -> Iterator[Block]:
    table = arrow_table(part)
    return _blocks(table.to_batches(max_chunksize=AT_ONCE), reading, table.column_names, place)


def _done(part: Any, reading: Reading, job: Job, place: str) -> Sums:
    return job(_rows_of(part, reading, place))


def _sampled(part: Any, reading: Reading, luck: Floats, place: str) -> Block:
    return joined(reading, thinned(_rows_of(part, reading, place), spread(len(part), len(luck), luck)))


def _whole(part: Any, reading: Reading, nothing: None, place: str) -> Block:
    return joined(reading, _rows_of(part, reading, place))


def _blocks(
    batches: Iterable[Any], reading: Reading, header: Sequence[str], place: str, first: int = 0
) -> Iterator[Block]:
    for batch in batches:
        rows = range(first, first + len(batch))
        first += len(batch)
        if len(batch):
            yield reading.block_of_columns(_of(batch, reading), header, rows, place)


def _pieces(file: Any) -> Iterator[tuple[int, Any]]:
    """Yield the first row of every row group of a file, and the group."""
    first = 0
    for piece in file.split_by_row_group():
        yield first, piece
        first += _count(piece)


def _count(piece: Any) -> int:
    """Count the rows of some row groups; `count_rows` counts those of the whole file."""
    return sum(int(group.num_rows) for group in piece.row_groups)


def _of(batch: Any, reading: Reading) -> Callable[[str], Any]:
    def column(name: str) -> Any:
        found = batch.column(name)
        if name in reading.groups and not str(found.type).startswith(("int", "uint")):
            return found if hasattr(found, "dictionary") else found.dictionary_encode()
        return found.to_numpy(zero_copy_only=False)

    return column


class Read(NamedTuple):
    """A source and how it is read."""

    source: Source
    reading: Reading

    def over(self, job: Job) -> Sums:
        return self.source.over(self.reading, job)


def source_of(contexts: Any) -> Source:
    """Return the source of contexts: arrays, a data frame, a query, a path or a dataset of Parquet files, or of Dask.

    Raises:
        InvalidInput: anything else.
        MissingExtra: pyarrow is not installed, which tables need.
    """
    if isinstance(contexts, Mapping):
        return Arrays.of(contexts)
    if hasattr(contexts, "to_delayed"):
        return Partitions(contexts)
    if isinstance(contexts, str | Path):
        return Files(arrow_dataset(contexts if "://" in str(contexts) else Path(contexts)), str(contexts))
    if hasattr(contexts, "get_fragments"):
        return Files(contexts, "the dataset")
    if isinstance(contexts, Frame | Query):
        return Rows(table_of(contexts).arrow())
    expected = "arrays by name, a data frame, a query, a path or a dataset of Parquet files, or a Dask data frame"
    raise InvalidInput("contexts", expected, type(contexts).__name__)


@dataclass(frozen=True, eq=False)
class Arrays(Source):
    """Arrays by name: `(N,A)` of every outcome, `(N)` of every grouping."""

    arrays: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, Any]) -> Arrays:
        """Read arrays, in memory or mapped from files.

        Raises:
            InvalidInput: they have different numbers of rows.
        """
        arrays = {str(name): np.asanyarray(z) for name, z in given.items()}
        rows = {len(z) if z.ndim else 0 for z in arrays.values()}
        if len(rows) != 1:
            sizes = {name: z.shape for name, z in arrays.items()}
            raise InvalidInput("contexts", "arrays by name, with a row per context each", sizes)
        return Arrays(arrays)

    @property
    def names(self) -> Sequence[str]:
        return list(self.arrays)

    def has(self, outcome: str, actions: Sequence[str]) -> bool:
        return outcome in self.arrays

    def over(self, reading: Reading, job: Job) -> Sums:
        return job(self.blocks(reading))

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        self._check(reading)
        return reading.block_of_arrays(self.arrays, spread(self._rows, count, luck_of(seed, count)), "contexts")

    def blocks(self, reading: Reading) -> Iterator[Block]:
        self._check(reading)
        for start in range(0, self._rows, AT_ONCE):
            rows = range(start, min(start + AT_ONCE, self._rows))
            yield reading.block_of_arrays(self.arrays, rows, "contexts")

    @property
    def _rows(self) -> int:
        return len(next(iter(self.arrays.values())))

    def _check(self, reading: Reading) -> None:
        shapes = {o: (self._rows, len(reading.actions)) for o in reading.outcomes}
        for name, shape in (shapes | dict.fromkeys(reading.groups, (self._rows,))).items():
            if name not in self.arrays or self.arrays[name].shape != shape:
                got = self.arrays[name].shape if name in self.arrays else "no array of that name"
                raise InvalidInput(f"contexts: {name!r}", f"an array of shape {shape}", got)
