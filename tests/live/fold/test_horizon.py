"""A campaign that goes on after its horizon: what is left of budgets is spent and never more, and the log says so."""

import json
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.live import Ended
from evenhand.live.dashboard.axis import Axis
from evenhand.live.dashboard.page import render_file
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.changes import Ask
from evenhand.live.http import app
from evenhand.live.log.events import encode, read
from evenhand.live.log.life import Life
from evenhand.live.log.packing import foreign, pack
from evenhand.live.stores.memory import MemoryStore
from evenhand.policy.after_horizon import decide_late
from tests.live.http_campaign import serving
from tests.live.schedules import Schedule, plain, same_fold
from tests.live.worker.test_life import ANNA, SECOND
from tests.policy.test_after_horizon import SHOP
from tests.polling import Clock
from tests.rows import for_each

WORST = {"cents": 9.0, "calls": 1.0}
TOTAL = {"cents": 200.0, "calls": 15.0}
PLANNED = eh.resolving(SHOP, eh.PerAction.of(SHOP))
PRICED = eh.pgd(SHOP, eh.PerAction.of(SHOP))
SOFT = eh.ucb(SHOP, eh.PerAction.of(SHOP))


def opened(store, policy=PLANNED, **terms):
    return eh.Campaign.open(store, "shop", policy, patience=50.0, **terms)


def going_on(store, policy=PLANNED, **terms):
    campaign = opened(store, policy, **terms)
    campaign.change(after="go on", **ANNA)
    return campaign


def lives(team, clock, count, seed=0, first=0):
    """Decide, observe late or never, revise and cancel, with any worker; outcomes only of decisions that played."""
    luck, waiting = np.random.default_rng(seed), []
    for i in range(first, first + count):
        clock.now += SECOND
        one = team[luck.integers(len(team))]
        offered = ["none"] if i < SHOP.horizon and i % 4 else None
        said = one.decide({"age": float(luck.integers(20, 61))}, key=f"{i}", offered=offered)
        if said.action is not None:
            waiting.append(said)
        while len(waiting) > 5:
            old = waiting.pop(0)
            paid = old.action != "none"
            y = {"answer": int(paid and luck.random() < 0.5), "cents": float(paid) * int(luck.integers(2, 10))}
            draw = luck.random()
            if draw < 0.8:
                one.observe(old.id, y)
            elif draw < 0.9:
                one.cancel(old.id)
            if draw < 0.1 and paid:
                one.observe(old.id, {**y, "cents": 1.0}, revise=True)


def spending(campaign):
    """By the log alone: after every event the most that may be spent of each budget, and which decisions are late."""
    open_, spent, late, rounds, most = {}, {"cents": 0.0, "calls": 0.0}, [], 0, []
    for event in campaign.events():
        body = read(event)
        if event.kind == "decided" and body["n"]:
            action = SHOP.actions[body["a"][0]]
            late.append((event.seq, rounds >= SHOP.horizon, body.get("late")))
            rounds += 1
            open_[event.seq] = {"cents": 9.0 * (action != "none"), "calls": 1.0 * (action == "call")}
        elif event.kind in ("observed", "revised"):
            open_[event.ref]["cents"] = body["y"]["cents"]
        elif event.kind == "cancelled":
            open_[event.ref] = {"cents": 0.0, "calls": 0.0}
        most.append({name: sum(z[name] for z in open_.values()) for name in spent})
    return most, late


@pytest.mark.parametrize("policy", [PLANNED, PRICED], ids=["planned", "priced"])
def test_300_decisions_after_the_horizon_spend_what_is_left_and_are_recomputed(policy):
    clock = Clock(10**9)
    store = MemoryStore(clock)
    team = [going_on(store, policy), opened(store, policy)]
    lives(team, clock, SHOP.horizon + 150)
    team[0].snapshot()
    lives(team, clock, 150, seed=1, first=SHOP.horizon + 150)
    most, late = spending(team[0])
    assert all(z[name] <= TOTAL[name] + 1e-9 for z in most for name in TOTAL)
    at_horizon = next(i for i, (_, is_late, _) in enumerate(late) if is_late)
    assert at_horizon == SHOP.horizon
    assert [flag for _, _, flag in late] == [None] * SHOP.horizon + [1] * 300
    assert most[-1]["cents"] > TOTAL["cents"] - WORST["cents"] - 30
    status = team[0].status()
    for name, account in status.accounts.items():
        assert account.hard
        assert abs(account.spent + account.held - most[-1][name]) < 1e-9
    assert status.rounds == SHOP.horizon + 300
    team[1].relearn()
    found = eh.live.audit(store, "shop", [policy])
    assert found.clean
    assert found.largest == 0.0
    for one in team:
        one.refresh()
    kept = opened(store, policy)
    store._kept.clear()
    whole = opened(store, policy)
    for one in (*team, kept):
        same_fold(one, whole)
    tally, again = Tally(team[0]), Tally(whole)
    tally.update()
    again.update()
    assert tally.counts["after_horizon"] == again.counts["after_horizon"] == 300
    assert team[0].report()["after_horizon"] == 300
    page = render_file(team[0])
    assert "of 40 rounds, 300 after the horizon" in page
    assert "At this pace" not in page
    axis = Axis.of(team[0], status, tally)
    assert (axis.start, axis.last, axis.ends[-1]) == (None, 340.0, 340.0)


