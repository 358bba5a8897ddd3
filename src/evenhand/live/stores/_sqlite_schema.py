"""The tables of a store in SQLite, their version, and the way from earlier ones."""

from __future__ import annotations

import sqlite3

from evenhand.core.errors import InvalidInput
from evenhand.live.log.events import Damaged, Event, digest
from evenhand.live.log.store import MOVED
from evenhand.version import __version__

# In `PRAGMA user_version`. 1, which did not state it, had no hashes, and knew the kinds of its time; 2 had no seals.
# The first seal of a log makes 4 of a store, out of which events can be moved; earlier versions of evenhand read 3.
VERSION, MOVES = 3, 4
COLUMNS = "seq, kind, ref, key, at, body, hash, own, salt, seal"
READ = {
    1: "seq, kind, ref, key, at, body, x''",
    2: "seq, kind, ref, key, at, body, hash",
    VERSION: COLUMNS,
    MOVES: COLUMNS,
}
_TABLE = """CREATE TABLE {name} (
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
  FOREIGN KEY (campaign, ref) REFERENCES {name} (campaign, seq)
) STRICT, WITHOUT ROWID"""
_LAST = "(SELECT {what} FROM events WHERE campaign = OLD.campaign ORDER BY seq DESC LIMIT 1)"
# The trigger on updates lets an erasure take away personal parts, right after the event that names it; so may a seal.
_UPDATES = f"""CREATE TRIGGER no_update BEFORE UPDATE ON events
       WHEN NEW.key IS NOT NULL OR NEW.own IS NOT NULL OR NEW.salt IS NOT NULL OR OLD.seal = x''
         OR (NEW.campaign, NEW.seq, NEW.kind, NEW.ref, NEW.at, NEW.body, NEW.hash, NEW.seal)
           IS NOT (OLD.campaign, OLD.seq, OLD.kind, OLD.ref, OLD.at, OLD.body, OLD.hash, OLD.seal)
         OR {_LAST.format(what="kind")} NOT IN ('erased', 'sealed')
       BEGIN SELECT RAISE(ABORT, 'append only'); END"""
# The trigger on inserts also refuses INSERT OR REPLACE, which deletes without the trigger on deletes.
ONLY_NEXT = """CREATE TRIGGER only_next BEFORE INSERT ON events
       WHEN NEW.seq <> 1 + coalesce((SELECT max(seq) FROM events WHERE campaign = NEW.campaign), 0)
       BEGIN SELECT RAISE(ABORT, 'append only'); END"""
_REST = (
    "CREATE UNIQUE INDEX one_decision_per_key ON events (campaign, key) WHERE key IS NOT NULL",
    "CREATE UNIQUE INDEX settled_once ON events (campaign, ref) WHERE kind IN ('observed', 'cancelled')",
    "CREATE UNIQUE INDEX expired_once ON events (campaign, ref) WHERE kind = 'expired'",
    "CREATE INDEX about ON events (campaign, ref) WHERE ref IS NOT NULL",
    "CREATE INDEX rare ON events (campaign, kind, seq) WHERE kind NOT IN ('decided', 'observed')",
    _UPDATES,
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END",
    ONLY_NEXT,
)
_MOVING = (
    "DROP TRIGGER no_update",
    "DROP TRIGGER no_delete",
    _UPDATES,
    f"""CREATE TRIGGER no_delete BEFORE DELETE ON events
       WHEN OLD.kind NOT IN {MOVED}
         OR {_LAST.format(what="iif(kind = 'sealed', json_extract(body, '$.last'), 0)")} < OLD.seq
       BEGIN SELECT RAISE(ABORT, 'append only'); END""",
    "CREATE TABLE digests (digest BLOB NOT NULL PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    f"PRAGMA user_version = {MOVES}",
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
    expected = "an SQLite file with the log of a campaign, or none yet"
    if (
        "events" in tables
        and not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'one_decision_per_key'").fetchone()
    ):
        raise InvalidInput("store", expected, "one of another program, or one that lacks an index")
    if found > MOVES:
        raise InvalidInput(
            "store", f"tables of version {MOVES} at most, for evenhand {__version__}", f"version {found}"
        )
    if "events" not in tables:
        if tables:
            raise InvalidInput("store", expected, "one of another program")
        return 0
    columns = {row[1] for row in db.execute("PRAGMA table_info(events)")}
    is_of = (MOVES if "digests" in tables else VERSION) if "seal" in columns else 2 if "hash" in columns else 1
    if found != (0 if is_of == 1 else is_of):
        raise Damaged(f"the store is damaged: its tables are not those of version {found or 1}")
    return is_of


def prepare(db: sqlite3.Connection) -> bool:
    """Make the tables in the open transaction, or bring them up to date; returns whether they changed."""
    found = version(db)
    if found in (VERSION, MOVES):
        return False
    if found == 0:
        db.execute(_TABLE.format(name="events"))
    else:
        _copy(db, found)
    for statement in (*_REST, _SNAPSHOTS, f"PRAGMA user_version = {VERSION}"):
        db.execute(statement)
    return True


def let_move(db: sqlite3.Connection) -> None:
    """Bring tables, in the open transaction, to the version out of which events can be moved."""
    if db.execute("PRAGMA user_version").fetchone() == (VERSION,):
        for statement in _MOVING:
            db.execute(statement)


def _copy(db: sqlite3.Connection, found: int) -> None:
    """Copy the events of an earlier version into a table of this one, with their hashes, which takes its place.

    Their whole bodies are hashed: they have no seal.
    """
    db.execute(_TABLE.format(name="events_new"))
    query = f"SELECT campaign, {READ[found]} FROM events ORDER BY campaign, seq"
    insert = "INSERT INTO events_new (campaign, seq, kind, ref, key, at, body, hash, seal) VALUES (?,?,?,?,?,?,?,?,x'')"
    campaign, before = None, b""
    for name, *row in db.execute(query):
        event = Event(*row)
        before = event.hash or digest(event, before if name == campaign else b"")
        campaign = name
        db.execute(insert, (name, *event[:6], before))
    db.execute("DROP TABLE events")
    db.execute("ALTER TABLE events_new RENAME TO events")
