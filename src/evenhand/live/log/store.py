"""The contract of an event store. Each kind of store has its own module, named after the scheme of its URLs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from evenhand.core.errors import InvalidInput
from evenhand.live.log.events import ABOUT, Event, Kind


class Transaction(Protocol):
    """A write transaction on the log of one campaign; it excludes other writers."""

    @property
    def now(self) -> int:
        """The time of the store in microseconds, at least that of the last event."""

    @property
    def last(self) -> int:
        """The number of the last event, 0 if there is none."""

    def tail(self, after: int) -> Iterator[Event]:
        """Iterate over the events after a number, in order; the caller appends nothing before the end."""

    def find(self, key: str) -> Event | None:
        """Return the decision with a key, or what added to the outcome of one, None if there is none."""

    def get(self, seq: int) -> Event | None:
        """Return the event with a number, None if there is none."""

    def about(self, ref: int) -> Sequence[Event]:
        """Return the events about a decision, in order."""

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        """Append the next event, which `evenhand.live.log.events.linked` makes of the last one's number and hash.

        `own` continues the body by what can be erased.

        Raises:
            Conflict: the key has a decision already; or the event is a second outcome, cancellation or expiry of a
                decision, or refers to no decision. Nothing was written then.
            Busy: as for `Store.write`.
        """


@runtime_checkable
class BulkTransaction(Transaction, Protocol):
    """A transaction that looks up many keys, and appends many events, at once."""

    @property
    def hash(self) -> bytes:
        """The hash of the last event, empty if there is none."""

    def find_all(self, keys: Sequence[str]) -> Sequence[Event]:
        """Return the decisions with any of these keys, in order."""

    def append_all(self, events: Sequence[Event]) -> None:
        """Append events that follow the last one, all with the time of this transaction.

        Raises:
            Conflict: as for `append`; the transaction has then to be rolled back.
            Busy: as for `Store.write`.
        """


@runtime_checkable
class ErasureTransaction(Protocol):
    """A transaction of a store whose events can lose their personal parts."""

    def erase(self, events: Sequence[int]) -> None:
        """Remove key, `own` and salt of sealed events, and all snapshots of the campaign.

        The last event is the one of kind "erased" that names them. From then on the store takes no snapshot of fewer
        events than that one's number.
        """


MOVED: tuple[Kind, ...] = ("decided", *ABOUT)  # by a seal, out of the store


def digest_of(campaign: str, key: str) -> bytes:
    """Return the digest of a key, which a store keeps of a decision that a segment has.

    >>> digest_of("mail", "customer-17").hex()
    'e46f7051b0189809299ded6e95ca42ea'
    """
    return hashlib.sha256(f"{digest_prefix(campaign)}{key}".encode()).digest()[:16]


def digest_prefix(campaign: str) -> str:
    """Return the text that precedes a key of a campaign in the input of its digest."""
    return f"{len(campaign)} {campaign} "


@runtime_checkable
class SealTransaction(Protocol):
    """A transaction of a store out of which old events can be moved."""

    def unload(self, last: int, waiting: Collection[int], emptied: Sequence[int]) -> None:
        """Remove decisions up to an event, with the events about them, but keep digests of their keys.

        What waits stays, and what an event after the last one is about; so do events of other kinds. Snapshots of fewer
        events are removed. The last event is of kind "sealed", and says `last`.

        Args:
            last: the last event that a segment has.
            waiting: decisions up to it that wait.
            emptied: sealed events whose personal parts are removed.
        """


@runtime_checkable
class DigestTransaction(Protocol):
    """A transaction that knows keys of decisions that were moved out of the store."""

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Return the decisions with any of these keys that are not in the store any more."""


@runtime_checkable
class DigestRemoval(Protocol):
    """A transaction that can forget keys of decisions that were moved out of the store."""

    def drop(self, keys: Sequence[str]) -> None:
        """Forget keys, as their decisions are erased."""


@runtime_checkable
class DigestStore(Protocol):
    """A store, or a reader of one, that has the digests of keys whose decisions were moved."""

    def digests(self) -> Iterable[tuple[bytes, int]]:
        """Return all digests, with the numbers of the decisions."""


