"""Days, hours and budgets of time zones, against a count that walks through time in quarters of an hour."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.policy.saving import fingerprint
from evenhand.problem import Traffic
from evenhand.problem.clock import Clock
from evenhand.problem.constraints._periods import spans_of
from tests.rows import for_each

QUARTER, DAY = 900, 86_400  # seconds
# By a half or by two hours, at midnight, after midnight back to the day before, over a whole day, four times a year.
ODD = ("Europe/Prague", "Australia/Lord_Howe", "Antarctica/Troll", "America/Sao_Paulo", "Asia/Beirut", "America/Havana",
       "America/St_Johns", "Atlantic/Azores", "Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu")  # fmt: skip
PRAGUE = Clock.between("2026-10-24", "2026-10-28", 0, "Europe/Prague")
RUN = {"since": "2026-10-24", "until": "2026-10-28", "horizon": 9}
KNOWN, LEARNED = eh.Outcome("usd", known={"small": 1}), eh.Outcome("usd", high=2, free=("none",))


def offset(zone, second):
    return datetime.fromtimestamp(second, zone).utcoffset() // timedelta(seconds=1)


def changes(zone, year):
    """The seconds at which a clock changes from a year on, from quarters of an hour to others."""
    found = {}
    for low in range(*(int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (year, 2038)), 5 * DAY):
        high = low + 5 * DAY
        before, after = offset(zone, low), offset(zone, high)
        while before != after and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
        if before != after:
            found[high] = high % QUARTER == before % QUARTER == after % QUARTER == 0
    return [at for at in found if all(even for near, even in found.items() if abs(near - at) < 90 * DAY)]


def counted(zone, begin, end):
    """The starts of periods after a begin and up to the first one that is not before an end, by period."""
    day, first, last, starts = date.min, 0, None, {per: [] for per in ("hour", "day", "week", "month")}
    for second in range(begin - 3 * DAY, end + 33 * DAY, QUARTER):
        today = datetime.fromtimestamp(second, zone).date()
        if today > day:  # a day starts at the first moment that has its date
            day, first = today, second
        names = ((day, (second - first) // 3600), day, day.isocalendar()[:2], day.replace(day=1))
        for found, name, before in zip(starts.values(), names, last or names, strict=True):
            if name != before and second > begin and (not found or found[-1] < end):
                found.append(second)
        last = names
    return starts


def compare(zone, rng, at):
    """Count the spans of a run around a change of the clock, and how many of them differ, by period."""
    begin, end = (at + sign * QUARTER * int(rng.integers(1, 35 * 96)) for sign in (-1, 1))
    since, until = (datetime.fromtimestamp(second, zone).isoformat() for second in (begin, end))
    clock, found = Clock.between(since, until, 0, zone.key), Counter()
    starts = counted(zone, begin, end)
    for per, expected in starts.items():
        edges = clock.edges("per", per).tolist()
        found[per] = len(edges) - 1
        found["differ"] += len({*edges} ^ {0.0, *((second - begin) / DAY for second in expected)})
    days = np.array([begin, *starts["day"]]) - begin
    if len(days) > 3:
        spans = spans_of(clock, "Budget", 1.0, "day", carry=False, window=3)
        found["window"] = len(spans.first)
        found["differ"] += not np.array_equal(np.rint(spans.edges[spans.first] * DAY), days[:-3])
        found["differ"] += not np.array_equal(np.rint(spans.ends * DAY), days[3:])
    forecast = Traffic(7, per="day").expected(clock, days[1:] / DAY)
    found["differ"] += not np.allclose(np.diff(forecast), 7.0)
    return found


@for_each("name", ODD)
def test_spans_of_odd_zones_are_those_of_an_independent_count(name):
    zone, rng = ZoneInfo(name), np.random.default_rng(sum(map(ord, name)))
    found = sum((compare(zone, rng, at) for at in changes(zone, 1980)[-40::10]), Counter())
    assert not found["differ"]
    assert found["hour"] > 800 or name == "Asia/Kathmandu"  # which changed once


@pytest.mark.slow
def test_spans_of_all_zones_are_those_of_an_independent_count():
    """Around four changes of every zone that has four: some 1,400,000 hours, 58,000 days and 55,000 windows."""
    found, rng = Counter(), np.random.default_rng(54)
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        if len(at := changes(zone, 1900)) >= 4:
            found += sum((compare(zone, rng, z) for z in rng.choice(at, 4, replace=False).tolist()), Counter(zones=1))
    assert found["zones"] >= 400
    assert not found["differ"]


@for_each(
    ("zone", "since", "until", "per", "hours"),
    [
        ("Europe/Prague", "2026-10-24", "2026-10-28", "day", [24, 25, 24, 24]),
        ("Europe/Prague", "2026-10-25", "2026-10-26", "hour", [1] * 25),
        ("Pacific/Apia", "2011-12-29", "2012-01-01", "day", [24, 24]),  # without 30 December
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-06", "hour", [1] * 24 + [0.5]),
        ("America/St_Johns", "2010-11-06", "2010-11-08", "day", [24, 25]),  # at 00:01 to 23:01
        ("America/Toronto", "1919-03-30", "1919-04-01", "day", [23.5, 23.5]),  # at 23:30 to 00:30
    ],
)
def test_periods_have_the_hours_that_elapse(zone, since, until, per, hours):
    edges = Clock.between(since, until, 0, zone).edges("per", per)
    np.testing.assert_allclose(24 * np.diff(edges), hours, rtol=1e-12)


def test_a_local_time_that_comes_twice_is_the_earlier_one_and_is_written_with_its_offset():
    hours = {"2026-10-25T02:30": 26.5, "2026-10-25T02:30+01:00": 27.5, "2026-10-25T00:00:00Z": 26.0}
    hours |= {datetime(2026, 10, 25, 2, 30, fold=1): 27.5, pd.Timestamp("2026-10-25T03:30"): 28.5}
    assert {time: pytest.approx(24 * PRAGUE.read("time", time)) for time in hours} == hours
    micros = int(datetime(2026, 10, 25, 1, 30, tzinfo=UTC).timestamp()) * 1_000_000
    assert 24 * PRAGUE.of_micros(micros) == pytest.approx(27.5)
    first, second = (PRAGUE.format(hours / 24) for hours in (26.5, 27.5))
    assert (first, second) == ("2026-10-25 02:30+02:00", "2026-10-25 02:30+01:00")
    assert [PRAGUE.format(hours / 24) for hours in (24, 30, 49)] == ["2026-10-25", "2026-10-25 05:00", "2026-10-26"]
    assert Clock.between("2018-11-03", "2018-11-06", 0, "America/Sao_Paulo").format(1.0) == "2018-11-04"  # at 01:00
    since, until = (datetime(2026, 10, day, tzinfo=ZoneInfo("Europe/Prague")) for day in (24, 28))
    assert Clock.between(since, until, 0) == PRAGUE


@for_each(
    ("since", "until", "zone", "said"),
    [
        ("2026-10-24T00:00+02:00", "2026-10-28T00:00+01:00", None, "until: expected an end with the offset"),
        ("2026-10-25T02:30", "2026-10-28", "Europe/Prague", "since: expected a time with its offset"),
        ("2026-10-24", "2026-10-25T02:30", "Europe/Prague", "2026-10-25 02:30:00, which comes twice in Europe/Prague"),
        ("2026-03-28", "2026-03-29T02:30", "Europe/Prague", "until: expected a time that comes there"),
        ("2011-12-29", "2011-12-30", "Pacific/Apia", "2011-12-30 00:00:00, which never comes in Pacific/Apia"),
        ("2026-10-24", "2026-10-28", "Europe/Parague", "'Europe/Parague' (did you mean Europe/Prague?)"),
        ("2026-10-24", "2026-10-28", "Europe", "zone: expected a time zone by its name"),
        ("2026-10-24", "9999-12-31", "Europe/Prague", "until: expected a year from 2 to 9998"),
        (None, 5, "Europe/Prague", "zone: expected nothing, as the problem has no since="),
    ],
)  # fmt: skip
def test_ends_and_zones_that_make_no_sense_are_refused(since, until, zone, said):
    with pytest.raises(InvalidInput) as error:
        Clock.between(since, until, 0, zone)
    assert said in str(error.value)


def shop(budget, usd=LEARNED, **stated):
    return eh.Problem(
        actions=("none", "small"),
        outcomes=(eh.Outcome("ok", free=("none",)), usd),
        features=(eh.Numeric("x", 0, 1),),
        maximize="ok",
        subject_to=(budget,),
        **stated,
    )


def test_four_local_days_have_four_allowances():
    """Cases every half an hour until the clock has changed, at 23:30 and at 00:30 as well."""
    ends = {"since": "2026-10-24T00:00+02:00", "until": "2026-10-28T00:00+01:00", "zone": "Europe/Prague"}
    problem = shop(eh.Budget("usd", total=15, per="day"), KNOWN, traffic=Traffic(60, per="day"), **ends)
    policy, spent = eh.resolving(problem), Counter()
    state = policy.start(seed=0)
    for half in range(2 * 97):
        time = datetime(2026, 10, 23, 22, tzinfo=UTC) + timedelta(hours=half / 2)
        case = policy.encode({"x": 0.5}, offered=("small",), time=time)
        decision = policy.act(state, case)
        spent[time.astimezone(ZoneInfo("Europe/Prague")).day] += int(decision.plays[0, 0] == 1)
    assert spent == dict.fromkeys(range(24, 28), 15)
    (account,) = policy.status(state).accounts.values()
    assert [use.start for use in account.spans] == [f"2026-10-{day}" for day in range(24, 28)]


def test_own_spans_are_local_and_may_not_be_doubtful():
    own = eh.Budget("usd", total=[("2026-10-24", "2026-10-26", 5), ("2026-10-26", "2026-10-28", 5)])
    (stated,) = shop(own, **RUN, zone="Europe/Prague").stated
    assert (24 * stated.spans.edges).tolist() == [0, 49, 97]
    for ends in (("2026-10-24", "2026-10-25T02:30"), ("2026-10-25T02:30", "2026-10-28")):
        with pytest.raises(InvalidInput, match=r"total\[0\]: expected a time with its offset.* comes twice"):
            shop(eh.Budget("usd", total=[(*ends, 5)]), **RUN, zone="Europe/Prague")


def test_a_day_has_its_traffic_however_long_it_is():
    traffic = Traffic(50, per="day", shape=(1, 0, 0, 0, 1), memory=2)
    assert traffic.rounds("2026-10-24", "2026-10-28", "Europe/Prague") == 200
    np.testing.assert_allclose(traffic.edges(PRAGUE) * 24, [24, 49, 73])
    cases = traffic.expected(PRAGUE, np.array([24, 29, 44, 49, 97]) / 24)
    np.testing.assert_allclose(cases, [50, 75, 75, 100, 200])  # a part of the second day has five hours
    np.testing.assert_allclose(traffic.begin(PRAGUE, np.array([50, 96]) / 24) * 24, [24, 49])


def test_a_problem_without_a_zone_has_the_fingerprint_that_it_had():
    plain, zoned = (shop(eh.Budget("usd", total=9), **RUN, zone=zone) for zone in (None, "Europe/Prague"))
    assert fingerprint(plain) == "231c88d6bf215825"
    assert fingerprint(zoned) != fingerprint(plain)


def test_a_policy_of_another_start_is_not_adopted():
    """As the same spans begin an hour earlier with a zone than by UTC."""
    run, daily = RUN | {"since": "2026-12-01", "until": "2026-12-09"}, eh.Budget("usd", total=9, per="day")
    utc, local = (eh.resolving(shop(daily, **run, zone=zone)) for zone in (None, "Europe/Prague"))
    with pytest.raises(InvalidInput, match=r"until, traffic, since, zone: expected the same spans of time, start"):
        local.adopt(utc.start(), of=utc)
