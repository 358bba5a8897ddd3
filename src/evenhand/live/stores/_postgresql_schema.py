"""The tables of a store in PostgreSQL, their version, and the way from earlier ones."""

from __future__ import annotations

import psycopg

from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live.log.events import Event, digest
from evenhand.live.log.store import MOVED
from evenhand.version import __version__

# In `evenhand_schema`. 1, which did not state it, had no hashes, and knew the kinds of its time; 2 had no seals.
# The first seal of a log makes 4 of a store, out of which events can be moved; earlier versions of evenhand read 3.
VERSION, MOVES = 3, 4
COLUMNS = "seq, kind, ref, key, at, body, hash, own, salt, seal"
_READ = {
    1: "seq, kind, ref, key, at, body, ''::bytea",
    2: "seq, kind, ref, key, at, body, hash",
    VERSION: COLUMNS,
    MOVES: COLUMNS,
}
_LOCK = 0x6576656E68616E64  # the advisory lock for creating tables: "evenhand"
_FUNCTION = """CREATE FUNCTION evenhand_refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END $$;
"""
# An erasure takes away personal parts, right after the event that names it; nothing else is changed.
_ERASE = """{how} FUNCTION evenhand_only_erase() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN
    IF NEW.key IS NOT NULL OR NEW.own IS NOT NULL OR NEW.salt IS NOT NULL OR OLD.seal = ''
      OR (NEW.campaign, NEW.seq, NEW.kind, NEW.ref, NEW.at, NEW.body, NEW.hash, NEW.seal)
        IS DISTINCT FROM (OLD.campaign, OLD.seq, OLD.kind, OLD.ref, OLD.at, OLD.body, OLD.hash, OLD.seal)
      OR (SELECT kind FROM evenhand_events WHERE campaign = OLD.campaign ORDER BY seq DESC LIMIT 1) NOT IN {kinds}
    THEN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END IF;
    RETURN NEW;
  END $$;
"""
_TRIGGERS = f"""CREATE TRIGGER evenhand_append_only BEFORE DELETE OR TRUNCATE ON evenhand_events
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_refuse();
{_ERASE.format(how="CREATE", kinds="('erased')")}CREATE TRIGGER evenhand_only_erasures BEFORE UPDATE ON evenhand_events
  FOR EACH ROW EXECUTE FUNCTION evenhand_only_erase();
"""
_TEXT = 'text COLLATE "C"'  # ordered by code points, whatever the locale of the database
_SCHEMA = f"""
CREATE TABLE evenhand_events (
  campaign {_TEXT} NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  kind text NOT NULL,
  ref bigint,
  key {_TEXT},
  at bigint NOT NULL,
  body text NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  own text,
  salt bytea,
  seal bytea NOT NULL CHECK (length(seal) IN (0, 32)),
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES evenhand_events (campaign, seq)
);
CREATE UNIQUE INDEX evenhand_one_decision_per_key ON evenhand_events (campaign, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX evenhand_settled_once ON evenhand_events (campaign, ref) WHERE kind IN ('observed', 'cancelled');
CREATE UNIQUE INDEX evenhand_expired_once ON evenhand_events (campaign, ref) WHERE kind = 'expired';
CREATE INDEX evenhand_about ON evenhand_events (campaign, ref) WHERE ref IS NOT NULL;
{_FUNCTION}{_TRIGGERS}CREATE TABLE evenhand_heads (
  campaign {_TEXT} PRIMARY KEY, last bigint NOT NULL, at bigint NOT NULL, hash bytea NOT NULL
);
CREATE TABLE evenhand_snapshots (
  campaign {_TEXT} NOT NULL, mark {_TEXT} NOT NULL, seq bigint NOT NULL, blob bytea NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
);
CREATE TABLE evenhand_schema (version integer NOT NULL);
INSERT INTO evenhand_schema VALUES ({VERSION});
"""
_SEALS = """
ALTER TABLE evenhand_events ADD COLUMN own text, ADD COLUMN salt bytea,
  ADD COLUMN seal bytea NOT NULL DEFAULT '' CHECK (length(seal) IN (0, 32));
ALTER TABLE evenhand_events ALTER seal DROP DEFAULT;
"""
_CHECKS = """
SELECT conname FROM pg_constraint WHERE conrelid = 'evenhand_events'::regclass AND contype = 'c'
"""


