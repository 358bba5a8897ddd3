"""Where the contexts of a plan are: in arrays, or in tables of some kind; they are read in parts that have an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.offline.context_reading import AT_ONCE, Reading, luck_of, spread
from evenhand.offline.context_tables import Files, Partitions, Rows
from evenhand.planning.moments import Block, Job, Sums
from evenhand.replay.arrow import Frame, arrow_dataset, arrow_table


class Source(Protocol):
    """Contexts that can be read repeatedly, in ordered parts."""

    @property
    def names(self) -> Sequence[str]:
        """The available names: of outcomes and groupings, or of columns."""

    def has(self, outcome: str, actions: Sequence[str]) -> bool:
        """Whether there are values of an outcome under any action."""

    def over(self, reading: Reading, job: Job) -> Sums:
        """Add what a job finds in every part, in the order of the parts."""

    def sample(self, reading: Reading, count: int, seed: int) -> Block:
        """Read a sample of contexts, spread over all."""

    def blocks(self, reading: Reading) -> Iterator[Block]:
        """Read all contexts in their order."""


class Read(NamedTuple):
    """A source and how it is read."""

    source: Source
    reading: Reading

    def over(self, job: Job) -> Sums:
        return self.source.over(self.reading, job)


def source_of(contexts: Any) -> Source:
    """Return the source of contexts: arrays by name, a data frame, a path or a dataset of Parquet files, or of Dask.

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
    if isinstance(contexts, Frame):
        return Rows(arrow_table(contexts))
    expected = "arrays by name, a data frame, a path or a dataset of Parquet files, or a Dask data frame"
    raise InvalidInput("contexts", expected, type(contexts).__name__)


@dataclass(frozen=True, eq=False)
class Arrays:
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
