"""Reports of a replay say what was used in every span: tables, results and a picture."""

import json

import numpy as np
import pytest

from evenhand.logs.settings import systems
from evenhand.policy.books import ByPeriod
from evenhand.problem import Floor
from evenhand.replay import replay_log
from evenhand.replay.measures import names, span_statements, span_uses
from evenhand.run import simulate
from tests.replay.test_spans import DAILY, DATES, DAYS, TRAFFIC, days, stating, world, write

OWN = stating(
    DATES + 'time = "when"', 'total = [["2026-12-14", "2026-12-16", 15], ["2026-12-15", "2026-12-18", 20]]', TRAFFIC
)


def spent_by_day(trace, found, replicas):
    """What was spent on each day, from every play, `->(R,days)`."""
    started, steps = found.start(0, np.arange(replicas)), len(trace.plays.counted)
    day = np.stack([started.context(i).time for i in range(steps)]).astype(int)
    spent = np.nan_to_num(trace.plays.outcomes[:, :, 0, 1]) * trace.plays.counted
    return np.array([[spent[:, r][day[:, r] == d].sum() for d in range(DAYS)] for r in range(replicas)])


@pytest.mark.parametrize(("text", "spans"), [(DAILY, [[0], [1], [2], [3]]), (OWN, [[0, 1], [1, 2, 3]])])
def test_what_a_span_used_is_the_sum_over_its_plays(tmp_path, text, spans):
    spec, found = world(tmp_path, days(600), text, shuffles=3)
    tested, *_ = systems(found.problem, spec.settings, found.n_features)
    trace = simulate(tested, found, replicas=6, record="all", progress=False)
    by_day = spent_by_day(trace, found, 6)
    (stated,) = span_statements(found.problem)
    expected = np.stack([by_day[:, z].sum(1) for z in spans], 1)
    assert expected.min() > 0
    np.testing.assert_allclose(span_uses(trace, stated), expected)


def test_periods_add_up_to_the_table_of_the_run(tmp_path):
    spec, found = world(tmp_path, days(300), shuffles=2)
    tested, *_ = systems(found.problem, spec.settings, found.n_features)
    started, state = found.start(0, np.arange(2)), tested.start(seed=0, replicas=2)
    for step in range(120):
        context = started.context(step)
        taken, arrivals = started.respond(step, context, tested.decide(state, context))
        tested.commit(state, context, taken)
        if step % 5 == 4:
            tested.cancel(state, taken)
            continue
        for a in arrivals:
            tested.learn(state, a.decision, a.y)
    width = 5 + 2 * len(found.problem.names)  # the rounding errors are those of other orders
    np.testing.assert_allclose(state.periods.sum(1)[..., :width], state.books[..., :width], atol=1e-12)
    assert (state.periods[:, :2, 0, 0] > 0).any()
    saved = tmp_path / "state.npz"
    tested.save(state, saved)
    np.testing.assert_array_equal(tested.load(saved).periods, state.periods)


def test_a_problem_without_spans_keeps_no_periods(tmp_path):
    _, found = world(tmp_path, days(50), stating(DATES + 'time = "when"', "total = 10", TRAFFIC))
    assert ByPeriod(found.problem).start(2) is None


def test_a_report_has_a_line_and_a_bar_for_every_span(tmp_path):
    log, toml = write(tmp_path, days(600))
    found = replay_log(log, toml, replicas=3, bootstrap=2, out=tmp_path / "out", progress=False)
    (stated,) = span_statements(found.problem)
    text, first = str(found), found.runs[0]
    use = span_uses(first.trace, stated)
    assert "post in each span" in text
    for i, span in enumerate(names(found.problem, stated)):
        (line,) = [z for z in text.split("\n") if z.startswith(span)]
        cells = line[len(span) :].split()
        assert cells[0] == "10"
        assert cells[1:3] == [f"{use[:3, i].mean():.1f}", f"{use[:, i].max():.1f}"]
    assert names(found.problem, stated)[1] == "2026-12-15 to 2026-12-16"
    np.testing.assert_allclose(use.sum(1), first.trace.total("post"))
    rows = json.loads((tmp_path / "out" / "results.json").read_text())
    assert "post used 2026-12-15 to 2026-12-16" in json.dumps(rows)
    drawn = next(part.chart for part in found.parts() if part.title.startswith("post in each span"))
    for i, span in enumerate(names(found.problem, stated)):
        assert f"{span}: {use[:3, i].mean():.3g} of 10" in drawn


def test_a_report_without_spans_has_no_such_table(tmp_path):
    text = stating(DATES + 'time = "when"', "total = 10", TRAFFIC)
    log, toml = write(tmp_path, days(200), text)
    found = replay_log(log, toml, replicas=1, bootstrap=0, progress=False)
    assert "in each span" not in str(found) + found.page().html()


def test_a_file_asks_for_a_floor_on_every_day_and_the_report_says_what_each_has(tmp_path):
    text = DAILY.replace("[[parity]]", '[[floor]]\noutcome = "visit"\ntotal = 3\nper = "day"\n\n[[parity]]')
    log, toml = write(tmp_path, days(600), text)
    found = replay_log(log, toml, replicas=2, bootstrap=0, out=tmp_path / "out", progress=False)
    floor = next(s for s in found.problem.stated if s.spans is not None and not s.spends)
    assert floor.constraint == Floor("visit", total=3, per="day")
    reached = span_uses(found.runs[0].trace, floor)
    np.testing.assert_allclose(reached.sum(1), found.runs[0].trace.total("visit"))
    (line,) = [z for z in str(found).split("visit in each span")[1].split("\n") if z.startswith("2026-12-15")]
    cells = line.split()[3:]
    assert cells[0] == "3"
    assert cells[1:3] == [f"{reached[:, 1].mean():.1f}", f"{reached[:, 1].min():.1f}"]


def test_a_floor_by_group_has_the_least_group_of_every_day(tmp_path):
    """By hand from every play: sums of a group divided by its share."""
    text = DAILY.replace(
        "[[parity]]", '[[floor]]\noutcome = "visit"\nby = "town"\ntotal = 3\nper = "day"\n\n[[parity]]'
    )
    log, toml = write(tmp_path, days(600), text)
    found = replay_log(log, toml, replicas=2, bootstrap=0, out=tmp_path / "out", progress=False)
    floor = next(s for s in found.problem.stated if s.spans is not None and not s.spends)
    assert floor.by == "town"
    spec, world_of = world(tmp_path, days(600), text, shuffles=2)
    tested, *_ = systems(world_of.problem, spec.settings, world_of.n_features)
    trace = simulate(tested, world_of, replicas=2, record="all", progress=False)
    started = world_of.start(0, np.arange(2))
    shares, plays = world_of.problem.shares, trace.plays
    expected = np.zeros((2, DAYS, 2))
    for i in range(len(plays.counted)):
        context = started.context(i)
        for r in range(2):
            if plays.counted[i, r]:
                expected[r, int(context.time[r]), context.groups[r, 0, 0]] += plays.outcomes[i, r, 0, 0]
    reached = span_uses(trace, floor)
    np.testing.assert_allclose(reached, (expected / shares).min(2))
    table = str(found).split("visit in each span, least by town")[1]
    (line,) = [z for z in table.split("\n") if z.startswith("2026-12-15")]
    of_report = span_uses(found.runs[0].trace, floor)
    assert line.split()[3:6] == ["3", f"{of_report[:, 1].mean():.1f}", f"{of_report[:, 1].min():.1f}"]
    assert "visit reached 2026-12-15 to 2026-12-16, least by town" in (tmp_path / "out" / "results.json").read_text()
