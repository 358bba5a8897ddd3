"""Reads a store in SQLite: by the connections of its writers, or from an archive, without a write."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live.log.events import Damaged, Event, Kind
from evenhand.live.log.segments import LINK
from evenhand.live.log.store import unknown_url
from evenhand.live.stores._sqlite_schema import COLUMNS, version
from evenhand.live.stores._sqlite_sessions import ErrorTranslation

PAGE = 1000  # events read at once
Ask = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


class Queries:
    """The queries of a store.

    Args:
        ask: runs a query with its values and returns all rows; raises `Busy` or `Damaged`.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def campaigns(self) -> Sequence[str]:
        found = self._ask("SELECT campaign FROM events WHERE seq = 1 ORDER BY campaign", ())
        return [name for (name,) in found or self._ask("SELECT DISTINCT campaign FROM events", ())]  # of a segment

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        some = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        if kinds and not {"decided", "observed"} & set(kinds):  # so that the index `rare` is used
            some += " AND kind NOT IN ('decided', 'observed')"
        query = f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND seq > ?{some} ORDER BY seq LIMIT {PAGE}"
        while True:  # page by page, as an unfinished statement hides new events from its connection
            rows = self._ask(query, (campaign, after, *kinds))
            yield from (Event(*row) for row in rows)
            if len(rows) < PAGE:
                return
            if not after < rows[-1][0]:
                raise Damaged(f"the log of {campaign!r} is damaged: its events are out of order after {after}")
            after = rows[-1][0]

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        one = f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND seq = ?"
        rest = f"SELECT {COLUMNS} FROM events INDEXED BY about WHERE campaign = ? AND ref = ? AND ref IS NOT NULL"
        return [Event(*row) for query in (one, f"{rest} ORDER BY seq") for row in self._ask(query, (campaign, ref))]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        query = "SELECT seq, blob FROM snapshots WHERE campaign = ? AND mark = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
        rows = self._ask(query, (campaign, mark, 2**62 if before is None else before))
        return (rows[0][0], rows[0][1]) if rows else None

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        query = "SELECT seq FROM snapshots WHERE campaign = ? AND mark = ? ORDER BY seq"
        return [seq for (seq,) in self._ask(query, (campaign, mark))]

    def digests(self) -> Iterable[tuple[bytes, int]]:
        if not self._ask("SELECT 1 FROM sqlite_master WHERE name = 'digests'", ()):
            return ()
        return self._ask("SELECT digest, seq FROM digests", ())

    def damage(self) -> Sequence[str]:
        try:
            found = [str(row[0]) for row in self._ask("PRAGMA integrity_check(10)", ())]
        except Damaged as error:
            return [str(error)]
        return [] if found == ["ok"] else found


