"""Decisions that are made together, at the state before them, with rounds and budgets in turn."""

import random
from contextlib import suppress
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live import Campaign, Conflict, Paused
from evenhand.live.http import app
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.worker.batches import Deciding
from evenhand.policy import batch
from evenhand.policy.batch import compile_ahead, decide_all, freeze, most
from tests.live.fold.test_runs import START, fair, shop
from tests.live.http_campaign import asked, opened, serving
from tests.live.schedules import marked, plain, same_fold
from tests.rows import for_each
from tests.states import same_bits

SHOPS = {"shop": shop, "plain": lambda: plain("large", 60.0, 400)}


def cases(policy, seed, count):
    luck = random.Random(seed)
    for _ in range(count):
        case = {"age": luck.uniform(10.0, 70.0)}
        case |= {"way": luck.choice(("web", "phone", "fax"))} if len(policy.problem.features) > 1 else {}
        yield case | ({"town": luck.choice(("north", "south"))} if policy.problem.groups else {})


def contexts(policy, seed, count):
    each = [policy.encode(case) for case in cases(policy, seed, count)]
    return eh.Context(*(np.concatenate(z) for z in zip(*(c[:4] for c in each), strict=True)))


def played(policy, seed, rounds):
    """A state after some rounds, of which every third waits for its outcome."""
    state, luck = policy.start(seed=seed), np.random.default_rng(seed)
    for i, case in enumerate(cases(policy, seed, rounds)):
        decision = policy.act(state, policy.encode(case))
        if i % 3 and decision.counted[0]:
            y = luck.random((1, policy.choice.n_plays, len(policy.problem.observed)))
            y *= ~policy.problem.free[decision.plays, : y.shape[2]]
            policy.learn(state, decision, y)
    return state


def at_one_state(policy, state, some):
    """Decide cases in a plain loop: of what a decision does to a copy, the round, groups and budgets are kept."""
    saved, real, limits = deepcopy(state), deepcopy(state), policy._assembly.can.limits
    for j in range(len(some.features)):
        context = eh.Context(*(z[j : j + 1] for z in some[:4]))
        decision = policy.decide(saved, context)
        yield decision, saved.recent.chances
        policy.enter(real, context, deepcopy(decision))
        saved = deepcopy(state)
        saved.t, saved.seen = real.t.copy(), real.seen.copy()
        for i, _ in limits:
            saved.goals[i] = deepcopy(real.goals[i])


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("shop", True),
        ("shop", False),
        ("plain", False),
        pytest.param("plain", True, marks=pytest.mark.slow),
        pytest.param("fair", True, marks=pytest.mark.slow),
        pytest.param("fair", False, marks=pytest.mark.slow),
    ],
)
def test_decisions_are_those_of_a_plain_loop(name, kernels, monkeypatch):
    policy = {**SHOPS, "fair": fair}[name]()
    assert not kernels or compile_ahead(policy)
    if not kernels:
        monkeypatch.setattr(batch.BatchDecider, "pays", lambda *_: False)
    ran, run = [], batch.BatchDecider.run
    monkeypatch.setattr(batch.BatchDecider, "run", lambda *told: ran.append(run(*told)) or ran[-1])
    state, some = played(policy, 3, 120), contexts(policy, 4, 60)
    before = deepcopy(state)
    found, expected = decide_all(policy, state, some), list(at_one_state(policy, before, some))
    assert len(found) == len(expected) == 60
    for one, (decision, chances) in zip(found, expected, strict=True):
        for z, y in zip(one.decision[:14], decision[:14], strict=True):
            same_bits(z, y)
        same_bits(one.chances, chances)
        assert one.decision.names == decision.names
    assert max(ran, default=0) == (60 if kernels else 0)
    assert state.t == before.t
    for own, old in zip(state.goals, before.goals, strict=True):
        assert str(own) == str(old)


def test_a_budget_is_taken_in_turn_and_never_exceeded():
    policy = shop(9.0)
    state = policy.start()
    state.t[:] = 200.0
    found = decide_all(policy, state, contexts(policy, 1, 40))
    plays = np.array([z.decision.plays[0, 0] for z in found])
    assert 3.0 * (plays >= 0).sum() == 9.0  # each may use 3 of 9 cents
    assert found[-1].decision.restricted[0] == 1.0


@pytest.mark.parametrize(("rounds", "size"), [(0, 0), (39, 1), (40, 2), (200, 10), (399, 0), (380, 1), (340, 3)])
def test_a_twentieth_of_the_rounds_so_far_or_left_is_decided_at_one_state(rounds, size):
    state = shop().start()
    state.t[:] = rounds
    assert most(shop(), state) == size


def frozen_calls(policy, first, count, seed=0):
    return [
        Deciding(case, f"key {first + i}", frozen=True) for i, case in enumerate(cases(policy, seed + first, count))
    ]


