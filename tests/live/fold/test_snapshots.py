"""Snapshots: kept by themselves, few of them, and never a reason for another state."""

from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.worker import Worker
from tests.live.http_campaign import CASE, SHOP
from tests.live.schedules import same_fold

POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(Worker, "every", 10)


def opened(store, **terms):
    return eh.Campaign.open(store, "shop", POLICY, **terms)


def lived(campaign, count, first=0):
    for i in range(first, first + count):
        said = campaign.decide(CASE | {"age": 20 + i % 40}, key=f"{i}")
        campaign.observe(said.id, {"answer": i % 2})
    return said.id


def test_a_long_log_is_opened_from_a_snapshot(often, folded):
    store = MemoryStore()
    campaign = opened(store)
    lived(campaign, 200)
    numbers = store.snapshots("shop", POLICY.fingerprint())
    assert 8 <= len(numbers) <= 16
    assert numbers[-1] > 385
    assert numbers[0] < 150  # some old ones remain, so that old decisions are explained soon
    del folded[:]
    again = opened(store)
    assert len(folded) < 16
    store._kept.clear()
    whole = opened(store)
    for one in (campaign, again):
        same_fold(one, whole)


def test_workers_share_snapshots(often):
    store = MemoryStore()
    one, two = opened(store), opened(store)
    for i in range(40):
        lived((one, two)[i % 2], 1, i)
    numbers = store.snapshots("shop", POLICY.fingerprint())
    assert len(numbers) <= 8 + 1
    same_fold(opened(store), (two.refresh(), two)[1])


def test_what_changes_the_past_is_folded_from_a_snapshot_before_it(often, folded):
    store = MemoryStore()
    campaign = opened(store)
    last = lived(campaign, 200)
    del folded[:]
    campaign.observe(last - 10, {"answer": (last - 10) // 2 % 2}, revise=True)
    assert len(folded) == 1
    assert campaign.relearn()
    assert len(folded) < 60
    later = [number for number in folded if number > last - 10]
    assert len(later) >= 10
    whole = store._kept.copy()
    store._kept.clear()
    same_fold(campaign, opened(store))
    store._kept.update(whole)
    same_fold(campaign, opened(store))  # snapshots from before the change are of no use, and are not used
    assert not campaign.relearn()


def test_an_old_decision_is_explained_from_a_snapshot_before_it(often, folded):
    store = MemoryStore()
    campaign = opened(store)
    last = lived(campaign, 100)
    del folded[:]
    said = campaign.explain(last - 20)
    assert len(folded) < 40
    store._kept.clear()
    assert campaign.explain(last - 20) == said


def test_a_store_that_keeps_no_snapshot_is_no_reason_to_fail(often, monkeypatch):
    store = MemoryStore()
    campaign = opened(store)
    monkeypatch.setattr(store, "keep", _busy)
    lived(campaign, 40)
    assert campaign.status().rounds == 40
    with pytest.raises(eh.live.Busy):
        campaign.snapshot()


def _busy(*_, **__):
    raise eh.live.Busy("full")


def test_waiting_decisions_come_back_from_a_snapshot(folded):
    store = MemoryStore()
    campaign = opened(store)
    lived(campaign, 5)
    waiting = [campaign.decide(CASE | {"age": 30 + i}, key=f"waits {i}").id for i in range(7)]
    campaign.snapshot()
    del folded[:]
    again = opened(store)
    assert folded == []
    same_fold(campaign, again)
    for number in waiting:
        assert again.observe(number, {"answer": 1})
    store._kept.clear()
    same_fold(again, opened(store))


def test_the_times_at_which_outcomes_are_due_are_forgotten_with_them():
    shop = replace(SHOP, horizon=5000, subject_to=())
    campaign = eh.Campaign.open(MemoryStore(), "shop", eh.resolving(shop, eh.PerAction.of(shop)))
    first = campaign.decide(CASE, key="waits").id
    campaign.many([lambda verbs, i=i: _both(verbs, i) for i in range(2500)])
    fold = campaign._worker.fold
    assert len(fold.pending._due) < 1100
    assert list(fold.pending) == [first]
    assert fold.pending.overdue(fold.pending.due(first)) == first


def _both(verbs, number):
    said = verbs.decide(CASE, f"{number}", None, None)
    return verbs.observe(said.id, {"answer": 0}, revise=False)
