"""An audit recomputes every decision from what was known before it, and names the first that differs."""

import json
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live.fold import fold
from evenhand.live.fold.fold import Fold
from evenhand.live.log.events import digest, read, seal_of
from evenhand.live.log.packing import split
from evenhand.live.stores.memory import MemoryStore
from tests.polling import Clock

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(eh.Outcome("answer"), eh.Outcome("cents", high=90.0, mean={"letter": 30.0, "call": 60.0})),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=2400),),
    horizon=200,
)
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=5)
GREEDY = eh.ucb(SHOP, eh.PerAction.of(SHOP, eh.Ridge), warmup=0)


def lived(on_expiry="fallback", rounds=40):
    """A campaign with late, revised, cancelled and expired outcomes, and a switch."""
    clock = Clock(0)
    store = MemoryStore(clock)
    campaign = eh.Campaign.open(store, "shop", POLICY, patience=10, on_expiry=on_expiry)
    waiting = []
    for i in range(rounds):
        clock.now += 1_000_000
        said = campaign.decide({"age": 20 + i, "channel": "web" if i % 3 else "phone"}, key=f"case {i}")
        waiting.append(said.id)
        cost = 0 if said.action == "none" else 1
        if i == rounds // 2:
            campaign.switch(GREEDY)
        if i % 4 == 1:
            campaign.observe(waiting[-1], {"answer": i % 2, "cents": 30 * cost})
            campaign.observe(waiting[-1], {"answer": 0, "cents": 40 * cost}, revise=True)
        elif i % 4 == 2:
            campaign.cancel(waiting[-1])
        elif i % 8 == 3:
            campaign.observe(waiting[-1], {"answer": 1, "cents": None})
    first = campaign.decisions().loc[0]
    campaign.observe(
        waiting[0], {"answer": 1, "cents": 0 if first["action"] == "none" else 10}
    )  # long after it expired
    return campaign, store


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_a_log_is_as_its_policies_decide(on_expiry):
    _, store = lived(on_expiry)
    found = eh.live.audit(store, "shop", [GREEDY, POLICY])
    assert found.clean
    assert found.decisions == 40
    assert found.largest == 0.0
    assert found.versions == ()
    assert "every decision that was recomputed is as it was stored" in str(found)


def test_decisions_of_a_policy_that_is_not_given_are_counted():
    _, store = lived()
    found = eh.live.audit(store, "shop", [GREEDY])
    assert found.unknown == 21
    assert not found.clean
    assert found.differing == 0


def moved(z, by):
    """Nested numbers, all of them moved."""
    return [moved(part, by) for part in z] if isinstance(z, list) else z + by


def changed(store, kind, number, change):
    """The same log with one event that is another, and with hashes that were made anew."""
    events = store._books["shop"].events
    i = [e.seq for e in events if e.kind == kind][number] - 1
    event, (body, own) = events[i], split(change(read(events[i])))
    events[i] = event._replace(body=json.dumps(body))
    if event.seal:
        own = json.dumps(own)
        events[i] = events[i]._replace(own=own, seal=seal_of(event.salt, event.key, own))
    for k in range(i, len(events)):
        events[k] = events[k]._replace(hash=digest(events[k], events[k - 1].hash if k else b""))
    return events[i].seq


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body | {"a": [(body["a"][0] + 1) % 3]},
        lambda body: body | {"p": [0.25]},
        lambda body: body | {"l": [[0, 0.5], [2, 0.5]]},
        lambda body: body | {"w": moved(body["w"], 1e-9)},
        lambda body: body | {"case": body["case"] | {"age": 59}},
    ],
    ids=["action", "probability", "all probabilities", "price", "case"],
)
def test_a_decision_that_was_tampered_with_is_found(change):
    _, store = lived()
    at = changed(store, "decided", 9, change)
    found = eh.live.audit(store, "shop", [GREEDY, POLICY])
    assert found.first >= at  # another case may show in later decisions alone
    assert found.differing >= 1


def test_an_outcome_that_was_tampered_with_changes_what_follows():
    _, store = lived()
    changed(store, "revised", 0, lambda body: {"y": body["y"] | {"answer": 1 - body["y"]["answer"]}})
    assert eh.live.audit(store, "shop", [GREEDY, POLICY]).differing > 1


