"""Threads that call one campaign share its transactions, and nothing else."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import evenhand as eh
from evenhand.core.errors import ConcurrentUse, InvalidInput
from evenhand.live import Busy, Campaign
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker.transactions import GroupCommit
from tests.live.http_campaign import CASE, SHOP, events, opened
from tests.polling import LONG, until

THREADS = 8


class Gate:
    """Makes calls; the first transaction ends only when it is told to, so that others wait for the next one."""

    def __init__(self, fails=()):
        self.open, self.begun = threading.Event(), threading.Event()
        self.runs, self.fails = [], list(fails)

    def __call__(self, verbs):
        self.runs.append(list(verbs))
        self.begun.set()
        assert self.open.wait(LONG)
        if self.fails and (error := self.fails.pop(0)) is not None:
            raise error
        return [self.one(verb) for verb in verbs]

    def one(self, verb):
        if verb == "refused":
            return InvalidInput("case", "a case", "none")
        if verb == "broken":
            raise RuntimeError("broken")
        return verb.upper()


def waiting(sharing, count):
    """Wait until so many calls wait."""
    until(lambda: len(sharing._waiting) >= count)


@contextmanager
def called(gate, *verbs):
    """The results of calls of as many threads: the first is made alone, and the others wait for its end."""
    sharing = GroupCommit(gate)
    with ThreadPoolExecutor(len(verbs)) as threads:
        found = []
        for i, verb in enumerate(verbs):
            found.append(threads.submit(sharing.one, verb))
            assert gate.begun.wait(LONG)
            waiting(sharing, i)
        gate.open.set()
        yield found
    assert not sharing._waiting
    assert sharing._leads is None
    assert sharing.one("then") == "THEN"


def test_calls_that_wait_are_made_in_one_transaction_in_their_order():
    gate = Gate()
    with called(gate, "a", "b", "c", "d") as found:
        assert [z.result(LONG) for z in found] == ["A", "B", "C", "D"]
        assert gate.runs == [["a"], ["b", "c", "d"]]


def test_each_call_has_its_own_error():
    with called(Gate(), "a", "b", "refused", "d") as found:
        assert [found[i].result(LONG) for i in (0, 1, 3)] == ["A", "B", "D"]
        assert isinstance(found[2].exception(LONG), InvalidInput)


def test_a_call_that_breaks_a_transaction_breaks_no_other_call():
    gate = Gate()
    with called(gate, "a", "b", "broken", "d") as found:
        assert [found[i].result(LONG) for i in (0, 1, 3)] == ["A", "B", "D"]
        assert isinstance(found[2].exception(LONG), RuntimeError)
        assert gate.runs == [["a"], ["b", "broken", "d"], ["b"], ["broken"], ["d"]]


def test_a_store_that_is_busy_is_asked_once_for_all():
    gate = Gate(fails=[None, Busy("locked")])
    with called(gate, "a", "b", "c") as found:
        assert found[0].result(LONG) == "A"
        assert [type(z.exception(LONG)) for z in found[1:]] == [Busy, Busy]
        assert gate.runs == [["a"], ["b", "c"]]


def test_a_transaction_has_no_more_than_200_calls():
    gate = Gate()
    sharing = GroupCommit(gate)
    with ThreadPoolExecutor(302) as threads:
        first = threads.submit(sharing.one, "first")
        assert gate.begun.wait(LONG)
        found = [threads.submit(sharing.one, str(i)) for i in range(301)]
        waiting(sharing, 301)
        gate.open.set()
        assert first.result(LONG) == "FIRST"
        assert sorted(z.result(LONG) for z in found) == sorted(map(str, range(301)))
    assert [len(run) for run in gate.runs] == [1, 200, 101]


def test_who_is_interrupted_while_others_wait_for_it_leaves_them_their_calls():
    gate = Gate(fails=[None, KeyboardInterrupt()])
    with called(gate, "a", "b", "c", "d") as found:
        assert found[0].result(LONG) == "A"
        ends = [z.exception(LONG) for z in found[1:]]
        assert sorted(type(z).__name__ for z in ends) == ["KeyboardInterrupt", "NoneType", "NoneType"]
        left = [verb for verb, end in zip("bcd", ends, strict=True) if end is None]
        assert gate.runs == [["a"], ["b", "c", "d"], left]


def test_who_is_interrupted_while_it_waits_takes_its_call_back():
    gate = Gate()
    sharing = GroupCommit(gate)

    class Interrupted(threading.Condition):
        def wait(self, timeout=None):
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(sharing.one, "a")
        assert gate.begun.wait(LONG)
        sharing._changed = Interrupted(sharing._changed._lock)
        with pytest.raises(KeyboardInterrupt):
            sharing.one("b")
        gate.open.set()
        assert first.result(LONG) == "A"
    assert gate.runs == [["a"]]
    assert sharing.one("c") == "C"


class Slow(SqliteStore):
    """A store in a file that counts its transactions, each of which takes a while."""

    def __init__(self, path):
        super().__init__(path)
        self.count = 0

    @contextmanager
    def write(self, campaign):
        with super().write(campaign) as log:
            self.count += 1
            yield log
            time.sleep(0.002)


def test_many_threads_need_few_transactions_and_keep_every_budget(tmp_path):
    store, policy = Slow(tmp_path / "log.db"), eh.resolving(SHOP, eh.PerAction.of(SHOP))
    campaign = Campaign.open(store, "shop", policy)

    def ask(thread):
        found = []
        for i in range(25):
            said = campaign.decide(CASE, f"{thread} {i}")
            found.append((said.id, said.key, campaign.observe(said.id, {"answer": i % 2})))
        return found

    store.count = 0
    with ThreadPoolExecutor(THREADS) as threads:
        found = [z for each in threads.map(ask, range(THREADS)) for z in each]
    assert store.count < 2 * 25 * THREADS / 2
    assert all(new for *_, new in found)
    assert sorted(key for _, key, _ in found) == sorted(f"{t} {i}" for t in range(THREADS) for i in range(25))
    assert {number: key for number, key, _ in found} == {event.seq: event.key for event in events(campaign)}
    assert campaign.status().accounts["cents"].spent <= 8000
    assert eh.live.audit(store, "shop", [policy]).clean


def test_a_case_that_breaks_an_encoder_leaves_the_decisions_of_other_threads(tmp_path):
    campaign = opened(tmp_path)

    class Broken(dict):
        def items(self):
            raise RuntimeError("broken")

    def ask(i):
        try:
            return campaign.decide(Broken(CASE) if i % 4 == 0 else CASE, f"key {i}").key
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(THREADS) as threads:
        said = list(threads.map(ask, range(32)))
    assert said == ["broken" if i % 4 == 0 else f"key {i}" for i in range(32)]
    assert len(events(campaign)) == 24
    assert campaign.status().rounds == 24


def test_a_call_within_many_is_refused_while_another_thread_waits():
    campaign = Campaign.open(MemoryStore(), "shop", eh.resolving(SHOP, eh.PerAction.of(SHOP)))
    with ThreadPoolExecutor(1) as threads:
        other = []

        def within(verbs):
            other.append(threads.submit(campaign.decide, CASE, "other"))
            waiting_ = campaign._worker._shared
            until(lambda: waiting_._leads is not None)
            campaign.decide(CASE, "own")

        (said,) = campaign.many([within])
        assert isinstance(said, ConcurrentUse)
        assert other[0].result(LONG).key == "other"
    assert [event.key for event in events(campaign)] == ["other"]


def test_calls_that_wait_when_a_process_is_forked_are_not_made_in_the_child(tmp_path):
    campaign = opened(tmp_path)
    worker = campaign._worker
    worker._shared._waiting.append("a call of a thread that is not here")
    worker._shared._leads = "it as well"
    worker._process = -1  # as after a fork
    assert campaign.decide(CASE, "own").id == 2
    assert [event.key for event in events(campaign)] == ["own"]