class Life:
    """A campaign in which decisions are made together, and anything else happens between."""

    def __init__(self, policies, seed, steps=26):
        self.clock, self.luck, self.policies = [START], random.Random(seed), policies
        self.store, self.waits, self.settled, self.cases = MemoryStore(now=lambda: self.clock[0]), [], [], 0
        self.campaign = Campaign.open(self.store, "one", policies[0], seed=seed, patience=90.0, on_expiry="fallback")
        self.switched = 0
        for step in range(steps):
            self.step(step)

    def step(self, step):
        luck, campaign = self.luck, self.campaign
        self.clock[0] += luck.randrange(20_000_000)
        found = campaign.many(frozen_calls(campaign.policy, self.cases, luck.choice((1, 8, 25))))
        self.cases += len(found)
        self.waits += [z.id for z in found if z.action is not None]
        while self.waits and luck.random() < 0.93:
            ref = self.waits.pop(luck.randrange(len(self.waits)))
            with suppress(Conflict, InvalidInput):  # it expired, or played what is free
                if luck.random() < 0.05:
                    campaign.cancel(ref)
                else:
                    campaign.observe(ref, self.outcomes())
                    self.settled.append(ref)
        if self.settled and luck.random() < 0.3:
            with suppress(Conflict, InvalidInput):  # it was erased
                campaign.observe(luck.choice(self.settled), self.outcomes(), revise=True)
        if luck.random() < 0.1:
            campaign.snapshot()
        if luck.random() < 0.1:
            campaign.relearn()
        if step in (12, 19):
            self.switched += 1
            campaign.switch(self.policies[self.switched % len(self.policies)], by="anna", why=f"chance {step}")

    def outcomes(self):
        return {name: round(self.luck.random(), 2) for name in self.campaign.policy.problem.observed}

    def erase(self):
        keys = [event.key for event in self.campaign.events() if event.seq in self.settled[:9:3]]
        self.campaign.erase(keys, by="anna", why="she asked for it")
        self.step(0)
        self.step(1)

    def together(self):
        return [e for e in self.campaign.events() if e.kind == "decided" and "as_of" in read(e)]

    def again(self):
        return Campaign.open(self.store, "one", [*self.policies, self.campaign.policy])


@cache
def shops():
    return marked(shop(200.0)), marked(shop(150.0))


@for_each("seed", range(3))
@pytest.mark.parametrize("kernels", [True, False])
def test_all_workers_have_one_state_and_audits_make_every_decision_again(seed, kernels, monkeypatch):
    if kernels:
        compile_ahead(shops()[0])
        monkeypatch.setattr("evenhand.policy.kernels.events._PAYS_LOADED", 2)
        monkeypatch.setattr(batch, "_PAYS_LOADED", 2)
    else:
        monkeypatch.setattr(batch.BatchDecider, "pays", lambda *_: False)
    life = Life(shops(), seed)
    for each in (lambda: None, life.erase):
        each()
        assert len(life.together()) > 100
        kept = life.again()
        life.store._kept.clear()
        whole = life.again()
        for one in (life.campaign, kept):
            one.refresh()
            same_fold(one, whole)
        found = eh.live.audit(life.store, "one", list(shops()))
        assert found.clean
        assert found.largest == 0.0
        assert found.erased == (3 if each == life.erase else 0)


def test_events_state_the_last_event_before_them():
    life = Life(shops(), 5)
    for event in life.together():
        body = read(event)
        before = read(next(iter(life.store.scan("one", event.seq - 2))))
        assert body["as_of"] == event.seq - 1 or body["as_of"] == before["as_of"]
        rounds = body["t"] - (event.seq - 1 - body["as_of"])
        assert event.seq - body["as_of"] <= min(rounds, 400 - rounds) // 20


def test_an_explanation_is_of_the_state_at_which_a_decision_was_made():
    life = Life(shops()[:1], 6)
    event = next(e for e in life.together() if e.seq - read(e)["as_of"] > 3 and read(e)["f"] == 0)
    fold = life.campaign._worker.fold_before(read(event)["as_of"] + 1)
    at = freeze(fold.policy, fold.state)
    first = fold.policy.decide(at, fold.policy.encode(read(event)["case"]))
    assert read(event)["w"] == first.prices[0].tolist()
    assert read(event)["a"] == first.plays[0].tolist()
    told, shares = life.campaign.explain(event.seq), life.campaign.why(event.seq)
    assert life.policies[0].problem.actions[read(event)["a"][0]] in told
    assert told == shares.text


@pytest.mark.parametrize(("old", "new"), [('"as_of":', '"as_of":1'), ('"as_of":', '"as_of":-'), ('"a":[0]', '"a":[1]')])
def test_an_audit_finds_what_was_not_decided_so(old, new):
    life = Life(shops()[:1], 7)
    book = life.store._books["one"]
    event = next(e for e in life.together()[20:] if old in e.body)
    book.events[event.seq - 1] = event._replace(body=event.body.replace(old, new, 1))
    found = eh.live.audit(life.store, "one", list(shops()))
    assert not found.clean
    assert found.differing >= 1
    assert found.first == event.seq


