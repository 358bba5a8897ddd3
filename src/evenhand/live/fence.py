"""A fence between a log and who knew a later one, such as a server on whose store an older copy was put."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.live.events import Damaged, Event, digest
from evenhand.live.proof import Head
from evenhand.live.stores.base import Transaction


class Fence:
    """Remembers the last event that a process knew to be committed, and refuses a log without it.

    Args:
        name: of the log.

    >>> from evenhand.live.stores.memory import MemoryStore
    >>> store, fence = MemoryStore(), Fence("mail")
    >>> with store.write("mail") as log:
    ...     last = log.append("opened", "{}")
    >>> fence.known = Head(last.seq, last.hash)
    >>> with MemoryStore().write("mail") as log:
    ...     fence.check(log)
    Traceback (most recent call last):
    evenhand.live.events.Damaged: the store has another log of 'mail', or an earlier copy of it, without event 1 that \
this process knows: find out which one is right, and start the process again
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.known: Head | None = None

    def check(self, log: Transaction, after: int = 0) -> None:
        """Refuse a log that does not go on from the event that is known.

        Args:
            log: the transaction.
            after: the event after which `passed` reads on, if it is to check the rest: a query less.

        Raises:
            Damaged: it does not.
        """
        known = self.known
        if known is None or known.seq == after < log.last:
            return
        if log.last < known.seq or hash_of(log, known.seq) not in (known.hash, b""):  # none where a seal moved it
            raise self._another(known)

    def passed(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events of the log in order; the one after the known event has to carry its hash.

        Raises:
            Damaged: it does not.
        """
        known = self.known
        for event in events:
            if known is not None and event.seq == known.seq + 1 and event.hash != digest(event, known.hash):
                raise self._another(known)
            yield event

    def _another(self, known: Head) -> Damaged:
        told = f"the store has another log of {self._name!r}, or an earlier copy of it, without event {known.seq}"
        return Damaged(f"{told} that this process knows: find out which one is right, and start the process again")


def end_of(log: Transaction) -> Head | None:
    """Return the last event of a transaction, which is to be known once that is committed."""
    return Head(log.last, hash_of(log, log.last)) if log.last else None


def hash_of(log: Transaction, seq: int) -> bytes:
    """Return the hash of an event; that of the last one is at hand in stores that gather events."""
    found: bytes | None = getattr(log, "hash", None) if seq == log.last else None
    if found is None:
        event = log.get(seq)
        found = b"" if event is None else event.hash
    return found
