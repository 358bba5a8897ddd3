"""Stores of earlier versions are brought up to date and later ones refused; two versions do not decide in turn."""

import json
import os
import sqlite3
import stat
from contextlib import closing

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict, Damaged
from evenhand.live.log.events import encode, read
from evenhand.live.log.proof import prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.worker import Worker
from tests.live import version_1
from tests.live.test_proof import POLICY, filled

COLUMNS = "campaign, seq, kind, ref, key, at, body"


def rows():
    """The rows of two campaigns, without hashes."""
    events = list(filled(MemoryStore()).scan("coins"))
    return [(name, *e[:5], encode(read(e))) for name in ("coins", "more coins") for e in events]


def old_file(path):
    """A store as version 1 made it, with a WAL that others may read."""
    before = os.umask(0o022)
    try:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(version_1.SQLITE)
            db.executemany(f"INSERT INTO events ({COLUMNS}) VALUES (?,?,?,?,?,?,?)", rows())
            db.execute("INSERT INTO snapshots VALUES ('coins', 'x', 5, x'00')")
            db.commit()
    finally:
        os.umask(before)
    return path


def old_database(url):
    """The same in PostgreSQL."""
    from tests.live.servers import asked

    with asked(url) as db:
        db.execute(version_1.POSTGRESQL)
        values = rows()
        with db.cursor() as cursor:
            cursor.executemany(f"INSERT INTO evenhand_events ({COLUMNS}) VALUES (%s,%s,%s,%s,%s,%s,%s)", values)
        db.execute("INSERT INTO evenhand_heads SELECT campaign, max(seq), max(at) FROM evenhand_events GROUP BY 1")
    return [values[:22], values[22:]]


def check(store, expected):
    """The events are the same, their hashes follow from each other, and campaigns go on."""
    for name, own in zip(("coins", "more coins"), expected, strict=True):
        events = list(store.scan(name))
        assert [(name, *event[:6]) for event in events] == own
        assert prove(store, name).faults == ()
        assert prove(store, name).head.seq == 22
    campaign = eh.Campaign.open(store, "coins", POLICY)
    assert campaign.decide({}, key="key 3").repeated
    assert campaign.decide({}, key="new").id == 23
    with pytest.raises(Conflict), store.write("coins") as log:
        log.append("decided", "{}", key="new")
    assert eh.live.audit(store, "coins", [POLICY]).clean


def test_a_file_of_version_1_is_brought_up_to_date(tmp_path):
    path = old_file(tmp_path / "log.db")
    with closing(sqlite3.connect(path)) as db:
        expected = db.execute(f"SELECT {COLUMNS} FROM events ORDER BY campaign, seq").fetchall()
    check(SqliteStore(path), [expected[:22], expected[22:]])
    assert SqliteStore(path).snapshots("coins", "x") == [5]
    assert eh.Campaign.open(SqliteStore(path), "coins", POLICY).pause(by="anna", why="as version 1 could not")
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
        fresh = SqliteStore(tmp_path / "new.db")
        tables = "SELECT type, name, replace(sql, '\"', '') FROM sqlite_master ORDER BY name"
        assert db.execute(tables).fetchall() == fresh._db.execute(tables).fetchall()
        with pytest.raises(sqlite3.Error):  # a worker of version 1, which knows of no hashes
            db.execute(f"INSERT INTO events ({COLUMNS}) VALUES ('coins', 24, 'switched', NULL, NULL, 0, '{{}}')")


def test_a_database_of_version_1_is_brought_up_to_date(url):
    from tests.live.servers import asked

    expected = old_database(url)
    check(connect(url), expected)
    with asked(url) as db:
        assert db.execute("SELECT version FROM evenhand_schema").fetchone() == (3,)
        with pytest.raises(Exception, match="append only"):
            db.execute("DELETE FROM evenhand_events")
    assert len(list(connect(url).scan("coins"))) == 23
    assert eh.Campaign.open(connect(url), "coins", POLICY).pause(by="anna", why="as version 1 could not")


def test_an_archive_of_version_1_is_read_as_it_is(tmp_path, url):
    path = old_file(tmp_path / "log.db")
    before = path.read_bytes()
    old_database(url)
    for place in (connect_to_read(f"sqlite:///{path}"), connect_to_read(url)):
        found = eh.live.audit(place, "coins", [POLICY])
        assert found.clean
        assert found.head is None
        assert "its events have no hashes, as an earlier version wrote it" in str(found)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["log.db"]
    with pytest.raises(Damaged, match="have no hashes: let a worker of this version open the store first"):
        eh.live.backup(f"sqlite:///{path}", tmp_path / "backup.db")


def test_a_file_that_cannot_be_brought_up_to_date_stays_as_it_is(tmp_path, monkeypatch):
    path = old_file(tmp_path / "log.db")
    monkeypatch.setattr("evenhand.live.stores._sqlite_schema._REST", ("CREATE nonsense",))
    with pytest.raises(eh.live.Busy):
        SqliteStore(path)
    monkeypatch.undo()
    assert len(list(connect_to_read(f"sqlite:///{path}").scan("coins"))) == 22
    assert prove(SqliteStore(path), "coins").faults == ()


def test_tables_of_a_later_version_are_refused_by_name(tmp_path, url, capsys):
    from tests.live.servers import asked

    filled(SqliteStore(tmp_path / "log.db")).close()
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        db.execute("PRAGMA user_version = 5")
    filled(connect(url))
    with asked(url) as db:
        db.execute("UPDATE evenhand_schema SET version = 5")
    for one in (f"sqlite:///{tmp_path}/log.db", url):
        for call in (connect, connect_to_read):
            with pytest.raises(InvalidInput, match=r"store: expected tables of version 4 at most.*got version 5"):
                call(one)
    assert main(["audit", f"sqlite:///{tmp_path}/log.db"]) == 2
    assert "got version 5" in capsys.readouterr().err


