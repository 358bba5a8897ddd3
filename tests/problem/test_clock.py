"""Times as numbers, calendar periods, spans of time and forecasts, against dates counted by hand."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InvalidInput
from evenhand.problem import Budget
from evenhand.problem.clock import Clock
from evenhand.problem.spans import Spans
from evenhand.problem.traffic import Traffic
from tests.rows import for_each

BERLIN = timezone(timedelta(hours=1))
NOVEMBER = Clock.between("2026-11-25", "2026-12-03", 0)  # a Wednesday, up to a Thursday


@pytest.mark.parametrize(
    ("since", "time", "days"),
    [
        ("2026-11-25", "2026-11-25", 0.0),
        ("2026-11-25", "2026-11-26T06:00", 1.25),
        ("2026-11-25", date(2026, 11, 27), 2.0),
        ("2026-11-25", datetime(2026, 11, 25, 12), 0.5),
        ("2026-11-25", "2026-11-25T12:00+00:00", 0.5),  # without a zone the run is in UTC
        ("2026-11-25", "2026-11-25T12:00+06:00", 0.25),
        (datetime(2026, 11, 25, tzinfo=BERLIN), "2026-11-25T12:00", 0.5),  # local time
        (datetime(2026, 11, 25, tzinfo=BERLIN), "2026-11-25T11:00+00:00", 0.5),
    ],
)
def test_times_are_days_since_the_start(since, time, days):
    assert Clock.between(since, "2027-01-01", 0).read("time", time) == days


def test_events_of_a_store_are_read_in_the_zone_of_the_run():
    at = int(datetime(2026, 11, 25, 12, 0, 0, 250_000, tzinfo=UTC).timestamp() * 1e6)
    assert NOVEMBER.of_micros(at) == pytest.approx(0.5 + 0.25 / 86_400, abs=1e-12)
    berlin = Clock.between("2026-11-25T00:00+01:00", "2026-12-03T00:00+01:00", 0)
    assert berlin.of_micros(at) == pytest.approx(13 / 24 + 0.25 / 86_400, abs=1e-12)
    assert Clock.between(None, 9.0, 0).of_micros(at) is None


@pytest.mark.parametrize(
    ("per", "edges"),
    [
        ("day", range(9)),
        ("week", [0, 5, 12]),  # the first week ends with Sunday, 29 November
        ("month", [0, 6, 37]),
        (3, [0, 3, 6, 9]),
    ],
)
def test_periods_are_those_of_the_calendar(per, edges):
    np.testing.assert_array_equal(NOVEMBER.edges("per", per), list(edges))


def test_the_first_period_of_a_start_within_a_day_ends_at_midnight():
    clock = Clock.between("2026-11-25T18:00", "2026-11-27T18:00", 0)
    np.testing.assert_allclose(clock.edges("per", "day"), [0.0, 0.25, 1.25, 2.25])
    assert len(clock.edges("per", "hour")) == 49
    assert clock.months(clock.edges("per", "month")) == ["november"]


def drawn_spans(rng):
    periods, count = rng.integers(1, 9), rng.integers(1, 7)
    first = rng.integers(0, periods, count)
    last = np.array([rng.integers(a, periods) for a in first])
    return Spans(np.arange(periods + 1.0), rng.uniform(0.1, 3.0, count), first, last)


def test_the_most_that_spans_allow_is_that_of_a_linear_program():
    rng, bounded = np.random.default_rng(8), 0
    for _ in range(100):
        spans = drawn_spans(rng)
        rows = [(np.arange(spans.periods) >= a) & (np.arange(spans.periods) <= b)
                for a, b in zip(spans.first, spans.last, strict=True)]  # fmt: skip
        found = linprog(-np.ones(spans.periods), np.array(rows, float), spans.allowance)
        assert spans.most == (pytest.approx(-found.fun) if found.status == 0 else np.inf)
        bounded += found.status == 0
    assert 20 < bounded < 80


def test_the_most_that_can_still_be_used_is_that_of_a_linear_program():
    rng = np.random.default_rng(18)
    for _ in range(100):
        spans = drawn_spans(rng)
        now, rest = rng.integers(spans.periods), rng.uniform(0.0, 3.0, len(spans.allowance))
        rows = [(np.arange(spans.periods) >= a) & (np.arange(spans.periods) <= b)
                for a, b in zip(spans.first, spans.last, strict=True)]  # fmt: skip
        ends = [(0, 0 if p < now else None) for p in range(spans.periods)]
        found = linprog(-np.ones(spans.periods), np.array(rows, float), rest, bounds=ends)
        assert spans.most_from(now, rest) == (pytest.approx(-found.fun) if found.status == 0 else np.inf)


def test_times_are_written_as_dates():
    assert [NOVEMBER.format(t) for t in (0.0, 1.0, 1.25, 5 + 1 / 24)] == [
        "2026-11-25", "2026-11-26", "2026-11-26 06:00", "2026-11-30 01:00"
    ]  # fmt: skip
    assert Clock.between(None, 9.0, 0).format(2.5) == "2.5"


def test_what_is_left_is_the_least_of_the_spans_that_contain_now():
    rng = np.random.default_rng(9)
    for _ in range(50):
        spans = drawn_spans(rng)
        used, time = rng.uniform(0.0, 1.0, (3, spans.periods)), rng.uniform(0.0, spans.periods, 3)
        for r, left in enumerate(spans.left(used, spans.period(time)).tolist()):
            p = int(time[r])
            by_hand = [b - used[r, f : u + 1].sum() for b, f, u in zip(*spans[1:4], strict=True) if f <= p <= u]
            assert left == pytest.approx(min(by_hand, default=np.inf))
        finer = spans.on(np.arange(0.0, spans.periods + 0.25, 0.5))
        np.testing.assert_allclose(
            finer.left(np.repeat(used / 2, 2, axis=1), finer.period(time)), spans.left(used, spans.period(time))
        )


def test_a_forecast_follows_its_shape_from_any_start():
    clock = Clock.between("2026-11-25T18:00", "2026-11-30", 0)
    day = Traffic(240, per="day", shape=(0,) * 12 + (1,) * 12)  # all cases come in the afternoon
    np.testing.assert_allclose(day.expected(clock, np.array([0.0, 0.125, 0.25, 0.75, 1.0])), [0, 60, 120, 120, 240])
    even = Traffic(240, per="day")
    np.testing.assert_allclose(even.expected(clock, np.array([0.0, 0.5, 4.25])), [0, 120, 1020])
    np.testing.assert_allclose(even.edges(clock), [0.25, 1.25, 2.25, 3.25])
    np.testing.assert_allclose(even.begin(clock, np.array([2.5])), [0.25])  # two whole days, and what there is of this


@for_each(
    ("make", "said"),
    [
        (lambda: Clock.between("yesterday", "2026-12-03", 0), "since: expected a date, such as"),
        (lambda: Clock.between(5, "2026-12-03", 0), "since: expected a date, such as"),
        (lambda: Clock.between("2026-12-03", None, 0), "until: expected the end of the run, as since= states"),
        (lambda: Clock.between("2026-12-03", "2026-12-03", 0), "until: expected a time after since=2026-12-03"),
        (lambda: Clock.between(None, "2026-12-03", 0), "until: expected a number above 0"),
        (lambda: Clock.between(None, 0, 0), "until: expected a number above 0"),
        (lambda: NOVEMBER.read("time", 4.0), "time: expected a date, such as"),
        (lambda: Clock.between(None, 9, 0).read("time", "2026-12-03"), "time: expected a number of at least 0"),
        (lambda: Clock.between(None, 9, 0).edges("per", "day"), "per: expected a number above 0, as the problem has"),
        (lambda: NOVEMBER.edges("per", "year"), "per: expected one of ('hour', 'day', 'week', 'month')"),
        (lambda: NOVEMBER.edges("per", 0), "per: expected one of ('hour', 'day', 'week', 'month')"),
        (lambda: NOVEMBER.edges("per", 1e-7), "per: expected at most 100,000 periods"),
        (lambda: Traffic(0), "Traffic.cases: expected a finite number above 0"),
        (lambda: Traffic(4, per="month"), "Traffic.per: expected one of ('hour', 'day', 'week')"),
        (lambda: Traffic(4, shape=(0, 0)), "Traffic.shape: expected at least one number above 0"),
        (lambda: Traffic(4, shape=(1, -1)), "Traffic.shape: expected finite numbers of at least 0"),
        (lambda: Traffic(4, trust=0), "Traffic.trust: expected a number of at least 1e-6"),
        (lambda: Traffic(4, memory=0), "Traffic.memory: expected a whole number of at least 1"),
    ],
)
def test_times_that_make_no_sense_are_refused_by_name(make, said):
    with pytest.raises(InvalidInput) as error:
        make()
    assert said in str(error.value)


def test_budgets_with_totals_by_month_have_a_hash():
    stated = [Budget("cost", total={"may": 5.0, "june": amount}, per="month") for amount in (6.0, 6.0, 7.0)]
    assert hash(stated[0]) == hash(stated[1])
    assert len(set(stated)) == 2
