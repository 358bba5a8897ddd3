"""Durable inserts of the rows of decisions, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.live_worlds import NAME
from evenhand.live.log.events import Event
from evenhand.live.stores._sqlite_sessions import Sessions
from evenhand.live.stores.sqlite import SqliteStore


class Bare:
    """Inserts decisions into the tables, with the settings and under the lock of a store, and does nothing else.

    Args:
        path: of a new file.
    """

    def __init__(self, path: Path) -> None:
        """No decision yet."""
        SqliteStore(path)
        self._sessions, self._last = Sessions(path, 5.0), 0

    def insert(self, events: Sequence[Event]) -> None:
        """Write what events have in one transaction."""
        columns = "campaign, kind, at, seq, key, body, hash, own, salt, seal"
        query = f"INSERT INTO events ({columns}) VALUES ('{NAME}', 'decided', 1, ?, ?, ?, ?, ?, ?, ?)"
        with self._sessions.turn():
            db = self._sessions.mine
            db.execute("BEGIN IMMEDIATE")
            for event in events:
                self._last += 1
                personal = event.hash, event.own, event.salt, event.seal
                db.execute(query, (self._last, f"key {self._last}", event.body, *personal))
            db.execute("COMMIT")
