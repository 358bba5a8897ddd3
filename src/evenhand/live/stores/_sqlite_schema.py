"""The tables of a store in SQLite, their version, and the way from earlier ones."""

from __future__ import annotations

import sqlite3

from evenhand.core.errors import InvalidInput
from evenhand.live.events import Damaged, Event, digest
from evenhand.version import __version__

VERSION = 2  # in `PRAGMA user_version`; 1, which did not state it, had no hashes, and knew the kinds of its time
COLUMNS = "seq, kind, ref, key, at, body, hash"
OLD_COLUMNS = "seq, kind, ref, key, at, body, x''"
_TABLE = """CREATE TABLE {name} (
  campaign TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL,
  ref INTEGER,
  key TEXT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES {name} (campaign, seq)
) STRICT, WITHOUT ROWID"""
# The trigger on inserts also refuses INSERT OR REPLACE, which deletes without the trigger on deletes.
_REST = (
    "CREATE UNIQUE INDEX one_decision_per_key ON events (campaign, key) WHERE key IS NOT NULL",
    "CREATE UNIQUE INDEX settled_once ON events (campaign, ref) WHERE kind IN ('observed', 'cancelled')",
    "CREATE UNIQUE INDEX expired_once ON events (campaign, ref) WHERE kind = 'expired'",
    "CREATE INDEX about ON events (campaign, ref) WHERE ref IS NOT NULL",
    "CREATE INDEX rare ON events (campaign, kind, seq) WHERE kind NOT IN ('decided', 'observed')",
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END",
    """CREATE TRIGGER only_next BEFORE INSERT ON events
       WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM events WHERE campaign = NEW.campaign), 0)
       BEGIN SELECT RAISE(ABORT, 'append only'); END""",
)
_SNAPSHOTS = """CREATE TABLE IF NOT EXISTS snapshots (
  campaign TEXT NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, blob BLOB NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
) STRICT"""


def version(db: sqlite3.Connection) -> int:
    """Return the version of the tables of a file, 0 if it has none.

    Raises:
        InvalidInput: another program, or a later version of evenhand, made the file.
        Damaged: the version does not agree with the tables.
    """
    (found,) = db.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    expected = "a file of SQLite with the log of a campaign, or none yet"
    if (
        "events" in tables
        and not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'one_decision_per_key'").fetchone()
    ):
        raise InvalidInput("store", expected, "one of another program, or one that lacks an index")
    if found > VERSION:
        raise InvalidInput(
            "store", f"tables of version {VERSION} at most, for evenhand {__version__}", f"version {found}"
        )
    if "events" not in tables:
        if tables:
            raise InvalidInput("store", expected, "one of another program")
        return 0
    has_hash = any(row[1] == "hash" for row in db.execute("PRAGMA table_info(events)"))
    if has_hash != (found == VERSION):
        raise Damaged(f"the store is damaged: its tables are not those of version {found or 1}")
    return VERSION if has_hash else 1


def prepare(db: sqlite3.Connection) -> bool:
    """Make the tables in the open transaction, or bring them up to date; returns whether they changed."""
    found = version(db)
    if found == VERSION:
        return False
    if found == 1:
        _add_hashes(db)
    else:
        db.execute(_TABLE.format(name="events"))
    for statement in (*_REST, _SNAPSHOTS, f"PRAGMA user_version = {VERSION}"):
        db.execute(statement)
    return True


def _add_hashes(db: sqlite3.Connection) -> None:
    """Copy the events of version 1 into a table with their hashes, which takes the place of theirs."""
    db.execute(_TABLE.format(name="events_2"))
    query = f"SELECT campaign, {OLD_COLUMNS} FROM events ORDER BY campaign, seq"
    campaign, before = None, b""
    for name, *row in db.execute(query):
        event = Event(*row)
        before = digest(event, before if name == campaign else b"")
        campaign = name
        db.execute(f"INSERT INTO events_2 (campaign, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?)", (name, *event[:-1], before))
    db.execute("DROP TABLE events")
    db.execute("ALTER TABLE events_2 RENAME TO events")
