"""A log proves itself: whatever was changed, cut, replaced or damaged is found and named, and never called busy."""

import hashlib
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy, Damaged
from evenhand.live.http.answers import describe
from evenhand.live.log.proof import Head, prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.replay.shop import rows, write
from tests.rows import for_each

COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=500)
POLICY = eh.uniform(COIN, 1)


def filled(store):
    """A campaign of ten decisions, one of them revised: 22 events."""
    campaign = eh.Campaign.open(store, "coins", POLICY)
    for i in range(10):
        campaign.observe(campaign.decide({}, key=f"key {i}").id, {"gain": i % 2})
    campaign.observe(2, {"gain": 1}, revise=True)
    return store


def test_a_hash_is_that_of_the_documented_bytes():
    store = filled(MemoryStore())
    before = b""
    for e in store.scan("coins"):
        key = "-"
        if e.key is not None:
            assert e.seal == hashlib.sha256(e.salt + f"{len(e.key)} {e.key}\n{e.own}".encode()).digest()
            key = f"= {e.seal.hex()}"
        before = hashlib.sha256(before + f"{e.seq} {e.at} {e.kind} {e.ref} {key}\n{e.body}".encode()).digest()
        assert e.hash == before
    assert prove(store, "coins").head == Head(22, before)


@pytest.mark.parametrize("stated", ["", "12", "0:" + 64 * "a", "12:" + 63 * "a", "x:" + 64 * "a"])
def test_a_head_that_is_none_is_refused(stated):
    with pytest.raises(InvalidInput, match="head: expected NUMBER:HASH"):
        Head.of(stated)


# What is changed, as a statement of SQL for a database without triggers, and what is said of it.
CHANGED = {
    "keys": ("UPDATE {} SET key = 'other ' || key", "event 2 is not what was written"),
    "times": ("UPDATE {} SET at = at + 31536000000000", "event 1 is not what was written"),
    "one time": ("UPDATE {} SET at = at - 1000000 WHERE seq = 9", "event 9 is not what was written"),
    "the last outcome": ('UPDATE {} SET body = \'{{"y":{{"gain":0}}}}\' WHERE seq = 22', "event 22 is not what"),
    "the kind of an event": ("UPDATE {} SET kind = 'expired' WHERE seq = 3", "event 3 is not what was written"),
    "what an event is about": ("UPDATE {} SET ref = 4 WHERE seq = 22", "event 22 is not what was written"),
    "a hash": ("UPDATE {} SET hash = (SELECT hash FROM {} WHERE seq = 3) WHERE seq = 9", "event 9 is not what was"),
    "an event is gone": ("DELETE FROM {} WHERE seq = 22", "the head 22:"),
    "an event in the middle is gone": ("DELETE FROM {} WHERE seq = 21", "event 21 is missing: event 22 follows"),
    "the tail is cut": ("DELETE FROM {} WHERE seq > 15", "the head 22:"),
}


def check_change(read, head, says):
    """What was changed is found by the log alone, or with a head that was kept elsewhere."""
    if "head" not in says:
        assert any(says in fault for fault in prove(read, "coins").faults)
    told = next(fault for fault in prove(read, "coins", head).faults if says in fault)
    audit = eh.live.audit(read, "coins", [POLICY], head=head)
    assert not audit.clean
    assert told in str(audit)


@pytest.mark.parametrize("change", CHANGED)
def test_a_change_in_a_file_is_found(change, tmp_path):
    statement, says = CHANGED[change]
    store = filled(SqliteStore(tmp_path / "log.db"))
    head = prove(store, "coins").head
    assert eh.live.audit(store, "coins", [POLICY], head=str(head)).clean
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        for trigger in ("no_update", "no_delete"):
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute(statement.format(*2 * ["events"]))
        db.commit()
    check_change(SqliteStore(tmp_path / "log.db"), head, says)


