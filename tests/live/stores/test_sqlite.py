"""A file of SQLite stays small and whole: checkpoints, readers, full disks, places that cannot be written, forks."""

import fcntl
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenhand.live import Busy
from evenhand.live.stores.sqlite import SqliteStore

PAGE = 4096


@pytest.fixture
def store(tmp_path):
    made = SqliteStore(tmp_path / "log.db")
    with made.write("one") as log:
        log.append("opened", "{}")
    return made


def wal(store):
    return store._path.with_name("log.db-wal")


def fill(store, n, size=1000):
    """Write transactions of about two pages each."""
    for _ in range(n):
        with store.write("one") as log:
            log.append("switched", f'"{"x" * size}"')


def test_the_wal_does_not_grow_without_bound(store):
    sizes = []
    for _ in range(6):
        fill(store, 500)
        sizes.append(wal(store).stat().st_size)
    assert max(sizes) < 1100 * (PAGE + 24)
    assert len(list(store.scan("one"))) == 3001


@pytest.mark.slow
def test_the_wal_does_not_grow_without_bound_while_others_read_and_write(store):
    done = threading.Event()

    def read():
        while not done.is_set():
            list(store.scan("one", 100))

    threads = [threading.Thread(target=read), *(threading.Thread(target=fill, args=(store, 600)) for _ in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    done.set()
    threads[0].join()
    fill(store, 600)
    assert wal(store).stat().st_size < 8000 * PAGE
    assert len(list(store.scan("one"))) == 2401
    assert store._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_checkpoint_is_made_by_who_has_the_lock_of_the_queue(store, monkeypatch):
    """As the WAL is emptied in commits only, SQLite's WAL-reset bug has no second party."""
    (pages,) = store._db.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert pages == 1000
    other = SqliteStore(store._path)
    fill(store, 100)
    before = store._path.stat().st_size, wal(store).stat().st_size
    other._sessions._local.own = None  # closes a connection, but not the last one
    del other
    assert list(store.scan("one"))
    assert (store._path.stat().st_size, wal(store).stat().st_size) == before


def test_readers_hold_nobody_up(store):
    fill(store, 10)
    other = sqlite3.connect(store._path, isolation_level=None)
    other.execute("BEGIN")
    (seen,) = other.execute("SELECT count(*) FROM events").fetchone()
    fill(store, 1500)  # with a checkpoint that has to stop at what the reader sees
    assert other.execute("SELECT count(*) FROM events").fetchone() == (seen,)
    other.execute("COMMIT")
    other.close()
    fill(store, 1)
    fill(store, 1)  # the checkpoint goes through, and the next writer begins the WAL anew
    size = wal(store).stat().st_size
    fill(store, 500)
    assert wal(store).stat().st_size == size


def alone(program, path):
    """Run a program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", START + program, str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


START = """
import os, resource, signal, sys
from evenhand.core.errors import ConcurrentUse
from evenhand.live.log.events import Busy
from evenhand.live.stores.sqlite import SqliteStore
path = sys.argv[1]
def append(store, body="{}"):
    with store.write("one") as log:
        log.append("switched", body)
def refused(call, kind=Busy):
    try:
        call()
    except kind as error:
        assert path in str(error), error
        return
    raise AssertionError("nothing was refused")
"""
FULL = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteStore(path)
append(store)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
said = 0
try:
    while said < 1000:
        append(store, '"' + 10_000 * "x" + '"')
        said += 1
except Busy as error:
    assert path in str(error)
assert 1 < said < 1000
refused(lambda: append(store, '"' + 300_000 * "x" + '"'))
assert len(list(store.scan("one"))) == 1 + said
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
append(store)
assert [e.seq for e in SqliteStore(path).scan("one")] == list(range(1, said + 3))
assert store._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
"""
READ_ONLY = """
store = SqliteStore(path)
append(store)
for name in os.listdir(os.path.dirname(path)):
    os.chmod(os.path.join(os.path.dirname(path), name), 0o444)
os.chmod(os.path.dirname(path), 0o555)
if os.geteuid() == 0:
    os.seteuid(65534)
other = lambda: append(SqliteStore(path))
refused(other)
refused(other)
refused(lambda: SqliteStore(path + ".new"))
"""
FORKED = """
store = SqliteStore(path)
append(store)
def child(call):
    number = os.fork()
    if number == 0:
        try:
            call()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(number, 0)[1] == 0
child(lambda: refused(lambda: append(store), ConcurrentUse))
child(lambda: refused(lambda: SqliteStore(path), ConcurrentUse))
child(lambda: append(SqliteStore(path + ".other")))
append(store)
del store
child(lambda: append(SqliteStore(path)))
assert len(list(SqliteStore(path).scan("one"))) == 3
"""
KILLED = """
store = SqliteStore(path)
append(store)
ends = os.pipe(), os.pipe()
if os.fork() == 0:  # writes, and is killed while a process that it forked goes on
    store = SqliteStore(path + ".other")
    with store.write("one") as log:
        log.append("switched", "{}")
        if os.fork() == 0:
            os.close(ends[0][1])
            os.write(ends[1][1], b"x")
            os.read(ends[0][0], 1)  # until the test ends
            os._exit(0)
        os.read(ends[1][0], 1)
        os.kill(os.getpid(), signal.SIGKILL)
os.wait()
append(SqliteStore(path + ".other"))  # nobody holds the lock
"""


@pytest.mark.parametrize("program", [FULL, FORKED, KILLED], ids=["full", "forked", "killed"])
def test_nothing_is_lost(program, tmp_path):
    alone(program, tmp_path / "log.db")


def test_a_file_and_a_folder_that_cannot_be_written_are_busy(tmp_path_factory):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        alone(READ_ONLY, f"{folder}/log.db")


def test_workers_may_open_a_new_file_at_the_same_time(tmp_path):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for number in range(60):
                ready, path = threading.Barrier(4), tmp_path / f"{number}.db"

                def work(_, ready=ready, path=path):
                    ready.wait()
                    fill(SqliteStore(path), 1)

                list(pool.map(work, range(4)))
                assert len(list(SqliteStore(path).scan("one"))) == 4
    finally:
        sys.setswitchinterval(before)


def test_a_file_that_was_deleted_is_named(store):
    store._path.unlink()
    with pytest.raises(Busy, match=r"log\.db"):
        fill(store, 1)


def test_who_waits_goes_before_who_comes_again(tmp_path):
    store, path, order = SqliteStore(tmp_path / "log.db"), tmp_path / "log.db.gate", []

    def other():
        with store.write("one"):
            order.append("other")

    with store.write("one"), open(path) as gate:
        waits = threading.Thread(target=other)
        waits.start()
        while _free(gate):
            time.sleep(0.001)
    with store.write("one"):
        order.append("again")
    waits.join()
    assert order == ["other", "again"]


def _free(gate):
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(gate, fcntl.LOCK_UN)
    return True


def test_what_is_said_of_a_decision_is_found_without_reading_the_log(store):
    with store.write("one") as log:
        log.append("decided", "{}", key="a")
        steps = []
        store._db.set_progress_handler(lambda: steps.append(1), 100)
        for _ in range(2000):
            log.append("decided", "{}")
        del steps[:]
        assert log.about(2) == []
        store._db.set_progress_handler(None, 0)
    assert len(steps) < 3