@runtime_checkable
class DigestImporter(Protocol):
    """A store that takes in the digests of another one."""

    def keep_digests(self, digests: Iterable[tuple[bytes, int]]) -> None:
        """Store digests of campaigns that it has, or will have."""


@runtime_checkable
class CleanableStore(Protocol):
    """A store whose files contain traces of erased data until they are cleaned."""

    def scrub(self) -> None:
        """Remove erased data from the files.

        Raises:
            Busy: another process reads the store, or holds its lock.
        """


@runtime_checkable
class ClockTransaction(Protocol):
    """A transaction that knows its clock also where the log is ahead of it."""

    @property
    def clock(self) -> int:
        """The time of the clock in microseconds, which may be before the last event."""

    def distrust(self) -> None:
        """Compare later times with no time of the clock so far, as it was wrong."""


class Readable(Protocol):
    """The part of a store that reads."""

    def campaigns(self) -> Sequence[str]:
        """Return the names of all campaigns, in order."""

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        """Iterate over the committed events after a number, in order; of all kinds, or only the given ones."""

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        """Return a committed decision and the events about it, in order."""

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        """Return the latest snapshot under a mark with its number of events, None if there is none.

        `before` restricts the search to snapshots of fewer events.
        """

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        """Return the numbers of events of the snapshots under a mark, in order."""


class Store(Readable, Protocol):
    """Stores totally ordered, append-only logs of campaigns by name, and snapshots, which may be lost at any time."""

    def write(self, campaign: str) -> AbstractContextManager[Transaction]:
        """Open a transaction that commits at its end, and rolls back if an exception leaves it.

        Raises:
            Damaged: the store can no longer be read, so asking again is of no use.
            Busy: the store is locked, gone, read-only or full, or its clock jumped, and nothing was written. Or the
                commit failed: then the events may be in the log, as the reply to a commit can be lost. A worker then
                folds the log again, and a client that repeats its request with the same key gets the stored reply.
        """

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        """Store a snapshot, replacing one of the same number of events, and drop others by their numbers."""


@runtime_checkable
class Whole(Protocol):
    """A store that may give all events of its logs, also those that were moved to segments; others do not."""

    whole: bool


@runtime_checkable
class ReadOnlyStore(Protocol):
    """A store whose logs cannot be written; workers then add nothing to them on their own."""

    only_read: bool


@runtime_checkable
class CheckableStore(Protocol):
    """A store that can check its own files; others have `evenhand.live.log.proof` alone."""

    def damage(self) -> Sequence[str]:
        """Return the faults of the store's files, as sentences."""


@runtime_checkable
class CloseableStore(Protocol):
    """A store that has something to close."""

    def close(self) -> None:
        """Release the resources of this process; the files are complete afterwards."""


@runtime_checkable
class SizedStore(Protocol):
    """A store that knows how large it is."""

    def size(self) -> int:
        """Return the bytes that logs and snapshots take.

        Raises:
            Busy, Damaged: the store cannot be read.
        """


@runtime_checkable
class CopyableStore(Protocol):
    """A store that copies itself into a file of SQLite; others are copied event by event."""

    def copy_to(self, path: Path) -> None:
        """Write all logs, as they are at one moment, to a new file."""


@runtime_checkable
class LogImporter(Protocol):
    """A store that takes in logs as they are, with their times and hashes."""

    def adopt(self, logs: Iterable[tuple[str, Iterable[Event]]]) -> None:
        """Write the logs of campaigns that it does not have, all or none.

        Raises:
            Conflict, Damaged: the events contradict each other.
            Busy: as for `Store.write`.
        """


def unknown_url(url: object) -> InvalidInput:
    """Make the error for a URL that names no store."""
    return InvalidInput("store", "sqlite:///FILE, postgresql://HOST/DATABASE or memory://", url_text(url))


def is_secret(url: str) -> bool:
    """Return whether a URL may have a password."""
    return "@" in url or "password" in url


def url_text(url: object) -> str:
    """Return a stated URL as text for a message; possible passwords in it are not repeated."""
    if isinstance(url, str) and is_secret(url):
        return f"{url.partition(':')[0]!r} and more, which may have a password"
    return repr(url)
