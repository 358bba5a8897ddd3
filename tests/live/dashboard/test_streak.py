"""A campaign that plays one action alone and never explores raises an alarm, as long as others may be better."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import evenhand as eh
from evenhand.core.errors import EvenhandWarning
from evenhand.live import Campaign
from evenhand.live.dashboard import streak as of_streak, tally as of_tally
from evenhand.live.dashboard.alarms import all_alarms
from evenhand.live.dashboard.streak import Streak, rooms
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http import app
from evenhand.live.stores.memory import MemoryStore
from evenhand.models import BayesianRidge, Ridge
from tests.live.dashboard.test_alarms import everywhere
from tests.live.http_campaign import serving
from tests.problems import pose

CHANCES = {"none": 0.2, "mail": 0.6, "call": 0.7}
SHOP = pose(
    "sale",
    eh.Outcome("cents", known={"mail": 80, "call": 300}),
    actions=tuple(CHANCES),
    subject_to=(eh.Budget("cents", total=20_000),),
    horizon=400,
)
PRICED = np.array([1.0, -0.0005])  # a sale, and a cent


def bare(problem, **options):
    """A policy that never explores."""
    return eh.resolving(problem, eh.PerAction(inner=Ridge(n_features=1), actions=len(problem.actions)), **options)


def opened(policy, store=None, seed=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvenhandWarning)
        return Campaign.open(MemoryStore() if store is None else store, "shop", policy, seed=seed)


def go_on(campaign, rounds, first=0, unlucky=6, **options):
    """Decide cases, of which the first mails and calls fail; returns the decisions."""
    rng, found = np.random.default_rng(7), []
    for i in range(first, first + rounds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvenhandWarning)
            found.append(campaign.decide({}, key=f"{i}", **options))
        action, u = found[-1].action, rng.random()
        if action is not None:
            unlucky -= action != "none"
            campaign.observe(found[-1].id, {"sale": int(u < CHANCES[action] and (action == "none" or unlucky < 0))})
    return found


def tallied(campaign):
    tally = Tally(campaign)
    tally.update()
    return tally


def locked_in(campaign, tally=None):
    tally = tallied(campaign) if tally is None else tally
    return [alarm.text for alarm in all_alarms(campaign, campaign.status(), tally) if alarm.name == "locked_in"]


def test_a_campaign_that_is_locked_in_says_so_everywhere():
    """Calls and mails fail at first and are never tried again, though mails would sell three times as often."""
    campaign = opened(bare(SHOP))
    with serving(app(campaign)) as client:
        decided = go_on(campaign, 60)
        said = everywhere(client, "locked_in", "none: all of the last ")
    played = [z.action for z in decided]
    last = 60 - played[::-1].index(next(a for a in played[::-1] if a != "none"))  # decisions up to the last other one
    certain = max((i for i, z in enumerate(decided, 1) if z.probability < 1.0), default=0)
    n = 60 - max(last, certain)
    assert f"the last {n} decisions" in said
    assert f"since decision {decided[-n].id}. The policy never explores" in said
    for name in ("mail", "call"):
        assert f"{name} up to " in said
        assert f"({played.count(name)} outcome" in said


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: eh.resolving(SHOP, eh.PerAction.of(SHOP)), "it explores"),
        (lambda: eh.resolving(SHOP, eh.PerAction(inner=BayesianRidge(n_features=1), actions=3)), "it explores"),
        (lambda: bare(SHOP, explore=0.02), "it draws"),
        (lambda: bare(SHOP, holdout=0.1), "every action is held out"),
    ],
    ids=lambda z: z if isinstance(z, str) else "",
)
def test_policies_that_explore_raise_no_alarm(made, why):
    assert locked_in(opened(bare(SHOP))) == []
    campaign = opened(made())
    go_on(campaign, 100)
    assert locked_in(campaign) == [], why


def test_a_policy_with_a_width_raises_no_alarm_where_one_without_does():
    """Both play one action alone for long, and know as little of the other; one would come back to it."""
    problem, found = replace(SHOP, actions=("none", "mail"), outcomes=SHOP.outcomes[:1], subject_to=()), []
    for inner in (BayesianRidge(n_features=1), Ridge(n_features=1)):
        campaign = opened(eh.resolving(problem, eh.PerAction(inner=inner, actions=2), warmup=10))
        for i in range(60):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EvenhandWarning)
                said = campaign.decide({}, key=f"{i}")
            campaign.observe(said.id, {"sale": int(said.action == "none" and i % 5 > 1)})
        assert tallied(campaign).streak.is_long
        found.append(len(locked_in(campaign)))
    assert found == [0, 1]


def test_it_is_judged_once_twenty_outcomes_came():
    campaign = opened(bare(SHOP))
    decided = go_on(campaign, 20)
    came = sum(z.action == "none" for z in decided)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvenhandWarning)
        later = [campaign.decide({}, key=f"later {i}") for i in range(40)]
    assert {z.action for z in later} == {"none"}
    for z in later[: 19 - came]:
        campaign.observe(z.id, {"sale": 0})
    assert tallied(campaign).streak.is_long
    assert locked_in(campaign) == []
    campaign.observe(later[-1].id, {"sale": 0})
    assert len(locked_in(campaign)) == 1


def test_a_withdrawn_action_is_not_named():
    campaign = opened(bare(replace(SHOP, withdrawn=("call",))))
    go_on(campaign, 60)
    (said,) = locked_in(campaign)
    assert "mail up to" in said
    assert "call" not in said


def test_nothing_is_said_while_the_latest_case_is_erased():
    campaign = opened(bare(SHOP))
    go_on(campaign, 60)
    campaign.erase(["59"])
    assert locked_in(campaign) == []
    go_on(campaign, 1, first=60)
    (said,) = locked_in(campaign)
    assert "the last 54 decisions" in said


def test_no_alarm_while_nothing_else_can_be_played():
    campaign = opened(bare(SHOP))
    go_on(campaign, 60, offered=["none"])
    streak = tallied(campaign).streak
    assert (streak.whole, streak.action) == (0, None)
    assert locked_in(campaign) == []


def test_no_alarm_where_a_hard_budget_masked_the_others():
    campaign = opened(bare(replace(SHOP, subject_to=(eh.Budget("cents", total=79, hard=True),))))
    go_on(campaign, 60)
    streak = tallied(campaign).streak
    assert (streak.whole, streak.rounds) == (60, 0)
    assert locked_in(campaign) == []


def test_only_actions_that_were_offered_are_named():
    campaign = opened(bare(SHOP))
    go_on(campaign, 60, offered=["none", "mail"])
    (said,) = locked_in(campaign)
    assert "mail up to" in said
    assert "call" not in said


def test_nothing_is_judged_that_was_learned_from_a_log():
    campaign = opened(bare(SHOP))
    go_on(campaign, 60)
    assert len(locked_in(campaign)) == 1
    campaign.terms = replace(campaign.terms, taught="a log")
    assert locked_in(campaign) == []


def test_a_policy_that_is_right_after_it_learned_enough_raises_no_alarm():
    """After 120 rounds by chance the intervals of mails and calls end below what no action brings."""
    problem = replace(SHOP, subject_to=(), maximize="sale")
    campaign = opened(bare(problem, warmup=120))
    rng = np.random.default_rng(3)
    for i in range(330):
        said = campaign.decide({}, key=f"{i}")
        campaign.observe(said.id, {"sale": int(rng.random() < {"none": 0.9, "mail": 0.2, "call": 0.1}[said.action])})
    streak = tallied(campaign).streak
    assert streak.action == "none"
    assert streak.is_long
    assert locked_in(campaign) == []


def test_it_is_so_after_a_restart_from_a_tally_that_is_kept(monkeypatch):
    monkeypatch.setattr(of_tally, "EVERY", 50)
    store = MemoryStore()
    campaign = opened(bare(SHOP), store)
    go_on(campaign, 40)
    first = tallied(campaign)  # is kept
    go_on(campaign, 20, first=40)
    campaign = opened(bare(SHOP), store)
    again = Tally(campaign)
    again._go_on(campaign.policy)
    assert again._last == first._last > 50  # it begins with what was kept
    again.update()
    first.update()
    assert vars(again.streak).keys() == vars(first.streak).keys()
    for tally in (first, again):
        assert tally.streak.rounds > 50
        assert locked_in(campaign, tally) == locked_in(campaign)
    assert len(locked_in(campaign)) == 1


def test_a_switch_begins_the_count_again():
    campaign = opened(bare(SHOP))
    go_on(campaign, 60)
    campaign.switch(bare(replace(SHOP, subject_to=(eh.Budget("cents", total=21_000),))))
    assert tallied(campaign).streak.rounds == 0
    assert locked_in(campaign) == []
    go_on(campaign, 61, first=60)
    (said,) = locked_in(campaign)  # of 121 decisions
    assert "the last 61 decisions" in said


def test_the_count_is_that_of_the_decisions_one_by_one():
    """Of random decisions, against a count from the last one backwards."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        rows, streak = [], Streak()
        for number in range(1, 30):
            action, certain = "ab"[int(rng.random() < 0.1)], bool(rng.random() < 0.95)
            offered = [None, ["a", "b"], ["a", "b", "c"], [action]][rng.integers(4)]
            streak.decided(number, action, offered, certain=certain)
            if offered is None or len(offered) > 1:
                rows.append((number, action, offered, certain))
        run = []
        for row in reversed(rows):
            if not row[3] or (run and row[1] != run[-1][1]):
                break
            run.append(row)
        assert (streak.whole, streak.rounds) == (len(rows), len(run))
        if run:
            assert (streak.action, streak.first, streak.last) == (run[0][1], run[-1][0], run[0][0])
            for name in "abc":
                assert streak.n_offered(name) == sum(offered is None or name in offered for _, _, offered, _ in run)


