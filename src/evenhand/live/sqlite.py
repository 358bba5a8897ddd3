"""A store in one file of SQLite, for any number of processes on one machine."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.live.events import ABOUT, KINDS, Busy, Conflict, Event, Kind
from evenhand.live.memory import clock

_PAGE = 1000  # events that are read at once
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
  WHERE kind IN ('opened', 'revised', 'cancelled', 'expired', 'switched');
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TABLE IF NOT EXISTS snapshots (
  campaign TEXT NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, blob BLOB NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
) STRICT;
"""


class _Log:
    """The log of one campaign within a transaction of SQLite."""

    def __init__(self, db: sqlite3.Connection, campaign: str) -> None:
        self._db, self._campaign = db, campaign
        end = "SELECT seq, at FROM events WHERE campaign = ? ORDER BY seq DESC LIMIT 1"
        row: tuple[int, int] = db.execute(end, (campaign,)).fetchone() or (0, 0)
        self.last, self.now = row[0], max(row[1], clock())

    def _rows(self, where: str, *values: Any) -> list[Event]:
        query = f"SELECT {_COLUMNS} FROM events WHERE campaign = ? AND {where} ORDER BY seq"
        return [Event(*row) for row in self._db.execute(query, (self._campaign, *values))]

    def tail(self, after: int) -> Sequence[Event]:
        return [] if after == self.last else self._rows("seq > ?", after)

    def find(self, key: str) -> Event | None:
        return next(iter(self._rows("key = ?", key)), None)

    def get(self, seq: int) -> Event | None:
        return next(iter(self._rows("seq = ?", seq)), None)

    def about(self, ref: int) -> Sequence[Event]:
        return self._rows("ref = ? AND ref IS NOT NULL", ref)

    def append(self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None) -> Event:
        event = Event(self.last + 1, kind, ref, key, self.now, body)
        query = f"INSERT INTO events (campaign, {_COLUMNS}) VALUES (?,?,?,?,?,?,?)"
        try:
            self._db.execute(query, (self._campaign, *event))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"event {event.seq} contradicts the log: {error}") from error
        self.last += 1
        return event


class _Queue:
    """A file to queue at, which is closed with the thread that has it."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self.file)


class SqliteStore:
    """Logs in a file, whose every commit is on disk before it returns (WAL, synchronous=FULL).

    Writers queue at a lock on the file `FILE.lock`, which serves them in turn; SQLite itself lets them sleep and try
    again, so that some wait for seconds. A connection belongs to one thread.

    Args:
        path: of the file, which is made if it is not there.
        timeout: seconds to wait for a lock of SQLite, which programs that do not queue may hold.

    >>> import tempfile
    >>> store = SqliteStore(f"{tempfile.mkdtemp()}/log.db")
    >>> with store.write("mail") as log:
    ...     _ = log.append("opened", "{}")
    >>> store.campaigns()
    ['mail']
    """

    def __init__(self, path: str | Path, timeout: float = 5.0) -> None:
        """Make the tables where there are none."""
        self._path, self._timeout, self._local = Path(path), timeout, threading.local()
        with self._turn(), self._errors():
            self._db.executescript(_SCHEMA)

    def campaigns(self) -> Sequence[str]:
        """The names of all campaigns, in order."""
        query = "SELECT campaign FROM events WHERE kind = 'opened' ORDER BY campaign"
        with self._errors():
            return [name for (name,) in self._db.execute(query)]

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        """A transaction; see `Store.write`."""
        with self._turn():
            self._same()
            db = self._db
            with self._errors():
                db.execute("BEGIN IMMEDIATE")
            try:
                with self._errors((sqlite3.Error,)):  # what else is raised within is no matter of the store
                    yield _Log(db, campaign)
                with self._errors():
                    db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk, say, rolls back by itself
                    db.execute("ROLLBACK")
                raise

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        """The committed events after a number."""
        some = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        query = f"SELECT {_COLUMNS} FROM events WHERE campaign = ? AND seq > ?{some} ORDER BY seq LIMIT {_PAGE}"
        while True:  # page by page, as a statement that is not done keeps its connection from what is new
            with self._errors():
                rows = self._db.execute(query, (campaign, after, *kinds)).fetchall()
            yield from (Event(*row) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        """The last snapshot under a mark; see `Store.snapshot`."""
        query = "SELECT seq, blob FROM snapshots WHERE campaign = ? AND mark = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
        with self._errors():
            row: tuple[int, bytes] | None = self._db.execute(
                query, (campaign, mark, 2**62 if before is None else before)
            ).fetchone()
        return row

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes) -> None:
        """Keep a snapshot."""
        with self._turn(), self._errors():
            self._db.execute("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?)", (campaign, mark, seq, blob))

    @property
    def _db(self) -> sqlite3.Connection:
        """The connection of this thread, a new one in a process that was forked."""
        if getattr(self._local, "process", None) != os.getpid():
            self._local.process, self._local.queue = os.getpid(), None
            with self._errors():
                db = sqlite3.connect(self._path, isolation_level=None, timeout=self._timeout, cached_statements=64)
                for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                    db.execute(f"PRAGMA {setting}")
            self._local.db, self._local.file = db, self._number()
        found: sqlite3.Connection = self._local.db
        return found

    def _number(self) -> tuple[int, int]:
        found = os.stat(self._path)
        return found.st_dev, found.st_ino

    def _same(self) -> None:
        """Refuse to write into a file that was deleted or replaced, which nobody will read."""
        _ = self._db
        with self._errors():
            try:
                same = self._number() == self._local.file
            except OSError:
                self._local.process = None  # whatever is there next time is opened
                raise
            if not same:
                self._local.process = None
                raise OSError("the file was replaced")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for one's turn to write."""
        _ = self._db
        if self._local.queue is None:
            with self._errors():
                self._local.queue = _Queue(self._path.with_name(f"{self._path.name}.lock"))
        queue: _Queue = self._local.queue
        fcntl.flock(queue.file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(queue.file, fcntl.LOCK_UN)

    @contextmanager
    def _errors(self, kinds: tuple[type[Exception], ...] = (sqlite3.Error, OSError)) -> Iterator[None]:
        """What the database or the disk refuses is `Busy`."""
        try:
            yield
        except kinds as error:
            raise Busy(f"{self._path}: {error}; say the same again, with the same key") from error
