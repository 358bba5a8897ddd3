"""Stores of an earlier version are brought up to date and others refused; two versions do not decide in turn."""

import sqlite3
from contextlib import closing

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.worker import Worker
from tests.live.log.test_proof import POLICY, filled

ADDED = "'added', "  # among the kinds that a seal moves, since version 5


def earlier(path, version=3):
    """A store of version 3, which had no seals of logs, or of 4, which had no events `added`."""
    filled(SqliteStore(path)).close()
    with closing(sqlite3.connect(path)) as db:
        (text,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'no_delete'").fetchone()
        assert ADDED in text
        db.executescript(f"DROP TRIGGER no_delete; {text.replace(ADDED, '')}; PRAGMA user_version = {version}")
        if version == 3:
            db.execute("DROP TABLE digests")
    return path


@pytest.mark.parametrize("version", [3, 4])
def test_a_file_of_an_earlier_version_is_brought_up_to_date_when_it_is_written(version, tmp_path, monkeypatch):
    path = earlier(tmp_path / "log.db", version)
    before = path.read_bytes()
    assert eh.live.audit(connect_to_read(f"sqlite:///{path}"), "coins", [POLICY]).clean
    with monkeypatch.context() as other:
        other.setattr(
            "evenhand.live.stores._sqlite_schema._STEPS", {version: ("DROP TRIGGER no_update", "CREATE nonsense")}
        )
        with pytest.raises(eh.live.Busy):
            SqliteStore(path)
    assert path.read_bytes() == before
    store = SqliteStore(path)
    with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(tmp_path / "new.db")) as new:
        SqliteStore(tmp_path / "new.db")
        tables = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
        assert db.execute(tables).fetchall() == new.execute(tables).fetchall()
        assert db.execute("PRAGMA user_version").fetchone() == (5,)
    campaign = eh.Campaign.open(store, "coins", POLICY)
    assert campaign.decide({}, key="key 3").repeated
    assert campaign.seal(tmp_path, before=20, by="anna", why="size").segment is not None


@pytest.mark.parametrize("version", [3, 4])
def test_a_database_of_an_earlier_version_is_brought_up_to_date_when_it_is_written(version, url, tmp_path):
    from tests.live.servers import asked

    filled(connect(url))
    with asked(url) as db:
        (text,) = db.execute("SELECT pg_get_functiondef('evenhand_only_move'::regproc)").fetchone()
        assert ADDED in text
        db.execute(text.replace(ADDED, ""))
        if version == 3:
            db.execute("DROP FUNCTION evenhand_only_move CASCADE; DROP TABLE evenhand_digests")
        db.execute(f"UPDATE evenhand_schema SET version = {version}")
    assert eh.live.audit(connect_to_read(url), "coins", [POLICY]).clean
    with asked(url) as db:
        assert db.execute("SELECT version FROM evenhand_schema").fetchone() == (version,)
    campaign = eh.Campaign.open(connect(url), "coins", POLICY)
    assert campaign.decide({}, key="key 3").repeated
    assert campaign.seal(tmp_path, before=20, by="anna", why="size").segment is not None
    with asked(url) as db:
        assert ADDED in db.execute("SELECT pg_get_functiondef('evenhand_only_move'::regproc)").fetchone()[0]
    with asked(url) as db, pytest.raises(Exception, match="append only"):
        db.execute("DELETE FROM evenhand_events")


@pytest.mark.parametrize("version", [2, 6])
def test_tables_of_another_version_are_refused_by_name(version, tmp_path, url, capsys):
    from tests.live.servers import asked

    filled(SqliteStore(tmp_path / "log.db")).close()
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        db.execute(f"PRAGMA user_version = {version}")
    filled(connect(url))
    with asked(url) as db:
        db.execute(f"UPDATE evenhand_schema SET version = {version}")
    for one in (f"sqlite:///{tmp_path}/log.db", url):
        for call in (connect, connect_to_read):
            with pytest.raises(InvalidInput, match=rf"store: expected tables of version 3 to 5.*got version {version}"):
                call(one)
    assert main(["audit", f"sqlite:///{tmp_path}/log.db"]) == 2
    assert f"got version {version}" in capsys.readouterr().err


def upgraded(monkeypatch, version):
    """This process has another version of evenhand."""
    for module in ("worker.worker", "fold.snapshots", "log.versions"):
        monkeypatch.setattr(f"evenhand.live.{module}.__version__", version)


def test_a_later_version_takes_over_and_the_earlier_one_is_refused(monkeypatch):
    store = MemoryStore()
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