@pytest.mark.parametrize(("rounds", "before", "found"), [(19, 0, False), (20, 20, True), (20, 21, False)])
def test_it_is_judged_from_twenty_rounds_and_half_of_them_on(rounds, before, found):
    streak = Streak()
    for number in range(before + rounds):
        streak.decided(number, "b" if number < before else "a", None, certain=True)
    assert streak.is_long is found


def test_revised_outcomes_replace_the_earlier_ones():
    campaign = opened(bare(SHOP))
    decided = go_on(campaign, 40)
    for z in decided[::3]:
        campaign.observe(z.id, {"sale": 1}, revise=True)
    tally, sales = tallied(campaign), {}
    for z in decided:
        (sale,) = [campaign.find(z.id)["outcomes"]["sale"]]
        n, s = sales.get(z.action, (0, 0))
        sales[z.action] = n + 1, s + sale
    assert {a: tuple(sums[:2]) for a, sums in tally.streak.sums.items()} == sales


def room(outcomes, sold, k, price=PRICED, cents=80.0):
    """The most that an action may be worth by a search for the end of the interval, less what it costs."""
    if k == 0:
        return price[0] + price[1] * cents
    x = sold / k
    end = brentq(lambda m: m - x - 3.0 * np.sqrt(m * (1.0 - m) / k), max(x, 1e-12), 1.0) if x < 1.0 else 1.0
    return price[0] * end + price[1] * cents


