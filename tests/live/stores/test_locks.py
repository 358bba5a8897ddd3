"""A store that others hold: whoever waited meanwhile is told so at once, and little is folded again."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import evenhand as eh
from evenhand.live import Busy
from evenhand.live.http import app
from evenhand.live.http.commits import Commits
from evenhand.live.stores._sqlite_sessions import Turns
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.transactions import Exclusive
from evenhand.live.worker.worker import Worker
from tests.live.fold.test_corrections import POLICY, lived, opened
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold
from tests.polling import LONG, Clock, until


class Held(MemoryStore):
    """A store that is busy while `flag` is set: each try fails once it is let go."""

    def __init__(self):
        super().__init__()
        self.flag, self.tries, self._let_go = threading.Event(), 0, threading.Semaphore(0)

    @contextmanager
    def write(self, campaign):
        if self.flag.is_set():
            self.tries += 1
            assert self._let_go.acquire(timeout=LONG)
            raise Busy("held")
        with super().write(campaign) as log:
            yield log

    def tried(self, times):
        """Wait until it was tried so many times."""
        until(lambda: self.tries == times)

    def fail(self):
        """Let one try go."""
        self._let_go.release()


@pytest.fixture
def held():
    return Held()


@pytest.fixture
def clocks(monkeypatch):
    """The clocks by which it is known who has waited for long."""
    found = {name: Clock() for name in ("worker.transactions", "http.commits")}
    for name, clock in found.items():
        monkeypatch.setattr(f"evenhand.live.{name}.monotonic", clock)
    return found


def passes(clocks, seconds):
    for clock in clocks.values():
        clock.now += seconds


def told(*calls):
    return [str(call.exception(LONG)) for call in calls]


def test_jobs_that_waited_are_told_with_the_one_that_failed(held, clocks):
    commits = Commits(opened(held))
    held.flag.set()

    def ask(number):
        return commits.submit([lambda verbs: {}], number)

    first = ask(0)
    held.tried(1)
    passes(clocks, 0.05)
    second = ask(1)
    passes(clocks, 0.35)
    third = ask(2)
    passes(clocks, 0.1)
    held.fail()
    assert told(first, second) == ["held", "held"]
    held.tried(2)
    assert not third.done()
    held.fail()
    assert told(third) == ["held"]
    held.flag.clear()
    assert commits.submit([lambda verbs: {"last": verbs.log.last}]).result() == [{"last": 1}]
    assert held.tries == 2
    commits.close()


def test_a_client_whose_jobs_were_told_is_not_behind_others(held, clocks):
    commits, order = Commits(opened(held)), []
    held.flag.set()

    def job(name, count=1):
        return commits.submit([lambda verbs: order.append(name) or {}] * count, name)

    first = job("other")
    held.tried(1)
    rest = [job("told", 150) for _ in range(5)]
    passes(clocks, 0.5)
    held.fail()
    assert told(first, *rest) == ["held"] * 6
    held.flag.clear()
    gate, begun = threading.Event(), threading.Event()
    first = commits.submit([lambda verbs: begun.set() or gate.wait(LONG) or {}])
    assert begun.wait(LONG)
    then = [job("told"), *(job("another", 150) for _ in range(2))]
    gate.set()
    for each in (first, *then):
        each.result()
    assert order[0] == "told"
    commits.close()


def test_calls_of_threads_that_waited_are_told_with_the_one_that_failed(held, clocks):
    campaign = opened(held)
    wait = campaign._worker._shared._waiting
    held.flag.set()
    with ThreadPoolExecutor(4) as threads:

        def decide(number):
            return threads.submit(campaign.decide, {"age": 30}, key=f"{number}")

        team = [decide(0)]
        held.tried(1)
        passes(clocks, 0.05)
        team += [decide(1), decide(2)]
        until(lambda: len(wait) == 2)
        passes(clocks, 0.35)
        team.append(decide(3))
        until(lambda: len(wait) == 3)
        passes(clocks, 0.1)
        held.fail()
        assert told(*team[:3]) == ["held"] * 3
        held.tried(2)
        assert not team[3].done()
        held.fail()
        assert told(team[3]) == ["held"]
    held.flag.clear()
    assert campaign.decide({"age": 30}, key="then").key == "then"
    assert held.tries == 2


def test_what_others_were_told_counts_no_more_once_a_transaction_begins(held):
    campaign = opened(held)
    lock = campaign._worker._lock

    def asked_long_ago():
        lock._asked = 0.0
        lock.pass_on()

    held.flag.set()
    held.fail()
    with pytest.raises(Busy, match="held"):
        campaign.refresh()
    with pytest.raises(Busy, match="held"):
        asked_long_ago()
    held.flag.clear()
    campaign.refresh()
    asked_long_ago()


def test_threads_that_waited_are_told_what_the_one_before_was_told(held, clocks):
    campaign = opened(held)
    held.flag.set()
    del clocks["worker.transactions"].readers[:]
    with ThreadPoolExecutor(5) as threads:
        team = [threads.submit(campaign.status)]
        held.tried(1)
        passes(clocks, 0.05)
        team += [threads.submit(campaign.refresh) for _ in range(4)]
        until(lambda: len(set(clocks["worker.transactions"].readers)) == 5)
        passes(clocks, 0.45)
        held.fail()
        assert told(*team) == ["held"] * 5
    held.flag.clear()
    campaign.refresh()
    assert held.tries == 1


class Full(MemoryStore):
    """A store that takes no commits while it is full."""

    full = False

    @contextmanager
    def write(self, campaign):
        with super().write(campaign) as log:
            yield log
            if self.full:
                raise Busy("full")


class Sleepy:
    """A lock whose waiting threads wake up late."""

    def __init__(self):
        self.inner = threading.Lock()

    def acquire(self):
        while not self.inner.acquire(blocking=False):
            time.sleep(0.02)
        return True

    def release(self):
        self.inner.release()

    def locked(self):
        return self.inner.locked()


def test_whoever_waits_for_a_worker_is_next():
    """A thread that asks again and again lets another one in between, however late that one wakes up."""
    lock, turns = Exclusive("one"), []
    lock._lock = Sleepy()

    def again():
        for i in range(40):
            with lock.hold():
                turns.append("again")
                if i == 9:
                    until(lock._gate.locked)  # the other one waits

    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(again)
        until(lambda: len(turns) == 10)
        with lock.hold():
            assert len(turns) == 10
        asking.result()
    assert len(turns) == 40


def test_a_lock_is_free_after_an_error_and_after_one_while_its_holder_was_noted(monkeypatch):
    lock = Exclusive("one")
    with pytest.raises(ZeroDivisionError), lock.hold():
        raise ZeroDivisionError
    assert not lock._lock.locked()
    with monkeypatch.context() as patch:
        patch.setattr(threading, "get_ident", lambda: 1 / 0)  # as Ctrl-C would come there
        with pytest.raises(ZeroDivisionError), lock.hold():
            raise AssertionError
    assert not lock._lock.locked()
    assert not lock._gate.locked()
    with lock.hold():
        pass


def test_a_transaction_that_fails_costs_a_copy_and_few_events(folded, monkeypatch):
    monkeypatch.setattr(Worker, "near", 30)
    store = Full()
    campaign = opened(store)
    lived(campaign, 40)
    last = campaign.head().seq
    store.full = True
    del folded[:]
    for i in range(3):
        with pytest.raises(Busy, match="full"):
            campaign.decide({"age": 30}, key=f"full {i}")
    store.full = False
    assert campaign.decide({"age": 30}, key="room").id == last + 1
    assert 0 < sum(seq <= last for seq in folded) < 30  # of the first fold; the others begin with a copy of that
    assert sum(seq > last for seq in folded) == 4
    same_fold(campaign, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_a_copy_of_a_log_that_was_erased_from_is_not_used(folded):
    """By another worker; a log that was put in the place of this one is refused, see test_restores.py."""
    store = MemoryStore()
    campaign = opened(store)
    ids = lived(campaign, 20)
    worker = campaign._worker
    worker._copy(0)
    opened(store).erase([store.about("shop", ids[3])[0].key])
    worker._stale = True
    del folded[:]
    campaign.refresh()
    assert folded[:1] != [worker._spare.fold.seq + 1]
    same_fold(campaign, opened(store))


def test_clients_that_waited_are_told_that_a_file_is_held_once_one_was(tmp_path, clocks, monkeypatch):
    """Only the first of them waits for its turn to write; the others would wait as long after it, one by one."""
    campaign, other = opened(SqliteStore(tmp_path / "log.db")), SqliteStore(tmp_path / "log.db")
    waits, over = [], threading.Event()

    def wait(turns, timeout):
        waits.append(timeout)
        assert over.wait(LONG)
        raise TimeoutError("another worker holds the lock")

    with serving(app(campaign)) as client, ThreadPoolExecutor(7) as threads:
        with other.write("shop"), monkeypatch.context() as patch:
            patch.setattr(Turns, "_wait", wait)
            for clock in clocks.values():
                del clock.readers[:]
            said = [threads.submit(client.post, "/decide", json={"key": "0", "case": {"age": 30}})]
            until(lambda: waits)
            for i in range(1, 6):
                said.append(threads.submit(client.post, "/decide", json={"key": f"{i}", "case": {"age": 30}}))
            said.append(threads.submit(client.get, "/report"))
            until(lambda: len(clocks["http.commits"].readers) == 6 and len(clocks["worker.transactions"].readers) == 2)
            passes(clocks, 0.5)
            over.set()
            assert [each.result().status_code for each in said] == [503] * 7
        assert waits == [1.5]
        assert client.post("/decide", json={"key": "free", "case": {"age": 30}}).status_code == 200
