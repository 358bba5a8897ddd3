"""A switch that folds the log anew holds no lock meanwhile: others decide, and a process that dies leaves no trace."""

import json
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from functools import partial

import pytest

import evenhand as eh
from evenhand.live import Campaign, Conflict
from evenhand.live.fold.corrections import CorrectionFold, SwitchFold
from evenhand.live.fold.fold import Fold
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.live.stores.sqlite import SqliteStore
from tests.live.campaigns.test_files import STATED
from tests.live.campaigns.test_switches_under_load import TOKEN, with_action
from tests.live.fold import test_corrections as corrections
from tests.live.fold.test_corrections import lived, revised
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold
from tests.live.servers import asked
from tests.polling import LONG

SHOP = replace(corrections.SHOP, horizon=20_000, subject_to=(eh.Budget("cents", total=40_000),))
OLD = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
NEW = eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=4)  # which cannot adopt the state of the other one
CASE = {"age": 30}


@pytest.fixture
def meanwhile(monkeypatch):
    """What others do each time that the log was folded."""
    found, go_on = [], SwitchFold.go_on

    def with_others(anew):
        go_on(anew)
        if found:
            found.pop(0)()

    monkeypatch.setattr(SwitchFold, "go_on", with_others)
    return found


def opened(store, policy=OLD):
    return corrections.opened(store, policy)


def switched(campaign):
    return [json.loads(e.body) for e in campaign.events() if e.kind == "switched"]


@pytest.fixture(params=["memory", "PostgreSQL"])
def place(request):
    """A store without snapshots, and a function that forgets those that came."""
    if request.param == "memory":
        store = MemoryStore()
        return store, store._kept.clear
    pytest.importorskip("psycopg")
    url = request.getfixturevalue("url")

    def forget():
        with asked(url) as db:
            db.execute("DELETE FROM evenhand_snapshots")

    return connect(url), forget


def test_what_comes_meanwhile_is_in_the_state(meanwhile, place):
    store, forget = place
    one, two = opened(store), opened(store)
    ids = lived(one, 120)
    revised(one, ids[2], 7)
    waits = two.decide(CASE, key="waits")

    def others():
        lived(two, 20, 200)
        revised(two, ids[5])  # of what was folded already
        two.cancel(waits.id)

    meanwhile.append(others)
    before = [e.seq for e in one.events()][-1]
    one.switch(NEW)
    (said,) = switched(one)
    assert (said["adopts"], said["known"]) == (False, before)
    assert one._worker.fold.reach == ids[5]
    one.decide(CASE, key="after")
    kept = opened(store, NEW)
    same_fold(one, kept)
    forget()
    whole = opened(store, NEW)
    same_fold(one, whole)
    assert one.relearn()
    forget()
    same_fold(one, opened(store, NEW))
    found = eh.live.audit(store, "shop", [OLD, NEW])
    assert found.clean, f"{found}"


def test_corrections_that_others_learn_meanwhile_are_of_the_earlier_policy(meanwhile):
    store = MemoryStore()
    one, two = opened(store), opened(store)
    ids = lived(one, 60)

    def others():
        revised(two, ids[3])
        assert two.relearn()

    meanwhile.append(others)
    one.switch(NEW)
    assert [e.kind for e in one.events()][-2:] == ["refolded", "switched"]
    lived(one, 10, 300)
    assert one._worker.fold.reach == ids[3]
    store._kept.clear()
    same_fold(one, opened(store, NEW))
    assert eh.live.audit(store, "shop", [OLD, NEW]).clean


def test_what_another_worker_began_to_learn_before_it_is_given_up(meanwhile):
    """Though the switch knows the same corrections as the fold from which that began."""
    store = MemoryStore()
    one, two = opened(store), Campaign.open(store, "shop", [NEW, OLD])
    ids = lived(one, 60)
    revised(one, ids[3])

    def others():
        assert two.relearn()
        revised(two, ids[4])
        worker = two._worker
        worker._again = learning = CorrectionFold(worker.folding, worker.fold)
        while not learning.is_near(worker.fold.seq):
            learning.turn(worker.fold.seq)

    meanwhile.append(others)
    one.switch(NEW)
    assert switched(one)[0]["known"] == json.loads(next(store.scan("shop", kinds=("refolded",))).body)["known"]
    lived(two, 5, 300)
    store._kept.clear()
    same_fold(two, opened(store, NEW))
    assert eh.live.audit(store, "shop", [OLD, NEW]).clean


def test_workers_that_read_of_it_fold_no_log(meanwhile, monkeypatch):
    store = MemoryStore()
    one, two = opened(store), Campaign.open(store, "shop", [NEW, OLD])
    lived(one, 200)
    meanwhile.append(lambda: lived(two, 5, 300))
    monkeypatch.setattr(one._worker, "_keep", lambda: None)  # the process ends before it keeps a snapshot
    one.switch(NEW)
    folded, apply = [], Fold.apply
    monkeypatch.setattr(Fold, "apply", lambda *args: [folded.append(args[1].seq), apply(*args)][1])
    two.decide(CASE, key="after")
    assert len(folded) < 20
    one.refresh()
    same_fold(one, two)


