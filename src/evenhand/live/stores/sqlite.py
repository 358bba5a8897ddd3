"""A store in one file of SQLite, for any number of processes on one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.core.errors import MissingFile
from evenhand.live.log.events import Busy, Conflict, Event, Kind, next_event
from evenhand.live.log.store import MOVED, digest_of
from evenhand.live.stores._clock import Watch, clock
from evenhand.live.stores._sqlite_reading import (
    PAGE,
    Queries,
    SqliteReader,
    close_to_others,
    copy_into,
    file_of,
    look_at,
    refuse_segment,
)
from evenhand.live.stores._sqlite_schema import COLUMNS, ONLY_NEXT, prepare
from evenhand.live.stores._sqlite_sessions import Sessions

_INSERT = f"INSERT INTO events (campaign, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_KEYS = 500  # looked up at once, as SQLite takes so many values in a statement
_KEEP = """INSERT OR REPLACE INTO snapshots SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
           (SELECT 1 FROM events WHERE campaign = ?1 AND kind = 'erased' AND seq > ?3)"""


class _Log:
    """The log of one campaign within a transaction of SQLite."""

    def __init__(self, db: sqlite3.Connection, campaign: str, watch: Watch) -> None:
        self._db, self._campaign = db, campaign
        end = "SELECT seq, at, hash FROM events WHERE campaign = ? ORDER BY seq DESC LIMIT 1"
        row: tuple[int, int, bytes] = db.execute(end, (campaign,)).fetchone() or (0, 0, b"")
        self.clock, self.distrust = clock(), watch.forget
        self.last, self.now, self.hash = row[0], watch.check(self.clock, row[1]), row[2]

    def _rows(self, where: str, *values: Any) -> list[Event]:
        query = f"SELECT {COLUMNS} FROM events {where} ORDER BY seq"
        return [Event(*row) for row in self._db.execute(query, (self._campaign, *values))]

    def tail(self, after: int) -> Iterator[Event]:
        while after < self.last:
            yield from self._rows("WHERE campaign = ? AND seq > ? AND seq <= ?", after, after + PAGE)
            after += PAGE

    def find(self, key: str) -> Event | None:
        return next(iter(self._rows("WHERE campaign = ? AND key = ?", key)), None)

    def get(self, seq: int) -> Event | None:
        return next(iter(self._rows("WHERE campaign = ? AND seq = ?", seq)), None)

    def about(self, ref: int) -> Sequence[Event]:
        # The query planner of SQLite would read the whole log in the order of its events.
        return self._rows("INDEXED BY about WHERE campaign = ? AND ref = ? AND ref IS NOT NULL", ref)

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        event = next_event(self.last, self.hash, self.now, kind, body, ref, key, own)
        try:
            self._db.execute(_INSERT, (self._campaign, *event))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"event {event.seq} contradicts the log: {error}") from error
        self.last, self.hash = event.seq, event.hash
        return event

    def find_all(self, keys: Sequence[str]) -> Sequence[Event]:
        found = list[Event]()
        for first in range(0, len(keys), _KEYS):
            some = keys[first : first + _KEYS]
            which = f"campaign = ? AND key IN ({','.join('?' * len(some))})"
            found += self._rows(f"INDEXED BY one_decision_per_key WHERE {which}", *some)
        return sorted(found)

    def append_all(self, events: Sequence[Event]) -> None:
        try:
            self._db.executemany(_INSERT, ((self._campaign, *event) for event in events))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"events from {events[0].seq} on contradict the log: {error}") from error
        self.last, self.hash = events[-1].seq, events[-1].hash

    def erase(self, events: Sequence[int]) -> None:
        rows = ((self._campaign, seq) for seq in events)
        self._db.executemany(
            "UPDATE events SET key = NULL, own = NULL, salt = NULL WHERE campaign = ? AND seq = ?", rows
        )
        self._db.execute("DELETE FROM snapshots WHERE campaign = ?", (self._campaign,))

    def unload(self, last: int, waiting: Collection[int], emptied: Sequence[int]) -> None:
        self._db.create_function("digest_of", 2, digest_of, deterministic=True)
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS stays (seq INTEGER PRIMARY KEY)")
        self._db.execute("DELETE FROM stays")
        self._db.executemany("INSERT INTO stays VALUES (?)", ((seq,) for seq in waiting))
        later = "SELECT ref FROM events WHERE campaign = ? AND seq > ? AND ref <= ?"
        self._db.execute(f"INSERT OR IGNORE INTO stays {later}", (self._campaign, last, last))
        goes = f"campaign = ? AND seq <= ? AND kind IN {MOVED} AND coalesce(ref, seq) NOT IN (SELECT seq FROM stays)"
        keys = f"SELECT digest_of(campaign, key), seq FROM events WHERE {goes} AND key IS NOT NULL"
        self._db.execute(f"INSERT OR REPLACE INTO digests {keys}", (self._campaign, last))
        self._db.execute(f"DELETE FROM events WHERE {goes}", (self._campaign, last))
        rows = ((self._campaign, seq) for seq in emptied)
        self._db.executemany("UPDATE events SET own = NULL, salt = NULL WHERE campaign = ? AND seq = ?", rows)
        old = "DELETE FROM snapshots WHERE campaign = ? AND seq < ? AND mark NOT LIKE 'taught %'"
        self._db.execute(old, (self._campaign, last))

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        if self._db.execute("SELECT 1 FROM digests LIMIT 1").fetchone() is None:
            return {}
        query = "SELECT seq FROM digests WHERE digest = ?"
        each = ((key, self._db.execute(query, (digest_of(self._campaign, key),)).fetchone()) for key in keys)
        return {key: row[0] for key, row in each if row is not None}

    def drop(self, keys: Sequence[str]) -> None:
        rows = ((digest_of(self._campaign, key),) for key in keys)
        self._db.executemany("DELETE FROM digests WHERE digest = ?", rows)


class SqliteStore:
    """Stores logs in one file; commits are on disk before they return (WAL, synchronous=FULL).

    Writers queue at locks on the files `FILE.gate` and `FILE.lock`, which serve them in turn; with SQLite's own locks
    they would sleep and retry, and some would wait for seconds. Each thread has its own connection.

    Args:
        path: the file, which is created if it is missing, for this user alone.
        timeout: the seconds to wait for the turn to write, and for a lock of SQLite, which programs that do not queue
            may hold.

    Raises:
        InvalidInput: the file is not a database, belongs to another program or another version of evenhand, or is a
            segment.
        ConcurrentUse: the file was open when this process was forked.
        Damaged: the file is damaged.
        Busy: the file cannot be opened or written.

    >>> import tempfile
    >>> store = SqliteStore(f"{tempfile.mkdtemp()}/log.db")
    >>> with store.write("mail") as log:
    ...     _ = log.append("opened", "{}")
    >>> store.campaigns()
    ['mail']
    """

    def __init__(self, path: str | Path, timeout: float = 1.5) -> None:
        self._path, self._watch = Path(path), Watch()
        look_at(self._path)
        refuse_segment(self._path)
        self._sessions = Sessions(self._path, timeout)
        with self._writing():
            made = prepare(self._db)
        if made:
            close_to_others(self._path)

    def campaigns(self) -> Sequence[str]:
        return self._queries.campaigns()

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        with self._writing():
            yield _Log(self._db, campaign, self._watch)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open a transaction when it is our turn."""
        with self._sessions.turn():
            self._sessions.same()
            db = self._db
            try:
                with self._sessions.errors():
                    if db.in_transaction:  # a second Ctrl-C interrupted the rollback of the first
                        db.execute("ROLLBACK")
                    db.execute("BEGIN IMMEDIATE")
                with self._sessions.errors((sqlite3.Error,)):  # other errors within are not the store's
                    yield
                with self._sessions.errors():
                    db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk, for example, rolls back by itself
                    db.execute("ROLLBACK")
                raise

    def adopt(self, logs: Iterable[tuple[str, Iterable[Event]]]) -> None:
        # Of a log, events may be in segments; a segment may have outcomes of decisions of the one before.
        self._ask("PRAGMA foreign_keys=OFF")
        try:
            with self._writing():
                self._db.execute("DROP TRIGGER only_next")
                for campaign, events in logs:
                    self._db.executemany(_INSERT, ((campaign, *event) for event in events))
                self._db.execute(ONLY_NEXT)
        finally:
            self._ask("PRAGMA foreign_keys=ON")

    def digests(self) -> Iterable[tuple[bytes, int]]:
        return self._queries.digests()

    def keep_digests(self, digests: Iterable[tuple[bytes, int]]) -> None:
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?)", digests)

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        return self._queries.scan(campaign, after, kinds)

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        return self._queries.about(campaign, ref)

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        return self._queries.snapshot(campaign, mark, before)

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return self._queries.snapshots(campaign, mark)

    def damage(self) -> Sequence[str]:
        return self._queries.damage()

    def size(self) -> int:
        wal = self._path.with_name(f"{self._path.name}-wal")
        with self._sessions.errors():
            return sum(file.stat().st_size for file in (self._path, wal) if file.exists())

    def copy_to(self, path: Path) -> None:
        with self._sessions.errors(), closing(sqlite3.connect(path)) as copy:
            copy_into(self._db, copy)

    def close(self) -> None:
        self._sessions.close()

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        others = [(campaign, mark, number) for number in drop]
        with self._sessions.turn(), self._sessions.errors():
            self._db.execute(_KEEP, (campaign, mark, seq, blob))
            if others:
                self._db.executemany("DELETE FROM snapshots WHERE campaign = ? AND mark = ? AND seq = ?", others)

    def scrub(self) -> None:
        with self._sessions.turn(), self._sessions.errors():
            # A page that lost an event has its bytes still; so have pages of the WAL.
            self._db.execute("PRAGMA secure_delete=ON").fetchall()
            self._db.execute("VACUUM")
            (busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise Busy(f"{self._path}: another process reads the log, so the file contains traces of erased data")

    @property
    def _queries(self) -> Queries:
        return Queries(self._ask)  # not kept: in a cycle, a store would not close when it is dropped

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._sessions.errors():
            return self._db.execute(query, values).fetchall()

    @property
    def _db(self) -> sqlite3.Connection:
        return self._sessions.mine


def connect(url: str) -> SqliteStore:
    """Open the store in a file, for `sqlite:///FILE`."""
    file = file_of(url)
    if not file.parent.is_dir():
        raise MissingFile("store", "a file in an existing folder", file)
    return SqliteStore(file)


def reading(url: str) -> SqliteReader:
    """Open the store in a file without writing to it, not even beside it."""
    return SqliteReader(file_of(url))
