"""Outcomes of customers add up over a window: each event once, for one decision, whatever comes in between."""

import asyncio
import json
import math
import random
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.client import AsyncClient, Client
from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict, Unknown
from evenhand.live.fold.snapshots import dump, largest_difference
from evenhand.live.http import app
from evenhand.live.log.events import encode, read
from evenhand.live.log.store import digest_of
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.problem import Unit
from tests.live.campaigns.test_audit import Clock
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold

DAY, START = 86_400 * 10**6, 1_796_083_200 * 10**6  # 2026-12-01, in microseconds
WINDOW, PATIENCE = 7 * DAY, DAY
ASKED = {"by": "a clerk", "why": "asked to"}


def shop():
    """Letters that cost what customers redeem within a week."""
    problem = eh.Problem(
        actions=("nothing", "letter"),
        outcomes=(eh.Outcome("sale"), eh.Outcome("coins", high=50, free=("nothing",))),
        features=(eh.Numeric("age", 0, 100),),
        maximize="sale",
        subject_to=(eh.Budget("coins", total=300.0),),
        since="2026-12-01",
        until="2027-03-01",
        traffic=eh.problem.Traffic(3, per="day"),
        unit=Unit("customer", attribution=7),
    )
    return eh.resolving(problem)


POLICY = shop()
CHEAP = eh.recipes.fw_dual(POLICY.problem, eh.models.advised(POLICY.problem))
COIN = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("gain"),), maximize="gain", horizon=50)


@pytest.fixture
def clock():
    found = Clock()
    found.now = START
    return found


@pytest.fixture
def campaign(clock):
    return eh.Campaign.open(MemoryStore(clock), "shop", POLICY, seed=3)


def letter(campaign, key, who="ann"):
    return campaign.decide({"age": 40, "customer": who}, key=key, offered=["letter"]).id


def outcomes(campaign, key):
    return campaign.find(key)["outcomes"]


def time(at):
    return datetime.fromtimestamp(at / 1e6, UTC)


