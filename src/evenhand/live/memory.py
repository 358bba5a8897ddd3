"""A store in memory, for tests and simulations: with a clock of its own if one is given."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from evenhand.live.events import Event, Kind


def clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class _Log:
    """The log of one campaign, and what is appended to it before it is committed."""

    def __init__(self, events: list[Event], now: int) -> None:
        self._events, self.now = events, max(now, events[-1].at if events else 0)
        self.fresh: list[Event] = []

    @property
    def last(self) -> int:
        return len(self._events) + len(self.fresh)

    def _all(self) -> list[Event]:
        return [*self._events, *self.fresh] if self.fresh else self._events

    def tail(self, after: int) -> Sequence[Event]:
        return self._all()[after:]

    def find(self, key: str) -> Event | None:
        return next((e for e in self._all() if e.key == key), None)

    def get(self, seq: int) -> Event | None:
        return self._all()[seq - 1] if 1 <= seq <= self.last else None

    def about(self, ref: int) -> Sequence[Event]:
        return [e for e in self._all() if e.ref == ref]

    def append(self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None) -> Event:
        self.fresh.append(Event(self.last + 1, kind, ref, key, self.now, body))
        return self.fresh[-1]


class MemoryStore:
    """Logs in lists.

    Args:
        now: the clock, in microseconds.

    >>> store = MemoryStore()
    >>> with store.write("mail") as log:
    ...     _ = log.append("opened", "{}")
    >>> [event.kind for event in store.scan("mail")]
    ['opened']
    """

    def __init__(self, now: Callable[[], int] = clock) -> None:
        """No campaign yet."""
        self._logs: dict[str, list[Event]] = {}
        self._kept: dict[tuple[str, str], dict[int, bytes]] = {}
        self._lock, self._now = threading.RLock(), now

    def campaigns(self) -> Sequence[str]:
        """The names of all campaigns, in order."""
        return sorted(name for name, events in self._logs.items() if events)

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        """A transaction; see `Store.write`."""
        with self._lock:
            events = self._logs.setdefault(campaign, [])
            log = _Log(events, self._now())
            yield log
            events += log.fresh

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        """The committed events after a number."""
        for event in self._logs.get(campaign, [])[after:]:
            if not kinds or event.kind in kinds:
                yield event

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The last snapshot under a mark; see `Store.snapshot`."""
        found = self._kept.get((campaign, mark), {})
        numbers = [n for n in found if before is None or n < before]
        return (max(numbers), found[max(numbers)]) if numbers else None

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes) -> None:
        """Keep a snapshot."""
        self._kept.setdefault((campaign, mark), {})[seq] = blob
