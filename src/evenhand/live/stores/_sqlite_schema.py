"""The tables of a store in SQLite, their version, and the way from an earlier one."""

from __future__ import annotations

import sqlite3

from evenhand.core.errors import InvalidInput
from evenhand.live.log.events import Damaged
from evenhand.live.log.store import MOVED
from evenhand.version import __version__

VERSION = 5  # in `PRAGMA user_version`
COLUMNS = "seq, kind, ref, key, at, body, hash, own, salt, seal"
_TABLE = """CREATE TABLE events (
  campaign TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL,
  ref INTEGER,
  key TEXT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  own TEXT,
  salt BLOB,
  seal BLOB NOT NULL CHECK (length(seal) IN (0, 32)),
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES events (campaign, seq)
) STRICT, WITHOUT ROWID"""
_LAST = "(SELECT {what} FROM events WHERE campaign = OLD.campaign ORDER BY seq DESC LIMIT 1)"
# The trigger on inserts also refuses INSERT OR REPLACE, which deletes without the trigger on deletes.
ONLY_NEXT = """CREATE TRIGGER only_next BEFORE INSERT ON events
       WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM events WHERE campaign = NEW.campaign), 0)
       BEGIN SELECT RAISE(ABORT, 'append only'); END"""
_DELETION = f"""CREATE TRIGGER no_delete BEFORE DELETE ON events
       WHEN OLD.kind NOT IN {MOVED}
         OR {_LAST.format(what="iif(kind = 'sealed', json_extract(body, '$.last'), 0)")} < OLD.seq
       BEGIN SELECT RAISE(ABORT, 'append only'); END"""
# An erasure takes away personal parts, right after the event that names it; a seal also removes what it moved.
_MOVING = (
    f"""CREATE TRIGGER no_update BEFORE UPDATE ON events
       WHEN NEW.key IS NOT NULL OR NEW.own IS NOT NULL OR NEW.salt IS NOT NULL OR OLD.seal = x''
         OR (NEW.campaign, NEW.seq, NEW.kind, NEW.ref, NEW.at, NEW.body, NEW.hash, NEW.seal)
           IS NOT (OLD.campaign, OLD.seq, OLD.kind, OLD.ref, OLD.at, OLD.body, OLD.hash, OLD.seal)
         OR {_LAST.format(what="kind")} NOT IN ('erased', 'sealed')
       BEGIN SELECT RAISE(ABORT, 'append only'); END""",
    _DELETION,
    "CREATE TABLE digests (digest BLOB NOT NULL PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)
_NEW = (
    _TABLE,
    "CREATE UNIQUE INDEX one_decision_per_key ON events (campaign, key) WHERE key IS NOT NULL",
    "CREATE UNIQUE INDEX settled_once ON events (campaign, ref) WHERE kind IN ('observed', 'cancelled')",
    "CREATE UNIQUE INDEX expired_once ON events (campaign, ref) WHERE kind = 'expired'",
    "CREATE INDEX about ON events (campaign, ref) WHERE ref IS NOT NULL",
    "CREATE INDEX rare ON events (campaign, kind, seq) WHERE kind NOT IN ('decided', 'observed')",
    ONLY_NEXT,
    """CREATE TABLE snapshots (
  campaign TEXT NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, blob BLOB NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
) STRICT""",
    *_MOVING,
)
_STEPS = {  # from a version to this one; 3 had no seals of logs, and 4 no events `added`
    0: _NEW,
    3: ("DROP TRIGGER no_update", "DROP TRIGGER no_delete", *_MOVING),
    4: ("DROP TRIGGER no_delete", _DELETION),
}


def version(db: sqlite3.Connection) -> int:
    """Return the version of the tables of a file, 0 if it has none.

    Raises:
        InvalidInput: another program, or a version of evenhand whose tables this one does not read, made the file.
        Damaged: the version does not agree with the tables.
    """
    stated: int = db.execute("PRAGMA user_version").fetchone()[0]
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    expected = "an SQLite file with the log of a campaign, or none yet"
    if "events" not in tables and tables:
        raise InvalidInput("store", expected, "one of another program")
    index = "SELECT 1 FROM sqlite_master WHERE name = 'one_decision_per_key'"
    if "events" in tables and not db.execute(index).fetchone():
        raise InvalidInput("store", expected, "one of another program, or one that lacks an index")
    if stated > VERSION or (tables and stated not in (*_STEPS, VERSION)):
        readable = f"tables of version 3 to {VERSION}, for evenhand {__version__}"
        raise InvalidInput("store", readable, f"version {stated}")
    if not tables:
        return 0
    columns = {row[1] for row in db.execute("PRAGMA table_info(events)")}
    if (stated == 3) == ("digests" in tables) or "seal" not in columns:
        raise Damaged(f"the store is damaged: its tables are not those of version {stated}")
    return stated


def prepare(db: sqlite3.Connection) -> bool:
    """Make the tables in the open transaction, or bring them up to date; returns whether they changed."""
    steps = _STEPS.get(version(db), ())
    for statement in steps:
        db.execute(statement)
    if steps:
        db.execute(f"PRAGMA user_version = {VERSION}")
    return bool(steps)
