"""Corrections are learned, and decisions erased, while the server goes on to answer others."""

import threading

import pytest

import evenhand as eh
from evenhand.live.fold import corrections
from evenhand.live.fold.corrections import QUIET, CorrectionFold, is_due
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect_to_read
from evenhand.live.stores.sqlite import SqliteStore
from evenhand.live.worker import erasure
from evenhand.live.worker.worker import Worker
from tests.live.fold.test_corrections import POLICY, lived, opened, revised
from tests.live.http.test_http_erasure import SECRET, TOLD
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold
from tests.polling import until

SECOND = 10**6


@pytest.fixture
def beside(monkeypatch):
    """The keys of decisions that others made; the first turns of a fold begin only once there is another one."""
    found, turns, learns = [], [], Worker._learns
    monkeypatch.setattr(corrections, "TURN", 10)

    def learns_beside(self, known):
        turns.append(len(found))
        if len(turns) < 10:
            until(lambda: len(found) > turns[-1])
        return learns(self, known)

    monkeypatch.setattr(Worker, "_learns", learns_beside)
    return found


def kinds(campaign, kind):
    return [event for event in campaign.events() if event.kind == kind]


def erased(campaign, client, key):
    said = client.post("/erase", json={"keys": [key], **TOLD})
    assert (said.status_code, said.json()["erased"]) == (200, 1)


def relearned(campaign, client, key):
    assert campaign.relearn()


@pytest.mark.parametrize(("work", "kind"), [(erased, "erased"), (relearned, "refolded")])
def test_others_decide_while_corrections_are_learned(work, kind, beside, tmp_path):
    campaign = opened(SqliteStore(tmp_path / "log.db"))
    ids = lived(campaign, 150)
    revised(campaign, ids[0])
    over = threading.Event()

    def ask(client):
        while not over.is_set():
            key = f"beside {len(beside)}"
            client.post("/decide", json={"key": key, "case": {"age": 30}}).raise_for_status()
            beside.append(key)

    with serving(app(campaign, token=SECRET)) as client:
        client.headers["Authorization"] = f"Bearer {SECRET}"
        thread = threading.Thread(target=ask, args=(client,))
        thread.start()
        until(lambda: beside)
        work(campaign, client, campaign.store.about("shop", ids[1])[0].key)
        over.set()
        thread.join()
    (event,) = kinds(campaign, kind)
    (correction,) = kinds(campaign, "revised")
    meanwhile = [e for e in kinds(campaign, "decided") if correction.seq < e.seq < event.seq]
    assert len(meanwhile) >= 10
    whole = opened(campaign.store)
    campaign.refresh()
    same_fold(campaign, whole)
    assert eh.live.audit(campaign.store, "shop", [POLICY]).clean


def test_an_erasure_waits_for_corrections_that_came_while_others_were_learned(monkeypatch):
    store = MemoryStore()
    campaign, left = opened(store), [1, 2]
    ids, learn = lived(campaign, 40), Worker.relearn

    def learning(self):
        found = learn(self)
        if left:
            revised(campaign, ids[left.pop()])
        return found

    monkeypatch.setattr(Worker, "relearn", learning)
    revised(campaign, ids[0])
    campaign.erase([store.about("shop", ids[5])[0].key])
    seen = [e.kind for e in campaign.events() if e.kind in ("revised", "refolded", "erased")]
    assert seen == ["revised", "refolded"] * 3 + ["erased"]


