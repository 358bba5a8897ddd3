"""What policies use of outcomes of two values: score intervals by hand, wherever uses are stated, also in sums."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import Linear
from evenhand.offline import curve, value
from evenhand.offline.scores import Z
from evenhand.problem import Budget, Outcome
from tests.offline.logs import draw, problem

OUTCOMES = (Outcome("sale"), Outcome("call"), Outcome("cents", known={"small": 1.0, "large": 2.0}))


def log_of(rows, called, limit, **other):
    """A log in which every row with a called action has a call, and no other row."""
    subject_to = (Budget("cents", rate=0.4), Budget("call", rate=limit))
    stated = problem(**{"outcomes": OUTCOMES, "subject_to": subject_to} | other)
    log = draw(rows, 2).evidence
    calls = np.isin(log.actions, called).astype(float)
    return replace(log, problem=stated, known=stated.declared[None], outcomes=np.column_stack([log.outcomes, calls]))


def highest(cases, errors=Z):
    """The largest p with p^2 <= z^2 p (1 - p) / n: what a share of 0 in n cases may be (Wilson 1927)."""
    return errors**2 / (cases + errors**2)


def named(found, policy):
    return next(p for p in found.policies if p.policy == policy)


def test_what_never_happened_has_an_interval_in_tables_files_and_frames(tmp_path):
    log = log_of(600, [], 0.01)
    found, n = value(log, out=tmp_path), int((log.actions == 1).sum())
    high, small = highest(n), named(found, "all small")
    assert small.used["call"].pair == small.kept[1].used.pair == (0.0, 0.0)
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    ends = {r["metric"]: r["mean"] for r in rows if r["system"] == "all small"}
    for metric in ("call used", "call, at most 0.01"):
        assert [ends[f"{metric}: 95 %, {side}"] for side in ("low", "high")] == pytest.approx([0.0, high])
    frame = found.to_frame().set_index("policy")
    assert frame.loc["all small", ["low call used", "high call used"]].tolist() == pytest.approx([0.0, high])
    *_, table = found.tables()
    assert table.head[0] == "constraints, 95 %, confidence"
    assert table.rows[2][2] == f"0.0000 (0.0000 to {high:.4f}), {small.kept[1].confidence:.1%}"
    assert "± 0.0000" not in str(found)


@pytest.mark.parametrize(("rows", "over"), [(180, False), (600, True)])
def test_a_budget_is_exceeded_where_an_interval_of_three_errors_says_so(rows, over):
    """A call in each of n cases: a share of at least n / (n + 9)."""
    limit, log = 0.9, log_of(rows, [2], 0.9)
    n = int((log.actions == 2).sum())
    assert (1.0 - highest(n, 3.0) > limit) == over
    found = value(log)
    assert named(found, "all large").used["call"].pair == pytest.approx((1.0, 0.0))
    notes = [line for line in str(found).splitlines() if line.startswith("note: 'all large' uses 1 call")]
    more = "" if over else f", which three standard errors allow for: {n / (n + 9):.4g} to 1"
    assert notes == [f"note: 'all large' uses 1 call per case of 0.9{more}"]


def test_a_curve_says_between_what_the_use_of_a_learned_budget_is():
    log = log_of(600, [], 0.4, subject_to=(Budget("call", rate=0.4),), outcomes=OUTCOMES[:2])
    log = replace(log, outcomes=np.column_stack([log.outcomes[:, 0], draw(600, 3).evidence.outcomes]))
    found = curve(log, budgets=(0.4, 0.5))
    used, row = found.lines[0].used[1], found.to_frame().iloc[1]
    low, high = used.interval
    assert tuple(row[["low used", "high used"]]) == (low, high)
    measured = {z.metric: z.mean for z in found.results().rows if z.system == "targeted" and z.at == {"budget": 0.5}}
    assert [measured[f"used, by scores: 95 %, {side}"] for side in ("low", "high")] == [low, high]
    assert f"{used.value:.4f} ({low:.4f} to {high:.4f}), {row['confidence']:.1%}" in str(found)


def score_interval(average, se, cases):
    """The roots of (v - p)^2 = z^2 p (1 - p) / n, where n is by the standard error, and one event as of cases alike."""
    events, spread = cases * min(average, 1.0 - average), average * (1.0 - average)
    n = spread * (events + 1.0) / (events * se**2 + spread / cases)
    return np.sort(np.roots([1.0 + Z * Z / n, -2.0 * average - Z * Z / n, average**2]).real)


def apart(one, other, less):
    """The interval of a difference by those of both sides, less what they have in common (Zou and Donner 2008)."""
    s, t, d = one.se, other.se, less.se
    free = 1.0 - (s * s + t * t - d * d) / (2.0 * s * t)
    sides = (np.subtract(z.interval, z.value) ** 2 for z in (one, other))
    (low, high), (other_low, other_high) = sides
    reach = [Z * Z * d * d + free * (a - Z * Z * (s * s + t * t)) for a in (low + other_high, high + other_low)]
    return less.value - reach[0] ** 0.5, less.value + reach[1] ** 0.5


def test_a_curve_of_sales_less_ten_times_the_calls_knows_that_calls_may_happen():
    """No call in n cases: up to z^2 / (n + z^2) of them, ten times of which is added to what sales reach below."""
    log = log_of(600, [], 0.01, maximize=Linear({"sale": 1.0, "call": -10.0}))
    alone = replace(log, problem=problem(outcomes=OUTCOMES, subject_to=log.problem.subject_to))
    (targeted, small, large, *_), (_, *sales) = (curve(z, budgets=(0.4, 1.0)).lines for z in (log, alone))
    agree = log.actions == 1, log.actions != 1  # with small letters for all, and with large ones for half
    for line, other, rows in zip((small, large), sales[:2], agree, strict=True):
        v, n = other.value[1], rows.sum()
        low, high = score_interval(*v.pair, n)
        assert line.value[1].pair == pytest.approx(v.pair)
        assert line.value[1].interval == pytest.approx((v.value - np.hypot(v.value - low, 10.0 * highest(n)), high))
        assert line.less[1].interval == pytest.approx(apart(targeted.value[1], line.value[1], line.less[1]))
    own, found = targeted.value[0], value(log)
    assert own.interval[0] < own.value - 10.0 * highest(log.rows)
    assert own.interval == pytest.approx(named(found, "targeted, cents 0.4").value.interval, abs=0.01)
    assert small.value[1].interval == pytest.approx(named(found, "all small").value.interval)


def test_a_curve_knows_what_is_declared_0():
    """Without a letter nothing is sold for sure."""
    stated = problem(outcomes=(Outcome("sale", free=("none",)), *problem().outcomes[1:]))
    log = draw(600, 4, stated=stated).evidence
    log = replace(log, outcomes=log.outcomes * (log.actions > 0)[:, None])
    *lines, nothing = curve(log, budgets=(0.0, 1.0)).lines
    assert nothing.name == "all none"
    assert nothing.value[1].interval == (0.0, 0.0)
    for line in lines:
        assert line.value[0].interval == (0.0, 0.0)
        assert line.value[1].interval[0] < line.value[1].value < line.value[1].interval[1]


def test_a_sum_of_three_has_the_error_of_the_events_in_it():
    """A known cost of next to nothing changes neither the interval nor the printed error of what it is added to."""
    each = {"sale": 1.0, "call": -10.0}
    two, three = (
        curve(log_of(600, [], 0.01, maximize=Linear(z)), budgets=(1.0,)).lines[1].value[0]
        for z in (each, each | {"cents": -1e-9})
    )
    low, high = two.interval
    assert (high - low) / (2.0 * Z) == pytest.approx(two.error)
    assert two.error > 1.5 * two.se
    assert three.error == pytest.approx(two.error, rel=1e-3)
