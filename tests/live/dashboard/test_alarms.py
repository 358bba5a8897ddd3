"""What a dashboard raises an alarm for: facts, and nothing else."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard import alarms as told
from evenhand.live.dashboard.alarms import alarms
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.sections.constraints import constraints
from evenhand.live.dashboard.tally import Tally
from evenhand.live.http import app
from evenhand.live.log.events import read
from evenhand.live.stores.memory import MemoryStore
from evenhand.models import BayesianRidge, Restarting
from tests.live.dashboard.worked import DAY, START
from tests.live.http_campaign import serving
from tests.polling import Clock
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
    clock, policy = Clock(START), eh.resolving(problem, eh.PerAction.of(problem))
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
    assert said.startswith("minutes: jammed. 60 is held for outstanding outcomes and 40 is left")
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
    late = ["1 outcome came after the held amount was released: hard budgets may be overspent by it."]
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
    campaign = Campaign.open(MemoryStore(Clock(START)), "calls", eh.resolving(problem, eh.PerAction.of(problem)))
    for i in range(17):
        if i in (0, 8):
            assert raised(campaign) == []
        if i in (10, 16):
            (said,) = raised(campaign)
            begin = "answer per round, at least: 0, at least 0.5. It is "
            assert said.startswith(begin + ("missed so far; the remaining rounds need" if i == 10 else "out of reach"))
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
    return Campaign.open(
        MemoryStore(Clock(START)), "letters", eh.resolving(problem, eh.PerAction.of(problem)), patience=9e6
    )


def test_a_ratio_that_is_missed_raises_no_alarm_while_its_credit_holds():
    campaign = careful(slack=50)
    for i in range(60):
        campaign.observe(campaign.decide({}, key=f"{i}", offered=["new"]).id, {"sale": 0})
    standing = campaign.status().standings["sale / usual"]
    assert (standing.value, standing.limit) == (0.0, 0.8)
    assert standing.credit == pytest.approx(50 - 60 * 0.32)
    assert (standing.kept, standing.verdict, standing.text) == (True, "kept", "kept, with a credit of 30.8")
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


def everywhere(client, name, begin):
    """Over HTTP: the sentence of an alarm in the report and on the page, and its number in the metrics."""
    (said,) = [z for z in client.get("/report").json()["alarms"] if z.startswith(begin)]
    assert said in client.get("/").text
    text = client.get("/metrics").text
    assert f'evenhand_alarm{{name="{name}"}} 1' in text
    assert f"evenhand_alarms {len(client.get('/report').json()['alarms'])}.0\n" in text
    return said


def test_metrics_count_every_kind_of_alarm():
    with serving(app(stated(hard=True)[0])) as client:
        text = client.get("/metrics").text
    assert "evenhand_alarms 0.0\n" in text
    for name in told.NAMES:
        assert f'evenhand_alarm{{name="{name}"}} 0' in text


@pytest.mark.parametrize("on_expiry", ["hold", "fallback", "release"])
def test_no_outcome_for_longer_than_patience(on_expiry):
    campaign, clock = stated(hard=True, on_expiry=on_expiry, total=10**6)
    with serving(app(campaign)) as client:
        first = call(campaign, "first").id
        clock.now += DAY // 2
        for i in range(30):
            call(campaign, f"{i}")
        clock.now += DAY // 2
        client.post("/observe", json={"id": first, "outcomes": {"answer": 1, "minutes": 5}})
        clock.now += DAY // 2  # the others are due, half a day after the outcome
        assert not [z for z in client.get("/report").json()["alarms"] if z.startswith("No outcome")]
        for i in range(30, 60):
            call(campaign, f"{i}")
        clock.now += DAY
        said = everywhere(client, "silence", "No outcome")
        assert said == (
            "No outcome came since 2026-01-06 08:00:00 UTC, although 30 decisions were due, which is longer than the "
            "patience of 1 days."
        )
        late = {"key": "59", "outcomes": {"answer": 1, "minutes": 5}}
        assert client.post("/observe", json=late).status_code == 200
        assert not [z for z in client.get("/report").json()["alarms"] if z.startswith("No outcome")]


def test_no_outcome_at_all():
    campaign, clock = stated(hard=False)
    for i in range(20):
        call(campaign, f"{i}")
    assert raised(campaign) == []
    clock.now += DAY
    assert raised(campaign)[-1].startswith("No outcome came at all, although 20 decisions were due")


def test_an_objective_below_that_of_the_rounds_held_out():
    """Rounds held out have an answer in four of five cases, others in one of five."""
    problem = pose("answer", actions=("nothing", "call"), horizon=400)
    policy = eh.resolving(problem, eh.PerAction.of(problem), holdout=0.4)
    campaign = Campaign.open(MemoryStore(Clock(START)), "calls", policy)
    with serving(app(campaign)) as client:
        for i in range(200):
            number = campaign.decide({}, key=f"{i}").id
            (event,) = campaign.store.about("calls", number)
            campaign.observe(number, {"answer": int((i % 5 == 0) != read(event)["f"])})
            if i == 20:
                assert raised(campaign) == []
        said = everywhere(client, "holdout", "answer: ")
        assert "per round, below" in said
        assert "of the rounds held out; the difference is -0." in said


def test_an_objective_that_may_be_above_that_of_the_rounds_held_out():
    problem = pose("answer", actions=("nothing", "call"), horizon=400)
    policy = eh.resolving(problem, eh.PerAction.of(problem), holdout=0.4)
    campaign = Campaign.open(MemoryStore(Clock(START)), "calls", policy)
    for i in range(200):
        campaign.observe(campaign.decide({}, key=f"{i}").id, {"answer": i % 2})
    found = campaign.status().held_out["answer"]
    assert found.rounds > 20
    assert found.low < 0.0 < found.high
    assert raised(campaign) == []


def test_what_the_model_says_of_drift_comes_through():
    problem = pose("answer", actions=("nothing", "call"), horizon=1000)
    model = Restarting(inner=BayesianRidge(n_features=2), every=50, young=15)
    campaign = Campaign.open(MemoryStore(Clock(START)), "calls", eh.resolving(problem, model))
    with serving(app(campaign)) as client:
        for i in range(300):
            campaign.observe(campaign.decide({}, key=f"{i}").id, {"answer": int(i >= 200)})
            if i == 199:
                assert raised(campaign) == []
        everywhere(client, "model", "The world has changed: ")


def test_it_is_noted_that_every_play_was_certain():
    campaign, note = stated(hard=False, total=10**6)[0], "All of the latest had probability 1"
    with serving(app(campaign)) as client:
        for i in range(99):
            call(campaign, f"{i}")
        assert client.get("/report").json()["certain"] is None
        assert note not in client.get("/").text
        call(campaign, "99")
        report = client.get("/report").json()
        assert (report["certain"], len(report["alarms"])) == (1.0, 1)  # the horizon is reached
        assert note in client.get("/").text
        assert "evenhand_certain_share 1.0" in client.get("/metrics").text


def sure(answered, warmup=20, offered=None):
    """A campaign whose policy decides for certain after its warm-up; outcomes come of some actions alone."""
    problem = pose(
        "answer",
        eh.Outcome("cents", known={"mail": 80, "call": 300}),
        actions=("none", "mail", "call"),
        subject_to=(eh.Budget("cents", total=10_000),),
        horizon=300,
    )
    policy = eh.pgd(problem, eh.PerAction.of(problem), warmup=warmup)
    campaign = Campaign.open(MemoryStore(), "sure", policy)
    for i in range(130):
        said = campaign.decide({}, key=f"{i}", offered=offered)
        if said.action in answered:
            campaign.observe(said.id, {"answer": int(said.action == "none")})
    return campaign


def untried(campaign):
    return [alarm for alarm in raised(campaign) if alarm.startswith("No outcome of")]


def test_a_policy_that_is_sure_although_an_action_has_no_outcome_yet():
    (said,) = untried(sure(()))
    assert said.startswith("No outcome of none, mail, call yet: ")
    assert said.endswith("% of the latest 100 plays were certain, so what was not tried may never be.")
    (said,) = untried(sure(("none", "mail")))
    assert said.startswith("No outcome of call yet: ")
    assert not untried(sure(("none", "mail", "call")))
    assert not untried(sure((), warmup=200)), "plays by chance are not certain"
    assert not untried(sure((), offered=["none"])), "the client offers nothing else"


def test_only_where_there_is_a_budget_and_nothing_was_learned_from_a_log():
    campaign = sure(("none", "mail"))
    tally, problem = Tally(campaign), campaign.policy.problem
    tally.update()
    for limits, taught, found in ((problem.subject_to, None, 1), ((), None, 0), (problem.subject_to, "a log", 0)):
        policy = SimpleNamespace(problem=replace(problem, subject_to=limits))
        other = SimpleNamespace(policy=policy, terms=SimpleNamespace(taught=taught))
        assert len(list(told._unknown_actions(other, tally))) == found
