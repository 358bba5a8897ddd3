"""What a dashboard raises an alarm for: facts, and nothing else."""

import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard.alarms import alarms
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.sections.constraints import constraints
from evenhand.live.dashboard.tally import Tally
from evenhand.live.stores.memory import MemoryStore
from tests.live.worked import DAY, Clock
from tests.problems import pose


def stated(hard, on_expiry="hold", total=100):
    """A campaign that calls for up to 60 minutes, and its clock."""
    problem = pose(
        "answer",
        eh.Outcome("minutes", high=60, free=("nothing",)),
        actions=("nothing", "call"),
        subject_to=(eh.Budget("minutes", total=total, hard=hard),),
        horizon=100,
    )
    clock, policy = Clock(), eh.resolving(problem, eh.PerAction.of(problem))
    return Campaign.open(MemoryStore(clock), "calls", policy, patience=DAY / 1e6, on_expiry=on_expiry), clock


def raised(campaign):
    tally, status = Tally(campaign), campaign.status()
    tally.update()
    return alarms(campaign, status, tally)


def call(campaign, key):
    return campaign.decide({}, key=key, offered=["call"])


def test_nothing_is_wrong_at_the_start():
    assert raised(stated(hard=True)[0]) == []


def test_a_budget_that_waits_for_outcomes_is_jammed():
    campaign, _ = stated(hard=True)
    first = call(campaign, "a")
    assert raised(campaign) == []
    assert call(campaign, "b").action is None
    (said,) = raised(campaign)
    assert said.startswith("minutes: jammed. 60 is held for outcomes to come and 40 is left")
    campaign.observe(first.id, {"answer": 1, "minutes": 5})
    assert raised(campaign) == []


def test_a_budget_that_is_kept_on_average_may_be_overspent():
    campaign, _ = stated(hard=False)
    for i in range(2):
        campaign.observe(call(campaign, f"{i}").id, {"answer": 1, "minutes": 59})
    assert raised(campaign) == ["minutes: overspent. 118 of 100 is spent, 18 too much."]


@pytest.mark.parametrize("on_expiry", ["hold", "release"])
def test_an_outcome_after_its_release(on_expiry):
    campaign, clock = stated(hard=True, on_expiry=on_expiry, total=10_000)
    number = call(campaign, "a").id
    clock.now += 2 * DAY
    campaign.refresh()
    assert raised(campaign) == []
    campaign.observe(number, {"answer": 1, "minutes": 5})
    late = ["1 outcome came after what was held was given back: hard budgets may be overspent by it."]
    assert raised(campaign) == (late if on_expiry == "release" else [])


def test_many_outcomes_that_expired():
    campaign, clock = stated(hard=True, total=10_000)
    numbers = [call(campaign, f"{i}").id for i in range(30)]
    for number in numbers[:26]:
        campaign.observe(number, {"answer": 1, "minutes": 5})
    clock.now += 2 * DAY
    assert raised(campaign) == ["13.3% of the outcomes that were due expired (4 of 30)."]


def test_a_floor_that_is_missed_by_more_than_chance_explains():
    """No answer where half is asked for: after eight cases three standard errors are 0.53, after ten 0.47."""
    problem = pose("answer", actions=("nothing", "call"), subject_to=(eh.Floor("answer", rate=0.5),), horizon=30)
    campaign = Campaign.open(MemoryStore(Clock()), "calls", eh.resolving(problem, eh.PerAction.of(problem)))
    for i in range(17):
        if i in (0, 8):
            assert raised(campaign) == []
        if i in (10, 16):
            (said,) = raised(campaign)
            begin = "answer per round, at least: 0, at least 0.5. It is "
            assert said.startswith(begin + ("missed so far; the rounds to come need" if i == 10 else "out of reach"))
        campaign.observe(campaign.decide({}, key=f"{i}").id, {"answer": 0})


def careful(slack):
    """A campaign of which the new letter may never be worse than the old one by more than a slack."""
    problem = eh.Problem(
        actions=("old", "new"),
        outcomes=(eh.Outcome("sale"), eh.Outcome("usual", known=0.4)),
        maximize="sale",
        subject_to=(eh.problem.NeverWorse("sale", than="usual", alpha=0.2, slack=slack),),
        horizon=400,
    )
    return Campaign.open(MemoryStore(Clock()), "letters", eh.resolving(problem, eh.PerAction.of(problem)), patience=9e6)


def test_a_ratio_that_is_missed_raises_no_alarm_while_its_credit_holds():
    campaign = careful(slack=50)
    for i in range(60):
        campaign.observe(campaign.decide({}, key=f"{i}", offered=["new"]).id, {"sale": 0})
    standing = campaign.status().standings["sale / usual"]
    assert (standing.value, standing.limit) == (0.0, 0.8)
    assert standing.credit == pytest.approx(50 - 60 * 0.32)
    assert (standing.kept, standing.verdict, standing.said) == (True, "kept", "kept, with a credit of 30.8")
    assert raised(campaign) == []
    assert "missed" not in str(campaign.status())
    tally = Tally(campaign)
    tally.update()
    (card,) = constraints(Readings(campaign, campaign.status(), tally, linked=True)).cards
    assert [list(row) for row in card.tables[0].rows] == [["credit left", "30.8", "0", "yes"]]


def test_a_credit_that_a_correction_overdraws_raises_an_alarm():
    campaign = careful(slack=5)
    numbers = [campaign.decide({}, key=f"{i}", offered=["new"]).id for i in range(15)]
    for number in numbers:
        campaign.observe(number, {"sale": 1})
    more = [campaign.decide({}, key=f"more {i}", offered=["new"]).id for i in range(15)]
    for number in more:
        campaign.observe(number, {"sale": 0})
    assert raised(campaign) == []
    for number in numbers:
        campaign.observe(number, {"sale": 0}, revise=True)
    credit = 5 - 30 * 0.32
    assert campaign.status().credits["sale / usual"] == pytest.approx(credit)
    said = f"missed: the credit is overdrawn by {-credit:.4g}"
    assert raised(campaign) == [f"sale / usual: 0, at least 0.8. It is {said}."]
    assert said in str(campaign.status())
