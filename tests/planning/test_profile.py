"""The profile of traffic: shares of a day and of a week from what came, the stated ones until cases say otherwise."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.planning.pace import Pace
from evenhand.planning.profile import Profile
from evenhand.policy.saving import fingerprint
from evenhand.problem import Budget, Outcome, Problem, Traffic
from evenhand.problem.clock import Clock
from evenhand.recipes import resolving
from evenhand.testing.promises import decision_of
from tests.profiles import HOURS, compare, times

MONTH = Clock.between("2026-11-23T06:00", "2026-12-23", 0)  # begins on a Monday, after a quarter of its day
DAYS = Clock.between(None, 30.0, 0)


def learned(cases, traffic, clock, replicas=1):
    profile = Profile(traffic=traffic, clock=clock)
    state = profile.start(replicas)
    for time in cases:
        profile.enter(state, np.full(replicas, time), np.ones(replicas))
    return profile, state


@pytest.mark.parametrize(
    "traffic",
    [
        Traffic(300, per="day"),
        Traffic(300, per="day", shape=(1, 3)),
        Traffic(300, per="day", shape=tuple(range(1, 37))),
        Traffic(12, per="hour", shape=(0, 1, 2)),
        Traffic(900, per="week"),
        Traffic(50, per=2.5),
    ],
    ids=repr,
)
def test_before_any_cycle_is_over_the_forecast_is_the_stated_one(traffic):
    profile, state = learned([0.1, 0.2], traffic, MONTH, replicas=2)
    ends = np.linspace(0.0, MONTH.last, 173)
    found = profile.expected(state, np.tile(ends, (2, 1)))
    level = found[:, -1:] - found[:, :1]
    exact = traffic.expected(MONTH, ends)
    np.testing.assert_allclose((found - found[:, :1])[0], exact, rtol=1e-12, atol=traffic.cases * 3e-4)
    np.testing.assert_allclose(level, exact[-1], rtol=1e-3)


def test_days_are_those_of_the_zone_where_the_clock_changes():
    """The day of 25 hours has the cases of any other, and 05:30 is in one part before and after it."""
    clock = Clock.between("2026-10-19T00:00", "2026-11-09", 0, "Europe/Prague")
    traffic = Traffic(240, per="day", shape=(1, 3))
    profile, state = learned([], traffic, clock, replicas=1)
    ends = np.linspace(0.0, clock.last, 173)
    np.testing.assert_allclose(profile.expected(state, ends[None])[0], traffic.expected(clock, ends), atol=0.1)
    fives = [clock.read("time", f"2026-10-{day}T05:30") for day in range(19, 32)]
    profile, state = learned(np.repeat(fives, 200), traffic, clock)
    assert state.parts[0, 5] > 0.9 * state.parts[0].sum()  # all but those of the day with 25 hours, of which it is 6.5


def test_what_is_certain_is_not_learned():
    assert Profile.of(Traffic(300, per=1.0), DAYS) is not None
    for traffic in (None, Traffic(300, per=1.0, trust=np.inf), Traffic(300, per=7.0, shape=(1, 2))):
        assert Profile.of(traffic, DAYS) is None
    assert Profile.of(Traffic(300, per="day", shape=(1, 2)), MONTH) is not None
    assert Profile.of(Traffic(300, per="week", shape=(1, 2)), MONTH) is None


def test_shares_are_those_of_two_shapes_by_their_probabilities():
    """The odds are a product over the cases, each predicted from the ones before it."""
    stated, cases = np.repeat((1.0, 3.0), 12) / 48, [0.02, 0.03, 0.55, 0.03, 0.97] * 4
    clock = Clock.between("2026-11-23", "2026-12-23", 0)
    profile, state = learned([*sorted(cases), 1.0], Traffic(9, per="day", shape=(1, 3)), clock)
    prior = (stated * 24 + 1.0) / 4.0
    odds, came = np.exp(-7.0), np.zeros(24)
    for time in cases:
        i = int(time * 24)
        odds *= (prior + came)[i] / (prior + came).sum() / (0.99 * stated[i] + 0.01 / 24)
        came[i] += 1.0
    other = (prior + came) / (prior + came).sum()
    assert odds > 0.01
    expected = stated + odds / (1.0 + odds) * (other - stated)
    np.testing.assert_allclose(profile.shares(state)[0], expected, rtol=1e-9)


def test_a_day_that_was_cut_off_never_counts_and_a_day_without_cases_counts_for_the_week_alone():
    first, later = [0.1, 0.2, 0.3], [1.0 + i / 100 for i in range(50)]  # Monday from 06:00 on, and Tuesday
    _, state = learned([*first, *later, 4.3, 5.3], Traffic(50, per="day"), MONTH)  # nothing on Wednesday and Thursday
    assert state.parts.sum() == pytest.approx(50 * 6 / 7 + 1)  # and one on Friday
    np.testing.assert_array_equal(state.seen[0], [0, 1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(state.days[0], [0, 50, 0, 0, 1, 0, 0])


def test_days_of_the_week_are_moved_towards_their_mean_by_what_equal_days_differ_by():
    days = np.random.default_rng(1).integers(20, 41, 21) - np.tile([0, 0, 0, 0, 0, 15, 18], 3)
    cases = [day + (i + 0.5) / n for day, n in enumerate(days) for i in range(n)]
    profile, state = learned([*cases, 21.5], Traffic(30, per="day"), Clock.between("2026-11-23", "2026-12-23", 0))
    x, w = days.reshape(3, 7), np.array([0.75**2, 0.75, 1.0])
    each, alone = w @ x / w.sum(), (w**2).sum() / w.sum()
    apart, mean = (w @ (x - each) ** 2).sum(), each.mean()
    variance = (2.0 * (0.2 * mean) ** 2 + apart) / (2.0 + 7.0 * (w.sum() - alone)) * alone / w.sum()
    share = 1.0 - 2.0 * variance / each.var(ddof=1)
    assert 0.5 < share < 0.95
    np.testing.assert_allclose(profile.factors(state)[0], 1.0 + share * (each / mean - 1.0), rtol=1e-9)


def test_a_change_of_hours_is_learned_within_a_week():
    mornings, evenings = (times(seed, days, HOURS[hours], np.ones(7)) for seed, days, hours in (
        (1, 10, "morning"), (2, 5, "evening")))  # fmt: skip
    profile, state = learned([*mornings, *(10.0 + evenings), 15.0], Traffic(300, per=1.0), DAYS)
    assert profile.shares(state)[0, 19:].sum() > 0.5


def test_replicas_at_different_times_learn_what_each_learns_alone():
    profile, rng = Profile(traffic=Traffic(40, per="day", shape=(1, 3)), clock=MONTH), np.random.default_rng(3)
    batch, alone = profile.start(3), [profile.start(1) for _ in range(3)]
    now = np.zeros(3)
    for _ in range(300):
        now = now + rng.exponential(0.1, 3) * (rng.random(3) < 0.9) - 0.01  # not always in order
        time, counted = np.abs(now), (rng.random(3) < 0.8) * 1.0
        profile.enter(batch, time, counted)
        for r, state in enumerate(alone):
            profile.enter(state, time[r : r + 1], counted[r : r + 1])
    assert (batch.seen > 0.0).all()
    ends = np.linspace(0.0, MONTH.last, 40)
    found = profile.expected(batch, np.tile(ends, (3, 1)))
    for r, state in enumerate(alone):
        np.testing.assert_array_equal(found[r], profile.expected(state, ends[None])[0])


@pytest.mark.slow
@pytest.mark.parametrize("world", ["in the first five hours", "in these, forecast 30 % too low"])
def test_from_the_third_day_on_hours_that_nobody_stated_cost_little(world):
    """At least .95 of the sales with the hours stated, in every replica; not learned it is some .6 of the budget."""
    before, after, known = (z[:, 2:].mean(1) for z in compare(world, 6, 6))
    assert (after[:, 1] > 0.95 * known[:, 1]).all()
    assert (after[:, 0] > before[:, 0] + 0.15).all()


@pytest.mark.slow
@pytest.mark.parametrize("world", ["even", "even, forecast 30 % too high"])
def test_where_cases_come_as_stated_nothing_is_lost(world):
    before, after, _ = (z.mean(1) for z in compare(world, 6, 6))
    np.testing.assert_allclose(after, before, rtol=0.002)


def shop(zone=None, per="day", closed=("2026-12-25", date(2026, 12, 26), "0001-01-01", "9999-12-31")):
    """Three weeks from a Monday on, with two holidays on a Friday and a Saturday."""
    actions, outcomes = ("nothing", "go"), (Outcome("gain", free=("nothing",)), Outcome("cost", known={"go": 1}))
    ends = {"since": "2026-12-14", "until": "2027-01-04", "zone": zone}
    traffic = Traffic(28 if per == "day" else 196, per=per, closed=closed)
    budget = Budget("cost", total=9, per="day")
    return Problem(
        actions=actions, outcomes=outcomes, maximize="gain", subject_to=(budget,), traffic=traffic, features=(), **ends
    )


@pytest.mark.parametrize("per", ["day", "week"])
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_no_cases_are_expected_on_closed_days_before_and_after_a_profile_is_learned(zone, per):
    problem = shop(zone, per)
    clock, traffic = problem.clock, problem.traffic
    assert problem.horizon == 19 * 28
    days = np.diff(traffic.expected(clock, np.arange(22.0)))
    np.testing.assert_allclose(days, [0.0 if day in (11, 12) else 28.0 for day in range(21)], atol=1e-9)
    profile, state = learned([day + i / 60 for day in range(20) for i in range(30 - day % 7)], traffic, clock)
    found = np.diff(profile.expected(state, np.arange(22.0)[None])[0])
    np.testing.assert_array_equal(found[[11, 12]], 0.0)
    assert (found[[10, 13]] > 20.0).all()


def test_cases_on_closed_days_teach_neither_shape_nor_level():
    """Strangers who write on holidays, and nobody there, leave the same profile and the same expectation."""
    problem = shop()
    pace, ends = Pace(problem=problem, spans=(problem.stated[0].spans,)), np.array([17.0, 21.0])
    usual, found = [day + (i + 0.5) / 28 for day in range(16) for i in range(28) if day not in (11, 12)], []
    made = decision_of(resolving(problem).encode({}, time="2026-12-14"), np.zeros((1, 0)), 1, np.ones(1))
    for strangers in (0, 50):
        state = pace.start(1)
        for time in sorted(usual + [11.0 + (i + 0.5) / 25 for i in range(strangers)]):
            pace.decide(state, made._replace(time=np.array([time])))
        profile = state.profile
        assert profile.seen[0, 4:6].tolist() == pytest.approx([1.0, 1.0])  # the first week alone
        now = np.array([13.9])
        found.append([profile.days, profile.parts, pace.coming(state, now, ends)])
        counts = pace.case_counts(state)
        assert counts.came[0, 11:13].sum() == strangers
        np.testing.assert_array_equal(counts.expected[0, 11:13], 0.0)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("closed", "said"),
    [
        ("2026-12-25", "Traffic.closed: expected a list of dates, got '2026-12-25'"),
        (["Christmas"], "Traffic.closed: expected dates, such as \"2026-12-25\", got 'Christmas'"),
        (["2026-12-25T10:00"], "got '2026-12-25T10:00'"),
        ([20261225], "got 20261225"),
        (None, "Traffic.closed: expected a list of dates, got None"),
    ],
)
def test_what_is_no_list_of_dates_is_refused(closed, said):
    with pytest.raises(InvalidInput) as error:
        Traffic(9, closed=closed)
    assert said in str(error.value)


def test_closed_days_need_a_calendar_and_a_forecast_without_any_has_the_fingerprint_that_it_had():
    with pytest.raises(InvalidInput, match=r"Traffic.closed: expected nothing, as the problem has no since="):
        replace(shop(), since=None, until=5.0, traffic=Traffic(9, per=1.0, closed=["2026-12-25"]))
    assert fingerprint(Traffic(400, per="day", shape=(1, 3))) == "11f5af2382b5946e"
    texts, dates = (Traffic(9, closed=[z]) for z in ("2026-12-25", date(2026, 12, 25)))
    assert fingerprint(texts) == fingerprint(dates) != fingerprint(Traffic(9))


def test_a_running_state_goes_on_with_closed_days_that_were_stated_later():
    old, new = (resolving(shop(closed=closed)) for closed in ((), ("2026-12-25",)))
    state = old.start()
    old.act(state, old.encode({}, time="2026-12-15T09:00"))
    own = new.adopt(state, of=old)
    new.act(own, new.encode({}, time="2026-12-25T09:00"))
    assert [(z.start, z.came, z.expected) for z in new.status(own).traffic][-1] == ("2026-12-25", 1.0, 0.0)
    weekly = [resolving(shop(per="week", closed=closed)) for closed in ((), ("2026-12-25",))]
    with pytest.raises(InvalidInput, match="expected the same spans of time, start, end and forecast's periods"):
        weekly[1].adopt(weekly[0].start(), of=weekly[0])