# The last event of the log says which events go; personal parts go as at an erasure.
_MOVING = f"""
DROP TRIGGER evenhand_append_only ON evenhand_events;
CREATE TRIGGER evenhand_append_only BEFORE TRUNCATE ON evenhand_events
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_refuse();
CREATE FUNCTION evenhand_only_move() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN
    IF EXISTS (SELECT FROM (SELECT campaign, max(seq) AS seq, bool_and(kind IN {MOVED}) AS fit FROM gone GROUP BY 1) g
      LEFT JOIN LATERAL (SELECT kind, body FROM evenhand_events e WHERE e.campaign = g.campaign
        ORDER BY e.seq DESC LIMIT 1) l ON true
      WHERE NOT g.fit OR l.kind IS DISTINCT FROM 'sealed' OR (l.body::json->>'last')::bigint < g.seq)
    THEN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END IF;
    RETURN NULL;
  END $$;
CREATE TRIGGER evenhand_only_moves AFTER DELETE ON evenhand_events REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_only_move();
{_ERASE.format(how="CREATE OR REPLACE", kinds="('erased', 'sealed')")}
CREATE TABLE evenhand_digests (digest bytea PRIMARY KEY, seq bigint NOT NULL);
UPDATE evenhand_schema SET version = {MOVES};
"""


def columns(db: psycopg.Connection) -> str:
    """Return the columns of an event in the tables that are there.

    Raises:
        MissingFile: there are none.
        InvalidInput: they are those of a later version.
    """
    found = _version(db)
    if found == 0:
        raise MissingFile("store", "a database with the log of a campaign", "one without its tables")
    return _READ[found]


def prepare(db: psycopg.Connection) -> str:
    """Make the tables, or bring them up to date; returns the columns of an event.

    Raises:
        InvalidInput: the tables are those of a later version.
    """
    with db.transaction():
        if _version(db) not in (VERSION, MOVES):
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            found = _version(db)  # another worker may have been faster
            if found == 0:
                db.execute(_SCHEMA)
            elif found < VERSION:
                db.execute("DROP TRIGGER evenhand_append_only ON evenhand_events")
                if found == 1:
                    _add_hashes(db)
                db.execute(f"{_SEALS}{_TRIGGERS}UPDATE evenhand_schema SET version = {VERSION}")
    return COLUMNS


def has_digests(db: psycopg.Connection) -> bool:
    """Return whether events can be moved out of the tables."""
    return _version(db) == MOVES


def let_move(db: psycopg.Connection) -> None:
    """Bring tables, in the open transaction, to the version out of which events can be moved."""
    if _version(db) == VERSION:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if _version(db) == VERSION:  # a seal of another campaign may have been faster
            db.execute(_MOVING)


def _version(db: psycopg.Connection) -> int:
    # A query of tables sees what was committed while it waited; `to_regclass` caches missing tables.
    query = "SELECT tablename FROM pg_tables WHERE schemaname = ANY(current_schemas(false))"
    tables = {name for (name,) in db.execute(query)}
    if "evenhand_schema" not in tables:
        return int("evenhand_snapshots" in tables)
    row = db.execute("SELECT max(version) FROM evenhand_schema").fetchone()
    found = 0 if row is None or row[0] is None else int(row[0])
    if not 0 < found <= MOVES:
        expected = f"tables of version {MOVES} at most, for evenhand {__version__}"
        raise InvalidInput("store", expected, f"version {found}")
    return found


def _add_hashes(db: psycopg.Connection) -> None:
    """Add their hashes to the events of version 1."""
    for (name,) in db.execute(_CHECKS).fetchall():
        db.execute(f'ALTER TABLE evenhand_events DROP CONSTRAINT "{name}"')
    db.execute("ALTER TABLE evenhand_events ADD COLUMN hash bytea, ADD CHECK (seq > 0)")
    db.execute("ALTER TABLE evenhand_heads ADD COLUMN hash bytea NOT NULL DEFAULT ''")
    campaign, before = None, b""
    query = f"SELECT campaign, {_READ[1]} FROM evenhand_events ORDER BY campaign, seq"
    update = "UPDATE evenhand_events SET hash = %s WHERE campaign = %s AND seq = %s"
    with db.cursor("evenhand_old") as reading, db.cursor() as writing:
        while rows := reading.execute(query).fetchmany(1000) if campaign is None else reading.fetchmany(1000):
            hashes = []
            for name, *row in rows:
                before = digest(Event(*row), before if name == campaign else b"")
                campaign = name
                hashes.append((before, name, row[0]))
            writing.executemany(update, hashes)
    db.execute("ALTER TABLE evenhand_events ALTER hash SET NOT NULL, ADD CHECK (length(hash) = 32)")
    query = "UPDATE evenhand_heads h SET hash = e.hash FROM evenhand_events e"
    db.execute(f"{query} WHERE e.campaign = h.campaign AND e.seq = h.last")
    db.execute("CREATE TABLE evenhand_schema (version integer NOT NULL); INSERT INTO evenhand_schema VALUES (2)")
