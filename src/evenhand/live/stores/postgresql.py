"""A store in PostgreSQL, for workers on any number of machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from evenhand.live.events import ABOUT, KINDS, Busy, Conflict, Event, Kind
from evenhand.live.stores._clock import Watch
from evenhand.live.stores._postgresql_sessions import Sessions, message

_IDLE = psycopg.pq.TransactionStatus.IDLE
_PAGE = 1000  # events read at once
_COLUMNS = "seq, kind, ref, key, at, body"
_TEXT = 'text COLLATE "C"'  # ordered by code points, whatever the locale of the database
_SCHEMA = f"""
CREATE TABLE evenhand_events (
  campaign {_TEXT} NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  kind text NOT NULL CHECK (kind IN {KINDS}),
  ref bigint,
  key {_TEXT},
  at bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES evenhand_events (campaign, seq),
  CHECK (kind = 'decided' OR key IS NULL),
  CHECK ((kind IN {ABOUT}) = (ref IS NOT NULL))
);
CREATE UNIQUE INDEX evenhand_one_decision_per_key ON evenhand_events (campaign, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX evenhand_settled_once ON evenhand_events (campaign, ref) WHERE kind IN ('observed', 'cancelled');
CREATE UNIQUE INDEX evenhand_expired_once ON evenhand_events (campaign, ref) WHERE kind = 'expired';
CREATE INDEX evenhand_about ON evenhand_events (campaign, ref) WHERE ref IS NOT NULL;
CREATE FUNCTION evenhand_refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER evenhand_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON evenhand_events
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_refuse();
CREATE TABLE evenhand_heads (campaign {_TEXT} PRIMARY KEY, last bigint NOT NULL, at bigint NOT NULL);
CREATE TABLE evenhand_snapshots (
  campaign {_TEXT} NOT NULL, mark {_TEXT} NOT NULL, seq bigint NOT NULL, blob bytea NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
);
"""
_LOCK = 0x6576656E68616E64  # the advisory lock for creating tables: "evenhand"
# The row is locked before the clock is read.
_HEAD = """
WITH head AS MATERIALIZED (SELECT last, at FROM evenhand_heads WHERE campaign = %s FOR UPDATE)
SELECT last, at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM head
"""
_NEW_HEAD = """
INSERT INTO evenhand_heads SELECT %s::text, coalesce(max(seq), 0), coalesce(max(at), 0)
FROM evenhand_events WHERE campaign = %s ON CONFLICT DO NOTHING
"""


class _Log:
    """The log of one campaign within a transaction, whose row in `evenhand_heads` is locked."""

    def __init__(self, db: psycopg.Connection, campaign: str, watch: Watch) -> None:
        self._db, self._campaign = db, campaign
        row = db.execute(_HEAD, (campaign,)).fetchone()
        if row is None:  # a new campaign; another worker may open it at the same time
            db.execute(_NEW_HEAD, (campaign, campaign))
            row = db.execute(_HEAD, (campaign,)).fetchone()
        assert row is not None
        self.last, before, now = row
        self.now = watch.check(now, before)

    def _rows(self, where: str, *values: Any) -> list[Event]:
        query = f"SELECT {_COLUMNS} FROM evenhand_events WHERE campaign = %s AND {where} ORDER BY seq"
        return [Event(*row) for row in self._db.execute(query, (self._campaign, *values))]

    def tail(self, after: int) -> Iterator[Event]:
        while after < self.last:
            yield from self._rows("seq > %s AND seq <= %s", after, after + _PAGE)
            after += _PAGE

    def find(self, key: str) -> Event | None:
        return next(iter(self._rows("key = %s", key)), None)

    def get(self, seq: int) -> Event | None:
        return next(iter(self._rows("seq = %s", seq)), None)

    def about(self, ref: int) -> Sequence[Event]:
        return self._rows("ref = %s", ref)

    def append(self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None) -> Event:
        event = Event(self.last + 1, kind, ref, key, self.now, body)
        query = f"INSERT INTO evenhand_events (campaign, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        self._db.execute("SAVEPOINT event")
        try:
            self._db.execute(query, (self._campaign, *event))
        except psycopg.IntegrityError as error:
            self._db.execute("ROLLBACK TO event")
            raise Conflict(f"event {event.seq} contradicts the log: {message(error)}") from error
        self._db.execute("RELEASE event")
        self.last += 1
        return event

    def commit(self, before: int) -> None:
        if self.last > before:
            head = "UPDATE evenhand_heads SET last = %s, at = %s WHERE campaign = %s"
            self._db.execute(head, (self.last, self.now, self._campaign))
        if self._db.execute("COMMIT").statusmessage != "COMMIT":  # a failed transaction is rolled back without an error
            raise psycopg.OperationalError("the transaction failed")


class PostgresStore:
    """Stores logs in PostgreSQL, in the tables `evenhand_*` of the first schema of the `search_path`.

    Missing tables are created. Each thread has its own connection; a broken one is replaced at the next call. Poolers
    that share sessions between transactions are not supported.

    Args:
        url: "postgresql://USER:PASSWORD@HOST/DATABASE", or another URL for libpq.
        timeout: the seconds to wait for a connection, and for other writers.

    Raises:
        InvalidInput: the URL cannot be read, or the encoding of the database is not UTF8.
        Busy: there is no connection, or the tables cannot be created.
    """

    def __init__(self, url: str, timeout: float = 5.0) -> None:
        self._sessions, self._watch = Sessions(url, timeout), Watch()
        with self._sessions.errors(), self._sessions.mine.transaction():
            if not self._made():
                self._sessions.mine.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                if not self._made():  # by another worker, before it was our turn
                    self._sessions.mine.execute(_SCHEMA)

    def campaigns(self) -> Sequence[str]:
        with self._sessions.errors():
            query = "SELECT campaign FROM evenhand_heads WHERE last > 0 ORDER BY campaign"
            return [name for (name,) in self._sessions.mine.execute(query)]

    @contextmanager
    def write(self, campaign: str) -> Iterator[_Log]:
        with self._sessions.errors():
            db = self._sessions.mine
            if db.info.transaction_status != _IDLE:  # a second BEGIN would continue the first
                raise Busy("PostgreSQL: this thread is in a transaction")
            try:
                db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                log = _Log(db, campaign, self._watch)
                before = log.last
                yield log
                log.commit(before)
            except BaseException:
                with suppress(psycopg.Error):
                    db.execute("ROLLBACK")
                if db.info.transaction_status != _IDLE:
                    db.close()  # rolls back; the next call opens another connection
                raise

    def scan(self, campaign: str, after: int = 0, kinds: Sequence[Kind] = ()) -> Iterator[Event]:
        query = (
            f"SELECT {_COLUMNS} FROM evenhand_events WHERE campaign = %s AND seq > %s AND kind = ANY(%s)"
            f" ORDER BY seq LIMIT {_PAGE}"
        )
        while True:
            with self._sessions.errors():
                rows = self._sessions.mine.execute(query, (campaign, after, list(kinds or KINDS))).fetchall()
            yield from (Event(*row) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def about(self, campaign: str, ref: int) -> Sequence[Event]:
        query = f"SELECT {_COLUMNS} FROM evenhand_events WHERE campaign = %s AND (seq = %s OR ref = %s) ORDER BY seq"
        with self._sessions.errors():
            rows = self._sessions.mine.execute(query, (campaign, ref, ref)).fetchall()
        return [Event(*row) for row in rows]

    def snapshot(self, campaign: str, mark: str, before: int | None = None) -> tuple[int, bytes] | None:
        query = """SELECT seq, blob FROM evenhand_snapshots WHERE campaign = %s AND mark = %s AND seq < %s
                   ORDER BY seq DESC LIMIT 1"""
        with self._sessions.errors():
            values = campaign, mark, 2**62 if before is None else before
            row: tuple[int, bytes] | None = self._sessions.mine.execute(query, values).fetchone()
        return row

    def snapshots(self, campaign: str, mark: str) -> Sequence[int]:
        query = "SELECT seq FROM evenhand_snapshots WHERE campaign = %s AND mark = %s ORDER BY seq"
        with self._sessions.errors():
            return [seq for (seq,) in self._sessions.mine.execute(query, (campaign, mark))]

    def keep(self, campaign: str, mark: str, seq: int, blob: bytes, drop: Sequence[int] = ()) -> None:
        query = """INSERT INTO evenhand_snapshots VALUES (%s, %s, %s, %s)
                   ON CONFLICT (campaign, mark, seq) DO UPDATE SET blob = excluded.blob"""
        others = "DELETE FROM evenhand_snapshots WHERE campaign = %s AND mark = %s AND seq = ANY(%s)"
        with self._sessions.errors():
            self._sessions.mine.execute(query, (campaign, mark, seq, blob))
            if drop:
                self._sessions.mine.execute(others, (campaign, mark, list(drop)))

    def _made(self) -> bool:
        # A query of tables sees what was committed while it waited; `to_regclass` caches missing tables.
        where = "tablename = 'evenhand_snapshots' AND schemaname = ANY(current_schemas(false))"
        found = self._sessions.mine.execute(f"SELECT 1 FROM pg_tables WHERE {where}").fetchone()
        return found is not None


def connect(url: str) -> PostgresStore:
    """Open the store in a database, for `postgresql://USER:PASSWORD@HOST/DATABASE`."""
    return PostgresStore(url)
