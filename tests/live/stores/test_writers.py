"""The turn to write has a limit; locks and stores belong to their user; a fork ends with an error, not with a wait."""

import fcntl
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import httpx
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live import Busy
from evenhand.live.http import app
from evenhand.live.stores._sqlite_sessions import Turns
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.http_campaign import SHOP, asked, opened, serving
from tests.live.log.test_proof import POLICY, filled
from tests.polling import LONG, until


def test_who_waits_for_a_turn_is_told_in_time(tmp_path):
    store = filled(SqliteStore(tmp_path / "log.db", timeout=0.3))
    for name in ("lock", "gate"):
        with open(tmp_path / f"log.db.{name}") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            begun = time.monotonic()
            with pytest.raises(Busy, match=r"log\.db: another worker holds the lock"), store.write("coins"):
                pass
            assert time.monotonic() - begun >= 0.3
        with store.write("coins") as log:
            assert log.last == 22


def test_a_place_that_was_left_is_given_back(tmp_path):
    """Who gave up keeps its place, frees the lock if it comes meanwhile, and takes it if it asks again before."""
    turns, other = (Turns(tmp_path / "gate", tmp_path / "queue", 0o600) for _ in range(2))
    for again in (False, True, False):
        with other.turn(LONG), pytest.raises(TimeoutError), turns.turn(0.05):
            pass
        if again:
            with turns.turn(LONG):
                assert not _free(tmp_path / "queue")
        until(lambda: _free(tmp_path / "gate") and _free(tmp_path / "queue"))
        with other.turn(LONG):
            pass
    with other.turn(LONG), pytest.raises(TimeoutError), turns.turn(0.05):
        turns.close()
    turns.close()
    other.close()


def test_turns_are_taken_in_order(tmp_path):
    """Of four that take turns all the time, none goes before one that waits, and none has less than half of another's.

    A turn ends once another one waits at the gate.
    """
    order = []

    def work(i):
        turns = Turns(tmp_path / "gate", tmp_path / "queue", 0o600)
        while len(order) < 200:
            with turns.turn(LONG):
                order.append(i)
                until(lambda: len(order) >= 200 or not _free(tmp_path / "gate"))
        turns.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert all(one != then for one, then in pairwise(order[:200]))
    count = [order.count(i) for i in range(4)]
    assert min(count) > max(count) / 2, count


def _free(path):
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_the_limit_is_below_two_seconds(tmp_path):
    assert SqliteStore(tmp_path / "log.db")._sessions._timeout <= 1.5


STOPPED = """
import os, signal, sys
from evenhand.live.stores._sqlite_sessions import Turns
from evenhand.live.stores.sqlite import SqliteStore
with SqliteStore(sys.argv[1]).write("shop") as log:
    print("here", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.slow
def test_a_worker_that_is_stopped_in_a_transaction_stops_nobody_for_long(tmp_path, monkeypatch):
    """Others wait once for their turn and are told 503, and go on once it goes on or is killed."""
    waits, wait = [], Turns._wait
    monkeypatch.setattr(Turns, "_wait", lambda turns, timeout: (waits.append(timeout), wait(turns, timeout)))
    opened(tmp_path)
    campaign = eh.Campaign.open(f"sqlite:///{tmp_path}/log.db", "shop", eh.resolving(SHOP, eh.PerAction.of(SHOP)))
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "log.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "here\n"
        with serving(app(campaign)) as client:
            for path in ("/decide", "/report", "/metrics"):
                del waits[:]
                said = client.post(path, json=asked("a")) if path == "/decide" else client.get(path)
                assert said.status_code == 503, path
                assert waits == [1.5]  # once, and no longer
            process.kill()
            process.wait()
            assert client.post("/decide", json=asked("a")).json()["repeated"] is False
    finally:
        process.kill()
        process.communicate()


SERVER = """
import signal, sys
from evenhand.live.http import serve
from tests.live.http_campaign import opened
from pathlib import Path
serve(opened(Path(sys.argv[1])), port=0, ready=lambda at: print(at, flush=True))
"""


@pytest.mark.slow
def test_sigterm_ends_a_server_that_waits_for_a_lock(tmp_path):
    opened(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        at = re.match(r"http://\S+", process.stdout.readline())[0]
        said = []
        with open(tmp_path / "log.db.lock") as held, httpx.Client(base_url=at, trust_env=False, timeout=LONG) as client:
            fcntl.flock(held, fcntl.LOCK_EX)
            thread = threading.Thread(target=lambda: said.append(client.post("/decide", json=asked("a")).status_code))
            thread.start()
            until(lambda: not _free(tmp_path / "log.db.gate"))  # it waits
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=LONG)
            thread.join()
        assert said == [503]
    finally:
        process.kill()
        process.communicate()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_belong_to_their_user_alone(tmp_path):
    before = os.umask(0)
    try:
        store = filled(SqliteStore(tmp_path / "log.db"))
    finally:
        os.umask(before)
    found = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert found == dict.fromkeys(("log.db", "log.db-shm", "log.db-wal", "log.db.gate", "log.db.lock"), 0o600)
    del store
    os.chmod(tmp_path / "log.db", 0o660)  # a team that shares it
    for name in ("gate", "lock"):
        (tmp_path / f"log.db.{name}").unlink()
    before = os.umask(0)
    try:
        SqliteStore(tmp_path / "log.db")
    finally:
        os.umask(before)
    assert {mode(tmp_path / f"log.db{end}") for end in ("", ".gate", ".lock")} == {0o660}


def test_a_file_that_vanished_is_not_begun_anew(tmp_path):
    store = filled(SqliteStore(tmp_path / "log.db"))
    (tmp_path / "log.db").rename(tmp_path / "away.db")
    for _ in range(3):
        with pytest.raises(Busy), store.write("coins"):
            pass
        assert not (tmp_path / "log.db").exists()
    (tmp_path / "away.db").rename(tmp_path / "log.db")
    with store.write("coins") as log:
        assert log.last == 22


FORKED = """
import os, sys, threading, time
import evenhand as eh
from evenhand.core.errors import ConcurrentUse
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from tests.live.log.test_proof import POLICY
kind = sys.argv[1]
campaign = eh.Campaign.open(MemoryStore() if kind == "memory" else connect(kind), "coins", POLICY)
inside, go = threading.Event(), threading.Event()
def slow(verbs):
    inside.set()
    go.wait()
