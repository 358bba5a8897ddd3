"""A store in memory, for tests and simulations, with an optional clock of its own."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from evenhand.live.log.events import Conflict, Event, Kind, next_event
from evenhand.live.log.store import MOVED, digest_of, unknown_url
from evenhand.live.stores._clock import clock

_NONE = [Event(0, "opened", None, None, 0, "")]  # before the first event
_ALL = 2**62  # events that no log has


@dataclass
class _Book:
    """The events of a campaign with indices by key and by decision."""

    events: list[Event] = field(default_factory=list)
    keys: dict[str, Event] = field(default_factory=dict)
    about: dict[int, list[Event]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        self.events.append(event)
        if event.key is not None:
            self.keys[event.key] = event
        if event.ref is not None:
            self.about.setdefault(event.ref, []).append(event)

    def without(self, erased: Collection[int], moved: Collection[int] = ()) -> _Book:
        """Return a copy without some events and the personal parts of some; readers may be at work on this book."""
        found = _Book()
        for event in self.events:
            if event.seq not in moved:
                found.add(event._replace(key=None, own=None, salt=None) if event.seq in erased else event)
        return found

    def place(self, seq: int) -> int:
        """Return the place of the first event with a number, or with a later one."""
        return bisect_left(self.events, seq, key=lambda event: event.seq)


class _Log:
    """The log of one campaign within a transaction, with its uncommitted events."""

    def __init__(self, book: _Book, now: int, moved: Callable[[str], int | None]) -> None:
        self._book, self.fresh, self._moved = book, _Book(), moved
        self.erased, self.gone, self.least = frozenset[int](), list[Event](), 0
        self.dropped: Sequence[str] = ()
        self.clock, self.now = now, max(now, book.events[-1].at if book.events else 0)

    def distrust(self) -> None:
        """Do nothing, as no times are compared: a simulated clock can be set at will."""

    @property
    def last(self) -> int:
        return (self.fresh.events or self._book.events or _NONE)[-1].seq

    def tail(self, after: int) -> Iterator[Event]:
        for book in (self._book, self.fresh):
            yield from book.events[book.place(after + 1) :]

    def find(self, key: str) -> Event | None:
        return self._book.keys.get(key) or self.fresh.keys.get(key)

    def get(self, seq: int) -> Event | None:
        found = next(self.tail(seq - 1), None)
        return found if found is not None and found.seq == seq else None

    def about(self, ref: int) -> Sequence[Event]:
        return [*self._book.about.get(ref, ()), *self.fresh.about.get(ref, ())]

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        last = (self.fresh.events or self._book.events or _NONE)[-1]
        event = next_event(last.seq, last.hash, self.now, kind, body, ref, key, own)
        self._refuse(event)
        self.fresh.add(event)
        return event

    @property
    def hash(self) -> bytes:
        return (self.fresh.events or self._book.events or _NONE)[-1].hash

    def find_all(self, keys: Sequence[str]) -> Sequence[Event]:
        found = (self.find(key) for key in keys)
        return sorted((event for event in found if event is not None), key=lambda event: event.seq)

    def append_all(self, events: Sequence[Event]) -> None:
        for event in events:
            self._refuse(event)
            self.fresh.add(event)

    def erase(self, events: Sequence[int]) -> None:
        self.erased |= frozenset(events)
        self.least = _ALL

    def unload(self, last: int, waiting: Collection[int], emptied: Sequence[int]) -> None:
        stays = {*waiting, *(event.ref for event in self.tail(last))}
        old = (event for event in self._book.events if event.seq <= last and event.kind in MOVED)
        self.gone = [event for event in old if (event.ref or event.seq) not in stays]
        self.erased, self.least = frozenset(emptied), last

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        each = ((key, self._moved(key)) for key in keys)
        return {key: seq for key, seq in each if seq is not None}

    def drop(self, keys: Sequence[str]) -> None:
        self.dropped = keys

    def _refuse(self, event: Event) -> None:
        """Refuse the events that the schema of a database refuses."""
        kind, ref, key = event.kind, event.ref, event.key
        if key is not None and self.find(key) is not None:
            raise Conflict(f"key {key!r} is in the log")
        if ref is not None and self.get(ref) is None:
            raise Conflict(f"an event of kind {kind!r} about {ref}")
        for once in (("observed", "cancelled"), ("expired",)):
            if ref is not None and kind in once and any(e.kind in once for e in self.about(ref)):
                raise Conflict(f"decision {ref} is settled in the log")


class MemoryStore:
    """Stores logs in lists.

    Args:
        now: the clock, in microseconds since 1970.

    >>> store = MemoryStore()
    >>> with store.write("mail") as log:
    ...     _ = log.append("opened", "{}")
    >>> [event.kind for event in store.scan("mail")]
    ['opened']
    """

    def __init__(self, now: Callable[[], int] = clock) -> None:
        self._books: dict[str, _Book] = {}
        self._kept: dict[tuple[str, str], dict[int, bytes]] = {}
        self._digests = dict[bytes, int]()
        self._lock, self._now = threading.RLock(), now

    def campaigns(self) -> Sequence[str]:
        return sorted(name for name, book in self._books.items() if book.events)

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        with self._lock:
            book = self._books.setdefault(campaign, _Book())
            log = _Log(book, self._now(), lambda key: self._digests.get(digest_of(campaign, key)))
            yield log
            for event in log.fresh.events:
                book.add(event)
            for key in log.dropped:
                self._digests.pop(digest_of(campaign, key), None)
            if log.least:
                self._books[campaign] = book.without(log.erased, {event.seq for event in log.gone})
                self._digests |= {digest_of(campaign, e.key): e.seq for e in log.gone if e.key is not None}
                for (name, mark), saved in self._kept.items():
                    if name == campaign and (log.least == _ALL or not mark.startswith("taught ")):
                        for number in [n for n in saved if n < log.least]:
                            del saved[number]

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        book = self._books.get(campaign, _Book())
        for event in book.events[book.place(after + 1) :]:
            if not kinds or event.kind in kinds:
                yield event

    def adopt(self, logs: Iterable[tuple[str, Iterable[Event]]]) -> None:
        with self._lock:
            fresh: dict[str, _Book] = {}
            for campaign, events in logs:
                for event in events:
                    fresh.setdefault(campaign, _Book()).add(event)
            self._books |= fresh

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        book = self._books.get(campaign, _Book())
        return [*book.events[book.place(ref) : book.place(ref + 1)], *book.about.get(ref, ())]

    def digests(self) -> Iterable[tuple[bytes, int]]:
        return list(self._digests.items())

    def keep_digests(self, digests: Iterable[tuple[bytes, int]]) -> None:
        with self._lock:
            self._digests |= dict(digests)

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        found = self._kept.get((campaign, mark), {})
        numbers = [n for n in found if before is None or n < before]
        return (max(numbers), found[max(numbers)]) if numbers else None

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return sorted(self._kept.get((campaign, mark), {}))

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        with self._lock:
            saved = self._kept.setdefault((campaign, mark), {})
            for number in drop:
                saved.pop(number, None)
            if not any(event.kind == "erased" for event in self.scan(campaign, seq)):
                saved[seq] = blob


def connect(url: str) -> MemoryStore:
    """Open a store in this process, for `memory://`."""
    if url != "memory://":
        raise unknown_url(url)
    return MemoryStore()