def test_a_purchase_counts_once_for_the_latest_letter_before_it(campaign, clock):
    first = letter(campaign, "1")
    clock.now += DAY
    second = letter(campaign, "2")
    clock.now += DAY
    sale, then = {"sale": 1, "coins": 30}, time(START + DAY // 2)
    assert campaign.observe_unit("ann", sale, "order 1") == (second, True)
    assert campaign.observe_unit("ann", sale, "order 1") == (second, False)  # sent again
    assert campaign.observe_unit("ann", {"coins": 30}, "order 2") == (second, True)
    assert campaign.observe_unit("ann", {"coins": 4}, "order 3", at=then) == (first, True)  # before the second letter
    assert campaign.observe_unit("bob", sale, "order 4") == (None, False)
    clock.now = START + WINDOW - 1
    assert campaign.find("1")["state"] == "waiting"
    clock.now = START + WINDOW
    assert campaign.observe_unit("ann", {"coins": 5}, "order 5", at=time(START + DAY - 1)) == (first, True)  # late
    clock.now = START + WINDOW + PATIENCE
    assert outcomes(campaign, "1") == {"coins": 9.0, "sale": 0.0}
    assert campaign.observe_unit("ann", {"coins": 1}, "order 6", at=time(START + DAY - 1)) == (None, False)  # too late
    assert campaign.observe_unit("ann", {"coins": 1}, "order 7") == (None, False)  # after the second window
    clock.now += DAY
    assert outcomes(campaign, "2") == {"coins": 50.0, "sale": 1.0}  # 60, of which the range has 50
    assert campaign.observe_unit("ann", sale, "order 1") == (second, False)
    assert campaign.status().accounts["coins"].spent == 59.0


def test_what_is_taken_back_and_windows_without_events_settle_as_nothing(campaign, clock):
    letter(campaign, "1")
    letter(campaign, "2", "bob")
    for key, sale in (("order", 1), ("its return", -1), ("another return", -1)):
        campaign.observe_unit("ann", {"sale": sale}, key)
    clock.now += WINDOW + PATIENCE
    assert outcomes(campaign, "1") == outcomes(campaign, "2") == {"coins": 0.0, "sale": 0.0}
    assert campaign.status().accounts["coins"].left == 300.0
    nothing = campaign.decide({"age": 40, "customer": "eve"}, key="3", offered=["nothing"])
    campaign.observe_unit("eve", {"sale": 1, "coins": 20}, "hers")
    clock.now += WINDOW + PATIENCE
    assert campaign.find(nothing.id)["outcomes"] == {"coins": 0.0, "sale": 1.0}  # coins are free under "nothing"


def test_an_outcome_that_names_the_decision_closes_it_and_a_cancelled_one_gets_no_event(campaign, clock):
    first, second, third = letter(campaign, "1"), letter(campaign, "2"), letter(campaign, "3")
    campaign.cancel(third)
    assert campaign.observe_unit("ann", {"sale": 1}, "order 1") == (second, True)
    with pytest.raises(Conflict, match=f"decision {second} has outcomes of its unit"):
        campaign.cancel(second)
    campaign.observe(second, {"sale": 0, "coins": 7})
    assert campaign.observe_unit("ann", {"sale": 1}, "order 2") == (first, True)
    clock.now += WINDOW + PATIENCE
    assert (outcomes(campaign, "1"), outcomes(campaign, "2")) == ({"coins": 0.0, "sale": 1.0}, {"coins": 7, "sale": 0})
    campaign.observe(first, {"sale": 0, "coins": 1}, revise=True)
    assert campaign.status().accounts["coins"].spent == 8.0


def test_wrong_events_are_refused_by_name(campaign, clock):
    letter(campaign, "1")
    for stated, told in (
        ((7.0, {"sale": 1}, "k"), "unit: expected a text or a whole number"),
        (("ann", {"sales": 1}, "k"), "outcomes: expected one of .*did you mean sale"),
        (("ann", {}, "k"), "outcomes: expected amounts of some of"),
        (("ann", {"coins": 51}, "k"), r"outcomes\['coins'\]: expected a number from -50 to 50, the range"),
        (("ann", {"sale": math.nan}, "k"), r"outcomes\['sale'\]: expected a number from -1 to 1"),
        (("ann", {"sale": 1}, ""), "key: expected a text"),
    ):
        with pytest.raises(InvalidInput, match=told):
            campaign.observe_unit(*stated)
    with pytest.raises(InvalidInput, match="at: expected a time in the past, before 2026-12-01 00:00:00 UTC"):
        campaign.observe_unit("ann", {"sale": 1}, "k", at=time(clock.now + DAY))
    with pytest.raises(InvalidInput, match="at: expected a datetime, got '2026-12-01'"):
        campaign.observe_unit("ann", {"sale": 1}, "k", at="2026-12-01")
    assert campaign.observe_unit("ann", {"sale": 1}, "k", at=time(0)) == (None, False)
    campaign.observe_unit("ann", {"sale": 1}, "k")
    for unit, sale in (("ann", 0), ("bob", 1)):
        with pytest.raises(Conflict, match="key 'k' was used for another event"):
            campaign.observe_unit(unit, {"sale": sale}, "k")
    other = eh.Campaign.open("memory://", "coins", eh.uniform(COIN, 1))
    with pytest.raises(InvalidInput, match="unit: expected none, as the problem states no window"):
        other.observe_unit("ann", {"gain": 1}, "k")
    costs = eh.Outcome("coins", low=2, high=50)
    with pytest.raises(InvalidInput, match=r"Unit.attribution: expected outcomes whose ranges have 0, got 'coins'"):
        replace(POLICY.problem, outcomes=(POLICY.problem.outcomes[0], costs))
    with pytest.raises(InvalidInput, match=r"Unit.attribution: expected a problem with dates"):
        replace(COIN, unit=Unit("customer", attribution=7))


def lived(store, clock, seed, backwards=False):
    """A random campaign of two workers, of which one starts again and again; returns what was decided and bought."""
    dice, made, bought = random.Random(seed), [], []
    team = [eh.Campaign.open(store, "shop", CHEAP, seed=seed) for _ in range(2)]
    for i in range(60):
        clock.now += dice.randrange(DAY // 2)
        who, days = f"customer {dice.randrange(9)}", dice.random()
        found = team[i % 2].decide({"age": 20 + i % 60, "customer": who}, key=f"{i}")
        made.append((found.at, who, found.action, f"{i}"))
        events = [(clock.now - int(z * days * DAY / 2), f"{i} {z}", round(9 * dice.random(), 2)) for z in range(3)]
        for at, key, coins in events[::-1] if backwards else events:
            bought.append((at, who, key, coins))
            for one in team[:: 1 + dice.randrange(2)]:
                one.observe_unit(who, {"coins": coins, "sale": 1}, key, at=time(at))
        if i % 20 == 19:
            team[0].snapshot()
            team[0] = eh.Campaign.open(store, "shop", CHEAP)
            team[1].refresh()
            same_fold(*team)
        assert sum(z.left < 0 for z in team[1].status().accounts.values()) == 0
    clock.now += WINDOW + PATIENCE
    for _ in range(3):
        team[1].refresh()
    return team[1], made, bought


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 9))])
def test_sums_are_those_of_an_independent_count_in_any_order_and_budgets_hold(seed, clock):
    campaign, made, bought = lived(MemoryStore(clock), clock, seed)
    expected = defaultdict(list)
    for at, who, _, coins in bought:
        for then, whom, action, key in reversed(made):
            if action is not None and whom == who and then <= at < then + WINDOW:
                expected[key].append((coins, action))
                break
    for _, _, action, key in made:
        coins = min(math.fsum(z for z, _ in expected[key]), 50.0) if action == "letter" else 0.0
        if action is not None:
            assert outcomes(campaign, key) == {"coins": coins, "sale": float(bool(expected[key]))}
    spent = campaign.status().accounts["coins"].spent
    assert 50.0 < spent <= 300.0
    assert eh.live.audit(campaign.store, "shop", [CHEAP]).clean
    clock.now = START
    other, *_ = lived(MemoryStore(clock), clock, seed, backwards=True)
    assert largest_difference(*(dump(z._worker.fold) for z in (campaign, other))) == 0.0


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_stores_take_events_once_and_a_seal_moves_them_with_their_decisions(kind, tmp_path, request):
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/log.db"}.get(kind) or request.getfixturevalue("url")
    store = connect(url)
    policy = eh.resolving(replace(POLICY.problem, since="2026-01-01", until="2090-01-01"))
    campaign = eh.Campaign.open(store, "shop", policy)
    first = letter(campaign, "1")
    found = campaign.many([lambda z: z.observe_unit("ann", {"sale": 1}, "order 1", None) for _ in range(2)])
    assert found == [(first, True), (first, False)]
    campaign.observe(first, {"coins": 0, "sale": 1})
    second = letter(campaign, "2")
    campaign.seal(tmp_path, before=second, **ASKED)
    assert [event.kind for event in store.scan("shop") if event.kind == "added"] == []
    assert [event.kind for event in campaign.events(tmp_path)].count("added") == 1
    assert campaign.observe_unit("ann", {"sale": 1}, "order 1") == (None, False)  # sent again, of a segment
    again = eh.Campaign.open(store, "shop", policy)
    assert again.observe_unit("ann", {"coins": 3}, "order 2") == (second, True)
    assert list(again.decisions(tmp_path)["state"]) == ["observed", "waiting"]
    ridge = eh.pgd(policy.problem, eh.models.advised(policy.problem))
    again.switch(ridge)  # goes on with the books
    campaign = eh.Campaign.open(store, "shop", ridge)
    assert campaign.observe_unit("ann", {"coins": 3}, "order 3") == (second, True)
    again.observe(second, {"coins": 6, "sale": 0})
    assert len(again.erase(units=["ann"], segments=tmp_path, **ASKED).decisions) == 2
    (erased,) = (event for event in store.scan("shop") if event.seq == second)
    assert "unit" not in read(erased)
    with pytest.raises(Unknown):
        again.erase([f"added {digest_of('shop', 'order 3').hex()}"], **ASKED)
    campaign.refresh()
    same_fold(campaign, again)


