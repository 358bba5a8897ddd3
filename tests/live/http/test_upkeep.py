"""A server that nobody asks keeps up with the log: it learns corrections, expires decisions, takes up switches."""

import json
import logging
import signal

import pytest
from fastapi import FastAPI

import evenhand as eh
from evenhand.live.fold import corrections
from evenhand.live.http import add_errors, app, router
from evenhand.live.log.events import encode
from evenhand.live.stores.memory import MemoryStore
from tests.live.campaigns.test_files import STATED
from tests.live.fold.test_corrections import POLICY, SHOP, lived, opened, revised
from tests.live.http.test_serve import server
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold
from tests.polling import until
from tests.replay.shop import rows, write

NEW = eh.pgd(SHOP, eh.PerAction.of(SHOP), warmup=4)


@pytest.fixture(autouse=True)
def often(monkeypatch, _nothing_in_between):
    monkeypatch.setattr("evenhand.live.campaigns.upkeep.INTERVAL", 0.05)
    monkeypatch.setattr(corrections, "TURN", 20)


def mine(campaign):
    """An app of one's own."""
    made = FastAPI()
    made.include_router(router(campaign), prefix="/shop")
    add_errors(made)
    return made


@pytest.mark.parametrize("made", [app, mine])
def test_an_idle_server_learns_corrections(made):
    store = MemoryStore()
    campaign = opened(store)
    ids = lived(campaign, 100)
    other = opened(store)
    revised(other, ids[5])
    with other.store.write("shop") as log:  # of a worker that died before it folded anything
        for i in range(60):
            log.append("paused" if i % 2 == 0 else "resumed", '{"by":"Ada","why":"a test"}')
    with serving(made(campaign)):
        until(lambda: list(store.scan("shop", kinds=("refolded",))))
        until(lambda: campaign._worker.fold.marked > 0)
    assert json.loads(next(store.scan("shop", kinds=("refolded",))).body)["from"] == ids[5]
    same_fold(campaign, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_what_is_due_is_learned_however_few_events_came_since_it_was_asked():
    store = MemoryStore()
    campaign = opened(store)
    ids = lived(campaign, 300)
    revised(campaign, ids[0])
    worker = campaign._worker
    while not corrections.is_due(worker.folding, worker.fold):
        assert not campaign.refresh()
        with store.write("shop") as log:
            log.append("clock", encode({"due": 2**50}))
        worker.fold.fold(store.scan("shop", worker.fold.seq))
    assert campaign.refresh()


def test_an_idle_server_goes_on_with_another_policy_and_expires_what_is_overdue():
    now = [0]
    store = MemoryStore(lambda: now[0])
    campaign = opened(store, [NEW, POLICY], patience=5.0)
    said = [campaign.decide({"age": 20 + i}, key=f"{i}") for i in range(4)]
    other = opened(store, [NEW, POLICY])
    with serving(app(campaign)) as client:
        other.switch(NEW)
        until(lambda: campaign.policy is NEW)
        now[0] += 10**7
        until(lambda: len(list(store.scan("shop", kinds=("expired",)))) == len(said))
        assert client.get("/readyz").status_code == 200


def test_what_fails_is_in_the_log_once_and_tried_again(caplog):
    caplog.set_level(logging.WARNING, "evenhand.live.http")
    store, struck, tries = MemoryStore(), [True], []
    campaign = opened(store)
    write_ = store.write

    def write(name):
        if struck[0]:
            tries.append(name)
            raise eh.live.Busy("struck")
        return write_(name)

    store.write = write
    with serving(app(campaign)):
        until(lambda: len(tries) > 5)
        assert caplog.messages == ["campaign 'shop' is not up to date: Busy: struck"]
        struck[0] = False
        opened(store).decide({"age": 30}, key="of another worker")
        until(lambda: campaign._worker.fold.seq == 2)


@pytest.mark.slow
def test_a_server_that_keeps_up_ends_at_sigterm(tmp_path):
    """The server of the command line, in a process of its own, at its own pace."""
    _, file = write(tmp_path, rows(300), STATED)
    store = f"sqlite:///{tmp_path}/post.db"
    with server(file, "--store", store, "--new", "--patience", "1", stop=signal.SIGTERM):
        other = eh.live.open_campaign(store, "problem", file)
        other.decide({"age": 33, "town": "north"}, key="a")
        until(lambda: list(other.store.scan("problem", kinds=("expired",))))
        other.close()
    assert not (tmp_path / "post.db-wal").exists()