def test_small_differences_are_tolerated_and_stated():
    _, store = lived()
    changed(store, "decided", 9, lambda body: body | {"w": moved(body["w"], 1e-12)})
    found = eh.live.audit(store, "shop", [GREEDY, POLICY], tolerance=1e-9)
    assert found.clean
    assert 0.0 < found.largest < 1e-11
    assert "the largest difference of a number is" in str(found)


def test_other_versions_are_named():
    _, store = lived()
    changed(store, "opened", 0, lambda body: body | {"versions": body["versions"] | {"numpy": "0.1"}})
    (said,) = eh.live.audit(store, "shop", [GREEDY, POLICY]).versions
    assert said.startswith("numpy was 0.1, is ")


def test_an_unknown_campaign_is_named():
    with pytest.raises(eh.live.Unknown, match=r"no campaign 'spring'; the store has \['shop'\]"):
        eh.live.audit(lived()[1], "spring", [POLICY])


def test_decisions_are_a_data_frame():
    campaign, _ = lived()
    frame = campaign.decisions()
    assert len(frame) == 40
    assert list(frame.columns[:7]) == ["id", "key", "at", "age", "channel", "action", "probability"]
    assert set(frame["state"]) == {"observed", "cancelled", "expired", "waiting"}
    assert frame.loc[0, "outcome answer"] == 1
    revised = frame[(frame["action"] != "none") & frame["key"].isin(["case 1", "case 5", "case 9"])]
    assert (revised["outcome cents"] == 40).all()


def test_decisions_of_an_earlier_policy_are_forced_ones():
    """The model learns from them; that the values did not make them is known to goals that step on decisions."""
    store = MemoryStore()
    campaign = eh.Campaign.open(store, "shop", GREEDY)
    said = campaign.decide({"age": 33, "channel": "web"}, key="1")
    assert campaign._worker.fold.pending.decision(said.id, ()).forced[0] == 0.0
    campaign.switch(POLICY)
    entered = campaign._worker.fold.pending.decision(said.id, ())
    assert entered.forced[0] == 1.0
    assert entered.plays[0, 0] == SHOP.actions.index(said.action)
    assert entered.propensities[0, 0] == said.probability


def test_a_policy_of_other_actions_cannot_take_over():
    campaign, _ = lived(rounds=8)
    other = replace(SHOP, actions=("none", "letter", "fax"), outcomes=(eh.Outcome("answer"),), subject_to=())
    with pytest.raises(InvalidInput, match=r"^policy: problem\.actions: expected"):
        campaign.switch(eh.resolving(other, eh.PerAction.of(other)))


def test_an_audit_folds_a_log_with_revisions_twice_at_most(monkeypatch):
    store, folds = MemoryStore(), []
    campaign = eh.Campaign.open(store, "shop", POLICY)
    ids = [campaign.decide({"age": 30, "channel": "web"}, key=f"{i}").id for i in range(10)]
    for revise in (False, True):
        for i in ids:
            free = campaign.decisions().set_index("id").loc[i, "action"] == "none"
            campaign.observe(i, {"answer": 1, "cents": 0 if free else 10 + revise}, revise=revise)
    campaign.decide({"age": 30, "channel": "web"}, key="last")
    apply = Fold.apply
    monkeypatch.setattr(Fold, "apply", lambda *args: [folds.append(args[1].seq), apply(*args)][1])
    assert eh.live.audit(store, "shop", [POLICY]).clean
    assert len(folds) <= 2.5 * len(list(campaign.events()))


def test_a_decision_that_was_made_again_is_not_decoded(monkeypatch):
    _, store = lived()
    found, unpack = [], fold.unpack
    monkeypatch.setattr(fold, "unpack", lambda body, *rest: [found.append(body["by"]), unpack(body, *rest)][1])
    assert eh.live.audit(store, "shop", [GREEDY, POLICY]).clean
    assert found == []
    changed(store, "decided", -1, lambda body: body | {"w": moved(body["w"], 1e-9)})
    assert eh.live.audit(store, "shop", [GREEDY, POLICY], tolerance=1e-6).clean
    assert found == [GREEDY.fingerprint()]  # it is entered as it is stored
