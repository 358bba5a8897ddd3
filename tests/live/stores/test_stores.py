"""Stores keep to their contract, whatever happens to their files."""

import json
import multiprocessing
import shutil
import sqlite3
from contextlib import contextmanager

import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Conflict
from evenhand.live.log.events import digest
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, kinds
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.testing import check_store
from tests.examples.stores import STORES


@pytest.fixture
def make(tmp_path):
    """Stores in files of their own."""
    count = iter(range(100))
    return lambda: SqliteStore(tmp_path / f"{next(count)}.db", timeout=0.05)


def opened(store):
    with store.write("one") as log:
        log.append("opened", "{}")
    return store


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_of_store_keeps_to_the_contract(kind, request):
    count = iter(range(100))
    check_store(lambda: connect(STORES[kind](request, next(count))))


class Forgetful(MemoryStore):
    """Keeps what was appended before an exception."""

    @contextmanager
    def write(self, campaign):
        kept = None
        with super().write(campaign) as log:
            try:
                yield log
            except Exception as error:
                kept = error
        if kept is not None:
            raise kept


class Mixed(MemoryStore):
    """Does not look at the names of snapshots."""

    def snapshot(self, campaign, mark, before=None):
        return super().snapshot("", mark, before)

    def keep(self, campaign, mark, seq, blob, drop=()):
        super().keep("", mark, seq, blob, drop)


def test_a_store_that_keeps_half_a_transaction_is_caught():
    with pytest.raises(AssertionError, match="what is refused is in no log"):
        check_store(Forgetful)


class Unchained(MemoryStore):
    """Forgets the hash of the event before."""

    @contextmanager
    def write(self, campaign):
        with super().write(campaign) as log:
            yield log
            log.fresh.events[:] = [e._replace(hash=digest(e, b"")) for e in log.fresh.events]


def test_a_store_that_does_not_chain_its_events_is_caught():
    with pytest.raises(AssertionError, match="an event has the hash of itself and of the one before"):
        check_store(Unchained)


def test_a_store_that_mixes_snapshots_is_caught():
    with pytest.raises(AssertionError, match="snapshots of campaigns do not mix"):
        check_store(Mixed)


def test_time_stands_still_where_the_clock_goes_back():
    times = iter((50, 40, 30, 60))
    store = MemoryStore(now=lambda: next(times))
    found = []
    for _ in range(4):
        with store.write("one") as log:
            found.append(log.append("opened", "{}").at)
    assert found == [50, 50, 50, 60]


def write_many(path, name):
    store = SqliteStore(path, timeout=5.0)
    for i in range(50):
        with store.write("one") as log:
            event = log.append("decided", "{}", key=f"{name} {i}")
            log.append("expired", "{}", ref=event.seq)


@pytest.mark.slow
def test_two_processes_never_interleave(tmp_path):
    store, spawn = opened(SqliteStore(tmp_path / "log.db")), multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=write_many, args=(tmp_path / "log.db", name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    events = list(store.scan("one"))
    assert [e.seq for e in events] == list(range(1, 202))
    assert all(b.ref == a.seq and a.key for a, b in zip(events[1::2], events[2::2], strict=True))
    assert len({e.key for e in events if e.key}) == 100


def test_a_log_can_only_be_appended_to(make):
    store = opened(make())
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        store._db.execute("UPDATE events SET body = '[]'")
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        store._db.execute("DELETE FROM events")


def test_a_locked_file_is_busy(make):
    store = opened(make())
    other = sqlite3.connect(store._path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="locked"), store.write("one") as log:
        log.append("switched", "{}")
    other.execute("ROLLBACK")
    with store.write("one") as log:
        assert log.last == 1


def test_a_full_disk_is_busy(make):
    store = opened(make())
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(Busy, match="full"), store.write("one") as log:
        log.append("switched", json.dumps("x" * 10**6))
    store._db.execute("PRAGMA max_page_count=100000")
    with store.write("one") as log:
        assert log.last == 1
        log.append("switched", "{}")


def test_a_file_that_cannot_be_written_is_busy(make):
    store = opened(make())
    store._db.execute("PRAGMA query_only=ON")
    with pytest.raises(Busy, match="readonly"), store.write("one") as log:
        log.append("switched", "{}")
    assert [e.kind for e in store.scan("one")] == ["opened"]


def test_a_deleted_file_is_busy_as_nobody_would_read_what_is_written(make):
    store = opened(make())
    store._path.unlink()
    for _ in range(2):
        with pytest.raises(Busy), store.write("one") as log:
            log.append("switched", "{}")


def test_a_replaced_file_is_busy_once_and_then_read(make, tmp_path):
    store = opened(make())
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(store._path, tmp_path / "backup")
    (tmp_path / "backup").replace(store._path)
    with pytest.raises(Busy, match="replaced"), store.write("one"):
        pass
    with store.write("one") as log:
        assert log.last == 1


def test_a_folder_that_is_not_there_is_busy(tmp_path):
    with pytest.raises(Busy):
        SqliteStore(tmp_path / "nowhere" / "log.db")


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "log.db").write_text("this is text" * 1000)
    with pytest.raises(InvalidInput, match=r"an SQLite file, or none yet, got .*log\.db"):
        SqliteStore(tmp_path / "log.db")


def test_a_second_key_conflicts_and_is_not_busy(make):
    store = opened(make())
    with store.write("one") as log:
        log.append("decided", "{}", key="a")
    with pytest.raises(Conflict, match="contradicts the log"), store.write("one") as log:
        log.append("decided", "{}", key="a")
    assert len(list(store.scan("one"))) == 2


def test_a_log_of_many_pages_is_read_whole_while_it_grows(make):
    store = opened(make())
    with store.write("one") as log:
        for i in range(2500):
            log.append("decided", "{}", key=str(i))
    reading = store.scan("one")
    first = next(reading)
    write_one = SqliteStore(store._path)
    with write_one.write("one") as log:
        log.append("switched", "{}")
    with store.write("one") as log:
        log.append("switched", "{}")
    assert [first.seq, *(e.seq for e in reading)] == list(range(1, 2504))