thread = threading.Thread(target=campaign.many, args=([slow],))
thread.start()
inside.wait()
number = os.fork()
if number == 0:
    for call in (lambda: campaign.decide({}, key="a"), campaign.status, lambda: campaign.observe(2, {"gain": 1})):
        try:
            call()
        except ConcurrentUse as error:
            assert "was in use when this process was forked" in str(error), error
        else:
            os._exit(1)
    os._exit(7)
go.set()
thread.join()
deadline = time.monotonic() + 120
while time.monotonic() < deadline:
    found, status = os.waitpid(number, os.WNOHANG)
    if found:
        break
    time.sleep(0.01)
else:
    os.kill(number, 9)
    raise AssertionError("the child hangs")
assert os.waitstatus_to_exitcode(status) == 7, status
assert campaign.decide({}, key="a").id == 2
"""


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
@pytest.mark.slow
def test_a_fork_while_another_thread_decides_is_refused_and_does_not_hang(kind, tmp_path, request):
    url = {"memory": "memory", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    done = subprocess.run([sys.executable, "-c", FORKED, url], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_fork_between_requests_goes_on_where_the_store_allows_it():
    campaign = eh.Campaign.open("memory://", "coins", POLICY)
    campaign.decide({}, key="a")
    number = os.fork()
    if number == 0:
        os._exit(3 if campaign.decide({}, key="a").repeated else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 3


@pytest.mark.parametrize(
    "url",
    ["sqlite:///{}/x.db?mode=ro", "sqlite:///:memory:", "sqlite:///{}/a\0b", "sqlite:///{}", "sqlite:///{}/x.db.gate",
     "sqlite:///{}/x.db-wal", "sqlite:///{}/x.db-journal", "sqlite:///", "sqlite://x.db"],
)  # fmt: skip
def test_odd_urls_are_refused_by_name_and_leave_nothing(url, tmp_path):
    from evenhand.live.stores.opening import connect, connect_to_read

    for call in (connect, connect_to_read):
        with pytest.raises(InvalidInput, match=r"^store: expected"):
            call(url.format(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_beside_a_foreign_file(tmp_path):
    import sqlite3
    from contextlib import closing

    (tmp_path / "text.txt").write_text("text, of more than a few letters, of another program, " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE users (name)")
    with closing(sqlite3.connect(tmp_path / "events.db")) as db:
        db.execute("CREATE TABLE events (what)")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in before:
        with pytest.raises(InvalidInput, match="store: expected an SQLite file"):
            SqliteStore(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
