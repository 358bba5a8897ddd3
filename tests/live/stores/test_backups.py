"""A backup is whole while servers run; what is restored is what was backed up, hash by hash."""

import sqlite3
import threading

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Damaged
from evenhand.live.log.events import read
from evenhand.live.log.proof import Head, prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.log.test_proof import POLICY, filled


@pytest.fixture
def stores(tmp_path, request):
    """New stores of a kind."""

    def make(kind):
        if kind == "memory":
            return MemoryStore()
        return connect(f"sqlite:///{tmp_path}/log.db" if kind == "sqlite" else request.getfixturevalue("url"))

    return make


@pytest.mark.parametrize(
    ("kind", "to"), [("memory", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "memory"), ("memory", "memory")]
)
def test_what_is_restored_is_what_was_backed_up(kind, to, stores, tmp_path, request):
    store = filled(stores(kind))
    with store.write("other") as log:
        log.append("opened", "{}")
    heads = eh.live.backup(store, tmp_path / "backup.db")
    assert {name: head.seq for name, head in heads.items()} == {"coins": 22, "other": 1}
    assert eh.live.audit(f"sqlite:///{tmp_path}/backup.db", "coins", [POLICY], head=heads["coins"]).clean
    again = stores(to)
    after = eh.live.restore(tmp_path / "backup.db", again, by="ada", why="disk lost")
    for name in heads:
        *events, note = again.scan(name)
        assert events == list(store.scan(name))
        assert (note.kind, note.at, Head(note.seq, note.hash)) == ("restored", events[-1].at, after[name])
        assert read(note)["head"] == str(heads[name])
    assert eh.live.audit(again, "coins", [POLICY], head=heads["coins"]).clean
    assert eh.live.audit(again, "coins", [POLICY], head=after["coins"]).clean
    campaign = eh.Campaign.open(again, "coins", POLICY)
    assert campaign.decide({}, key="key 3").repeated
    assert campaign.decide({}, key="new").id % 1_000_000 == 24
    assert prove(again, "coins").faults == ()
    with pytest.raises(InvalidInput, match="store: expected one without a campaign"):
        eh.live.restore(tmp_path / "backup.db", again, by="ada", why="disk lost")


def test_a_backup_is_whole_while_others_write(tmp_path):
    path, done, failed = tmp_path / "log.db", threading.Event(), []
    campaign = eh.Campaign.open(SqliteStore(path), "coins", POLICY)
    campaign.decide({}, key="first")

    def write():
        try:
            i = 0
            while not done.is_set():
                campaign.observe(campaign.decide({}, key=f"key {i}").id, {"gain": 1})
                i += 1
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    heads = [eh.live.backup(f"sqlite:///{path}", tmp_path / f"backup {i}.db")["coins"] for i in range(5)]
    done.set()
    thread.join()
    assert not failed
    assert heads == sorted(heads, key=lambda head: head.seq)
    events = list(campaign.events())
    for i, head in enumerate(heads):
        copy = connect_to_read(f"sqlite:///{tmp_path}/backup {i}.db")
        assert list(copy.scan("coins")) == events[: head.seq]
        assert {file.name for file in tmp_path.iterdir() if f"backup {i}" in file.name} == {f"backup {i}.db"}
        assert (tmp_path / f"backup {i}.db").stat().st_mode & 0o777 == 0o600