def test_a_decision_whose_window_ends_after_a_seal_has_events_before_it_and_takes_a_revision(campaign, clock, tmp_path):
    letter(campaign, "1")
    campaign.observe_unit("ann", {"coins": 30}, "order 1")
    campaign.observe(letter(campaign, "2", "bob"), {"coins": 0, "sale": 0})
    campaign.seal(tmp_path, before=letter(campaign, "3", "eve"), **ASKED)
    assert not campaign.observe_unit("ann", {"coins": 30}, "order 1").new
    assert campaign.observe_unit("ann", {"coins": 4}, "order 2").new
    clock.now += WINDOW + PATIENCE
    assert outcomes(campaign, "1") == {"coins": 34.0, "sale": 0.0}
    assert campaign.observe("1", {"coins": 5, "sale": 0}, revise=True)
    assert campaign.status().accounts["coins"].spent == 5.0
    with pytest.raises(Conflict, match="is in segment"):
        campaign.observe("2", {"coins": 5, "sale": 0}, revise=True)
    same_fold(campaign, eh.Campaign.open(campaign.store, "shop", POLICY))
    assert eh.live.audit(campaign.store, "shop", [POLICY]).clean


def test_windows_that_are_open_outlive_switches_and_a_clock_that_was_accepted(clock, campaign):
    letter(campaign, "1")
    campaign.observe_unit("ann", {"sale": 1}, "order 1")
    for i, policy in enumerate((replace(POLICY, name="again"), CHEAP)):  # adopts; folds anew
        campaign.switch(policy)
        campaign = eh.Campaign.open(campaign.store, "shop", policy)
        assert campaign.observe_unit("ann", {"coins": 4}, f"order 2.{i}").new
    clock.now += WINDOW + PATIENCE
    assert outcomes(campaign, "1") == {"coins": 8.0, "sale": 1.0}
    letter(campaign, "2")
    clock.now += DAY
    with campaign.store.write("shop") as log:
        log.append("clock", encode({"due": clock.now + PATIENCE}))
    clock.now += 2 * DAY
    assert campaign.observe_unit("ann", {"coins": 4}, "order 3").new


