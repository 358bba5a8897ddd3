"""A store in one file of SQLite, for any number of processes on one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.live.events import ABOUT, KINDS, Busy, Conflict, Event, Kind
from evenhand.live.stores._clock import Watch, clock
from evenhand.live.stores._sqlite_sessions import Sessions
from evenhand.live.stores.base import unknown_url

_PAGE = 1000  # events read at once
_COLUMNS = "seq, kind, ref, key, at, body"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS events (
  campaign TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN {KINDS}),
  ref INTEGER,
  key TEXT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES events (campaign, seq),
  CHECK (kind = 'decided' OR key IS NULL),
  CHECK ((kind IN {ABOUT}) = (ref IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS one_decision_per_key ON events (campaign, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS settled_once ON events (campaign, ref) WHERE kind IN ('observed', 'cancelled');
CREATE UNIQUE INDEX IF NOT EXISTS expired_once ON events (campaign, ref) WHERE kind = 'expired';
CREATE INDEX IF NOT EXISTS about ON events (campaign, ref) WHERE ref IS NOT NULL;
CREATE INDEX IF NOT EXISTS rare ON events (campaign, kind, seq)
  WHERE kind IN ('opened', 'revised', 'cancelled', 'expired', 'switched', 'refolded');
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TABLE IF NOT EXISTS snapshots (
  campaign TEXT NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, blob BLOB NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
) STRICT;
"""


class _Log:
    """The log of one campaign within a transaction of SQLite."""

    def __init__(self, db: sqlite3.Connection, campaign: str, watch: Watch) -> None:
        self._db, self._campaign = db, campaign
        end = "SELECT seq, at FROM events WHERE campaign = ? ORDER BY seq DESC LIMIT 1"
        row: tuple[int, int] = db.execute(end, (campaign,)).fetchone() or (0, 0)
        self.last, self.now = row[0], watch.check(clock(), row[1])

    def _rows(self, where: str, *values: Any) -> list[Event]:
        query = f"SELECT {_COLUMNS} FROM events {where} ORDER BY seq"
        return [Event(*row) for row in self._db.execute(query, (self._campaign, *values))]

    def tail(self, after: int) -> Iterator[Event]:
        while after < self.last:
            yield from self._rows("WHERE campaign = ? AND seq > ? AND seq <= ?", after, after + _PAGE)
            after += _PAGE

    def find(self, key: str) -> Event | None:
        return next(iter(self._rows("WHERE campaign = ? AND key = ?", key)), None)

    def get(self, seq: int) -> Event | None:
        return next(iter(self._rows("WHERE campaign = ? AND seq = ?", seq)), None)

    def about(self, ref: int) -> Sequence[Event]:
        # The query planner of SQLite would read the whole log in the order of its events.
        return self._rows("INDEXED BY about WHERE campaign = ? AND ref = ? AND ref IS NOT NULL", ref)

    def append(self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None) -> Event:
        event = Event(self.last + 1, kind, ref, key, self.now, body)
        query = f"INSERT INTO events (campaign, {_COLUMNS}) VALUES (?,?,?,?,?,?,?)"
        try:
            self._db.execute(query, (self._campaign, *event))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"event {event.seq} contradicts the log: {error}") from error
        self.last += 1
        return event


class SqliteStore:
    """Stores logs in one file; commits are on disk before they return (WAL, synchronous=FULL).

    Writers queue at locks on the files `FILE.gate` and `FILE.lock`, which serve them in turn; with SQLite's own locks
    they would sleep and retry, and some would wait for seconds. Each thread has its own connection.

    Args:
        path: the file, which is created if it is missing.
        timeout: the seconds to wait for a lock of SQLite, which programs that do not queue may hold.

    Raises:
        InvalidInput: the file is not a database.
        ConcurrentUse: the file was open when this process was forked.
        Busy: the file cannot be opened or written.

    >>> import tempfile
    >>> store = SqliteStore(f"{tempfile.mkdtemp()}/log.db")
    >>> with store.write("mail") as log:
    ...     _ = log.append("opened", "{}")
    >>> store.campaigns()
    ['mail']
    """

    def __init__(self, path: str | Path, timeout: float = 5.0) -> None:
        self._path, self._watch = Path(path), Watch()
        self._sessions = Sessions(self._path, timeout)
        try:
            with self._sessions.turn(), self._sessions.errors():
                self._db.executescript(_SCHEMA)
        except Busy as error:
            if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise InvalidInput("store", "a file of SQLite, or none yet", str(self._path)) from error
            raise

    def campaigns(self) -> Sequence[str]:
        query = "SELECT campaign FROM events WHERE kind = 'opened' ORDER BY campaign"
        with self._sessions.errors():
            return [name for (name,) in self._db.execute(query)]

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        with self._sessions.turn():
            self._sessions.same()
            db = self._db
            try:
                with self._sessions.errors():
                    if db.in_transaction:  # a second Ctrl-C interrupted the rollback of the first
                        db.execute("ROLLBACK")
                    db.execute("BEGIN IMMEDIATE")
                with self._sessions.errors((sqlite3.Error,)):  # other errors within are not the store's
                    yield _Log(db, campaign, self._watch)
                with self._sessions.errors():
                    db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk, for example, rolls back by itself
                    db.execute("ROLLBACK")
                raise

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        some = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        query = f"SELECT {_COLUMNS} FROM events WHERE campaign = ? AND seq > ?{some} ORDER BY seq LIMIT {_PAGE}"
        while True:  # page by page, as an unfinished statement hides new events from its connection
            with self._sessions.errors():
                rows = self._db.execute(query, (campaign, after, *kinds)).fetchall()
            yield from (Event(*row) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        one = f"SELECT {_COLUMNS} FROM events WHERE campaign = ? AND seq = ?"
        rest = f"SELECT {_COLUMNS} FROM events INDEXED BY about WHERE campaign = ? AND ref = ? AND ref IS NOT NULL"
        with self._sessions.errors():
            rows = [row for query in (one, f"{rest} ORDER BY seq") for row in self._db.execute(query, (campaign, ref))]
        return [Event(*row) for row in rows]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        query = "SELECT seq, blob FROM snapshots WHERE campaign = ? AND mark = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
        with self._sessions.errors():
            row: tuple[int, bytes] | None = self._db.execute(
                query, (campaign, mark, 2**62 if before is None else before)
            ).fetchone()
        return row

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        query = "SELECT seq FROM snapshots WHERE campaign = ? AND mark = ? ORDER BY seq"
        with self._sessions.errors():
            return [seq for (seq,) in self._db.execute(query, (campaign, mark))]

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        others = [(campaign, mark, number) for number in drop]
        with self._sessions.turn(), self._sessions.errors():
            self._db.execute("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?)", (campaign, mark, seq, blob))
            if others:
                self._db.executemany("DELETE FROM snapshots WHERE campaign = ? AND mark = ? AND seq = ?", others)

    @property
    def _db(self) -> sqlite3.Connection:
        return self._sessions.mine


def connect(url: str) -> SqliteStore:
    """Open the store in a file, for `sqlite:///FILE`."""
    path = url.removeprefix("sqlite:///")
    if not path or path == url:
        raise unknown_url(url)
    return SqliteStore(path)
