"""Where logs of events are kept: the contract, which databases fulfil in modules of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from evenhand.core.errors import InvalidInput, MissingExtra
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


def opened(store: str | Store) -> Store:
    """A store, or that of a URL.

    Raises:
        InvalidInput, MissingExtra, Busy: as for `connect`.
    """
    return connect(store) if isinstance(store, str) or not hasattr(store, "scan") else store


def connect(url: object) -> Store:
    """The store of a URL.

    Args:
        url: "sqlite:///FILE", "postgresql://USER:PASSWORD@HOST/DATABASE", or "memory://" for a store that ends with the
            process.

    Raises:
        InvalidInput: another kind of store.
        MissingExtra: psycopg is not installed, which PostgreSQL needs.
        Busy: the store cannot be opened.

    >>> type(connect("memory://")).__name__
    'MemoryStore'
    """
    if isinstance(url, str) and url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        from evenhand.live.sqlite import SqliteStore

        return SqliteStore(url.removeprefix("sqlite:///"))
    if url == "memory://":
        from evenhand.live.memory import MemoryStore

        return MemoryStore()
    if isinstance(url, str) and url.startswith(("postgresql://", "postgres://")):
        try:
            from evenhand.live.postgres import PostgresStore
        except ModuleNotFoundError as error:
            raise MissingExtra("stores in PostgreSQL", "postgresql") from error
        return PostgresStore(url)
    raise InvalidInput("store", "sqlite:///FILE, postgresql://HOST/DATABASE or memory://", _shown(url))


def _shown(url: object) -> str:
    """A URL of an unknown kind, without what may be a password in it."""
    if isinstance(url, str) and ("@" in url or "password" in url):
        return f"{url.partition(':')[0]!r} and more, which may have a password"
    return repr(url)