@pytest.mark.parametrize(("k", "sold"), [(0, 0), (1, 0), (2, 0), (2, 1), (10, 3), (10, 10), (400, 80)])
def test_the_most_that_an_action_may_be_worth(k, sold):
    sums = None if k == 0 else np.array([k, sold, 80.0 * k])
    count, highest = of_streak._highest(SHOP, 1, sums, PRICED)
    assert count == k
    assert highest == pytest.approx(room(None, sold, k), abs=1e-9)


def test_ranges_by_action_and_factors_bound_what_is_unknown():
    """A visit that is not tried may bring its whole range, a loss may be none, and a basket is times its price."""
    problem = eh.Problem(
        actions=("none", "mail"),
        outcomes=(
            eh.Outcome("basket", low=-5.0, high={"none": 10.0, "mail": 30.0}),
            eh.Outcome("calls", high=4.0, free=("none",)),
        ),
        maximize="basket",
        horizon=9,
    )
    price = np.array([2.0, -1.0])
    assert of_streak._highest(problem, 0, None, price) == (0, 20.0)
    assert of_streak._highest(problem, 1, None, price) == (0, 60.0)
    problem = eh.Problem(
        actions=("none", "mail"),
        outcomes=(eh.Outcome("sold", times="price"), eh.Outcome("price", known={"none": 3.0, "mail": 5.0})),
        maximize="sold",
        horizon=9,
    )
    assert of_streak._highest(problem, 1, None, np.array([1.0, 0.0])) == (0, 5.0)


def test_a_range_without_an_end_says_nothing_unless_it_has_no_price():
    problem = pose("sale", eh.Outcome("basket", high=np.inf), actions=("none", "mail"), horizon=9)
    assert of_streak._highest(problem, 1, None, np.array([1.0, 0.0])) == (0, 1.0)
    assert np.isnan(of_streak._highest(problem, 1, None, np.array([1.0, 0.5]))[1])


def test_rows_by_group_that_have_a_price_are_not_judged():
    problem = replace(
        SHOP,
        groups=(eh.Groups("zone", ("town", "village")),),
        subject_to=(eh.Parity("sale", by="zone", tolerance=0.01),),
    )
    campaign = opened(bare(problem))
    goals = list(campaign.policy.goals)
    assert [len(g.rows) for g in goals] == [1, 4]
    assert of_streak._price(goals, {"q": [1.0, 0.0, 0.0, 0.0, 0.0]}).tolist() == [1.0, 0.0]
    assert of_streak._price(goals, {"q": [1.0, 0.0, 0.1, 0.0, 0.0]}) is None
    assert of_streak._price(goals, {"q": [0.0] * 5}) is None
    assert of_streak._price(goals, {}) is None
    assert rooms(campaign, Streak()) == []
