"""Parities and ratios per span of time: rates by hand, the optimum, what days reach, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InvalidInput
from evenhand.live.dashboard.sections.constraints import _spans
from evenhand.planning.pace import Pace
from evenhand.policy.standings import SpanSum, Standing
from evenhand.problem import Groups, Outcome, Parity, Problem, Ratio
from evenhand.problem.constraints import per_row
from evenhand.problem.spans import Spans
from evenhand.replay import replay_log
from evenhand.replay.measures import names, span_statements, span_uses
from evenhand.run import opt, play
from tests import averages, day_worlds
from tests.replay.test_spans import DAILY, days as rows_of_days, write

AREAS = (Groups("area", {"near": 0.25, "far": 0.75}),)
SMALL = {"cases": day_worlds.cases(3, 4, level=0.2), "until": 4.0, "level": 0.2}


def problem(*constraints, **more):
    return Problem(
        actions=("nothing", "call"),
        outcomes=(Outcome("sale", free=("nothing",)), Outcome("cost", free=("nothing",))),
        maximize="sale",
        subject_to=constraints,
        **{"groups": AREAS, "horizon": 90, **more},
    )


def test_a_span_owes_what_its_sums_are_off_over_the_cases_to_come():
    """In round 35 the span from 30 to 60 has 25 rounds to come and one that waits; in round 31 nothing came yet."""
    asked = problem(Parity("cost", by="area", tolerance=0.1, per=30), Ratio("cost", over="sale", at_most=0.5, per=30))
    assert [s.spans.allowance.tolist() for s in asked.stated] == [[0.1] * 3, [0.0] * 3]
    pace = Pace(problem=asked, spans=tuple(per_row(asked.stated, lambda s: s.spans)))
    state, whole = pace.start(2), np.zeros((2, 5))
    state.decided[:, 0] = state.counted[:, :, 0].T[:] = 30.0
    state.used[:, :, 0] = 50.0  # of a span that is over
    state.decided[0, 1], state.counted[0, :, 1], state.used[0, :, 1] = 4.0, 3.0, [0.7, -0.7, 0.2, -0.2, 1.5]
    rates = pace.rates(state, whole, np.array([34.0, 30.0]))
    to_come = 25 + 1
    np.testing.assert_allclose(rates[0, :4], 0.1 + (0.1 * 3 - np.array([0.7, -0.7, 0.2, -0.2])) / to_come)
    np.testing.assert_allclose(rates[0, 4], -1.5 / to_come)
    np.testing.assert_allclose(rates[1], [0.1, 0.1, 0.1, 0.1, 0.0])


def test_a_negative_bound_on_averages_is_no_floor_of_sums():
    spans = Spans(np.array([0.0, 1.0, 2.0]), np.array([-0.1, -0.1]), np.arange(2), np.arange(2), averages=True)
    assert not spans.floors
    np.testing.assert_allclose(
        spans.on(np.array([0.0, 0.5, 1.0, 2.0])).allowed(np.array([[10.0, 20.0]])), [[-1.0, -2.0]]
    )
    assert spans._replace(averages=False).floors


def test_dual_steps_keep_the_bound_of_every_round():
    asked = problem(Ratio("cost", over="sale", at_most=0.5, per=30))
    pace = Pace(problem=asked, spans=(asked.stated[0].spans,))
    np.testing.assert_array_equal(pace.against_average(pace.start(2), np.array([0.0, 70.0])), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Parity("cost", by="area", tolerance=0.1, per=True), "Parity('cost').per"),
        (lambda: Ratio("cost", over="sale", at_most=1.0, per=True), "Ratio('cost').per"),
        (lambda: problem(Parity("cost", by="area", tolerance=0.1, per="day")), "Parity('cost').per: expected a number"),
        (lambda: problem(Ratio("cost", over="sale", at_most=1.0, per=-3)), "Ratio('cost').per: expected a number"),
        (lambda: problem(Parity("cost", by="area", tolerance=0.1, per=30), groups=(Groups("area", ("a", "b")),)),
         "Parity('cost').by: expected a grouping whose shares are declared"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(made, said):
    with pytest.raises(InvalidInput) as error:
        made()
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("constraint", [averages.RATIO, averages.PARITY])
def test_the_optimum_is_that_of_a_program_with_rows_for_every_day(constraint):
    world = averages.shop(replace(constraint, per=1.0), **{**SMALL, "cases": SMALL["cases"][::4]})
    started, day = world.start(5, np.arange(1)), world.times.astype(int)
    contexts = [started.context(i) for i in range(len(day))]
    mean = np.stack([started.means(c)[0] for c in contexts])
    near = np.array([c.groups[0, 0, 0] == 0 for c in contexts])
    if constraint is averages.RATIO:
        rows = [mean[:, :, 1] - 0.3 * mean[:, :, 0]]
    else:
        signs = [np.where(near, 1 / 0.4, 0.0) - 1.0, np.where(near, 0.0, 1 / 0.6) - 1.0]
        rows = [side * sign[:, None] * mean[:, :, 1] - 0.01 for sign in signs for side in (1.0, -1.0)]
    uses = [(row * (day == d)[:, None]).ravel() for row in rows for d in range(4)]
    limits = [0.0] * len(uses)
    if constraint is averages.PARITY:
        uses, limits = [*uses, mean[:, :, 1].ravel()], [*limits, 0.12 * len(day)]
    each = np.kron(np.eye(len(day)), np.ones(4))
    found = linprog(-mean[:, :, 0].ravel(), np.array(uses), limits, each, np.ones(len(day)), bounds=(0, 1))
    got = opt(world, replicas=1, seed=5, progress=False)
    assert got.value == pytest.approx(-found.fun / len(day), rel=1e-7)
    assert got.prices.shape == (len(uses),)


@pytest.mark.parametrize("constraint", [averages.RATIO, averages.PARITY])
def test_days_are_nearer_to_their_limit_than_under_the_limit_of_the_run(constraint):
    beyond = []
    for per in (None, 1.0):
        world = averages.shop(replace(constraint, per=per), **SMALL)
        trace = world.played(seed=0, replicas=6)
        values = averages.by_day(world, trace, constraint)
        beyond.append(np.maximum(values - constraint.limit(1), 0.0).mean(1))
    error = np.std(beyond[0] - beyond[1], ddof=1) / np.sqrt(6)
    assert (beyond[0] - beyond[1]).mean() > 3.0 * error
    (line,) = [z for z in trace.summary().lines if z.name == f"{constraint.label} in the worst span"]
    np.testing.assert_allclose(
        [line.mean, line.worst, line.limit], [values.max(1).mean(), values.max(), constraint.limit(1)]
    )


def test_a_status_says_what_every_day_has():
    world = averages.shop(replace(averages.RATIO, per=1.0), **SMALL)
    policy = world.policy
    state, started, sums = policy.start(seed=0), world.start(0, np.arange(1)), np.zeros((4, 2))
    for step, _, _, _, (arrival,) in play(policy, state, started, range(int((world.times < 2.5).sum()))):
        sums[int(world.times[step])] += arrival.y[0, 0]
    (standing,) = policy.status(state).standings.values()
    ratios = sums[:3, 1] / sums[:3, 0]
    assert [(z.start, z.end, z.limit, z.over) for z in standing.spans] == [
        ("0", "1", 0.3, True), ("1", "2", 0.3, True), ("2", "3", 0.3, False)]  # fmt: skip
    np.testing.assert_allclose([z.value for z in standing.spans], ratios)
    assert standing.name == "money / sale in the worst span"
    assert (standing.value, standing.limit, standing.worst) == (pytest.approx(ratios[:2].max()), 0.3, "high")
    assert world.problem.stated[0].text == "money / sale at most 0.3 in each of 4 spans"


def test_the_page_of_a_campaign_has_a_line_for_every_day():
    spans = (
        SpanSum(start="1", end="2", limit=0.3, value=0.31, over=True),
        SpanSum(start="2", end="3", limit=0.3, value=0.2, over=True),
    )
    stands = Standing(name="money / sale in the worst span", value=0.31, limit=0.3, worst="high", spans=spans)
    (table,) = _spans(stands)
    assert table.head[2] == "at most"
    assert [list(line) for line in table.rows] == [["1 to 2", "0.31", "0.3", "no"], ["2 to 3", "0.2", "0.3", "yes"]]


def test_a_file_states_them_and_the_report_says_what_each_day_has(tmp_path):
    text = DAILY.replace("tolerance = 0.1", 'tolerance = 0.1\nper = "day"')
    text = text.replace("[policy]", '[[ratio]]\nof = "post"\nover = "visit"\nat_most = 2.5\nper = "day"\n\n[policy]')
    log, toml = write(tmp_path, rows_of_days(600), text)
    found = replay_log(log, toml, replicas=2, bootstrap=0, out=tmp_path / "out", progress=False)
    budget, parity, ratio = span_statements(found.problem)
    assert (parity.constraint.per, ratio.constraint.per) == ("day", "day")
    first = found.runs[0].trace
    np.testing.assert_allclose(span_uses(first, ratio) * _visits(first), span_uses(first, budget), rtol=1e-9)
    head = "post gap by town in each span"
    assert head in str(found)
    assert "post / visit in each span" in str(found)
    (line,) = [z for z in str(found).split(head)[1].split("\n\n")[0].split("\n") if z.startswith("2026-12-15")]
    gaps = span_uses(first, parity)
    assert line.split()[3:6] == ["0.1", f"{gaps[:, 1].mean():.4f}", f"{gaps[:, 1].max():.4f}"]
    said = (tmp_path / "out" / "results.json").read_text()
    assert f"post gap by town {names(found.problem, parity)[1]}" in said
    assert [part.title for part in found.plot().charts][-1] == f"post / visit in each span, by {found.runs[0].name}"


def _visits(trace):
    """Visits of every day, of the first group of columns of the table by period."""
    place = trace.problem.names.index("visit")
    return trace.by_period[:, :, 0, 4 + place]