def upgraded(monkeypatch, version):
    """This process has another version of evenhand."""
    for module in ("worker.worker", "fold.snapshots", "log.versions"):
        monkeypatch.setattr(f"evenhand.live.{module}.__version__", version)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_a_later_version_takes_over_and_the_earlier_one_is_told(kind, tmp_path, request, monkeypatch):
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}
    store = connect(urls.get(kind) or request.getfixturevalue("url"))
    first = eh.Campaign.open(store, "coins", POLICY)
    said = first.decide({}, key="a")
    first.snapshot()
    with monkeypatch.context() as other:
        upgraded(other, "99.0")
        later = eh.Campaign.open(store, "coins", POLICY)
        assert later.decide({}, key="a").repeated
        assert later.observe(said.id, {"gain": 1})
        kinds = [event.kind for event in later.events()]
        assert kinds == ["opened", "decided", "upgraded", "observed"]
        later.snapshot()
        eh.Campaign.open(store, "coins", POLICY)  # says it once
        assert [event.kind for event in later.events()] == kinds
        assert eh.live.audit(store, "coins", [POLICY]).clean
    for call in (lambda: first.decide({}, key="b"), first.status, lambda: eh.Campaign.open(store, "coins", POLICY)):
        with pytest.raises(Conflict, match=r"evenhand 99\.0 decides for the campaign, and this is"):
            call()
    assert len(list(store.scan("coins"))) == 4


@pytest.mark.parametrize("meanwhile", ["few", "many", "corrected", "erased", "upgraded"])
def test_the_earlier_version_answers_while_a_later_one_folds(meanwhile, monkeypatch):
    store = MemoryStore()
    first = eh.Campaign.open(store, "coins", POLICY)
    refs = [first.decide({}, key=f"early {i}").id for i in range(20)]
    for ref in refs:
        first.observe(ref, {"gain": 1})
    folded, fold_log = [], Worker._fold_log

    def beside(worker, log=None):
        found = fold_log(worker, log)
        folded.append(found.seq)
        if len(folded) == 1:
            with monkeypatch.context() as earlier:
                upgraded(earlier, eh.__version__)
                said = first.decide({}, key="meanwhile")
                assert first.observe(said.id, {"gain": 1})
                for i in range(2 * Worker.near if meanwhile == "many" else 0):
                    first.decide({}, key=f"more {i}")
                if meanwhile == "corrected":
                    assert first.observe(refs[0], {"gain": 0}, revise=True)
                    assert first.relearn()
                elif meanwhile == "erased":
                    first.erase(["early 3"])
            if meanwhile == "upgraded":
                eh.Campaign.open(store, "coins", POLICY)
        return found

    with monkeypatch.context() as other:
        upgraded(other, "99.0")
        other.setattr(Worker, "_fold_log", beside)
        later = eh.Campaign.open(store, "coins", POLICY)
        assert later.decide({}, key="meanwhile").repeated
        assert later.decide({}, key="after").probability is not None
        kinds = [event.kind for event in later.events()]
        assert kinds.count("upgraded") == 1
        assert kinds[-2:] == ["upgraded", "decided"]
        assert store.snapshots("coins", POLICY.fingerprint()) or meanwhile == "erased"  # the next worker need not fold
        whole = eh.Campaign.open(store, "coins", POLICY)
        assert whole.status() == later.status()
    assert len(folded) >= 1 + (meanwhile in ("corrected", "erased", "upgraded"))
    with pytest.raises(Conflict, match=r"evenhand 99\.0 decides"):
        first.decide({}, key="late")


def test_a_snapshot_outlives_a_version_that_folds_to_the_same_states(monkeypatch):
    from evenhand.live.fold.snapshots import BrokenSnapshot, dump, restore

    campaign = eh.Campaign.open("memory://", "coins", POLICY)
    blob = dump(campaign._worker.fold)
    upgraded(monkeypatch, "99.0")
    assert not restore(campaign._worker.folding.fresh(), blob)
    monkeypatch.setattr("evenhand.live.fold.snapshots.FOLD", 0)
    with pytest.raises(BrokenSnapshot, match=r"version .* of evenhand wrote it, whose states differ"):
        restore(campaign._worker.folding.fresh(), blob)
    restore(campaign._worker.folding.fresh(), blob, any_version=True)


def test_a_snapshot_whose_arrays_are_others_is_not_read(monkeypatch):
    from evenhand.live.fold.snapshots import BrokenSnapshot, dump, restore

    campaign = eh.Campaign.open("memory://", "coins", POLICY)
    blob = dump(campaign._worker.fold)
    monkeypatch.setitem(vars(POLICY), "_mark", POLICY._mark._replace(shape="of another version"))
    with pytest.raises(BrokenSnapshot, match="whose states differ"):
        restore(campaign._worker.folding.fresh(), blob)


def test_a_log_that_states_no_version_is_taken_over():
    store = MemoryStore()
    campaign = eh.Campaign.open(store, "coins", POLICY)
    (first,) = campaign.events()
    body = {name: value for name, value in read(first).items() if name != "versions"}
    again = MemoryStore()
    with again.write("coins") as log:
        log.append("opened", json.dumps(body))
    assert eh.Campaign.open(again, "coins", POLICY).decide({}, key="a").id == 3
    assert [event.kind for event in again.scan("coins")] == ["opened", "upgraded", "decided"]
