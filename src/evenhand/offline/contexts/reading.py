"""The reading of a plan's contexts: which columns are outcomes of actions, and which are groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Stream, uniform
from evenhand.core.registry import suggestion
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.planning.moments import Block, Sums

AT_ONCE = 32_768  # contexts that are read at once
Numbers = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Reading:
    """The data that are read from every context.

    Args:
        outcomes: those that differ by context.
        actions: the columns of tables are named OUTCOME_ACTION.
        free: by outcome, the actions under which it is declared to be 0, which need no column.
        groups: by grouping, the names of its groups; a column of texts has names, one of whole numbers their
            places, or names where these are whole numbers themselves.
    """

    outcomes: tuple[str, ...]
    actions: tuple[str, ...]
    free: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, tuple[str, ...]]

    def groups_alone(self) -> Reading:
        """Return the data that are read to count groups."""
        return Reading((), self.actions, {}, self.groups)

    @property
    def cells(self) -> int:
        """The number of combinations of groups."""
        return int(np.prod([len(names) for names in self.groups.values()], dtype=np.int64))

    def codes(self) -> Ints:
        """Return the group of each grouping in every cell, `->(C,G)`."""
        sizes = [len(names) for names in self.groups.values()]
        return np.stack(np.unravel_index(np.arange(self.cells), sizes), 1) if sizes else np.zeros((1, 0), np.int64)

    def columns(self, header: Sequence[str], place: str) -> list[str]:
        """Return the columns of a table that are read.

        Raises:
            InvalidInput: one is missing.
        """
        wanted = [f"{o}_{a}" for o in self.outcomes for a in self.actions if not self._is_free(o, a, header)]
        for name in (*wanted, *self.groups):
            if name not in header:
                raise InvalidInput(place, f"a column {name!r}", f"none of that name{suggestion(name, header)}")
        return [*wanted, *self.groups]

    def _is_free(self, outcome: str, action: str, header: Sequence[str]) -> bool:
        return action in self.free.get(outcome, ()) and f"{outcome}_{action}" not in header

    def block_of_columns(self, column: Callable[[str], Any], header: Sequence[str], rows: range, place: str) -> Block:
        """Read rows of a table, whose numbers are for messages."""
        each = [
            [None if self._is_free(o, a, header) else np.asarray(column(f"{o}_{a}")) for a in self.actions]
            for o in self.outcomes
        ]
        kinds = [np.float32 if z.dtype == np.float32 else np.float64 for own in each for z in own if z is not None]
        u = np.zeros((len(each), len(self.actions), len(rows)), np.float64 if np.float64 in kinds else np.float32)
        for v, own in enumerate(each):
            for a, z in enumerate(own):
                if z is not None:
                    u[v, a] = _numeric(z, f"{self.outcomes[v]}_{self.actions[a]}", place)
        return self._checked(Block(u, self._cells(column, rows, place)), rows, place)

    def block_of_arrays(self, arrays: Mapping[str, NDArray[Any]], rows: range | Ints, place: str) -> Block:
        """Read rows of arrays, `(N,A)` by outcome and `(N)` by grouping."""
        at = slice(rows.start, rows.stop) if isinstance(rows, range) else rows
        each = [_numeric(arrays[o], o, place)[at] for o in self.outcomes]
        single = bool(each) and all(z.dtype == np.float32 for z in each)
        u = np.empty((len(each), len(self.actions), len(rows)), np.float32 if single else np.float64)
        for v, z in enumerate(each):
            u[v] = z.T
        return self._checked(Block(u, self._cells(lambda name: arrays[name][at], rows, place)), rows, place)

    def _cells(self, column: Callable[[str], Any], rows: range | Ints, place: str) -> Ints:
        cell = np.zeros(len(rows), np.int64)
        for grouping, names in self.groups.items():
            values = column(grouping)
            found = _places(values, names)
            wrong = np.flatnonzero((found < 0) | (found >= len(names)))
            if len(wrong):
                i = int(wrong[0])
                expected = f"one of the groups {list(names)}, or its place from 0"
                raise InvalidInput(f"{place}, row {rows[i] + 1}: {grouping!r}", expected, _value(values, i))
            cell = cell * len(names) + found
        return cell

    def _checked(self, block: Block, rows: range | Ints, place: str) -> Block:
        u = block.outcomes
        if not abs(float(u.sum(dtype=u.dtype))) < 1e30 and not (np.abs(u) <= LARGEST).all():
            v, a, i = (int(z[0]) for z in np.nonzero(~(np.abs(u) <= LARGEST)))
            name = f"{self.outcomes[v]!r} of {self.actions[a]!r}"
            raise InvalidInput(f"{place}, row {rows[i] + 1}: {name}", "a finite number", float(u[v, a, i]))
        return block


def _numeric(values: NDArray[Any], name: str, place: str) -> Numbers:
    if values.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{place}: {name!r}", "numbers", f"values such as {values.flat[0]!r}" if values.size else "none"
        )
    return values


def _places(values: Any, names: tuple[str, ...]) -> Ints:
    """Return the places of groups among names, -1 for those that are not there."""
    if hasattr(values, "dictionary"):  # of Arrow
        codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        each = _places(np.asarray(values.dictionary.to_pylist(), object), names)
        return np.asarray(np.append(each, -1)[codes])
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        if not any(_is_whole(name) for name in names):
            return np.asarray(values, np.int64)
        values = values.astype(str).astype(object)  # names that a table took for numbers
    if values.dtype.kind not in "OU":
        return np.full(len(values), -1)
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(z, -1) for z in values.tolist()], np.int64)


def _is_whole(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _value(values: Any, row: int) -> object:
    return values[row].as_py() if hasattr(values, "dictionary") else values[row]


def spread(rows: int, count: int, luck: Floats) -> Ints:
    """Return evenly spread rows, one from each of n equal parts; all rows if there are no more, `(n)->(n)`.

    >>> spread(10, 5, np.full(5, 0.5)).tolist(), spread(3, 5, np.full(5, 0.5)).tolist()
    ([1, 3, 5, 7, 9], [0, 1, 2])
    """
    if rows <= count:
        return np.arange(rows)
    return np.minimum(((np.arange(count) + luck) * rows / count).astype(np.int64), rows - 1)


def joined(reading: Reading, blocks: Iterable[Block]) -> Block:
    """Join blocks into one, of no contexts if there are none."""
    none = np.zeros((len(reading.outcomes), len(reading.actions), 0), np.float32)
    some = [Block(none, np.zeros(0, np.int64)), *blocks]
    return Block(np.concatenate([z.outcomes for z in some], 2), np.concatenate([z.cell for z in some]))


def thinned(blocks: Iterable[Block], rows: Ints) -> Iterator[Block]:
    """Yield the rows of blocks that are wanted, by their numbers in order."""
    first = 0
    for block in blocks:
        own = rows[(rows >= first) & (rows < first + len(block.cell))] - first
        first += len(block.cell)
        yield block.take(own)


def luck_of(seed: int, count: int) -> Floats:
    """Return uniform numbers for a sample, `->(n)`."""
    return np.asarray(uniform(seed, Stream.SAMPLE, np.zeros(1, np.int64), np.zeros(1, np.int64), count)[0])


def added(found: Iterable[Sums]) -> Sums:
    """Add sums in their order, so that they are the same bit for bit whichever worker computed them."""
    total: Sums = ()
    for sums in found:
        total = tuple(a + b for a, b in zip(total, sums, strict=True)) if total else sums
    return total