def test_what_a_backup_is_refused_for(tmp_path, capsys):
    url, file = f"sqlite:///{tmp_path}/log.db", tmp_path / "backup.db"
    assert main(["backup", url, str(file)]) == 2
    assert "store: expected a file that is there" in capsys.readouterr().err
    SqliteStore(tmp_path / "log.db")
    assert main(["backup", url, str(file)]) == 2
    assert "store: expected one that has a campaign, got an empty one" in capsys.readouterr().err
    filled(SqliteStore(tmp_path / "log.db"))
    for end in ("", "-wal", "-journal", "-shm", ".lock"):  # SQLite would take it for its own, and delete it
        for command in ("backup", "archive"):
            assert main([command, url, f"{tmp_path}/log.db{end}"]) == 2
            assert "file: expected a file other than the store and those beside it" in capsys.readouterr().err
    assert not (tmp_path / "log.db-journal").exists()
    (tmp_path / "there.db").touch()
    assert main(["backup", url, str(tmp_path / "there.db")]) == 2
    assert "file: expected one that does not exist yet" in capsys.readouterr().err
    assert main(["backup", url, str(tmp_path / "none" / "backup.db")]) == 2
    assert "file: expected a file that can be written" in capsys.readouterr().err
    assert not file.exists()
    assert main(["backup", url, str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"written: {file}\ncoins: head 22:")
    signed = ["--by", "ada", "--why", "disk lost"]
    assert main(["restore", str(file), url, *signed]) == 2
    assert "store: expected one without a campaign, got one that has ['coins']" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "none"), f"sqlite:///{tmp_path}/new/folder/a.db", *signed]) == 2
    assert "a file that is there" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert main(["restore", str(file), f"sqlite:///{tmp_path}/new/folder/a.db", *signed]) == 0
    assert (tmp_path / "new" / "folder" / "a.db").exists()
    capsys.readouterr()
    assert main(["restore", str(tmp_path / "none"), f"sqlite:///{tmp_path}/new.db", *signed]) == 2
    assert "a file that is there" in capsys.readouterr().err
    assert not (tmp_path / "new.db").exists()
    assert main(["restore", str(file), f"sqlite:///{tmp_path}/new.db", *signed]) == 0
    assert capsys.readouterr().out.startswith(f"restored: {file}\ncoins: head 23:")
    assert sorted(z.name for z in tmp_path.iterdir() if z.name.startswith("new.db")) == [
        "new.db",
        "new.db.gate",
        "new.db.lock",
    ]


def tampered(path):
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER no_update")
    db.execute("UPDATE events SET key = 'x' WHERE seq = 4")
    db.commit()
    db.close()


def test_a_damaged_log_is_neither_backed_up_nor_restored(tmp_path):
    store = filled(SqliteStore(tmp_path / "log.db"))
    eh.live.backup(store, tmp_path / "backup.db")
    tampered(tmp_path / "backup.db")
    with pytest.raises(Damaged, match="campaign 'coins' is damaged: event 4 is not what was written"):
        eh.live.restore(tmp_path / "backup.db", f"sqlite:///{tmp_path}/new.db", by="ada", why="disk lost")
    assert not (tmp_path / "new.db").exists()
    tampered(tmp_path / "log.db")
    with pytest.raises(Damaged, match="event 4"):
        eh.live.backup(store, tmp_path / "other.db")
    assert not list(tmp_path.glob("*other.db*"))


def test_a_log_is_restored_whole_or_not_at_all(tmp_path):
    events = list(filled(MemoryStore()).scan("coins"))
    store = SqliteStore(tmp_path / "log.db")
    with pytest.raises(Exception, match="UNIQUE"):
        store.adopt([("one", events), ("two", [*events, events[3]])])
    assert store.campaigns() == []


class Paged(MemoryStore):
    """A store whose logs are read page by page, while decisions are erased in between."""

    erase = None  # called once an event was read; returns what is called at the next one

    def scan(self, campaign, after=0, kinds=()):
        last = after
        while True:
            event = next(iter(super().scan(campaign, last, kinds)), None)
            if event is None:
                return
            yield event
            last = event.seq
            if not kinds and event.seq == 5 and self.erase is not None:
                call, self.erase = self.erase, None
                self.erase = call()


def test_a_backup_has_nothing_that_was_erased_while_it_was_made(tmp_path):
    store = filled(Paged())
    campaign = eh.Campaign.open(store, "coins", POLICY)
    keys = [e.key for e in store.scan("coins", kinds=("decided",))]
    store.erase = lambda: campaign.erase(keys[:1]) and None
    heads = eh.live.backup(store, tmp_path / "backup.db")
    assert heads["coins"].seq > 22
    copy = connect_to_read(f"sqlite:///{tmp_path}/backup.db")
    assert prove(copy, "coins").faults == ()
    assert keys[0] not in [e.key for e in copy.scan("coins")]


def test_a_backup_that_erasures_do_not_let_end_is_refused(tmp_path):
    store = filled(Paged())
    campaign = eh.Campaign.open(store, "coins", POLICY)
    keys = iter([e.key for e in store.scan("coins", kinds=("decided",))])

    def erase():
        campaign.erase([next(keys)])
        return erase

    store.erase = erase
    with pytest.raises(Busy, match="decisions were erased or moved while the logs were copied"):
        eh.live.backup(store, tmp_path / "backup.db")
    assert list(tmp_path.iterdir()) == []