def test_a_late_decision_says_so_when_it_is_told_again_and_when_it_is_explained():
    campaign = going_on(MemoryStore())
    for i in range(SHOP.horizon):
        campaign.decide({"age": 33}, key=f"{i}", offered=["none"])
    late = campaign.decide({"age": 33}, key="late")
    assert late.action is not None
    assert late.explanation.endswith(", after the horizon, with what is left of the budgets")
    again = campaign.decide({"age": 33}, key="late")
    assert (again.repeated, again.explanation) == (True, late.explanation)
    told, why, _ = campaign.why(late.id)
    assert "after the horizon: as the last round" in told
    assert "masked" not in told
    assert why.played == late.action
    campaign.change(after="nothing", **ANNA)
    assert campaign.decide({"age": 33}, key="later").action is None
    assert "late" not in read(list(campaign.events())[-1])
    assert "after the horizon: as the last round" in campaign.explain(late.id)
    campaign.change(after="stop", **ANNA)
    with pytest.raises(Ended, match="horizon of 40 rounds"):
        campaign.decide({"age": 33}, key="latest")
    campaign.change(after="go on", **ANNA)
    assert campaign.decide({"age": 33}, key="latest").action is not None
    assert eh.live.audit(campaign.store, "shop", [PLANNED]).clean


def test_an_audit_finds_a_decision_that_is_late_and_does_not_say_so(monkeypatch):
    campaign = going_on(MemoryStore())
    for i in range(SHOP.horizon + 1):
        campaign.decide({"age": 33}, key=f"{i}", offered=["none"])
    scan = MemoryStore.scan

    def forged(store, name, after=0, kinds=()):
        for event in scan(store, name, after, kinds):
            body = json.loads(event.body)
            yield event._replace(body=encode({k: v for k, v in body.items() if k != "late"}))

    assert eh.live.audit(campaign.store, "shop", [PLANNED]).differing == 0
    monkeypatch.setattr(MemoryStore, "scan", forged)
    found = eh.live.audit(campaign.store, "shop", [PLANNED])
    assert (found.differing, found.first) == (1, SHOP.horizon + 3)


def test_two_plays_with_two_budgets():
    shop = replace(SHOP, n_plays=2)
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    campaign = going_on(MemoryStore(), policy)
    luck, spent, late = np.random.default_rng(0), {"cents": 0.0, "calls": 0.0}, 0
    for i in range(shop.horizon + 300):
        said = campaign.decide({"age": int(luck.integers(20, 61))}, key=f"{i}", offered=None if i >= 40 else ["none"])
        paid = [z not in (None, "none") for z in said.actions]
        each = [{"answer": int(z), "cents": float(z * luck.integers(10))} for z in paid]
        each = [None if z is None else y for z, y in zip(said.actions, each, strict=True)]
        spent["calls"] += said.actions.count("call")
        spent["cents"] += sum(z["cents"] for z in each if z)
        late += i >= shop.horizon and any(paid)
        campaign.observe(said.id, each)
        assert all(spent[name] <= TOTAL[name] for name in spent)
    assert late > 10
    assert spent["cents"] > TOTAL["cents"] - 9
    assert campaign.status().accounts["cents"].spent == pytest.approx(spent["cents"])
    assert eh.live.audit(campaign.store, "shop", [policy]).clean


def test_a_soft_budget_does_not_let_a_campaign_go_on():
    said = r"after: expected only budgets that are kept hard.*got one where no hard limit keeps cents, calls"
    campaign = opened(MemoryStore(), SOFT)
    with pytest.raises(InvalidInput, match=said):
        campaign.change(after="go on", **ANNA)
    assert [event.kind for event in campaign.events()] == ["opened"]
    with serving(app(campaign)) as client:
        answer = client.post("/change", json={**ANNA, "after": "go on"})
        assert (answer.status_code, answer.json()["field"]) == (422, "after")
        assert client.post("/change", json={**ANNA, "after": "gone on"}).status_code == 422
    hard = going_on(MemoryStore())
    with pytest.raises(InvalidInput, match=r"policy: expected only budgets that are kept hard"):
        hard.switch(SOFT)
    assert hard.policy.fingerprint() == PLANNED.fingerprint()
    with serving(app(hard)) as client:
        assert client.post("/change", json={**ANNA, "after": "go on"}).json()["new"] is False
        late = client.get("/openapi.json").json()["paths"]["/change"]["post"]
        assert "go on" in json.dumps(late)


