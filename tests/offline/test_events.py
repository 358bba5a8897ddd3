"""Intervals of shares: by roots of their equation, by both parts, in other units, and where events are few."""

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from evenhand.objectives import Linear
from evenhand.offline import Evidence, curve, value
from evenhand.offline.events import Gap, Share, stray_values
from evenhand.offline.scores import Average, Estimate, Z
from evenhand.problem import Outcome
from tests.offline.logs import draw, problem
from tests.offline.regimes import World, clicks, log_of
from tests.replay import shop


@pytest.mark.parametrize(("events", "cases"), [(0, 40), (1, 40), (20, 40), (39, 40), (40, 40), (3, 7)])
def test_a_share_of_cases_drawn_alike_has_a_score_interval(events, cases):
    """The roots of (v - p)^2 = z^2 p (1 - p) / n, by NumPy."""
    v, n, z2 = events / cases, cases, Z * Z
    found = Share(v, math.sqrt(v * (1 - v) / n), n).within(Z)
    roots = np.sort(np.roots([1.0 + z2 / n, -2.0 * v - z2 / n, v * v]).real)
    assert found == pytest.approx(tuple(roots), abs=1e-12)


def test_many_events_count_as_they_were_seen():
    """With a design effect of 2, n is half of the cases; one pseudo-event among 3,000 moves little."""
    n = 10_000
    found = Share(0.3, math.sqrt(2 * 0.3 * 0.7 / n), n).within(Z)
    half = Share(0.3, math.sqrt(0.3 * 0.7 / (n / 2)), n / 2).within(Z)
    assert found == pytest.approx(half, abs=2e-6)


def test_shares_in_other_units_and_upside_down():
    plain = Share(0.02, 0.009, 300.0).within(Z)
    scaled = Share(10.0 + 5.0 * 0.02, 5.0 * 0.009, 300.0, 10.0, 15.0).within(Z)
    assert scaled == pytest.approx([10.0 + 5.0 * z for z in plain])
    assert Share(0.98, 0.009, 300.0).within(Z) == pytest.approx((1.0 - plain[1], 1.0 - plain[0]))


def test_differences_of_independent_shares_are_those_of_both_parts():
    one, other = Share(0.02, 0.008, 300.0), Share(0.001, 0.001, 900.0)
    (low, high), (k, h) = one.within(Z), other.within(Z)
    sides = [Estimate(z.value, z.se, z) for z in (one, other)]
    found = Gap(*sides, math.hypot(one.se, other.se), 0.0).reach(Z, Z)
    assert found == pytest.approx((math.hypot(0.02 - low, h - 0.001), math.hypot(high - 0.02, 0.001 - k)))


def test_what_two_policies_have_in_common_cancels():
    """The same terms but for four rows: the interval is that of four rows, and of none where nothing differs."""
    y = (np.arange(400) % 7 == 0).astype(float)
    other = y.copy()
    other[:4] = 1.0 - other[:4]
    one, two = Average.of(y), Average.of(other)
    shares = [z.counted(400.0, (0.0, 1.0)) for z in (one, two)]
    low, high = two.beyond(shares[1], one, shares[0]).interval
    se = two.less(one).estimate.se
    assert high - low == pytest.approx(2 * Z * se, rel=0.02)
    assert one.beyond(shares[0], one, shares[0]).interval == (0.0, 0.0)


def ends_of(log):
    """The two values of what was logged, None if it is no share."""
    events = value(log).policies[0].value.events
    return (events.low, events.high) if isinstance(events, Share) else None


def test_outcomes_of_two_values_are_counted_in_any_units():
    log = draw(600, 2).evidence
    assert ends_of(log) == (0.0, 1.0)
    cents = problem(outcomes=(Outcome("sale", high=100.0), Outcome("cents", known={"small": 1.0, "large": 2.0})))
    scaled = replace(log, problem=cents, outcomes=100.0 * log.outcomes)
    assert ends_of(scaled) == (0.0, 100.0)
    for a, b in zip(value(log).policies, value(scaled).policies, strict=True):
        assert b.value.interval == pytest.approx([100.0 * z for z in a.value.interval], rel=1e-6)
        assert b.beyond.interval == pytest.approx([100.0 * z for z in a.beyond.interval], rel=1e-6, abs=1e-9)
    assert ends_of(replace(log, outcomes=np.zeros((600, 1)))) == (0.0, 1.0)
    assert ends_of(replace(log, outcomes=log.outcomes * np.arange(1, 601)[:, None] / 600)) is None
    assert ends_of(replace(log, problem=problem(maximize="cents"))) is None


