"""The axis of what is drawn: rounds in a campaign of hours, dates in one of days or of a problem with dates."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

import evenhand as eh
from evenhand.live import Campaign
from evenhand.live.dashboard.axis import Axis
from evenhand.live.dashboard.charts import HorizontalAxis
from evenhand.live.dashboard.sections import SECTIONS, Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.stores.memory import MemoryStore
from evenhand.problem.clock import Clock
from tests.live.dashboard.test_span_charts import opened

START, HOUR = int(datetime(2026, 3, 30, 12, tzinfo=UTC).timestamp() * 1e6), 3_600_000_000
SHOP = eh.Problem(
    actions=("no", "go"),
    outcomes=(eh.Outcome("won"), eh.Outcome("cost", known={"go": 1})),
    maximize="won",
    subject_to=(eh.Budget("cost", total=50),),
    horizon=100,
)


def campaign(hours, rounds=10):
    now = [START]
    made = Campaign.open(MemoryStore(lambda: now[0]), "shop", eh.resolving(SHOP, eh.PerAction.of(SHOP)))
    for i in range(rounds):
        now[0] = START + int(hours * HOUR * (i + 1) / rounds)
        made.observe(made.decide({}, key=f"{i}", offered=["go"]).id, {"won": 1})
    return made


def axis(made):
    status, tally = made.status(), Tally(made)
    tally.update()
    return Axis.of(made, status, tally)


def sections(made):
    status, tally = made.status(), Tally(made)
    tally.update()
    now = Readings(made, status, tally, linked=False)
    return [card for show in SECTIONS if (section := show(now)) for card in section.cards]


def test_a_campaign_of_hours_counts_rounds():
    found = axis(campaign(hours=20))
    assert (found.start, found.last, found.unit) == (None, 100.0, "rounds")
    assert found.ends == found.rounds == [float(i) for i in range(1, 11)]
    assert (found.format(12.0), found.about(12.4)) == ("12", "at round 12")


def test_a_campaign_of_days_has_dates_and_an_end_at_its_present_rate():
    found = axis(campaign(hours=120))
    assert found.start == datetime(2026, 3, 30, 12, tzinfo=UTC)
    np.testing.assert_allclose(found.ends, np.arange(1, 11) / 2, atol=1e-9)
    assert np.isclose(found.last, 50.0)  # 10 of 100 rounds took 5 days
    assert found.rounds == [float(i) for i in range(1, 11)]
    assert (found.format(1.5), found.about(1.6)) == ("2026-04-01", "about 2026-04-01")
    assert [words for _, words in found.horizontal().marks()] == ["31 Mar", "1 Apr", "2 Apr", "3 Apr", "4 Apr"]


def test_tables_name_the_zone_of_their_times():
    clock = Clock.between("2026-03-01", "2026-04-01", 9, "Europe/Prague")
    axis = Axis(clock=clock, ends=[], rounds=[], last=31.0)
    assert axis.unit == "time in Europe/Prague"
    hours = 28 * 24 + np.array([0.0, 1.5, 2.0, 23.0])  # of 29 March, which has 23
    written = ["2026-03-29", "2026-03-29 01:30", "2026-03-29 03:00", "2026-03-30"]
    assert [axis.format(x / 24) for x in hours] == written
    assert axis.about(hours[-1] / 24) == "about 2026-03-30"


def test_a_plan_of_rounds_is_drawn_over_the_days_that_they_took():
    drawn = {card.name: card for card in sections(campaign(hours=120))}
    budget = drawn["budget-0"]
    assert budget.tables[1].head == ("time", "spent", "plan")
    assert budget.tables[1].rows[-1] == ("2026-04-04 12:00", "10", "5")
    assert budget.summary.endswith("200.0% of the total: it is used up about 2026-04-24.")  # half of 50 days
    for name in ("budget-0", "actions-over-time", "objective"):
        assert "round 0" not in drawn[name].chart
        assert drawn[name].wide


def test_a_problem_with_dates_goes_by_its_own_clock():
    found = axis(opened())
    assert found.start == datetime(2026, 12, 14)
    assert found.last == 3.0
    assert found.format(found.here) == "2026-12-15 21:36"  # when the last decisions expired


def test_hours_and_months_get_marks_that_fit():
    start = datetime(2026, 3, 30, 12)
    assert [w for _, w in HorizontalAxis(last=1.5, start=start).marks()] == ["12:00", "31 Mar", "12:00", "1 Apr"]
    months = HorizontalAxis(last=200.0, start=start).marks()
    assert 3 <= len(months) <= 5
    assert all(0.0 <= x <= 200.0 for x, _ in months)
    assert HorizontalAxis(last=0.0).marks() == [(0.0, "round 0")]


def test_marks_of_a_zone_are_at_local_midnights():
    start = datetime(2026, 10, 24, tzinfo=ZoneInfo("Europe/Prague"))
    assert [round(24 * x) for x, _ in HorizontalAxis(last=4.0, start=start).marks()] == [0, 24, 49, 73]