@pytest.mark.parametrize("change", CHANGED)
def test_a_change_in_a_database_is_found_also_without_a_head(change, url):
    from tests.live.servers import asked

    statement, says = CHANGED[change]
    store = filled(connect(url))
    head = prove(store, "coins").head
    assert eh.live.audit(store, "coins", [POLICY], head=head).clean
    with asked(url) as db:
        db.execute("ALTER TABLE evenhand_events DISABLE TRIGGER USER")
        db.execute(statement.format(*2 * ["evenhand_events"]))
    check_change(store, head, says)
    assert prove(store, "coins").faults  # the table of heads has the last event that was committed


@pytest.mark.parametrize("change", ["key", "at", "body", "kind", "ref"])
def test_a_change_in_memory_is_found(change):
    store = filled(MemoryStore())
    head = prove(store, "coins").head
    events = store._books["coins"].events
    value = {"key": "x", "at": events[8].at + 1, "body": "{}", "kind": "expired", "ref": 2}[change]
    events[8] = events[8]._replace(**{change: value})
    assert prove(store, "coins").faults == ("event 9 is not what was written: its hash differs",)
    del events[15:]
    assert prove(store, "coins", head).faults[-1].endswith("the log ends at event 15: its tail was cut")


def test_hashes_that_were_made_anew_are_found_by_a_head(tmp_path):
    store, other = filled(MemoryStore()), filled(MemoryStore())
    head = prove(store, "coins").head
    assert prove(other, "coins").faults == ()
    (told,) = prove(other, "coins", head).faults
    assert told.endswith("that event has another hash")
    assert prove(store, "coins", Head(5, list(store.scan("coins"))[4].hash)).faults == ()  # an earlier one


