"""The page of a campaign with spans of time: plans that follow the forecast, and a bar per span."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from evenhand.live import Campaign
from evenhand.live.dashboard.alarms import all_alarms
from evenhand.live.dashboard.page import render_file
from evenhand.live.dashboard.plans import plan_of
from evenhand.live.dashboard.report import report
from evenhand.live.dashboard.sections import Readings
from evenhand.live.dashboard.sections.budgets import budgets
from evenhand.live.dashboard.sections.cases import cases
from evenhand.live.dashboard.tally import Tally
from evenhand.live.stores.memory import MemoryStore
from evenhand.models import BayesianRidge
from evenhand.problem import Budget, Floor, Outcome, Problem, Traffic
from evenhand.recipes import pgd, resolving

START, DAY = int(datetime(2026, 12, 14, tzinfo=UTC).timestamp() * 1e6), 86_400_000_000
SHOP = Problem(
    actions=("nothing", "go"),
    outcomes=(Outcome("gain", free=("nothing",)), Outcome("cost", known={"go": 1})),
    maximize="gain",
    subject_to=(Budget("cost", total=2, per="day"),),
    since="2026-12-14",
    until="2026-12-17",
    traffic=Traffic(8, per="day", shape=(1, 3)),
)


def plan(budget, **other):
    problem = replace(SHOP, subject_to=(budget,), **other)
    return plan_of(problem, problem.stated[0])


@pytest.mark.parametrize(
    ("budget", "times", "amounts"),
    [  # a quarter of the cases come in the first half of a day
        (Budget("cost", total=2, per="day"), [0, 0.5, 1, 1.5, 2, 3], [0, 0.5, 2, 2.5, 4, 6]),
        (Budget("cost", total=2, per="day", carry=True), [0, 0.5, 1, 2, 3], [0, 0.5, 2, 4, 6]),
        (Budget("cost", total=4, per="day", window=2), [0, 0.5, 1, 2, 3], [0, 0.5, 2, 4, 6]),
        (Budget("cost", total=6), [0, 0.5, 1, 2.5, 3], [0, 0.5, 2, 4.5, 6]),
        (Budget("cost", total=[("2026-12-14", "2026-12-17", 9), ("2026-12-15", "2026-12-16", 1)]),
         [0, 1, 1.5, 2, 3], [0, 3, 3.25, 4, 7]),
    ],
)  # fmt: skip
def test_the_plan_follows_the_forecast_and_the_allowances(budget, times, amounts):
    found = plan(budget)
    assert not found.is_even
    np.testing.assert_allclose([found.at(t) for t in times], amounts, atol=1e-9)


def test_the_plan_of_rounds_is_even_in_every_span():
    by_round = {"since": None, "until": None, "traffic": None, "horizon": 60}
    found = plan(Budget("cost", total=2, per=20), **by_round)
    np.testing.assert_allclose([found.at(t) for t in (0, 10, 20, 50)], [0, 1, 2, 5], atol=1e-9)
    assert (plan(Budget("cost", total=6), **by_round).times == [0, 60]).all()


def opened(budget=SHOP.subject_to[0], days=2):
    """A campaign in which the first day spends one, and the second all it may."""
    now = [START]
    campaign = Campaign.open(MemoryStore(now=lambda: now[0]), "days", resolving(replace(SHOP, subject_to=(budget,))))
    for i in range(10 * days):
        now[0] = START + i * DAY // 10
        first = i == 9
        offered = ["go"] if first or i >= 15 else ["nothing"]
        if not (i >= 17):
            campaign.decide({}, key=f"{i}", offered=offered)
    return campaign


@pytest.mark.parametrize("make", [resolving, lambda p: pgd(p, BayesianRidge(n_features=2, n_outcomes=1), hard=True)])
def test_plans_and_debts_follow_hours_that_were_learned(make):
    """Seven days of twenty cases each in the first hour, where a forecast says nothing of hours."""
    now, floor = [START], Floor("gain", total=1, per="day")
    run = {"until": "2026-12-28", "traffic": Traffic(20, per="day"), "horizon": 0}
    shop = replace(SHOP, subject_to=(SHOP.subject_to[0], floor), **run)
    campaign = Campaign.open(MemoryStore(now=lambda: now[0]), "days", make(shop))
    for i in range(7 * 20 + 10):
        now[0] = START + i // 20 * DAY + i % 20 * DAY // 480
        decided = campaign.decide({}, key=f"{i}", offered=["nothing"])
    status, (stated, _) = campaign.status(), shop.stated
    even, found = (plan_of(shop, stated, profile) for profile in (None, status.profile))
    np.testing.assert_allclose([even.at(8.5), even.at(9.0)], [17.0, 18.0])
    np.testing.assert_allclose([found.at(8.5), found.at(9.0)], [17.9, 18.0], atol=0.05)
    debt = "gain: 0 of 1 reached from 2026-12-21 to 2026-12-22, 1 owed in about 12 future"  # of 20, half learned
    assert debt in campaign.explain(decided.id)
    assert [z.came for z in status.traffic] == [20] * 7 + [10]


def section(campaign):
    status, tally = campaign.status(), Tally(campaign)
    tally.update()
    return budgets(Readings(campaign, status, tally, linked=False))


def test_a_card_has_a_bar_for_every_span_so_far():
    found = section(opened())
    course, spans = found.cards
    assert "follows the forecast" in found.note
    assert [card.name for card in found.cards] == ["budget-0", "budget-0-spans"]
    assert course.chart.count('class="plan"') == 2  # in both widths
    assert ">14 Dec<" in course.chart
    numbers = dict(course.tables[0].rows)
    assert (numbers["spent"], numbers["lost with past spans"], numbers["left"]) == ("3", "1", "2")
    assert numbers["plan by now"] == "3.7"  # at 1.9 days, when the status is asked for: 2, and .25 + .4 * 1.5 of 2
    assert [tuple(row) for row in spans.tables[0].rows] == [
        ("2026-12-14 to 2026-12-15", "1", "2", "50.0%"),
        ("2026-12-15 to 2026-12-16", "2", "2", "100%"),
    ]
    assert spans.chart.count('class="bar played"') == 2
    assert "Of the allowances of past spans 50.0% was used." in spans.summary
    assert "lost with past spans" in render_file(opened())


def test_the_report_has_the_spans_by_name():
    first, second = report(opened())["budgets"]["cost"]["spans"]
    assert first == {
        "start": "2026-12-14",
        "end": "2026-12-15",
        "allowance": 2.0,
        "used": 1.0,
        "held": 0.0,
        "over": True,
    }
    assert (second["used"], second["over"]) == (2.0, False)


def test_carried_spans_are_named_by_their_ends():
    spans = section(opened(Budget("cost", total=2, per="day", carry=True))).cards[1]
    assert spans.title == "cost by the end of spans"
    assert ">2026-12-15<" in spans.chart
    assert spans.summary.startswith("3 of 4 used from 2026-12-14 to 2026-12-16.")
    assert [row[1] for row in spans.tables[0].rows] == ["1", "3", "3"]


def busy(counts, closed=()):
    """A campaign in which so many cases come on each day, of 8 that are forecast, and the alarms of its forecast."""
    now = [START]
    policy = resolving(replace(SHOP, traffic=replace(SHOP.traffic, closed=closed), horizon=0))
    campaign = Campaign.open(MemoryStore(now=lambda: now[0]), "days", policy)
    for day, n in enumerate(counts):
        for i in range(n):
            now[0] = START + day * DAY + i * DAY // n
            campaign.decide({}, key=f"{day} {i}")
    status, tally = campaign.status(), Tally(campaign)
    tally.update()
    said = [alarm.text for alarm in all_alarms(campaign, status, tally) if alarm.name == "traffic"]
    return Readings(campaign, status, tally, linked=False), said


def test_cases_are_shown_beside_their_forecast():
    now, said = busy([11, 6])
    assert said == []
    assert [(z.start, z.came, z.over) for z in now.status.traffic] == [
        ("2026-12-14", 11, True),
        ("2026-12-15", 6, False),
    ]
    assert [z.expected for z in now.status.traffic] == pytest.approx([8.0, 8.0])
    assert "2026-12-15  6 cases of 8 expected" in str(now.status)
    (card,) = cases(now).cards
    assert card.summary == "6 cases since 2026-12-15, of 8 that are expected until 2026-12-16."
    assert tuple(card.tables[0].rows[0]) == ("2026-12-14 to 2026-12-15", "11", "8")
    assert card.chart.count('class="bar played"') == 2  # in both widths
    assert report(now.campaign)["traffic"][1]["came"] == 6.0


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (
            [20, 17, 1],
            "More cases came than the forecast expected, twice in a row: 20 of 8 from 2026-12-14 and 17 of 8",
        ),
        ([20, 16, 1], None),  # within three standard errors
        ([20, 17], None),  # the second day is not over
    ],
)
def test_a_forecast_that_is_off_twice_in_a_row_is_an_alarm(counts, said):
    found = busy(counts)[1]
    assert [z.startswith(said or "") for z in found] == [True] * (said is not None)


def test_a_closed_day_is_shown_and_no_alarm():
    now, said = busy([2, 3, 8], closed=("2026-12-14", "2026-12-15"))
    assert said == []
    (card,) = cases(now).cards
    assert tuple(card.tables[0].rows[0]) == ("2026-12-14 to 2026-12-15", "2", "closed")