def test_a_snapshot_of_a_switch_that_never_came_is_not_used(meanwhile):
    store = MemoryStore()
    one = opened(store)
    lived(one, 200)

    def ends():
        raise KeyboardInterrupt

    meanwhile.append(ends)
    with pytest.raises(KeyboardInterrupt):
        one.switch(NEW)
    assert store.snapshots("shop", NEW.fingerprint())
    assert not switched(one)
    ids = lived(one, 20, 300)
    revised(one, ids[0])
    one.switch(NEW)
    kept = opened(store, NEW)
    same_fold(one, kept)
    store._kept.clear()
    same_fold(one, opened(store, NEW))


def test_who_was_switched_first_and_who_was_erased_are_told(meanwhile):
    store = MemoryStore()
    one, two = (Campaign.open(store, "shop", [NEW, OLD]) for _ in range(2))
    lived(one, 20)
    meanwhile.append(lambda: two.switch(NEW, by="Ada"))
    other = eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=5)
    with pytest.raises(Conflict, match="switched by Ada, not under"):
        one.switch(other)
    assert [z.get("by") for z in switched(one)] == ["Ada"]
    three, four = (Campaign.open(store, "shop", [OLD, NEW]) for _ in range(2))
    meanwhile.append(lambda: four.erase(["1"]))
    three.switch(OLD)
    assert switched(three)[-1]["adopts"] == "books"
    three.decide(CASE, key="still decides")


def long(path):
    """A campaign of 5,000 decisions with their outcomes."""
    campaign = opened(SqliteStore(path), OLD)

    def both(verbs, i):
        said = verbs.decide({"age": 20 + i % 40}, f"{i}")
        return verbs.observe(said.id, {"answer": i % 2 * (said.action != "none"), "cents": 3 * (said.action != "none")})

    for start in range(0, 5000, 500):
        campaign.many([partial(both, i=i) for i in range(start, start + 500)])
    return campaign


@pytest.mark.parametrize("same", [True, False], ids=["of the same worker", "of another worker"])
def test_others_decide_while_5000_decisions_are_folded(tmp_path, same):
    campaign, over, waits = long(tmp_path / "log.db"), threading.Event(), []
    other = campaign if same else Campaign.open(SqliteStore(tmp_path / "log.db"), "shop", [NEW, OLD])

    def beside():
        while not over.is_set():
            begun = time.monotonic()
            other.decide(CASE, key=f"beside {len(waits)}")
            waits.append(time.monotonic() - begun)

    thread = threading.Thread(target=beside)
    thread.start()
    begun = time.monotonic()
    campaign.switch(NEW)
    took = time.monotonic() - begun
    over.set()
    thread.join()
    (at,) = [e.seq for e in campaign.events() if e.kind == "switched"]
    meanwhile = [e for e in campaign.events() if e.seq < at and (e.key or "").startswith("beside")]
    print(f"switched in {took:.2f} s, {len(meanwhile)} decisions meanwhile, the longest {max(waits):.2f} s")
    assert len(meanwhile) > 10
    assert max(waits) < took / 2
    for one in (campaign, other):
        one.refresh()
    same_fold(campaign, other)
    assert eh.live.audit(campaign.store, "shop", [OLD, NEW]).clean


def stop_in_the_middle(path, folding):
    """Switch, and stop for good while the log is folded."""
    campaign, apply = opened(SqliteStore(path), OLD), Fold.apply

    def slow(fold, event, made=None):
        if fold.policy.fingerprint() == NEW.fingerprint() and event.seq == 300:
            folding.set()
            time.sleep(600)
        apply(fold, event, made)

    Fold.apply = slow
    campaign.switch(NEW)


def test_a_process_that_is_killed_meanwhile_holds_nobody_and_leaves_no_trace(tmp_path):
    campaign = opened(SqliteStore(tmp_path / "log.db"), OLD)
    lived(campaign, 200)
    apart = multiprocessing.get_context("spawn")
    folding = apart.Event()
    process = apart.Process(target=stop_in_the_middle, args=(tmp_path / "log.db", folding))
    process.start()
    assert folding.wait(LONG)
    for i in range(5):
        campaign.decide(CASE, key=f"beside {i}")
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    campaign.decide(CASE, key="after")
    assert not switched(campaign)
    assert eh.live.audit(campaign.store, "shop", [OLD]).clean
    campaign.switch(NEW)
    assert eh.live.audit(campaign.store, "shop", [OLD, NEW]).clean


def test_a_server_answers_all_others_while_a_switch_is_asked_for(tmp_path, monkeypatch):
    """The fold ends only once the others were answered."""
    file, answered, go_on = tmp_path / "post.toml", threading.Event(), SwitchFold.go_on
    file.write_text(STATED)
    campaign = eh.live.open_campaign(MemoryStore(), "post", file)
    monkeypatch.setattr(SwitchFold, "go_on", lambda anew: [answered.wait(LONG), go_on(anew)])
    with serving(app(campaign, token=TOKEN)) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        said, problem = [], {"problem": with_action(STATED), "by": "Ada", "why": "one more"}
        asking = threading.Thread(target=lambda: said.append(client.post("/switch", json=problem)))
        asking.start()
        for i in range(3):
            body = {"key": f"{i}", "case": {"age": 30, "town": "north"}}
            assert client.post("/decide", json=body).status_code == 200
            for path in ("/metrics", "/report", "/readyz", "/"):
                assert client.get(path).status_code == 200
        assert not switched(campaign)
        answered.set()
        asking.join()
    assert (said[0].status_code, said[0].json()["adopts"]) == (200, False)
    assert campaign.policy.problem.actions == ("none", "a", "b", "c")