async def sent(url, *event):
    async with AsyncClient(url) as client:
        return await client.observe_unit(*event, at=datetime.now(UTC))


def test_a_problem_file_over_http_by_a_client(tmp_path):
    (tmp_path / "shop.toml").write_text(
        'maximize = "sale"\nsince = 2026-01-01\nuntil = 2090-01-01\n'
        'action = { values = ["nothing", "letter"] }\ntraffic = { cases = 3, per = "day" }\n'
        'features = { numeric = ["age"], ranges = { age = [0, 100] } }\noutcomes = { sale = { range = [0, 1] } }\n'
        '[unit]\nname = "customer"\nattribution = 7\n'
    )
    with closing(eh.live.open_campaign("memory://", "shop", tmp_path / "shop.toml")) as campaign:
        with serving(app(campaign)) as server, Client(str(server.base_url)) as client:
            made = client.decide({"age": 40, "customer": 7}, key="letter 1")
            assert client.observe_unit("7", {"sale": 1}, "order 1") == made.id
            assert client.observe_unit("8", {"sale": 1}, "order 2", at=datetime.now(UTC)) is None
            assert asyncio.run(sent(client.url, 7, {"sale": 1}, "order 1")) == made.id
            entries = [{"unit": 7, "key": "order 1", "outcomes": {"sale": 1}}, {"unit": 7, "key": "a", "outcomes": 3}]
            first, second = server.post("/observe", json=entries).json()
            assert first == {"new": False, "id": made.id}
            assert (second["status"], second["field"]) == (422, "outcomes")
            for at in ("today", 1.5, None, 2**62):
                body = {"unit": 7, "key": "b", "outcomes": {"sale": 1}, "at": at}
                found = server.post("/observe", json=body)
                assert (found.status_code, found.json()["field"]) == (422, "at")
            schema = server.get("/openapi.json").json()["paths"]["/observe"]["post"]["requestBody"]
            assert '"unit"' in json.dumps(schema)
        assert campaign.find("letter 1")["state"] == "waiting"
