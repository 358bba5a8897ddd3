"""The contract of a store of logs. Each kind of store has its own module, named after the scheme of its URLs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from evenhand.core.errors import InvalidInput
from evenhand.live.events import Event, Kind


class Transaction(Protocol):
    """The log of one campaign while nobody else can write to it; what is appended counts once it is committed."""

    @property
    def now(self) -> int:
        """The time of the store in microseconds, never before that of the last event."""

    @property
    def last(self) -> int:
        """The number of the last event, 0 where there is none."""

    def tail(self, after: int) -> Iterator[Event]:
        """The events after a number, in order; nothing is appended before all are read."""

    def find(self, key: str) -> Event | None:
        """The decision of a key."""

    def get(self, seq: int) -> Event | None:
        """The event of a number."""

    def about(self, ref: int) -> Sequence[Event]:
        """The events about a decision, in order."""

    def append(self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None) -> Event:
        """Write the next event.

        Raises:
            Conflict: a second decision under a key, a second outcome, cancellation or expiry of a decision, or one of
                no decision. Nothing was written then.
            Busy: as for `Store.write`.
        """


class Store(Protocol):
    """Logs of campaigns by name, each totally ordered and append-only, and snapshots, which may be lost at any time."""

    def campaigns(self) -> Sequence[str]:
        """The names of all campaigns, in order."""

    def write(self, campaign: str) -> AbstractContextManager[Transaction]:
        """A transaction, which is committed at its end, and rolled back if anything is raised in it.

        Raises:
            Busy: the store is locked, gone, read-only or full, or its clock jumped, and nothing was written. Or the
                commit failed: then the log says whether anything was, as the reply to a commit can be lost. A worker
                folds it anew, and who says the same again, with the same key, is told what the log has.
        """

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        """The committed events after a number, in order; all kinds, or some."""

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The last snapshot under a mark, and how many events it contains, None where there is none.

        `before` asks for the last one that contains fewer events.
        """

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        """How many events the snapshots under a mark contain, in order."""

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        """Keep a snapshot, in place of the one of this number if there is one, and drop others by their numbers."""


def refused(url: object) -> InvalidInput:
    """The error for a URL of no store; what may be a password in it is not repeated."""
    got = repr(url)
    if isinstance(url, str) and ("@" in url or "password" in url):
        got = f"{url.partition(':')[0]!r} and more, which may have a password"
    return InvalidInput("store", "sqlite:///FILE, postgresql://HOST/DATABASE or memory://", got)
