"""The tables of a store in PostgreSQL, their version, and the way from an earlier one."""

from __future__ import annotations

import psycopg

from evenhand.core.errors import InvalidInput, MissingFile
from evenhand.live.log.store import MOVED
from evenhand.version import __version__

VERSION = 5  # in `evenhand_schema`
COLUMNS = "seq, kind, ref, key, at, body, hash, own, salt, seal"
_LOCK = 0x6576656E68616E64  # the advisory lock for creating tables: "evenhand"
_MOVE = f"""CREATE OR REPLACE FUNCTION evenhand_only_move() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN
    IF EXISTS (SELECT FROM (SELECT campaign, max(seq) AS seq, bool_and(kind IN {MOVED}) AS fit FROM gone GROUP BY 1) g
      LEFT JOIN LATERAL (SELECT kind, body FROM evenhand_events e WHERE e.campaign = g.campaign
        ORDER BY e.seq DESC LIMIT 1) l ON true
      WHERE NOT g.fit OR l.kind IS DISTINCT FROM 'sealed' OR (l.body::json->>'last')::bigint < g.seq)
    THEN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END IF;
    RETURN NULL;
  END $$;
"""
# An erasure takes away personal parts, right after the event that names it; a seal also removes what it moved.
_MOVING = f"""
CREATE TRIGGER evenhand_append_only BEFORE TRUNCATE ON evenhand_events
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_refuse();
CREATE OR REPLACE FUNCTION evenhand_only_erase() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN
    IF NEW.key IS NOT NULL OR NEW.own IS NOT NULL OR NEW.salt IS NOT NULL OR OLD.seal = ''
      OR (NEW.campaign, NEW.seq, NEW.kind, NEW.ref, NEW.at, NEW.body, NEW.hash, NEW.seal)
        IS DISTINCT FROM (OLD.campaign, OLD.seq, OLD.kind, OLD.ref, OLD.at, OLD.body, OLD.hash, OLD.seal)
      OR (SELECT kind FROM evenhand_events WHERE campaign = OLD.campaign ORDER BY seq DESC LIMIT 1)
        NOT IN ('erased', 'sealed')
    THEN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END IF;
    RETURN NEW;
  END $$;
{_MOVE}CREATE TRIGGER evenhand_only_moves AFTER DELETE ON evenhand_events REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_only_move();
CREATE TABLE evenhand_digests (digest bytea PRIMARY KEY, seq bigint NOT NULL);
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
CREATE FUNCTION evenhand_refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END $$;
{_MOVING}CREATE TRIGGER evenhand_only_erasures BEFORE UPDATE ON evenhand_events
  FOR EACH ROW EXECUTE FUNCTION evenhand_only_erase();
CREATE TABLE evenhand_heads (
  campaign {_TEXT} PRIMARY KEY, last bigint NOT NULL, at bigint NOT NULL, hash bytea NOT NULL
);
CREATE TABLE evenhand_snapshots (
  campaign {_TEXT} NOT NULL, mark {_TEXT} NOT NULL, seq bigint NOT NULL, blob bytea NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
);
CREATE TABLE evenhand_schema (version integer NOT NULL);
INSERT INTO evenhand_schema VALUES ({VERSION});
"""
_STEPS = {  # from a version to this one; 3 had no seals of logs, and 4 no events `added`
    0: _SCHEMA,
    3: f"""DROP TRIGGER evenhand_append_only ON evenhand_events;
{_MOVING}UPDATE evenhand_schema SET version = {VERSION};""",
    4: f"{_MOVE}UPDATE evenhand_schema SET version = {VERSION};",
}


def require_tables(db: psycopg.Connection) -> None:
    """Refuse a database without the tables, or with those of another version.

    Raises:
        MissingFile: there are none.
        InvalidInput: they are those of a version that this one does not read.
    """
    if _version(db) == 0:
        raise MissingFile("store", "a database with the log of a campaign", "one without its tables")


def prepare(db: psycopg.Connection) -> None:
    """Make the tables, or bring them up to date.

    Raises:
        InvalidInput: they are those of a version that this one does not read.
    """
    with db.transaction():
        if _version(db) != VERSION:
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            db.execute(_STEPS.get(_version(db), ""))  # another worker may have been faster


def has_digests(db: psycopg.Connection) -> bool:
    """Return whether the tables have one of digests, as those that are only read may not."""
    return _version(db) > 3


def _version(db: psycopg.Connection) -> int:
    # A query of tables sees what was committed while it waited; `to_regclass` caches missing tables.
    query = "SELECT tablename FROM pg_tables WHERE schemaname = ANY(current_schemas(false))"
    tables = {name for (name,) in db.execute(query)}
    if "evenhand_events" not in tables:
        return 0
    row = db.execute("SELECT max(version) FROM evenhand_schema").fetchone() if "evenhand_schema" in tables else None
    number = 1 if row is None or row[0] is None else int(row[0])  # 1 did not state it
    if number not in (3, 4, VERSION):
        expected = f"tables of version 3 to {VERSION}, for evenhand {__version__}"
        raise InvalidInput("store", expected, f"version {number}")
    return number
