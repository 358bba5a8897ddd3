"""Sessions of SQLite, one per thread and process, with the queue of writers and the errors of a store."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from weakref import finalize

from evenhand.core.errors import ConcurrentUse, EvenhandError, InvalidInput
from evenhand.live.log.events import AGAIN, Busy, Damaged

# SQLite before 3.51.3 can corrupt a file if one connection copies the WAL into it while another one commits ("WAL-reset
# bug"). Here they do so in turn: every commit holds the lock of the queue, and SQLite makes a checkpoint within the
# commit that finds the WAL long, or when the last connection closes, under a lock that keeps all others out.
_SETTINGS = ("synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=1000")

# A fork copies SQLite's records of its locks, but not the locks. If both processes used a file, the one that closes
# it last would delete the WAL into which the other one commits.
_open: dict[int, tuple[int, tuple[int, int], finalize[[], _Own]]] = {}  # by connection: process, file, its queue
_inherited: list[sqlite3.Connection] = []  # kept open, as closing them would use such locks


def _leave_queues() -> None:
    """Close the file descriptors that a fork copied: they would keep the lock of a killed process."""
    for process, _, leave in list(_open.values()):
        if process != os.getpid():
            leave()


os.register_at_fork(after_in_child=_leave_queues)


class _Own:
    """The resources of one thread, released when it ends: a connection, and two lock files."""

    def __init__(self, path: Path, timeout: float, *, create: bool) -> None:
        self.process, self.timeout = os.getpid(), timeout
        # Cases are personal data, and who may open a lock may hold it. SQLite gives its own files the mode of the
        # first, which nothing but SQLite opens here: to close it would drop the locks that SQLite has on it.
        found = path.exists()
        if not found and not create:
            raise FileNotFoundError("the file is gone")
        mode = os.stat(path).st_mode & 0o666 if found else 0o600
        self._turns = Turns(path.with_name(f"{path.name}.gate"), path.with_name(f"{path.name}.lock"), mode)
        leave = finalize(self, self._turns.close)
        leave.atexit = False  # a thread that still runs when the process ends keeps its lock
        self.db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'rw' if found else 'rwc'}",
            uri=True,
            isolation_level=None,
            timeout=timeout,
            cached_statements=64,
            check_same_thread=False,  # whichever thread collects garbage closes it
        )
        if not found:
            os.chmod(path, mode)
        self.file = _number(path)
        if any(process != self.process and file == self.file for process, file, _ in list(_open.values())):
            self.db.close()
            raise ConcurrentUse(f"{path} was open when this process was forked: open it in only one of the two")
        _open[id(self.db)] = self.process, self.file, leave
        finalize(self, _close, self.db, self.process).atexit = threading.current_thread() is threading.main_thread()
        if self.db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            with self.turn():  # SQLite refuses, without waiting, all but one of those who change it at the same time
                self.db.execute("PRAGMA journal_mode=WAL")
        for setting in _SETTINGS:
            self.db.execute(f"PRAGMA {setting}")

    def turn(self) -> AbstractContextManager[None]:
        """Hold the exclusive turn to write."""
        return self._turns.turn(self.timeout)


def _close(db: sqlite3.Connection, process: int) -> None:
    if process != os.getpid():
        _inherited.append(db)
        return
    del _open[id(db)]
    db.close()


def _number(path: Path) -> tuple[int, int]:
    """Return the device and inode of a file."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


class _Turn:
    """The turn to write; a generator as a context would take three times as long."""

    def __init__(self, own: _Own, errors: AbstractContextManager[None]) -> None:
        self._own, self._errors = own, errors  # kept, as `Sessions.same` drops it if the file was replaced
        self._turn = own.turn()

    def __enter__(self) -> None:
        with self._errors:
            self._turn.__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._turn.__exit__(*error)


