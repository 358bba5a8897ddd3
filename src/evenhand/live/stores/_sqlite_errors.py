"""Errors of SQLite in the words of a store: damage is told apart from what passes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from evenhand.live.log.events import AGAIN, Busy, Damaged

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


class Translated:
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
        told = f" ({name})" if name.startswith("SQLITE_IOERR") else ""
        raise Busy(f"{self._path}: {error}{told}{AGAIN}") from error
