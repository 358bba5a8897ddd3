"""Seals move old events out of the store of a running campaign; decisions, reports and audits stay as they were."""

import pytest

import evenhand as eh
from evenhand.live import Conflict
from evenhand.live.events import read
from evenhand.live.proof import prove
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect, connect_to_read
from tests.live.schedules import same_fold

SHOP = eh.Problem(
    actions=("none", "letter"),
    features=(eh.Numeric("age", 20, 80),),
    outcomes=(eh.Outcome("visit"), eh.Outcome("cents", known={"letter": 80})),
    maximize="visit",
    subject_to=(eh.Budget("cents", total=4000, hard=True),),
    horizon=200,
)
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)


def decide(campaign, numbers, answered=True):
    for i in numbers:
        said = campaign.decide({"age": 20 + 7 * i % 60}, key=f"{i}")
        if answered:
            campaign.observe(said.id, {"visit": i % 2})


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_ten_events_sealed_at_five(kind, tmp_path, request):
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    store = connect(url)
    campaign = eh.Campaign.open(store, "shop", POLICY)
    decide(campaign, range(4))  # events 2 to 9, an outcome after each decision
    decide(campaign, [4], answered=False)  # event 10
    events, report = list(store.scan("shop")), campaign.report()
    found = campaign.seal(tmp_path, by="ada", why="size", before=6)
    assert str(found) == "events 1 to 5 moved to shop-1-5.segment, 2 decisions"
    assert [(e.seq, e.kind) for e in store.scan("shop")] == [
        (1, "opened"), (6, "decided"), (7, "observed"), (8, "decided"), (9, "observed"), (10, "decided"),
        (11, "sealed")]  # fmt: skip
    segment = connect_to_read(f"sqlite:///{tmp_path}/shop-1-5.segment")
    assert list(segment.scan("shop")) == events[:5]
    body = read(list(store.scan("shop"))[-1])
    assert (body["first"], body["last"], body["hash"]) == (1, 5, events[4].hash.hex())
    assert (body["events"], body["decisions"], body["by"], body["why"]) == (5, 2, "ada", "size")
    assert campaign.report() == report == eh.Campaign.open(store, "shop", POLICY).report()
    assert prove(store, "shop", campaign.head()).faults == ()
    audit = eh.live.audit(store, "shop", [POLICY])
    assert (audit.clean, audit.decisions, audit.sealed) == (True, 3, 2)
    audit = eh.live.audit(store, "shop", [POLICY], segments=tmp_path)
    assert (audit.clean, audit.decisions, audit.sealed, audit.faults) == (True, 5, 0, ())
    assert list(campaign.events(tmp_path))[:10] == events
    with pytest.raises(Conflict, match=r"the log of 'shop' begins in segment shop-1-5.segment"):
        list(campaign.events())