def test_a_late_decision_is_refused_where_a_command_that_knows_no_policy_let_the_campaign_go_on():
    campaign = opened(MemoryStore(), SOFT)
    for i in range(SHOP.horizon):
        campaign.decide({"age": 33}, key=f"{i}")
    with campaign.store.write("shop") as log:  # as `evenhand change` writes it
        body = Ask("changed", "anna", "so", after="go on").body(Life(patience=50.0, on_expiry="hold"))
        log.append("changed", body)
    over = (
        "campaign 'shop' does not continue: its horizon of 40 rounds is reached, and no hard limit keeps cents, calls"
    )
    with pytest.raises(Ended, match=over):
        campaign.decide({"age": 33}, key="late")
    assert campaign.decide({"age": 33}, key="3").repeated
    assert [event.kind for event in campaign.events()][-1] == "changed"


@for_each("seed", range(2))
def test_switches_take_late_decisions_over(seed):
    """One adopts the state, one folds the log anew; a longer horizon has rounds that are not late."""
    clock = Clock(10**9)
    store = MemoryStore(clock)
    one = going_on(store, seed=seed)
    lives([one], clock, SHOP.horizon + 30, seed=seed)
    longer = replace(SHOP, horizon=SHOP.horizon + 50)
    policies = [PLANNED, eh.resolving(longer, eh.PerAction.of(longer)), PRICED]
    one.switch(policies[1])
    first = one.decide({"age": 33}, key="after a switch")
    assert "late" not in read(next(e for e in one.events() if e.seq == first.id))
    lives([one], clock, 60, seed=seed, first=1000)
    one.switch(policies[2])
    assert [read(e)["adopts"] for e in one.events() if e.kind == "switched"] == [True, False]
    before = one.status().rounds
    lives([one], clock, 20, seed=seed, first=2000)
    assert one.status().rounds == before + 20
    found = eh.live.audit(store, "shop", policies)
    assert found.clean
    assert found.largest == 0.0
    store._kept.clear()
    same_fold(one, opened(store, policies))
    flags = [(e.seq, read(e).get("late")) for e in one.events() if e.kind == "decided"]
    assert [flag for _, flag in flags] == [None] * 40 + [1] * 30 + [None] * 20 + [1] * 41 + [1] * 20


def test_a_late_decision_of_another_policy_has_the_prices_of_a_late_decision():
    """Where candidates differ in prices, those of a decision that plays nothing would be 0."""
    kinds = eh.Groups("kind", ["free", "paid"], of={"none": "free", "call": "paid", "gift": "paid"})
    shop = replace(SHOP, groups=(kinds,), subject_to=(eh.Floor("answer", rate=0.1, by="kind"),), horizon=1)
    policy = eh.pgd(shop, eh.PerAction.of(shop))
    state, context = policy.start(), policy.encode({"age": 33}, offered=["gift"])
    policy.enter(state, context, policy.decide(state, context))
    late = decide_late(policy, state, context)
    body = pack(late)
    assert late.prices.any()
    assert np.array_equal(foreign({**body, "late": 1}, context, policy, state).prices, late.prices)
    assert not foreign(body, context, policy, state).prices.any()


def test_after_the_last_day_a_campaign_goes_on():
    clock = Clock(10**9)
    budget = eh.Budget("cents", total=60, per="day", hard=True)
    shop = replace(SHOP, horizon=20, since="1970-01-01", until="1970-01-02T12:00", subject_to=(budget,))
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    campaign = going_on(MemoryStore(clock), policy)
    played = []
    for i in range(60):
        clock.now = i * 7200 * SECOND + SECOND  # every two hours, for five days
        said = campaign.decide({"age": 33}, key=f"{i}", offered=["call"])
        if said.action is not None:
            campaign.observe(said.id, {"answer": 1, "cents": 4})
            played.append((i // 12, said.id))
    late = [read(e).get("late") for e in campaign.events() if e.kind == "decided" and read(e)["n"]]
    days = [day for day, _ in played]
    assert days.count(0) == 12  # 48 of 60 cents
    assert 0 < days.count(1) < len(days) - 12
    assert len(days) - 12 == 13  # as 4 cents each leave less than 9 of 60 then, on the last day and after it
    assert late == [None] * 18 + [1] * 7  # the first 36 hours are not late
    tally = Tally(campaign)
    tally.update()
    axis = Axis.of(campaign, campaign.status(), tally)
    assert axis.last == axis.ends[-1] > 3.0  # days, of a run of 1.5
    assert "At this pace" not in render_file(campaign)
    assert eh.live.audit(campaign.store, "shop", [policy]).clean


class GoesOn(Schedule):
    """Schedules of a campaign with three rounds, or two after every other switch, which goes on."""

    def both(self):
        return plain(horizon=3), plain("other", horizon=2)

    def __post_init__(self):
        super().__post_init__()
        self.guarded_change()

    def guarded_change(self):
        self.team[0].change(after="go on", by="anna", why="letters are left")
        self.ledger.must.append(("changed", None, None))
        self.ledger.read(self.log())


@pytest.mark.parametrize("start", range(4))
def test_random_schedules_go_on(start):
    late = 0
    for seed in range(25 * start, 25 * start + 25):
        run = GoesOn(seed, length=30).run()
        late += sum("late" in read(e) for e in run.log() if e.kind == "decided")
    assert late > 20