def test_an_audit_by_several_processes_finds_the_same(tmp_path):
    url, policy = f"sqlite:///{tmp_path}/one.db", shops()[0]
    campaign = Campaign.open(url, "one", policy)
    for first in range(0, 360, 30):
        for z in campaign.many(frozen_calls(policy, first, 30)):
            if z.action is not None:
                campaign.observe(z.id, {"answer": z.id % 2, "cents": z.id % 3})
        campaign.snapshot()
    campaign.close()
    alone, several = (eh.live.audit(url, "one", [policy], jobs=jobs) for jobs in (1, 2))
    assert alone.clean
    assert str(alone) == str(several)


def test_each_call_has_its_reply_or_its_own_error():
    policy = plain("large", 60.0, 400)
    campaign = Campaign.open("memory://", "one", policy)
    before = campaign.many(frozen_calls(policy, 0, 100))
    good, twice = frozen_calls(policy, 200, 4), Deciding({"age": 33}, "twice", frozen=True)
    wrong = [Deciding({"age": "old"}, "a", frozen=True), Deciding({"age": 1}, "", frozen=True), Deciding({}, "b")]
    old = frozen_calls(policy, 0, 1)[0]
    other = [Deciding({"age": 34}, "twice", frozen=True), Deciding({"age": 34}, "key 3", frozen=True)]
    found = campaign.many([old, good[0], wrong[0], twice, good[1], wrong[1], *other, twice, good[2], wrong[2], good[3]])
    assert found[0] == before[0].__class__(**{**vars(before[0]), "repeated": True})
    assert [type(z) for z in found[2::8]] == [InvalidInput, InvalidInput]
    assert isinstance(found[5], InvalidInput)
    assert [type(z) for z in found[6:8]] == [Conflict, Conflict]
    assert (found[8].id, found[8].repeated) == (found[3].id, True)
    made = [found[i].id for i in (1, 3, 4, 9, 11)]
    assert made == list(range(102, 107))
    assert "as_of" in read(list(campaign.events())[102])
    assert eh.live.audit(campaign.store, "one", [policy]).clean
    campaign.pause(by="anna", why="a rest")
    paused = campaign.many(frozen_calls(policy, 0, 2) + frozen_calls(policy, 300, 2))
    assert [z.id for z in paused[:2]] == [before[0].id, before[1].id]
    assert all(isinstance(z, Paused) for z in paused[2:])


@pytest.mark.parametrize("odd", [["web"], None])
def test_a_level_that_is_no_text_is_refused_alone(odd):
    policy = shops()[0]
    campaign = Campaign.open("memory://", "one", policy)
    campaign.many(frozen_calls(policy, 0, 45))
    first, last = frozen_calls(policy, 100, 2)
    found = campaign.many([first, Deciding({"age": 30, "way": odd}, "odd", frozen=True), last])
    assert isinstance(found[1], InvalidInput)
    assert found[1].field == "way"
    assert [found[0].id, found[2].id] == [47, 48]


def test_what_no_plan_can_use_is_refused_alone(monkeypatch):
    """A batch that fails while it is entered is decided one by one, on the fold of the log."""
    policy = shops()[0]
    campaign = Campaign.open("memory://", "one", policy)
    campaign.many(frozen_calls(policy, 0, 100))

    def fold_new(fold, *_):
        fold.state.t += 1.0  # as half of it was entered
        raise InvalidInput("model", "a prediction", "none")

    monkeypatch.setattr("evenhand.live.worker.batches.fold_new", fold_new)
    found = campaign.many(frozen_calls(policy, 100, 5))
    assert [z.id for z in found] == list(range(102, 107))
    assert all("as_of" not in read(e) for e in list(campaign.events())[101:])
    assert eh.live.audit(campaign.store, "one", [policy]).clean


def test_plays_end_with_the_horizon_and_with_the_budget():
    policy = plain("large", 60.0, 400)
    campaign = Campaign.open("memory://", "one", policy)
    found = [z for first in range(0, 500, 100) for z in campaign.many(frozen_calls(policy, first, 100))]
    assert not [z for z in found if isinstance(z, EvenhandError)]
    assert sum(3.0 for z in found if z.action not in (None, "none")) <= 60.0
    assert campaign.status().rounds == 400
    assert [z.action for z in found[400:]] == [None] * 100


def test_requests_over_http_in_a_row_share_a_state(tmp_path):
    campaign = opened(tmp_path)
    with serving(app(campaign)) as client:
        client.post("/decide", json=[asked(f"key {i}") for i in range(45)])
        said = client.post("/decide", json=[asked(f"more {i}", frozen=True) for i in range(2)]).json()
        wrong = client.post("/decide", json=asked("other", frozen=1))
    assert [z["id"] for z in said] == [47, 48]
    assert [read(e)["as_of"] for e in list(campaign.events())[46:]] == [46, 46]
    assert (wrong.status_code, wrong.json()["field"]) == (422, "frozen")
