"""Corrections: budgets at once, prices and the model at a mark of the log, which all workers and audits agree on."""

import json
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.live.fold import corrections
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.worker import Worker
from tests.live.schedules import same_fold
from tests.states import alike

SHOP = eh.Problem(
    actions=("none", "letter", "call"),
    features=(eh.Numeric("age", 20, 60),),
    outcomes=(eh.Outcome("answer", free=("none",)), eh.Outcome("cents", high=9.0, free=("none",), fallback=2.0)),
    maximize="answer",
    subject_to=(eh.Budget("cents", total=4000),),
    horizon=2000,
)
POLICY = eh.resolving(SHOP, eh.PerAction.of(SHOP), warmup=4)
SPANS = replace(SHOP, subject_to=(eh.Budget("cents", total=90, per=20),))
BY_SPANS = eh.resolving(SPANS, eh.PerAction.of(SPANS), warmup=4)


@pytest.fixture
def slow(monkeypatch):
    """Little is folded in a turn, and snapshots are frequent."""
    monkeypatch.setattr(corrections, "TURN", 20)
    monkeypatch.setattr(Worker, "every", 60)


def opened(store, policy=POLICY, **terms):
    return eh.Campaign.open(store, "shop", policy, **terms)


def lived(campaign, count, first=0):
    """Decisions with their outcomes; returns those that played something."""
    found = []
    for i in range(first, first + count):
        said = campaign.decide({"age": 20 + i % 40}, key=f"{i}")
        if said.action is None:
            continue
        cost = said.action != "none"
        campaign.observe(said.id, {"answer": i % 2 * cost, "cents": (3 + i % 5) * cost})
        if cost:
            found.append(said.id)
    return found


@pytest.mark.parametrize("mark", [False, True])
def test_an_outcome_that_is_taken_back_and_given_again_is_learned_once(mark):
    ridge, answers, models = eh.BayesianRidge(n_features=3 * SHOP.n_features), (1, None, 1, None, 1), []
    policy = eh.resolving(SHOP, eh.Stacked((ridge, ridge)), warmup=4)
    for given in (answers[:1], answers):
        campaign = opened(store := MemoryStore(), policy, on_expiry="hold")
        said = next(z for i in range(9) if (z := campaign.decide({"age": 30}, key=f"{i}")).action != "none")
        for i, answer in enumerate(given):
            campaign.observe(said.id, {"answer": answer, "cents": 3}, revise=True)
            if mark and i == 1:
                assert campaign.relearn()  # after which the model has not learned the answer
        models.append(campaign._worker.fold.state.model)
        store._kept.clear()
        same_fold(campaign, opened(store, policy, on_expiry="hold"))
    alike(*models)


def revised(campaign, number, cents=1):
    return campaign.observe(number, {"answer": 1, "cents": cents}, revise=True)


def spent(campaign):
    return campaign.status().accounts["cents"].spent


def as_said_last(store):
    """A store whose log has the last outcomes in place of the first ones."""
    other, moved = MemoryStore(), {}
    events = store._books["shop"].events
    final = {e.ref: e.body for e in events if e.kind in ("observed", "revised")}
    with other.write("shop") as log:
        for event in events:
            if event.kind in ("opened", "decided", "observed"):
                ref = None if event.ref is None else moved[event.ref]
                body = final[event.ref] if event.kind == "observed" else event.body
                moved[event.seq] = log.append(event.kind, body, ref=ref, key=event.key, own=event.own).seq
    return other


def test_budgets_are_right_at_once_and_the_rest_when_it_is_learned(folded):
    store = MemoryStore()
    campaign = opened(store)
    ids = lived(campaign, 60)
    before, told = spent(campaign), json.loads(store.about("shop", ids[3])[1].body)["y"]["cents"]
    del folded[:]
    revised(campaign, ids[3], 9)
    assert len(folded) == 1
    assert spent(campaign) == before - told + 9
    assert campaign._worker.fold.reach == ids[3]
    assert campaign.relearn()
    assert [e.kind for e in campaign.events()][-1] == "refolded"
    whole = opened(as_said_last(store))
    alike(campaign._worker.fold.state, whole._worker.fold.state)
    assert not campaign.relearn()


