"""Outcomes of customers add up over a window: each event once, for one decision, whatever comes in between."""

import math
import random
from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime

import pytest

import evenhand as eh
from evenhand.client import Client
from evenhand.core.errors import InvalidInput
from evenhand.live import Conflict
from evenhand.live.fold.snapshots import dump, largest_difference
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.live.stores.opening import connect
from evenhand.problem import Unit
from tests.live.campaigns.test_audit import Clock
from tests.live.http_campaign import serving
from tests.live.schedules import same_fold

DAY, START = 86_400 * 10**6, 1_796_083_200 * 10**6  # 2026-12-01, in microseconds
WINDOW, PATIENCE = 7 * DAY, DAY
ASKED = {"by": "a clerk", "why": "asked to"}


def shop(attribution=7.0, **more):
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
        unit=Unit("customer", attribution=attribution),
    )
    return eh.resolving(problem, **more)


POLICY = shop()


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
    with pytest.raises(InvalidInput, match="at: expected a time in the past"):
        campaign.observe_unit("ann", {"sale": 1}, "k", at=time(clock.now + DAY))
    campaign.observe_unit("ann", {"sale": 1}, "k")
    for unit, sale in (("ann", 0), ("bob", 1)):
        with pytest.raises(Conflict, match="key 'k' was used for another event"):
            campaign.observe_unit(unit, {"sale": sale}, "k")
    other = eh.Campaign.open("memory://", "coins", eh.uniform(eh.Problem(("a", "b"), ("z",), "z", horizon=9), 1))
    with pytest.raises(InvalidInput, match="unit: expected none, as the problem states no window"):
        other.observe_unit("ann", {"z": 1}, "k")
    with pytest.raises(InvalidInput, match=r"Unit.attribution: expected a problem with dates"):
        eh.Problem(("a", "b"), ("z",), "z", horizon=9, unit=Unit("customer", attribution=7))


def lived(store, clock, seed, backwards=False):
    """A random campaign of two workers, of which one starts again and again; returns what was decided and bought."""
    dice, made, bought = random.Random(seed), [], []
    team = [eh.Campaign.open(store, "shop", POLICY, seed=seed) for _ in range(2)]
    for i in range(120):
        clock.now += dice.randrange(DAY // 2)
        who, days = f"customer {dice.randrange(9)}", dice.random()
        found = team[i % 2].decide({"age": 20 + i % 60, "customer": who}, key=f"{i}")
        made.append((found.at, who, found.action, f"{i}"))
        events = [(clock.now - int(z * days * DAY), f"{i} {z}", round(9 * dice.random(), 2)) for z in range(3)]
        for at, key, coins in events[::-1] if backwards else events:
            bought.append((at, who, key, coins))
            for one in team[:: 1 + dice.randrange(2)]:
                one.observe_unit(who, {"coins": coins, "sale": 1}, key, at=time(at))
        if i % 30 == 29:
            team[0].snapshot()
            team[0] = eh.Campaign.open(store, "shop", POLICY)
            team[1].refresh()
            same_fold(*team)
        assert sum(z.left < 0 for z in team[1].status().accounts.values()) == 0
    clock.now += WINDOW + PATIENCE
    for _ in range(3):
        team[1].refresh()
    return team[1], made, bought


@pytest.mark.parametrize("seed", range(4))
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
    assert 100.0 < spent <= 300.0
    assert eh.live.audit(campaign.store, "shop", [POLICY]).clean
    clock.now = START
    other, *_ = lived(MemoryStore(clock), clock, seed, backwards=True)
    assert largest_difference(*(dump(z._worker.fold) for z in (campaign, other))) == 0.0