@pytest.mark.parametrize("into", ["INSERT OR REPLACE", "INSERT OR IGNORE", "INSERT"])
def test_a_row_cannot_be_replaced(tmp_path, into):
    store = filled(SqliteStore(tmp_path / "log.db"))
    before = list(store.scan("coins"))
    for seq in (22, 9, 24):  # the last, one in the middle, one that leaves a gap
        with closing(sqlite3.connect(tmp_path / "log.db")) as db, pytest.raises(sqlite3.Error, match="append only"):
            db.execute(
                f"{into} INTO events SELECT campaign, ?, kind, ref, key, at, '{{}}', hash, own, salt, seal"
                " FROM events WHERE seq = 22",
                (seq,),
            )
    assert list(store.scan("coins")) == before


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A file of SQLite in one piece, and what is in its log."""
    folder = tmp_path_factory.mktemp("archive")
    _, file = write(folder, rows(300), STATED)
    url = f"sqlite:///{folder}/log.db"
    with eh.live.open_campaign(url, "post", file) as campaign:
        for i, row in enumerate(rows(60, seed=1)):
            said = campaign.decide({"age": float(row[0]), "town": row[1]}, key=f"customer {i}")
            if i % 3:
                campaign.observe(said.id, {"visit": i % 2})
    assert not (folder / "log.db-wal").exists()
    events = list(connect_to_read(url).scan("post"))
    return folder / "log.db", events


def flips(size, seed, count):
    luck = np.random.default_rng(seed)
    return [(int(luck.integers(size)), int(luck.integers(8))) for _ in range(count)]


def check_flip(archive, tmp_path, at, bit, capsys):
    """Whatever bit is another: an audit finds it, unless the log is the same; no command ends with a traceback."""
    path, events = archive
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    (tmp_path / "log.db").write_bytes(data)
    url = f"sqlite:///{tmp_path}/log.db"
    status = main(["audit", url])
    said = capsys.readouterr()
    try:
        same = list(connect_to_read(url).scan("post")) == events
    except (Damaged, InvalidInput):
        same = False
    assert "busy" not in said.err
    assert "same key" not in said.err + said.out
    assert same or status != 0, (at, bit, said)
    if status == 2:
        assert said.err.startswith("evenhand: ")
    (tmp_path / "out.csv").unlink(missing_ok=True)
    for command, out in (("export", "out.csv"), ("report", "out.html")):
        assert main([command, url, "--out", str(tmp_path / out)]) in (0, 2), (at, bit)
        assert "same key" not in capsys.readouterr().err
    assert same or not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("part", range(6))
@pytest.mark.slow
def test_sixty_flipped_bits(archive, tmp_path, capsys, part):
    size = archive[0].stat().st_size
    for at, bit in flips(size, 17, 60)[part::6]:
        check_flip(archive, tmp_path, at, bit, capsys)


@pytest.mark.parametrize("text", ["opened", '"encoding"', "customer 7", '"versions"'])
def test_a_flipped_bit_in_what_is_read_first(archive, tmp_path, capsys, text):
    at = archive[0].read_bytes().index(text.encode()) + 3
    check_flip(archive, tmp_path, at, 0, capsys)


@for_each("body", ["{", "[]", "{}", "", '{"a": "b"}', "nonsense \udcff"])
@for_each("seq", [1, 2, 3])
def test_a_body_that_is_no_json_is_named(archive, tmp_path, capsys, body, seq):
    shutil.copy(archive[0], tmp_path / "log.db")
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        db.execute("DROP TRIGGER no_update")
        text = body.encode("utf-8", "surrogateescape")
        db.execute("UPDATE events SET body = CAST(? AS TEXT) WHERE seq = ?", (text, seq))
        db.commit()
    url = f"sqlite:///{tmp_path}/log.db"
    status = main(["audit", url])
    said = capsys.readouterr()
    if "\udcff" in body:
        assert status in (1, 2)
        assert "Could not decode to UTF-8" in said.out + said.err
    else:
        assert status == 1
        assert f"event {seq} is not what was written: its hash differs" in said.out
    for command, out in (("export", "out.csv"), ("report", "out.html")):
        assert main([command, url, "--out", str(tmp_path / out)]) == 2
        assert "damaged" in capsys.readouterr().err


def test_damage_is_not_busy(tmp_path):
    path = tmp_path / "log.db"
    filled(SqliteStore(path)).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE snapshots")
    with pytest.raises(Damaged, match="no such table: snapshots"):
        SqliteStore(path).snapshots("coins", "x")
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = 64 * b"\xff"
    path.write_bytes(data)
    store = SqliteStore(path)
    with pytest.raises(Damaged, match="database disk image is malformed") as told:
        list(store.scan("coins"))
    with pytest.raises(Damaged), store.write("coins") as log:
        log.append("opened", "{}")
    assert store.damage()
    said = describe(told.value)
    assert said["status"] == 500
    assert "asking again is of no use" in said["error"]
    assert str(tmp_path) not in said["error"]


def test_a_missing_table_of_a_database_is_damage(store, url):
    from tests.live.servers import asked

    with asked(url) as db:
        db.execute("DROP TABLE evenhand_snapshots")
    with pytest.raises(Damaged, match="evenhand_snapshots"):
        store.snapshots("one", "x")


def test_a_disk_that_fails_to_write_is_busy_and_named(tmp_path):
    from evenhand.live.stores._sqlite_sessions import ErrorTranslation

    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR_WRITE, "SQLITE_IOERR_WRITE"
    with pytest.raises(Busy, match="SQLITE_IOERR_WRITE"), ErrorTranslation(tmp_path):
        raise error
    error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR_SHORT_READ, "SQLITE_IOERR_SHORT_READ"
    with pytest.raises(Damaged, match="disk I/O error"), ErrorTranslation(tmp_path):
        raise error


def test_a_head_of_the_command_line(archive, capsys):
    url = f"sqlite:///{archive[0]}"
    assert main(["audit", url]) == 0
    (head,) = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("head ")]
    assert main(["audit", url, "--head", head]) == 0
    capsys.readouterr()
    assert main(["audit", url, "--head", f"9999:{64 * 'a'}"]) == 1
    assert "its tail was cut" in capsys.readouterr().out
    assert main(["audit", url, "--head", "12"]) == 2
    assert "head: expected NUMBER:HASH" in capsys.readouterr().err
