"""Replays and problem files with spans of time: what a file can say, and rows in the order of their times."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.live.campaigns.files import open_campaign
from evenhand.live.stores.memory import MemoryStore
from evenhand.logs.log import environment, read_rows
from evenhand.logs.problem_file import parse
from evenhand.logs.settings import systems
from evenhand.problem import Between, Budget, Traffic
from evenhand.replay import replay_log
from evenhand.run import simulate
from tests.replay import shop
from tests.rows import for_each

START, DAYS = datetime(2026, 12, 14), 4
TEXT = shop.PROBLEM.replace("step = 0.01", 'name = "resolving"')
DATES = 'since = "2026-12-14"\nuntil = 2026-12-18\n'
NINE = DATES + "horizon = 9"
LONG = DATES + "horizon = 300"
TRAFFIC = "\n[traffic]\ncases = 40\n"


def stating(head, span, more=""):
    return TEXT.replace("horizon = 300", head).replace("rate = 0.3\n", span + "\n") + more


DAILY = stating(DATES + 'time = "when"', 'total = 10\nper = "day"', TRAFFIC)


def days(count, seed=0, ends=DAYS):
    """Rows with a time each, in any order."""
    rng = np.random.default_rng(seed)
    times = [START + timedelta(seconds=int(s)) for s in rng.integers(0, ends * 86_400, count)]
    return [[str(t), *row] for t, row in zip(times, shop.rows(count, seed), strict=True)]


def write(folder, lines, text=DAILY):
    return shop.write(folder, lines, text, ["when", *shop.HEADER])


@pytest.mark.parametrize(
    ("head", "span", "more", "horizon", "budget"),
    [
        (DATES, 'total = 10\nper = "day"', TRAFFIC, 160, Budget("post", total=10, per="day")),
        (
            LONG,
            "total = 10\nper = 1\ncarry = true",
            "",
            300,
            Budget("post", total=10, per=1.0, carry=True),
        ),
        (
            LONG,
            'total = 10\nper = "day"\nwindow = 2',
            "",
            300,
            Budget("post", total=10, per="day", window=2),
        ),
        (
            LONG,
            'total = { december = 90 }\nper = "month"',
            "",
            300,
            Budget("post", total={"december": 90}, per="month"),
        ),
        (
            LONG,
            'total = [["2026-12-14", 2026-12-16, 9], [2026-12-15T12:00:00, 2026-12-18, 8]]',
            "",
            300,
            Budget(
                "post",
                total=[("2026-12-14", date(2026, 12, 16), 9), (datetime(2026, 12, 15, 12), date(2026, 12, 18), 8)],
            ),
        ),
        ("horizon = [100, 300]", "total = 10", "", Between(100, 300), Budget("post", total=10)),
        ("horizon = 300", "total = 10\nper = 100", "", 300, Budget("post", total=10, per=100)),
        ("until = 4.5", "total = 10\nper = 1", "\n[traffic]\ncases = 10\nper = 0.5\nshape = [1, 2]", 90,
         Budget("post", total=10, per=1.0)),
    ],
)  # fmt: skip
def test_a_file_states_spans_as_python_does(head, span, more, horizon, budget):
    spec = parse(stating(head, span, more), "f.toml")
    assert spec.subject_to[0] == budget
    problem = spec.problem({"town": ("north", "south")})
    assert repr(problem.horizon) == repr(horizon)
    assert spec.horizon == horizon


def test_a_file_states_a_forecast():
    more = '\n[traffic]\ncases = 40\nper = "week"\nshape = [1, 2]\ntrust = 50\nmemory = 2\n'
    more += 'closed = [2026-12-17, "2026-12-16"]\n'
    spec = parse(stating(DATES, "total = 10", more), "f.toml")
    assert spec.traffic == Traffic(
        40.0, per="week", shape=(1.0, 2.0), trust=50.0, memory=2, closed=("2026-12-16", date(2026, 12, 17))
    )
    assert (spec.since, spec.until) == ("2026-12-14", date(2026, 12, 18))


@for_each(
    ("head", "span", "more", "said"),
    [
        (NINE, "total = [[2026-12-14, 2026-12-16, 9]]", "", "Budget('post').total: expected a span"),
        (NINE, "total = [[2026-12-17, 2026-12-16, 9]]", "", "Budget('post').total[0]: expected a start"),
        (NINE, "total = [[2026-12-17, 2026-12-16]]", "", "budget[0].total[0]: expected a list of dates"),
        (NINE, "total = true", "", "budget[0].total: expected a finite number or a table of finite"),
        (NINE, "total = 9\nper = true", "", "budget[0].per: expected a text or a finite number"),
        (NINE, 'total = 9\nper = "fortnight"', "", "Budget('post').per: expected one of ('hour', 'day'"),
        (NINE, 'total = { may = 9 }\nper = "month"', "", "a total for each of the months ['december']"),
        ("horizon = 9", 'total = 9\nper = "day"', "", "Budget('post').per: expected a number above 0, as the problem"),
        ("since = 2026-12-14\nuntil = 2026-12-13\nhorizon = 9", "total = 9", "", "until: expected a time after"),
        ("since = 2026-12-14\nhorizon = 9", "total = 9", "", "until: expected the end of the run, as since="),
        ("since = 2026-12-14\nuntil = 12:00:00\nhorizon = 9", "total = 9", "", "until: expected a date or a number"),
        (DATES, "total = 9", "", "horizon: expected a whole number, a list of two, or \"log\", got nothing"),
        ("horizon = 9", "total = 9", TRAFFIC, "until: expected the end of the run, where traffic= is stated"),
        ('horizon = 9\ntime = "when"', "total = 9", "", "until: expected the end of the run, as time = "),
        (DATES, "total = 9", TRAFFIC + "trust = 0\n", "traffic: Traffic.trust: expected a number of at least 1e-6"),
        (DATES, "total = 9", "\n[traffic]\ncase = 4\n", "traffic.case: expected one of the keys cases"),
        ("horizon = [9, 3]", "total = 9", "", "horizon: expected at most the latest end, 3 (of Between.earliest)"),
        ("horizon = [9]", "total = 9", "", "horizon: expected a whole number, a list of two, or \"log\", got [9]"),
    ],
)  # fmt: skip
def test_spans_that_make_no_sense_are_refused_by_name(head, span, more, said):
    with pytest.raises(InvalidInput) as error:
        parse(stating(head, span, more), "f.toml")
    assert str(error.value).startswith("f.toml")
    assert said in str(error.value)


def world(folder, lines, text=DAILY, shuffles=2):
    log, toml = write(folder, lines, text)
    spec = parse(toml.read_text(), "f.toml")
    encoded = read_rows(log, spec).encoded
    problem = spec.problem(encoded.levels)
    return spec, environment(problem, encoded, shuffles=shuffles)


def test_rows_come_in_the_order_of_their_times(tmp_path):
    lines = days(300)
    _, found = world(tmp_path, lines)
    started = found.start(3, np.arange(3))
    contexts = [started.context(i) for i in range(300)]
    times = np.stack([c.time for c in contexts])
    said = np.array([(datetime.fromisoformat(t) - START) / timedelta(days=1) for t, *_ in lines])
    np.testing.assert_array_equal(times[:, 0], np.sort(said))
    np.testing.assert_array_equal(times[:, 1], np.sort(said))
    assert (np.diff(times[:, 2]) >= 0).all()  # a resample: rows drawn twice come one after the other
    assert len(np.unique(times[:, 2])) < 250
    x = np.stack([c.features[0, 0] for c in contexts])
    np.testing.assert_array_equal(x, found.units[np.argsort(said, kind="stable")] @ np.eye(3, x.shape[1]))


def test_rows_of_one_time_come_in_random_order(tmp_path):
    lines = [[t[:10], *row] for t, *row in days(300)]
    _, found = world(tmp_path, lines)
    started = found.start(3, np.arange(2))
    contexts = [started.context(i) for i in range(300)]
    times, x = np.stack([c.time for c in contexts]), np.stack([c.features[:, 0] for c in contexts], 1)
    np.testing.assert_array_equal(times[:, 0], times[:, 1])
    assert (x[0] != x[1]).any(1).sum() > 200
    np.testing.assert_allclose(np.sort(x[0], 0), np.sort(x[1], 0))


def test_an_allowance_is_kept_on_every_day_of_every_run(tmp_path):
    spec, found = world(tmp_path, days(600), shuffles=3)
    tested, *_ = systems(found.problem, spec.settings, found.n_features)
    trace = simulate(tested, found, replicas=9, record="all", progress=False)
    started = found.start(0, np.arange(9))
    steps = len(trace.plays.counted)
    day = np.stack([started.context(i).time for i in range(steps)]).astype(int)
    spent = np.nan_to_num(trace.plays.outcomes[:, :, 0, 1]) * trace.plays.counted
    used = np.array([[spent[:, r][day[:, r] == d].sum() for d in range(DAYS)] for r in range(9)])
    assert (used <= 10).all()
    assert used.mean() > 9


def test_a_report_says_what_the_spans_are(tmp_path):
    log, toml = write(tmp_path, [*days(600), *([["2026-12-20", *row] for row in shop.rows(3, 9)])])
    found = str(replay_log(log, toml, replicas=2, bootstrap=2, progress=False))
    assert "603 rows, about 160 accepted rounds until 2026-12-18" in found
    assert "note: 3 rows come after 2026-12-18, the end of the run, and are not played" in found


def test_times_that_cannot_be_read_are_named_with_their_line(tmp_path):
    lines = days(100)
    lines[4][0] = "yesterday"
    lines[7][0] = "2026-12-13T23:00"
    log, toml = write(tmp_path, lines)
    with pytest.raises(InvalidInput, match=r"2 rows: 'when' is not a date from 2026-12-14 on \(first in line 6: 'yes"):
        replay_log(log, toml, progress=False)


def test_numbers_are_times_where_there_is_no_date(tmp_path):
    lines = [[str((datetime.fromisoformat(t) - START) / timedelta(days=1)), *row] for t, *row in days(300)]
    text = stating('until = 4\ntime = "when"', "total = 10\nper = 1", TRAFFIC.replace("40", "40\nper = 1"))
    _, found = world(tmp_path, lines, text)
    assert found.start(0, np.arange(1)).context(299).time[0] == max(float(t) for t, *_ in lines)


def test_times_of_a_zone_are_local_in_a_log_and_in_a_campaign(tmp_path):
    """The local time 02:30 comes twice on 25 October, a day of 25 hours."""
    text = DAILY.replace('since = "2026-12-14"\nuntil = 2026-12-18', "since = 2026-10-24\nuntil = 2026-10-28")
    text = text.replace("until", 'zone = "Europe/Prague"\nuntil', 1)
    local = ["2026-10-25T02:30", "2026-10-25T02:30+01:00", "2026-10-26T00:30"]
    lines = [[t, *row] for t, row in zip(100 * local, shop.rows(300), strict=True)]
    _, found = world(tmp_path, lines, text)
    times = {float(found.start(0, np.arange(1)).context(i).time[0]) for i in range(300)}
    assert times == {26.5 / 24, 27.5 / 24, 49.5 / 24}
    log, toml = tmp_path / "log.csv", tmp_path / "problem.toml"
    said = str(replay_log(log, toml, replicas=2, bootstrap=2, progress=False))
    assert (
        "note: 100 rows have times that come twice or never in Europe/Prague, as the clock changes: read as the" in said
    )
    now = [0]
    campaign = open_campaign(MemoryStore(now=lambda: now[0]), "shop", toml, log_path=log, on_expiry="release")
    for hour in (22, 23):  # before and after midnight in Prague
        now[0] = int(datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp() * 1e6)
        campaign.decide({"age": 30, "town": "north"}, key=str(hour), offered=["a"])
    account = campaign.status().accounts["post"]
    assert [(u.start, u.used) for u in account.spans if u.used] == [("2026-10-25", 1.0), ("2026-10-26", 1.0)]


def test_an_end_needs_the_times_of_rows(tmp_path):
    log, toml = write(tmp_path, days(50), DAILY.replace('time = "when"', ""))
    with pytest.raises(
        InvalidInput, match=r"problem.toml: time: expected the column of the times of cases, beside until"
    ):
        replay_log(log, toml, progress=False)


def test_a_campaign_of_a_file_goes_by_its_store_and_learns_from_a_log_of_earlier_times(tmp_path):
    lines = [["2025-01-01", *row] for row in shop.rows(60)]
    log, toml = write(tmp_path, lines)
    now = [int(datetime(2026, 12, 15, 6, tzinfo=UTC).timestamp() * 1e6)]
    store = MemoryStore(now=lambda: now[0])
    campaign = open_campaign(store, "shop", toml, log_path=log, on_expiry="release")
    for i in range(12):
        campaign.decide({"age": 30, "town": "north"}, key=str(i), offered=["a"])
    account = campaign.status().accounts["post"]
    assert (account.spent, account.left_now, account.lost, account.left) == (10.0, 0.0, 10.0, 20.0)
    assert [u.start for u in account.spans] == ["2026-12-14", "2026-12-15"]
    now[0] = int(datetime(2026, 12, 19, tzinfo=UTC).timestamp() * 1e6)
    with pytest.raises(InvalidInput, match=r"problem.until: expected an end after 2026-12-19"):
        open_campaign(store, "late", toml, log_path=log, on_expiry="release")