class SqliteReader:
    """Reads a store in a file that may be an archive on read-only media; nothing is written, not even beside it.

    Where the last commits are in a WAL that SQLite would have to prepare, a copy in a temporary folder is read.

    Raises:
        MissingFile: there is no such file, or it has no tables.
        InvalidInput: it is not a store.
        Damaged: the file is damaged.
        Busy: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise MissingFile("store", "a file that is there", path)
        look_at(path)
        self._open()
        with ErrorTranslation(path):
            number = version(self._db)
        if number == 0:  # nobody wrote to it yet: it is being made, or who made it was killed
            raise MissingFile("store", "an SQLite file with the log of a campaign", str(path))
        self._reading = Queries(self._ask)

    def campaigns(self) -> Sequence[str]:
        return self._reading.campaigns()

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        return self._reading.scan(campaign, after, kinds)

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        return self._reading.about(campaign, ref)

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        return self._reading.snapshot(campaign, mark, before)

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        return self._reading.snapshots(campaign, mark)

    def digests(self) -> Iterable[tuple[bytes, int]]:
        return self._reading.digests()

    def damage(self) -> Sequence[str]:
        return self._reading.damage()

    def copy_to(self, path: Path) -> None:
        while True:
            with ErrorTranslation(self._path), closing(sqlite3.connect(path)) as copy:
                copy_into(self._db, copy)
            if self._unchanged():
                return
            self._open()

    def close(self) -> None:
        self._db.close()

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        while True:
            with ErrorTranslation(self._path):
                try:
                    rows = self._db.execute(query, values).fetchall()
                except sqlite3.Error:
                    if self._unchanged():
                        raise
                else:
                    if self._unchanged():
                        return rows
            self._open()

    def _open(self) -> None:
        with ErrorTranslation(self._path):
            self._still = self._state()
            if not self._still[0]:
                # As nobody has it open: SQLite would make files beside it, which read-only media refuse.
                self._db = _connect(self._path, "mode=ro&immutable=1")
                return
            self._still = None
            if _sibling(self._path, "-shm").exists():
                with suppress(sqlite3.OperationalError):
                    self._db = _connect(self._path, "mode=ro")
                    self._db.execute("SELECT count(*) FROM sqlite_master").fetchall()
                    return
            folder = Path(tempfile.mkdtemp(prefix="evenhand"))
            finalize(self, shutil.rmtree, folder, ignore_errors=True)
            for file in (self._path, _sibling(self._path, "-wal")):
                shutil.copyfile(file, folder / file.name)
            self._db = _connect(folder / self._path.name, "mode=rw")

    _still: tuple[Any, ...] | None

    def _unchanged(self) -> bool:
        """Return whether a file that is read without locks is as it was."""
        return self._still is None or self._still == self._state()

    def _state(self) -> tuple[Any, ...]:
        wal, own = _sibling(self._path, "-wal"), os.stat(self._path)
        return wal.exists() and wal.stat().st_size > 0, own.st_ino, own.st_size, own.st_mtime_ns


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def _sibling(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


def copy_into(db: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Copy a file as it is at one moment, in one file without a WAL; writers keep running meanwhile."""
    db.backup(copy)
    copy.execute("PRAGMA journal_mode=DELETE").fetchall()


def look_at(path: Path) -> None:
    """Refuse a file of another kind before any file is created beside it.

    Raises:
        InvalidInput: the file is not one of SQLite.
        Busy: it cannot be read.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:  # SQLite reads it, as to close a file that was opened otherwise drops the locks that SQLite has on it
        with closing(_connect(path, "mode=ro&immutable=1")) as db:
            version(db)  # what it says without its WAL: another program's tables, or another version
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            raise InvalidInput("store", "an SQLite file, or none yet", str(path)) from error
    except Damaged:  # which may be half a commit, the rest of which is in the WAL
        pass


def refuse_segment(path: Path) -> None:
    """Refuse a segment that is opened to be written, before any file is created beside it.

    Raises:
        InvalidInput: the file is one.
    """
    query, found = "SELECT campaign FROM snapshots WHERE mark = ?", None
    with suppress(sqlite3.Error), closing(_connect(path, "mode=ro&immutable=1")) as db:  # none where it has no tables
        found = db.execute(query, (LINK,)).fetchone()
    if found is not None:
        raise InvalidInput("store", "the log of a campaign", f"{path}, a segment of {found[0]!r}, which is only read")


def close_to_others(path: Path) -> None:
    """Revoke the access of others to a new store; that of a group with write access is intended."""
    for end in ("", "-wal", "-shm", ".gate", ".lock"):
        with suppress(OSError):
            mode = os.stat(_sibling(path, end)).st_mode & 0o777
            os.chmod(_sibling(path, end), mode & (0o770 if mode & 0o020 else 0o700))


def file_of(url: str) -> Path:
    """Return the file of a URL such as `sqlite:///FILE`.

    Raises:
        InvalidInput: it names no file, or has options.

    >>> file_of("sqlite:///shop.db")
    PosixPath('shop.db')
    """
    path = url.removeprefix("sqlite:///")
    if not path or path == url:
        raise unknown_url(url)
    if path == ":memory:":
        raise InvalidInput("store", "a file, or memory:// for a store that ends with the process", url)
    if "?" in path or "\0" in path:
        raise InvalidInput("store", "sqlite:///FILE without options or NUL", repr(url))
    if path.endswith((".gate", ".lock", "-wal", "-shm", "-journal")):
        raise InvalidInput("store", "a file whose name is not that of a file beside a store", url)
    if Path(path).is_dir():
        raise InvalidInput("store", "a file", f"{url}, which is a folder")
    return Path(path)
