"""Sessions of PostgreSQL, one per thread and process, and the translation of their errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import finalize

import psycopg
import psycopg.errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from evenhand.core.errors import InvalidInput
from evenhand.live.log.events import AGAIN, Busy, Conflict, Damaged

_DAMAGED = (
    psycopg.errors.DataCorrupted,
    psycopg.errors.IndexCorrupted,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
)
_inherited: list[psycopg.Connection] = []  # connections of processes that this one was forked from


class _Own:
    """The connection of one thread; it is closed when the thread ends."""

    def __init__(self, db: psycopg.Connection) -> None:
        self.db, self.process = db, os.getpid()
        # At the end of the process, connections of running threads stay open.
        finalize(self, _close, db, self.process).atexit = threading.current_thread() is threading.main_thread()


def _close(db: psycopg.Connection, process: int) -> None:
    """Close a connection, unless another process owns it: closing it after a fork would end the owner's session."""
    if process == os.getpid():
        db.close()
    else:
        _inherited.append(db)


class Sessions:
    """Connections with bounded waiting times and durable commits.

    Args:
        url: a URL for libpq; its settings take precedence over those set here.
        timeout: the seconds to wait for a connection, and for a lock.
        writes: whether transactions may write.

    Raises:
        InvalidInput: the URL cannot be read; the message does not quote it, as it may have a password.
    """

    def __init__(self, url: str, timeout: float, *, writes: bool = True) -> None:
        limit = int(timeout * 1000)
        alive = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
        here = {"connect_timeout": max(2, round(timeout)), "tcp_user_timeout": limit, **alive}
        try:
            self._to = make_conninfo("", **{**here, **conninfo_to_dict(url), "client_encoding": "UTF8"})
        except psycopg.Error:
            raise InvalidInput("store", "a URL of PostgreSQL", "one that libpq cannot read") from None
        # The server also drops workers whose machine is gone, as their transactions hold locks.
        there = {f"tcp_{name}": value for name, value in alive.items()}
        self._settings = {"lock_timeout": limit, "synchronous_commit": "on", "tcp_user_timeout": limit, **there}
        self._settings |= {} if writes else {"default_transaction_read_only": "on"}
        self._closed = False
        self._local = threading.local()

    @property
    def mine(self) -> psycopg.Connection:
        """The connection of this thread; a new one after a fork, or if the last one broke."""
        if self._closed:
            self._local.own = None
            raise InvalidInput("store", "one that is open", "one that was closed")
        own: _Own | None = getattr(self._local, "own", None)
        if own is None or own.process != os.getpid() or own.db.closed:
            self._local.own = None  # a new one counts once it is set up
            fresh = _Own(psycopg.connect(self._to, autocommit=True))
            encoding = fresh.db.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise InvalidInput("store", "a database whose encoding is UTF8", encoding)
            for name, value in self._settings.items():
                fresh.db.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
            own = self._local.own = fresh
        return own.db

    def close(self) -> None:
        """Close the connection of this thread, and let no thread open another; others close when their threads end."""
        self._closed, self._local.own = True, None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate database errors: a contradicted log is `Conflict`, bad data `InvalidInput`, damage `Damaged`.

        All others are `Busy`.
        """
        try:
            yield
        except psycopg.IntegrityError as error:
            raise Conflict(f"PostgreSQL: {message(error)}") from error
        except psycopg.DataError as error:
            raise InvalidInput("store", "texts and numbers that PostgreSQL has", message(error)) from error
        except _DAMAGED as error:
            told = f"PostgreSQL: {message(error)}; see `evenhand audit`, and restore a backup"
            raise Damaged(told) from error
        except psycopg.Error as error:
            raise Busy(f"PostgreSQL: {message(error)}{AGAIN}") from error


def message(error: psycopg.Error) -> str:
    """Return the server's message without the rows that it quotes."""
    return error.diag.message_primary or str(error)
