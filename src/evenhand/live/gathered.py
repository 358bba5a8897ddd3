"""A transaction whose events are written together, and whose keys are looked up together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from evenhand.core.errors import EvenhandError
from evenhand.live.events import Busy, Conflict, Event, Kind, linked
from evenhand.live.stores.base import Gathering, Recalling, Transaction

T = TypeVar("T")
_MOST = 1_000  # events that wait to be written


class Gathered:
    """A transaction that writes what is appended when it is asked for, or when there is much of it.

    The events are those that single appends would write. An event that contradicts the log is refused when it is
    written, and the transaction has then to be rolled back, which undoes all that was appended in it.

    Args:
        log: the transaction.
        keys: that will be asked for.
    """

    def __init__(self, log: Gathering, keys: Sequence[str]) -> None:
        self._moved: Mapping[str, int] | None
        self._log, self._fresh, self._hash, self.last = log, list[Event](), log.hash, log.last
        self._by_key: dict[str, Event | None] = dict.fromkeys(keys)
        self._keys, self._moved = list(self._by_key), None  # read when it is asked for
        for event in log.find_all(list(self._by_key)) if keys else ():
            self._by_key[str(event.key)] = event

    @property
    def now(self) -> int:
        return self._log.now

    def tail(self, after: int) -> Iterator[Event]:
        self.write()
        return self._log.tail(after)

    def find(self, key: str) -> Event | None:
        return self._by_key[key] if key in self._by_key else self._log.find(key)

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        if not isinstance(self._log, Recalling):
            return {}
        if self._moved is None:
            self._moved = self._log.moved(self._keys)
        rest = [key for key in keys if key not in self._by_key]
        return {**{key: z for key, z in self._moved.items() if key in keys}, **(self._log.moved(rest) if rest else {})}

    def get(self, seq: int) -> Event | None:
        self.write()
        return self._log.get(seq)

    def about(self, ref: int) -> Sequence[Event]:
        self.write()
        return self._log.about(ref)

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        event = linked(self.last, self._hash, self.now, kind, body, ref, key, own)
        if key is not None:
            if self.find(key) is not None:
                raise Conflict(f"key {key!r} is in the log")
            self._by_key[key] = event
        self._fresh.append(event)
        self.last, self._hash = event.seq, event.hash
        if len(self._fresh) >= _MOST:
            self.write()
        return event

    def write(self) -> None:
        """Write what was appended.

        Raises:
            Conflict: an event contradicts the log.
            Busy: as for `Store.write`.
        """
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            self._log.append_all(fresh)


def gathered(log: Transaction, keys: Iterable[str], calls: int) -> Gathered | None:
    """Return a transaction that collects the events that so many calls append; None if that is of no use."""
    asked = list(keys)
    return Gathered(log, asked) if max(calls, len(asked)) > 1 and isinstance(log, Gathering) else None


class Folds(Protocol):
    """An object that keeps a fold in step with a log."""

    @property
    def fold(self) -> Any:
        """The fold."""


def each(log: Transaction, calls: Sequence[Callable[[Transaction], T]], worker: Folds) -> list[T | EvenhandError]:
    """Make calls in a transaction; each has its result or its own error.

    Raises:
        EvenhandError: of a call that had written something, or whose fold is out of step.
    """
    found: list[T | EvenhandError] = []
    for call in calls:
        before = log.last
        try:
            found.append(call(log))
        except Busy:
            raise
        except EvenhandError as error:
            if not before == log.last == worker.fold.seq:
                raise
            found.append(error)
    return found
