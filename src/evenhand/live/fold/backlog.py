"""The decisions of a fold that wait for their outcomes, each packed into some bytes."""

from __future__ import annotations

import heapq
import struct
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from evenhand.core.records import Decision
from evenhand.live.log.life import FATES, OnExpiry

_FIELDS = Decision._fields[:-1]  # the last field is the names, which the problem has
_HEAD = struct.Struct("=qii")  # when it is due in microseconds, the form of what follows, and its fate
_FATES: tuple[OnExpiry | None, ...] = (None, *FATES)
_BITS = 63  # of a number
_FEW = 1000  # stale deadlines that the heap may hold
_NUMBER, _DEADLINE = sys.getsizeof(2**30), sys.getsizeof(2**51 << _BITS)
_ENTRY = sys.getsizeof(2**62) + sys.getsizeof((0,))  # of a decision whose outcomes add up
_NAME = "pending"

_Form = np.dtype[Any]  # of a packed decision: the head, and the arrays of a decision


class Backlog:
    """Decisions by their numbers, in the order of these, as records of the bits of their arrays.

    Arrays as objects would take some 2 KB of a decision, of which a tenth is numbers. Records do not change: copies
    share them.

    >>> one = np.zeros((1, 1))
    >>> waiting, made = Backlog(), Decision(*[one] * 14, names=("a",))
    >>> waiting.add(7, made, due=50)
    >>> 7 in waiting, waiting.due(7), waiting.overdue(49), waiting.overdue(50), len(waiting)
    (True, 50, None, 7, 1)
    """

    def __init__(self) -> None:
        self._rows: dict[int, bytes] = {}
        self._due: list[int] = []  # a heap of deadlines, each with its number in the lowest bits
        self._forms: list[_Form] = []
        self._size = 0  # of the records
        self._units: dict[int, int] = {}  # the numbers of the units of decisions whose outcomes add up
        self._of_unit: dict[int, tuple[int, ...]] = {}  # those decisions, in order
        self._latest: tuple[int, Decision] | None = None  # as it was made: many outcomes come before the next decision

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __contains__(self, ref: int) -> bool:
        return ref in self._rows

    def add(
        self, ref: int, decision: Decision, due: int, fate: OnExpiry | None = None, unit: int | None = None
    ) -> None:
        """Add the next decision, due at a time in microseconds; its fate if it expired, its unit if outcomes add up."""
        arrays = decision[:14]
        form = _form(tuple([(z.dtype, z.shape) for z in arrays]))
        if form not in self._forms:
            self._forms.append(form)
        self._latest = ref, decision
        head = _HEAD.pack(due, self._forms.index(form), _FATES.index(fate))
        row = self._rows[ref] = b"".join([head, *[z.tobytes() for z in arrays]])
        self._size += sys.getsizeof(row)
        if unit is not None:
            self._join(ref, unit)
        if fate is None:
            heapq.heappush(self._due, due << _BITS | ref)
            if len(self._due) > 2 * len(self._rows) + _FEW:  # most entries were settled before they were due
                self._order()

    def decision(self, ref: int, names: tuple[str, ...]) -> Decision:
        """Return a decision, with the names of candidates."""
        if self._latest is not None and self._latest[0] == ref:
            return self._latest[1]._replace(names=names)
        row = self._rows[ref]
        record = np.ndarray((), self._forms[_HEAD.unpack_from(row)[1]], bytearray(row))
        arrays: Any = [record[field] for field in _FIELDS]
        return Decision(*arrays)._replace(names=names)

    def pop(self, ref: int, names: tuple[str, ...]) -> Decision:
        """Remove a decision and return it."""
        decision = self.decision(ref, names)
        self.drop(ref)
        return decision

    def drop(self, ref: int) -> None:
        """Remove a decision."""
        self._size -= sys.getsizeof(self._rows.pop(ref))
        if (unit := self._units.pop(ref, None)) is not None:
            rest = tuple(z for z in self._of_unit.pop(unit) if z != ref)
            self._of_unit |= {unit: rest} if rest else {}
        if self._latest is not None and self._latest[0] == ref:
            self._latest = None

    def due(self, ref: int) -> int:
        """Return when the outcome of a decision is due, in microseconds."""
        return _due(self._rows[ref])

    def unit(self, ref: int) -> int | None:
        """Return the number of the unit of a decision whose outcomes add up, None for any other."""
        return self._units.get(ref)

    def of_unit(self, unit: int) -> tuple[int, ...]:
        """Return the decisions of a unit whose outcomes add up, in order."""
        return self._of_unit.get(unit, ())

    def fate(self, ref: int) -> OnExpiry | None:
        """Return the fate of the amounts that a decision reserves, None before it expires."""
        return _fate(self._rows[ref])

    def expire(self, ref: int, fate: OnExpiry) -> None:
        """Note that a decision expired."""
        self._rewrite(ref, self.due(ref), fate)

    def hasten(self, latest: int) -> None:
        """Let no decision be due later than at a time."""
        for ref, row in list(self._rows.items()):
            if _due(row) > latest:
                self._rewrite(ref, latest, _fate(row))
        self._order()

    def overdue(self, now: int) -> int | None:
        """Return a decision whose outcome is overdue and that has not expired, None if there is none."""
        while self._due:
            due, ref = self._due[0] >> _BITS, self._due[0] & ((1 << _BITS) - 1)
            if due > now:
                return None
            heapq.heappop(self._due)
            if ref in self._rows and self.fate(ref) is None:
                return ref
        return None

    def count_overdue(self, now: int) -> int:
        """Count the decisions whose outcome is overdue and that have not expired."""
        return sum(_due(row) <= now and _fate(row) is None for row in self._rows.values())

    def copy(self) -> Backlog:
        """Return a copy, which shares the records."""
        found = copy(self)
        found._rows, found._due, found._forms = dict(self._rows), list(self._due), list(self._forms)
        found._units, found._of_unit = dict(self._units), dict(self._of_unit)
        return found

    @property
    def bytes(self) -> int:
        """The memory that the decisions take."""
        tables = sys.getsizeof(self._rows) + sys.getsizeof(self._due)
        tables += sum(map(sys.getsizeof, (self._units, self._of_unit))) + _ENTRY * len(self._units)
        return tables + self._size + _NUMBER * len(self._rows) + _DEADLINE * len(self._due)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the records as arrays of one form each, in the order of their first decisions, and their numbers."""
        found, each = dict[str, np.ndarray[Any, Any]](), dict[int, list[int]]()
        for ref, row in self._rows.items():
            each.setdefault(_HEAD.unpack_from(row)[1], []).append(ref)
        for i, (form, refs) in enumerate(each.items()):
            records = np.frombuffer(bytearray().join([self._rows[ref] for ref in refs]), self._forms[form])
            records["form"] = i
            found[f"{_NAME}.{i}"], found[f"{_NAME}.{i}.ref"] = records, np.array(refs)
        if self._units:
            found[f"{_NAME}.unit"] = np.array([*self._units.items()])
        return found

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray[Any, Any]]) -> Backlog:
        """Return a backlog of these arrays.

        Raises:
            ValueError: they are not such arrays.
        """
        found, rows = Backlog(), list[tuple[int, bytes]]()
        while (name := f"{_NAME}.{len(found._forms)}") in arrays:
            records, size = arrays[name], arrays[name].dtype.itemsize
            if records.dtype.names != ("due", "form", "fate", *_FIELDS) or (records["form"] != len(found._forms)).any():
                raise ValueError(f"{name} has no decisions")
            whole, starts = records.tobytes(), range(0, size * len(records), size)
            rows += zip(arrays[f"{name}.ref"].tolist(), [whole[at : at + size] for at in starts], strict=True)
            found._forms.append(records.dtype)
        found._rows = dict(sorted(rows))
        found._size = sum(map(sys.getsizeof, found._rows.values()))
        found._order()
        for ref, unit in arrays.get(f"{_NAME}.unit", np.zeros((0, 2), np.int64)).tolist():
            found._join(ref, unit)
        return found

    def _join(self, ref: int, unit: int) -> None:
        self._units[ref] = unit
        self._of_unit[unit] = (*self.of_unit(unit), ref)

    def _rewrite(self, ref: int, due: int, fate: OnExpiry | None) -> None:
        row = self._rows[ref]
        self._rows[ref] = _HEAD.pack(due, _HEAD.unpack_from(row)[1], _FATES.index(fate)) + row[_HEAD.size :]

    def _order(self) -> None:
        """Make the heap of those that have not expired."""
        self._due = [_due(row) << _BITS | ref for ref, row in self._rows.items() if _fate(row) is None]
        heapq.heapify(self._due)


@cache
def _form(arrays: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]) -> _Form:
    """Return the form of decisions whose arrays have these types and shapes."""
    fields = [(name, *form) for name, form in zip(_FIELDS, arrays, strict=True)]
    return np.dtype([("due", "i8"), ("form", "i4"), ("fate", "i4"), *fields])


def _due(row: bytes) -> int:
    due: int = _HEAD.unpack_from(row)[0]
    return due


def _fate(row: bytes) -> OnExpiry | None:
    fate: int = _HEAD.unpack_from(row)[2]
    return _FATES[fate]