def test_what_is_known_has_no_events():
    """With two actions, what a letter costs is 0 or 1 in every row, and is known to the last digit."""
    stated = problem(actions=("none", "small"), outcomes=(Outcome("sale"), Outcome("cents", known={"small": 1.0})),
                     maximize="cents", subject_to=())  # fmt: skip
    log = draw(600, 2).evidence
    log = replace(log, problem=stated, known=stated.declared[None], actions=log.actions % 2,
                  propensities=np.full(600, 0.5))  # fmt: skip
    assert ends_of(log) is None
    small = next(p for p in value(log).policies if p.policy == "all small")
    assert small.value.interval == (1.0, 1.0)


def test_outcomes_that_a_price_multiplies_have_no_events():
    """Each row has a price of its own, even where all are 1."""
    outcomes = (Outcome("sale", times="price"), Outcome("price", known={"none": 1.0, "small": 1.0, "large": 1.0}))
    assert ends_of(draw(600, 2, stated=problem(outcomes=outcomes, subject_to=())).evidence) is None


def test_minimised_outcomes_are_counted_upside_down():
    log = draw(600, 2).evidence
    less = replace(log, problem=problem(maximize=Linear({"sale": -1.0})))
    assert ends_of(less) == (-1.0, 0.0)
    for a, b in zip(value(log).policies[:4], value(less).policies[:4], strict=True):
        low, high = a.value.interval
        assert b.value.interval == pytest.approx((-high, -low))


def test_intervals_reach_tables_files_and_pictures(tmp_path):
    """Few events: intervals are longer above than below, and no error is 0."""
    log, *_ = log_of(World(600, partial(clicks, share=0.015)), 3)
    found = value(log, out=tmp_path)
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    ends = {(r["system"], r["metric"]): r["mean"] for r in rows}
    frame, drawn = found.to_frame().set_index("policy"), found.plot().svg()
    for p in found.policies:
        for what, estimate in (("worth", p.value), ("worth beyond what was logged", p.beyond)):
            told = tuple(ends[p.policy, f"{what}: 95 %, {side}"] for side in ("low", "high"))
            assert told == pytest.approx(estimate.interval)
        assert tuple(frame.loc[p.policy, ["low beyond", "high beyond"]]) == pytest.approx(p.beyond.interval)
        low, high = p.beyond.interval
        if p is not found.policies[0]:
            assert f"{p.policy}: {p.beyond.value:+.4f} (95 %: {low:+.4f} to {high:+.4f})" in drawn
    none = replace(log, outcomes=np.zeros((600, 1)))
    assert "± 0.0000" not in str(value(none)).split("by other estimators")[0]


def test_nothing_sold_is_not_nothing_to_be_sold():
    """No sale in 600 rows, 200 of an action: 3.7 in 200 are possible, as exact intervals say (.0183)."""
    log = draw(600, 2).evidence
    log = replace(log, outcomes=np.zeros((600, 1)))
    found = value(log)
    for p in found.policies[1:4]:
        assert p.value.pair == (0.0, 0.0)
        low, high = p.value.interval
        assert low == 0.0
        assert high == pytest.approx(0.0183, abs=0.003)
        assert p.beyond.interval[0] < 0.0 < p.beyond.interval[1]
    assert "cannot be told apart" in found.headline()
    lines = curve(log, budgets=(0.2, 0.4)).lines
    assert all(high > 0.003 for line in lines for _, high in (z.interval for z in line.value))


def test_two_values_that_are_the_same_are_no_share():
    """As of an outcome that counts 0 in the objective."""
    assert Estimate(0.0, 0.0).counted(10.0, (0.0, 0.0)).interval == (0.0, 0.0)


def test_two_values_in_nearly_all_rows_are_noted(tmp_path):
    """One half refund of 600 clicks is told, and amounts of a few customers are not."""
    lines, at = shop.rows(600), shop.HEADER.index("visit")
    problem = shop.PROBLEM
    assert not any("averages" in note for note in Evidence.read(*shop.write(tmp_path, lines, problem)).notes)
    lines[5][at] = "0.5"
    found = Evidence.read(*shop.write(tmp_path, lines, problem))
    told = "in all but 1 of 600 rows (0.5): its averages are those of amounts, and not shares"
    assert found.notes[-1] == f"outcome 'visit' is 0 or 1 {told}"
    assert f"note: {found.notes[-1]}" in str(value(found))
    assert stray_values("paid", np.repeat([0.0, 9.0, 12.0, 20.0], (990, 3, 4, 3)), 0.0, 30.0) is None
    assert stray_values("click", np.repeat([0.0, 1.0, 0.5], (700, 299, 1)), 0.0, np.inf) is None