class Sessions:
    """Connections to a file whose commits are on disk before they return.

    Args:
        path: the file.
        timeout: the seconds to wait for the turn to write, and for a lock of SQLite.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout, self._local = path, timeout, threading.local()
        self._begun = self._closed = False

    @property
    def mine(self) -> sqlite3.Connection:
        return self._own.db

    @property
    def _own(self) -> _Own:
        if self._closed:
            self._local.own = None
            raise InvalidInput("store", "one that is open", f"{self._path}, which was closed")
        own: _Own | None = getattr(self._local, "own", None)
        if own is None or own.process != os.getpid():
            with self.errors():  # a file that vanished is not begun anew
                own = self._local.own = _Own(self._path, self._timeout, create=not self._begun)
            self._begun = True
        return own

    def turn(self) -> AbstractContextManager[None]:
        """Hold the exclusive turn to write.

        Raises:
            Busy: it did not come in time, or the file cannot be opened.
        """
        return _Turn(self._own, self.errors())

    def same(self) -> None:
        """Refuse to write to a file that was deleted or replaced, as nobody would read it.

        Raises:
            Busy: the file was deleted or replaced; the next call opens the file at this path.
        """
        file = self._own.file
        with self.errors():
            try:
                if _number(self._path) == file:
                    return
                raise OSError("the file was replaced")
            except OSError:
                self._local.own = None
                raise

    def errors(self, kinds: tuple[type[Exception], ...] = (sqlite3.Error, OSError)) -> AbstractContextManager[None]:
        """Translate errors of the database and the disk to `Damaged` and `Busy`."""
        return ErrorTranslation(self._path, kinds)

    def close(self) -> None:
        """Copy all commits into the file itself, and let no thread open another connection.

        Connections of other threads, which may be at work, are closed when these end.
        """
        with suppress(EvenhandError), self.turn(), self.errors():
            self.mine.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._closed, self._local.own = True, None


_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_UNREADABLE = (
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
    8202,  # SQLITE_IOERR_DATA, which Python 3.11 does not name
)
# SQLite has no code for what is missing in the schema, and Python none for a text that is not UTF-8.
_MISSING = ("no such table", "no such column", "no such index", "no query solution", "Could not decode to UTF-8")


def is_damage(error: BaseException) -> bool:
    """Return whether an error says that the file is damaged, so that asking again is of no use.

    >>> is_damage(sqlite3.OperationalError("no such table: events")), is_damage(OSError("gone"))
    (True, False)
    """
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _DAMAGED or code in _UNREADABLE or str(error).startswith(_MISSING)


class ErrorTranslation:
    """Translates errors of the database and the disk; a generator as a context would take three times as long.

    Args:
        path: the file.
        kinds: the errors that are translated.

    Raises:
        Damaged: the file is damaged, or a table is missing.
        Busy: any other error, such as a lock, a full disk, or a file that is gone.
    """

    def __init__(self, path: Path, kinds: tuple[type[Exception], ...] = (sqlite3.Error, OSError)) -> None:
        self._path, self._kinds = path, kinds

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the error in the words of a store."""
        if error is None or isinstance(error, Busy) or not isinstance(error, self._kinds):
            return
        if is_damage(error):
            raise Damaged(f"{self._path} is damaged: {error}; see `evenhand audit`, and restore a backup") from error
        name = getattr(error, "sqlite_errorname", "")
        message = f" ({name})" if name.startswith("SQLITE_IOERR") else ""
        raise Busy(f"{self._path}: {error}{message}{AGAIN}") from error


State = Literal["free", "asked", "left", "held"]


class Turns:
    """The place of one thread in the queue.

    A writer that wants a second turn finds the next one already at the gate. With a single lock it would often take
    the lock again before the waiting writers wake up.

    The kernel serves those who wait in their order, and has no limit. Asking again and again has one, but lets some
    wait for a second, and reaches half as many turns. So a thread of its own waits where a lock is not free at once.
    Who no longer waits leaves it there, and comes back to it at the next turn; it gives back a lock that nobody wants.

    Args:
        gate, queue: the two files, which are created if they are missing.
        mode: of new files.
    """

    def __init__(self, gate: Path, queue: Path, mode: int) -> None:
        self._gate, self._queue = (os.open(path, os.O_RDWR | os.O_CREAT, mode) for path in (gate, queue))
        self._process, self._changed = os.getpid(), threading.Condition()
        self._state: State = "free"
        self._standing = self._closed = False  # `_standing`: whether a thread waits

    @contextmanager
    def turn(self, timeout: float) -> Iterator[None]:
        """Hold the exclusive turn to write.

        Raises:
            TimeoutError: it did not come in so many seconds; a worker that was stopped, or that reads a long log, may
                have it.
        """
        try:
            if not self._try_take():
                self._wait(timeout)
            yield
        finally:  # also after Ctrl-C during the wait
            with self._changed:
                if self._standing:
                    self._state = "left"
                else:
                    fcntl.flock(self._gate, fcntl.LOCK_UN)
                    fcntl.flock(self._queue, fcntl.LOCK_UN)
                    self._state = "free"

    def close(self) -> None:
        """Close both files, now or once nobody waits for their locks.

        After a fork the child closes its copies, which would keep the lock of a killed process.
        """
        if self._process == os.getpid():
            with self._changed:
                self._closed = True
                if self._standing:
                    return
        self._shut()

    def _try_take(self) -> bool:
        """Take the turn if it is free and nobody waits for it; this thread may hold the gate afterwards."""
        with self._changed:
            if self._standing:
                return False
            try:
                for file in (self._gate, self._queue):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._state = "held"
            fcntl.flock(self._gate, fcntl.LOCK_UN)
            return True

    def _wait(self, timeout: float) -> None:
        with self._changed:
            self._state = "asked"
            if not self._standing:
                thread = threading.Thread(target=self._stand, name="evenhand turn", daemon=True)
                self._standing = True
                try:
                    thread.start()
                except BaseException:
                    self._standing = thread.is_alive()
                    raise
            if not self._changed.wait_for(lambda: self._state == "held", timeout):
                raise TimeoutError("another worker holds the lock")

    def _stand(self) -> None:
        """Wait at the gate and then in the queue, for as long as it takes."""
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        with self._changed:
            self._standing = False
            if self._state == "asked" and not self._closed:
                self._state = "held"
                self._changed.notify_all()
                return
            fcntl.flock(self._queue, fcntl.LOCK_UN)
            self._state = "free"
            if self._closed:
                self._shut()

    def _shut(self) -> None:
        os.close(self._gate)
        os.close(self._queue)
