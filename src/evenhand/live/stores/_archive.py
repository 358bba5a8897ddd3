"""A store that is only read: workers open their campaigns there, and nothing is written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from evenhand.live.log.events import Busy, Event, Kind
from evenhand.live.log.store import Closing, Readable, Recalled, SelfChecking, Transaction, Whole


class _Log:
    """The log of one campaign as it was when it was read first, in which no time passes, so that nothing expires."""

    now = 0

    def __init__(self, store: Readable, campaign: str, last: int) -> None:
        self._store, self._campaign, self.last = store, campaign, last

    def tail(self, after: int) -> Iterator[Event]:
        return (event for event in self._store.scan(self._campaign, after) if event.seq <= self.last)

    def find(self, key: str) -> Event | None:
        return next((event for event in self.tail(0) if event.key == key), None)

    def get(self, seq: int) -> Event | None:
        found = next(iter(self.tail(seq - 1)), None) if seq > 0 else None
        return found if found is not None and found.seq == seq else None

    def about(self, ref: int) -> Sequence[Event]:
        return [event for event in self.tail(ref) if event.ref == ref]

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        raise Busy("the store was opened read-only")


class Archive:
    """Reads the logs of another store; snapshots are read and not kept, and what is overdue does not expire."""

    only_read = True

    def __init__(self, store: Readable) -> None:
        self._store, self.whole = store, isinstance(store, Whole) and store.whole
        self._last: dict[str, int] = {}

    def campaigns(self) -> Sequence[str]:
        return self._store.campaigns()

    @contextmanager
    def write(self, campaign: str) -> Iterator[Transaction]:
        if campaign not in self._last:
            end = deque(self._store.scan(campaign), 1)
            self._last[campaign] = end[0].seq if end else 0
        yield _Log(self._store, campaign, self._last[campaign])

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        last = self._last.get(campaign)
        found = self._store.scan(campaign, after, kinds)
        return found if last is None else (event for event in found if event.seq <= last)

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        last = self._last.get(campaign)
        return [event for event in self._store.about(campaign, ref) if last is None or event.seq <= last]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        return self._store.snapshot(campaign, mark, before)

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return self._store.snapshots(campaign, mark)

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        return None

    def digests(self) -> Iterable[tuple[bytes, int]]:
        return self._store.digests() if isinstance(self._store, Recalled) else ()

    def damage(self) -> Sequence[str]:
        return self._store.damage() if isinstance(self._store, SelfChecking) else []

    def close(self) -> None:
        if isinstance(self._store, Closing):
            self._store.close()
