"""Archives are read without a write, also from media that are read-only and while the campaign goes on."""

import os
import shutil
import subprocess
import sys

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy
from evenhand.live.stores.opening import connect, connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.live.log.test_proof import POLICY, filled
from tests.replay.shop import rows, write

CRASHED = """
import os, sys
import evenhand as eh
from tests.replay.shop import rows
campaign = eh.live.open_campaign(sys.argv[1], "post", sys.argv[2], patience=0.001)
for i, row in enumerate(rows(30, seed=1)):
    said = campaign.decide({"age": float(row[0]), "town": row[1]}, key=f"customer {i}")
    if i % 3:
        campaign.observe(said.id, {"visit": i % 2})
os._exit(0)
"""
COMMANDS = (["audit"], ["export", "--out", "out.csv"], ["report", "--out", "out.html"], ["backup", "out.db"])


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """The folder of a store whose process died: all that was decided is in the WAL; outcomes are overdue."""
    folder = tmp_path_factory.mktemp("crashed")
    _, file = write(folder, rows(300), STATED)
    (folder / "store").mkdir()
    command = [sys.executable, "-c", CRASHED, f"sqlite:///{folder}/store/log.db", str(file)]
    subprocess.run(command, check=True, timeout=120)
    assert (folder / "store" / "log.db-wal").stat().st_size > 10 * 4096
    return folder / "store"


def contents(folder):
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


def run(command, url, out, capsys):
    (first, *rest) = command
    outs = [str(out / z) if z.startswith("out.") else z for z in rest]
    status = main([first, url, *outs])
    return status, capsys.readouterr()


@pytest.mark.parametrize("files", [("log.db", "log.db-wal"), ("log.db", "log.db-wal", "log.db-shm"), "whole"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nothing_is_written_beside_an_archive(crashed, tmp_path, command, files, capsys):
    folder = tmp_path / "archive"
    folder.mkdir()
    if files == "whole":
        eh.live.backup(f"sqlite:///{crashed}/log.db", folder / "log.db")
    else:
        for name in files:
            shutil.copy(crashed / name, folder / name)
    before = contents(folder)
    status, said = run(command, f"sqlite:///{folder}/log.db", tmp_path, capsys)
    assert status == 0, said
    after = contents(folder)
    assert set(after) == set(before)
    assert [name for name in before if after[name] != before[name]] in ([], ["log.db-shm"])  # has the locks of readers


UNREADABLE = 77  # an exit status
READ_ONLY = """
import os, sys
import evenhand
from evenhand.cli import main
folder, out, unreadable = sys.argv[1:]
for name in (*os.listdir(folder), ""):
    os.chmod(os.path.join(folder, name), 0o555)
def run(end):
    for more in (["audit"], ["export", "--out", f"{out}/{end}.csv"], ["report", "--out", f"{out}/{end}.html"]):
        assert main([more[0], f"sqlite:///{whole}", *more[1:]]) == 0, more
whole = out + "/../whole.db"
run("first")  # imports what another user may not read
whole = folder + "/log.db"
if os.geteuid() == 0:
    os.seteuid(65534)
    if not os.access(os.path.dirname(evenhand.__file__), os.R_OK | os.X_OK, effective_ids=True):
        sys.exit(int(unreadable))
else:
    assert os.geteuid()
try:
    open(os.path.join(folder, "new"), "w")
    raise AssertionError("the folder can be written")
except PermissionError:
    pass
run("again")
"""


@pytest.mark.parametrize("files", [("log.db", "log.db-wal"), ("log.db", "log.db-wal", "log.db-shm"), "whole"])
@pytest.mark.slow
def test_commands_read_from_a_folder_that_cannot_be_written(crashed, files):
    import tempfile

    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o777)
        folder, out = os.path.join(top, "archive"), os.path.join(top, "out")
        os.mkdir(folder)
        os.mkdir(out)
        os.chmod(out, 0o777)
        eh.live.backup(f"sqlite:///{crashed}/log.db", f"{top}/whole.db")
        if files == "whole":
            eh.live.backup(f"sqlite:///{crashed}/log.db", f"{folder}/log.db")
        else:
            for name in files:
                shutil.copy(crashed / name, folder)
        command = [sys.executable, "-c", READ_ONLY, folder, out, str(UNREADABLE)]
        env = {**os.environ, "EVENHAND_KERNELS": "interpreted"}  # the compiler may be imported too late
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
        if done.returncode == UNREADABLE:
            pytest.skip("another user cannot read the folder that evenhand is in")
        assert done.returncode == 0, done.stderr
        assert "31 decisions" in done.stdout or "30 decisions" in done.stdout


def test_an_archive_is_read_as_it_is_and_nothing_expires(crashed):
    place = connect_to_read(f"sqlite:///{crashed}/log.db")
    events = list(place.scan("post"))
    campaign_events = [e.kind for e in events]
    with place.write("post") as log:
        assert log.last == len(events)
        assert log.get(3) == events[2]
        assert log.find(events[1].key) == events[1]
        assert list(log.about(2)) == [e for e in events if e.ref == 2]
        assert list(log.tail(5)) == events[5:]
        with pytest.raises(Busy, match="read-only"):
            log.append("switched", "{}")
    assert [e.kind for e in place.scan("post")] == campaign_events


def test_what_is_read_while_others_write_is_whole(tmp_path):
    store = filled(SqliteStore(tmp_path / "log.db"))
    store.close()
    place = connect_to_read(f"sqlite:///{tmp_path}/log.db")  # without locks, as nobody has it open
    assert len(list(place.scan("coins"))) == 22
    other = SqliteStore(tmp_path / "log.db")
    campaign = eh.Campaign.open(other, "coins", POLICY)
    for i in range(5):
        campaign.decide({}, key=f"new {i}")
    events = list(other.scan("coins"))
    assert len(events) >= 27
    assert list(place.scan("coins")) == events
    other.close()
    del campaign, other
    assert list(place.scan("coins")) == events
    assert place.damage() == []


def test_a_campaign_that_is_only_read_adds_nothing_to_its_log(tmp_path):
    """Neither what is overdue, nor that corrections were learned."""
    store = filled(SqliteStore(tmp_path / "log.db"))
    before = list(store.scan("coins"))
    campaign = eh.Campaign.open(connect_to_read(f"sqlite:///{tmp_path}/log.db"), "coins", POLICY)
    for _ in range(5):
        assert campaign.status().rounds == 10
        assert campaign.report()["rounds"] == 10
    with pytest.raises(Busy, match="read-only"):
        campaign.decide({}, key="new")
    assert campaign.status().rounds == 10
    assert list(store.scan("coins")) == before


def test_a_live_database_is_read_in_transactions_that_cannot_write(url):
    import psycopg

    store = filled(connect(url))
    place = connect_to_read(url)
    assert list(place.scan("coins")) == list(store.scan("coins"))
    assert eh.live.audit(place, "coins", [POLICY]).clean
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        place._store._sessions.mine.execute("DELETE FROM evenhand_snapshots")


def test_a_database_without_tables_is_not_given_any(url):
    from tests.live.servers import asked

    with pytest.raises(InvalidInput, match="a database with the log of a campaign"):
        connect_to_read(url)
    with asked(url) as db:
        query = "SELECT count(*) FROM pg_tables WHERE schemaname = ANY(current_schemas(false))"
        assert db.execute(query).fetchone() == (0,)