def test_a_storm_is_learned_a_little_at_every_request(slow, folded):
    store = MemoryStore()
    one, two = opened(store), opened(store)
    ids = lived(one, 200)
    two.refresh()
    most = 0
    for i, number in enumerate(ids[:50]):
        for call in (lambda number=number: revised(one, number), lambda i=i: two.decide({"age": 30}, key=f"{i} more")):
            del folded[:]
            call()
            most = max(most, len(folded))
    lived(one, 40, 1000)
    two.refresh()
    marks = [e for e in one.events() if e.kind == "refolded"]
    assert len(marks) == 1
    assert json.loads(marks[0].body)["from"] == ids[0]
    assert most <= 3 * corrections.TURN + 10  # what is left at the mark, and a turn
    one.refresh()
    kept = opened(store)
    store._kept.clear()
    for worker in (one, two, kept):
        same_fold(worker, opened(store))
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_requests_of_many_events_catch_up_as_well(slow):
    store = MemoryStore()
    one = opened(store)
    ids = lived(one, 200)
    revised(one, ids[0])
    for start in range(1000, 1800, 40):
        one.many([lambda verbs, i=i: verbs.decide({"age": 30}, f"{i}") for i in range(start, start + 40)])
    assert [e.kind for e in one.events()].count("refolded") == 1


def test_a_snapshot_of_what_no_mark_confirms_is_not_used(slow):
    store = MemoryStore()
    one = opened(store)
    ids = lived(one, 100)
    revised(one, ids[0])
    worker = one._worker
    learning = corrections.CorrectionFold(worker.folding, worker.fold)
    while not learning.is_near(worker.fold.seq):
        learning.turn(worker.fold.seq)
    store._kept.clear()
    worker.folding.keep(learning.fold, ahead=True)
    same_fold(one, opened(store))


def test_what_fails_while_it_is_learned_is_tried_again(slow, monkeypatch):
    store = MemoryStore()
    one = opened(store)
    ids = lived(one, 100)
    scan = store.scan

    def busy(*_, **__):
        raise eh.live.Busy("struck")

    revised(one, ids[0])
    monkeypatch.setattr(store, "scan", busy)
    for i in range(40):
        one.decide({"age": 30}, key=f"{i} meanwhile")
    monkeypatch.setattr(store, "scan", scan)
    lived(one, 40, 1000)
    assert [e.kind for e in one.events()].count("refolded") == 1
    same_fold(one, opened(store))


@pytest.mark.parametrize("on_expiry", ["fallback", "release"])
def test_an_outcome_after_an_expiry_is_charged_to_its_span(on_expiry):
    clock = [0]
    store = MemoryStore(lambda: clock[0])
    campaign = opened(store, BY_SPANS, patience=5, on_expiry=on_expiry)
    ids = [campaign.decide({"age": 20 + i}, key=f"{i}") for i in range(12)]
    clock[0] += 10**7
    lived(campaign, 30, 100)
    late = next(said.id for said in ids if said.action not in (None, "none"))
    campaign.observe(late, {"answer": 1, "cents": 7})
    at_once = campaign.status()
    assert campaign._worker.fold.reach == late
    assert campaign.relearn()
    learned = campaign.status()
    assert at_once.accounts["cents"].spans == learned.accounts["cents"].spans
    assert at_once.averages == pytest.approx(learned.averages)
    assert eh.live.audit(store, "shop", [BY_SPANS]).clean
    same_fold(campaign, opened(store, BY_SPANS, patience=5))


def test_folds_of_corrections_cost_no_more_than_one_and_a_half_of_the_log(slow):
    store = MemoryStore()
    campaign, ids = opened(store), []
    for i in range(0, 400, 10):
        ids += lived(campaign, 10, i)
        revised(campaign, ids[i % 7], i % 4)
    events = list(campaign.events())
    marks = [e for e in events if e.kind == "refolded"]
    assert 3 <= len(marks) <= 12
    assert sum(e.seq - json.loads(e.body)["from"] for e in marks) <= 1.5 * len(events)
    assert eh.live.audit(store, "shop", [POLICY]).clean


def test_an_audit_finds_an_outcome_that_was_changed_before_a_mark():
    store = MemoryStore()
    campaign = opened(store)
    ids = lived(campaign, 60)
    revised(campaign, ids[3])
    campaign.relearn()
    lived(campaign, 20, 100)
    events = store._books["shop"].events
    (at,) = (i for i, e in enumerate(events) if e.kind == "revised")
    events[at] = events[at]._replace(body='{"y":{"answer":0,"cents":9}}')
    assert not eh.live.audit(store, "shop", [POLICY]).clean
