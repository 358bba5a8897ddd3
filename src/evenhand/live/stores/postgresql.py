"""A store in PostgreSQL, for workers on any number of machines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from evenhand.live.log.events import KINDS, Busy, Conflict, Event, Kind, next_event
from evenhand.live.log.store import MOVED, digest_of, digest_prefix
from evenhand.live.stores._clock import Watch
from evenhand.live.stores._postgresql_schema import COLUMNS, has_digests, prepare, require_tables
from evenhand.live.stores._postgresql_sessions import Sessions, message

_IDLE = psycopg.pq.TransactionStatus.IDLE
_PAGE = 1000  # events read at once
# The row is locked before the clock is read.
_HEAD = """
WITH head AS MATERIALIZED (SELECT last, at, hash FROM evenhand_heads WHERE campaign = %s FOR UPDATE)
SELECT last, at, hash, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM head
"""
_NEW_HEAD = """
INSERT INTO evenhand_heads SELECT %(name)s::text, coalesce(max(seq), 0), coalesce(max(at), 0),
  coalesce((array_agg(hash ORDER BY seq DESC))[1], '')
FROM evenhand_events WHERE campaign = %(name)s ON CONFLICT DO NOTHING
"""
_INSERT = f"INSERT INTO evenhand_events (campaign, {COLUMNS}) VALUES ({', '.join(['%s'] * 11)})"
_COPY = f"COPY evenhand_events (campaign, {COLUMNS}) FROM STDIN"


class _Log:
    """The log of one campaign within a transaction, whose row in `evenhand_heads` is locked."""

    def __init__(self, db: psycopg.Connection, campaign: str, watch: Watch) -> None:
        self._db, self._campaign = db, campaign
        row = db.execute(_HEAD, (campaign,)).fetchone()
        if row is None:  # a new campaign; another worker may open it at the same time
            db.execute(_NEW_HEAD, {"name": campaign})
            row = db.execute(_HEAD, (campaign,)).fetchone()
        assert row is not None
        self.last, before, self.hash, self.clock = row
        self.now, self.distrust = watch.check(self.clock, before), watch.forget

    def _rows(self, where: str, *values: Any) -> list[Event]:
        query = f"SELECT {COLUMNS} FROM evenhand_events WHERE campaign = %s AND {where} ORDER BY seq"
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

    def append(
        self, kind: Kind, body: str, *, ref: int | None = None, key: str | None = None, own: str | None = None
    ) -> Event:
        event = next_event(self.last, self.hash, self.now, kind, body, ref, key, own)
        self._db.execute("SAVEPOINT event")
        try:
            self._db.execute(_INSERT, (self._campaign, *event))
        except psycopg.IntegrityError as error:
            self._db.execute("ROLLBACK TO event")
            raise Conflict(f"event {event.seq} contradicts the log: {message(error)}") from error
        self._db.execute("RELEASE event")
        self.last, self.hash = event.seq, event.hash
        return event

    def find_all(self, keys: Sequence[str]) -> Sequence[Event]:
        return self._rows("key = ANY(%s)", list(keys))

    def append_all(self, events: Sequence[Event]) -> None:
        try:
            with self._db.cursor() as cursor, cursor.copy(_COPY) as copy:
                for event in events:
                    copy.write_row((self._campaign, *event))
        except psycopg.IntegrityError as error:
            raise Conflict(f"events from {events[0].seq} on contradict the log: {message(error)}") from error
        self.last, self.hash = events[-1].seq, events[-1].hash

    def erase(self, events: Sequence[int]) -> None:
        which = "campaign = %s AND seq = ANY(%s)"
        query = f"UPDATE evenhand_events SET key = NULL, own = NULL, salt = NULL WHERE {which}"
        self._db.execute(query, (self._campaign, list(events)))
        self._db.execute("DELETE FROM evenhand_snapshots WHERE campaign = %s", (self._campaign,))

    def unload(self, last: int, waiting: Collection[int], emptied: Sequence[int]) -> None:
        later = "SELECT ref FROM evenhand_events WHERE campaign = %(name)s AND seq > %(last)s AND ref <= %(last)s"
        goes = """FROM evenhand_events e WHERE campaign = %(name)s AND seq <= %(last)s AND kind = ANY(%(kinds)s)
                   AND NOT EXISTS (SELECT FROM stays s WHERE s.seq = coalesce(e.ref, e.seq))"""
        values = {"name": self._campaign, "last": last, "kinds": list(MOVED), "waiting": list(waiting)}
        values |= {"start": digest_prefix(self._campaign), "emptied": list(emptied)}
        digest = "substring(sha256(convert_to(%(start)s || key, 'UTF8')) FOR 16)"
        for query in (
            f"CREATE TEMP TABLE stays ON COMMIT DROP AS SELECT unnest(%(waiting)s::bigint[]) AS seq UNION {later}",
            "CREATE INDEX ON stays (seq)",
            f"INSERT INTO evenhand_digests SELECT {digest}, seq {goes} AND key IS NOT NULL ON CONFLICT DO NOTHING",
            f"DELETE {goes}",
            "UPDATE evenhand_events SET own = NULL, salt = NULL WHERE campaign = %(name)s AND seq = ANY(%(emptied)s)",
            "DELETE FROM evenhand_snapshots WHERE campaign = %(name)s AND seq < %(last)s AND mark NOT LIKE 'taught %%'",
        ):
            self._db.execute(query, values)

    def moved(self, keys: Sequence[str]) -> Mapping[str, int]:
        each = {digest_of(self._campaign, key): key for key in keys}
        query = "SELECT digest, seq FROM evenhand_digests WHERE digest = ANY(%s)"
        return {each[bytes(digest)]: seq for digest, seq in self._db.execute(query, (list(each),))}

    def drop(self, keys: Sequence[str]) -> None:
        digests = [digest_of(self._campaign, key) for key in keys]
        self._db.execute("DELETE FROM evenhand_digests WHERE digest = ANY(%s)", (digests,))

    def commit(self, before: int) -> None:
        if self.last > before:
            head = "UPDATE evenhand_heads SET last = %s, at = %s, hash = %s WHERE campaign = %s"
            self._db.execute(head, (self.last, self.now, self.hash, self._campaign))
        if self._db.execute("COMMIT").statusmessage != "COMMIT":  # a failed transaction is rolled back without an error
            raise psycopg.OperationalError("the transaction failed")


class PostgresStore:
    """Stores logs in PostgreSQL, in the tables `evenhand_*` of the first schema of the `search_path`.

    Missing tables are created. Each thread has its own connection; a broken one is replaced at the next call. Poolers
    that share sessions between transactions are not supported.

    Args:
        url: "postgresql://USER:PASSWORD@HOST/DATABASE", or another URL for libpq.
        timeout: the seconds to wait for a connection, and for other writers.
        writes: whether it may write; if not, missing tables are not created.

    Raises:
        InvalidInput: the URL cannot be read, the encoding of the database is not UTF8, or the tables are those of
            another version, or missing and not created.
        Busy: there is no connection, or the tables cannot be created.
    """

    def __init__(self, url: str, timeout: float = 5.0, *, writes: bool = True) -> None:
        self._sessions, self._watch = Sessions(url, timeout, writes=writes), Watch()
        with self._sessions.errors():
            (prepare if writes else require_tables)(self._sessions.mine)

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
            f"SELECT {COLUMNS} FROM evenhand_events WHERE campaign = %s AND seq > %s AND kind = ANY(%s)"
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
        where = "campaign = %s AND (seq = %s OR ref = %s)"
        query = f"SELECT {COLUMNS} FROM evenhand_events WHERE {where} ORDER BY seq"
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
        query = """INSERT INTO evenhand_snapshots SELECT %(name)s, %(mark)s, %(seq)s, %(blob)s WHERE NOT EXISTS
                   (SELECT 1 FROM evenhand_events WHERE campaign = %(name)s AND kind = 'erased' AND seq > %(seq)s)
                   ON CONFLICT (campaign, mark, seq) DO UPDATE SET blob = excluded.blob"""
        others = "DELETE FROM evenhand_snapshots WHERE campaign = %s AND mark = %s AND seq = ANY(%s)"
        with self._sessions.errors():
            db = self._sessions.mine
            with db.transaction():  # which waits for an erasure that is under way
                db.execute("SELECT 1 FROM evenhand_heads WHERE campaign = %s FOR SHARE", (campaign,))
                db.execute(query, {"name": campaign, "mark": mark, "seq": seq, "blob": blob})
            if drop:
                db.execute(others, (campaign, mark, list(drop)))

    def scrub(self) -> None:
        warnings: list[str] = []

        def note(said: psycopg.errors.Diagnostic) -> None:
            warnings.append(said.message_primary or "")

        with self._sessions.errors():  # rows as they were before a change stay in a table until it is written anew
            db = self._sessions.mine
            db.add_notice_handler(note)
            try:
                db.execute("VACUUM (FULL) evenhand_events, evenhand_snapshots")
            finally:
                db.remove_notice_handler(note)
        if warnings:  # PostgreSQL skips a table of another owner
            raise Busy(f"PostgreSQL: {warnings[0]}; its old rows have traces of what was erased")

    def adopt(self, logs: Iterable[tuple[str, Iterable[Event]]]) -> None:
        with self._sessions.errors():
            db = self._sessions.mine
            with db.transaction(), db.cursor() as cursor:
                for campaign, events in logs:
                    cursor.executemany(_INSERT, ((campaign, *event) for event in events))
                    cursor.execute(_NEW_HEAD, {"name": campaign})

    def digests(self) -> Iterable[tuple[bytes, int]]:
        with self._sessions.errors():
            db = self._sessions.mine
            if not has_digests(db):
                return ()
            return [(bytes(z), seq) for z, seq in db.execute("SELECT digest, seq FROM evenhand_digests")]

    def keep_digests(self, digests: Iterable[tuple[bytes, int]]) -> None:
        with self._sessions.errors():
            db = self._sessions.mine
            with db.transaction(), db.cursor() as cursor:
                cursor.executemany("INSERT INTO evenhand_digests VALUES (%s, %s) ON CONFLICT DO NOTHING", list(digests))

    def damage(self) -> Sequence[str]:
        query = """SELECT h.campaign, h.last FROM evenhand_heads h LEFT JOIN evenhand_events e
                   ON e.campaign = h.campaign AND e.seq = h.last WHERE h.last > 0 AND e.hash IS DISTINCT FROM h.hash"""
        with self._sessions.errors():
            rows = self._sessions.mine.execute(query).fetchall()
        return [
            f"event {last} of {name!r}, the last that was committed, is missing or different" for name, last in rows
        ]

    def size(self) -> int:
        query = "SELECT pg_total_relation_size('evenhand_events') + pg_total_relation_size('evenhand_snapshots')"
        with self._sessions.errors():
            return sum(z for (z,) in self._sessions.mine.execute(query).fetchall())

    def close(self) -> None:
        self._sessions.close()


def connect(url: str) -> PostgresStore:
    """Open the store in a database, for `postgresql://USER:PASSWORD@HOST/DATABASE`."""
    return PostgresStore(url)


def reading(url: str) -> PostgresStore:
    """Open the store in a database, all of whose transactions are read-only."""
    return PostgresStore(url, writes=False)