@pytest.mark.parametrize("failing", ["first", "every"])
def test_corrections_are_learned_though_transactions_of_other_threads_fail(failing, monkeypatch):
    monkeypatch.setattr(corrections, "TURN", 10)
    store = MemoryStore()
    campaign, fails, learn = opened(store), [], Worker._learns
    ids, most = lived(campaign, 150), {"first": 1, "every": 200}[failing]

    def broken(verbs):
        verbs.decide({"age": 30}, f"broken {len(fails)}", None, None)
        verbs.observe(ids[1], {"answer": 1, "cents": 2}, revise=True)
        raise ZeroDivisionError

    def fail():
        try:
            campaign.many([broken])
        except ZeroDivisionError as error:
            fails.append(error)

    def learns(self, known):
        found = learn(self, known)
        if len(fails) < most:
            thread = threading.Thread(target=fail)
            thread.start()
            thread.join()
        return found

    monkeypatch.setattr(Worker, "_learns", learns)
    revised(campaign, ids[0])
    assert campaign.relearn()
    campaign.refresh()
    assert campaign._worker.fold.reach == 0
    assert len(kinds(campaign, "refolded")) == 1
    assert len(fails) == 1 if failing == "first" else 1 < len(fails) < most
    same_fold(campaign, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_what_was_folded_again_is_of_no_log_that_is_shorter():
    campaign = opened(MemoryStore())
    revised(campaign, lived(campaign, 40)[0])
    worker = campaign._worker
    learning = CorrectionFold(worker.folding, worker.fold)
    learning.turn(worker.fold.seq)
    assert learning.is_of(worker.fold)
    assert not learning.is_of(worker.fold_before(worker.fold.seq))


def test_an_erasure_does_not_wait_forever(monkeypatch):
    store = MemoryStore()
    campaign = opened(store)
    ids, learn, count = lived(campaign, 40), Worker.relearn, []

    def learning(self):
        count.append(1)
        found = learn(self)
        revised(campaign, ids[0], len(count) % 5)
        return found

    monkeypatch.setattr(Worker, "relearn", learning)
    campaign.erase([store.about("shop", ids[5])[0].key])
    assert len(count) == erasure._TIMES
    assert len(kinds(campaign, "erased")) == 1
    same_fold(campaign, opened(store))


@pytest.fixture
def now():
    return [1_900_000_000 * SECOND]


def test_a_silent_server_learns_corrections_that_were_not_due(monkeypatch, now):
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.INTERVAL", 0.01)
    store = MemoryStore(lambda: now[0])
    campaign = opened(store)
    ids = lived(campaign, 100)
    revised(campaign, ids[3])
    looks, refresh = [], campaign.refresh
    monkeypatch.setattr(campaign, "refresh", lambda: [refresh(), looks.append(1)][0])
    with serving(app(campaign)) as client:
        now[0] += QUIET - 1
        until(lambda: len(looks) > 5)
        assert not kinds(campaign, "refolded")
        now[0] += 1
        until(lambda: kinds(campaign, "refolded"))
        assert client.post("/decide", json={"key": "a", "case": {"age": 30}}).status_code == 200
    assert campaign._worker.fold.reach == 0
    same_fold(campaign, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_soon_after_a_mark_a_silent_campaign_counts_time_in_place_of_events(now):
    """From the start to the present are at most 1.5 times as long as from the mark to the present."""
    store = MemoryStore(lambda: now[0])
    campaign, begun = opened(store), now[0]
    ids = lived(campaign, 100)
    now[0] += 1000 * SECOND
    revised(campaign, ids[3])
    assert campaign.relearn()
    revised(campaign, ids[4])
    worker = campaign._worker
    for after, due in ((QUIET, False), (1999 * SECOND, False), (2000 * SECOND, True)):
        now[0] = begun + 1000 * SECOND + after
        assert is_due(worker.folding, worker.fold, now[0]) is due
        assert not is_due(worker.folding, worker.fold)
        assert campaign.refresh() is due
    while campaign.refresh():
        pass
    assert len(kinds(campaign, "refolded")) == 2


def test_a_reader_learns_nothing(monkeypatch, tmp_path):
    """A store that takes no writes is as it is, however silent the campaign."""
    monkeypatch.setattr(corrections, "QUIET", -(10**18))  # for the time of a reader, which is 0
    campaign = opened(SqliteStore(tmp_path / "log.db"))
    revised(campaign, lived(campaign, 30)[3])
    campaign.close()
    store = connect_to_read(f"sqlite:///{tmp_path}/log.db")
    assert not opened(store).refresh()
    assert opened(SqliteStore(tmp_path / "log.db")).refresh()
