"""Weights of rows: values and errors beside those of rows that are there several times, and beside other code."""

import numpy as np
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.logs.clusters import Clusters
from evenhand.offline import Evidence, assign, for_whom, to_bandit_feedback
from evenhand.offline.curve_policies import planned
from evenhand.offline.evidence import Tables
from evenhand.offline.outcome_models import RidgeByErrors, Sums
from evenhand.offline.plans.fold_plans import Crossed, best
from evenhand.offline.plans.limits import Population, bounds_of, demands_of
from evenhand.offline.policies import policies_of

RULE = "letter where x > 0.3; else none"
EVERY = ("sndr", "mrdr", "dros", "slope")
PROBLEM = {
    "maximize": "visit",
    "horizon": 100,
    "features": {"numeric": ["x", "z"]},
    "action": {"column": "arm", "values": ["none", "letter"]},
    "propensity": {"column": "p"},
    "outcomes": {"visit": {"range": [0, 3]}, "cost": {"known": {"letter": 1}}},
    "budget": [{"outcome": "cost", "rate": 0.3}],
    "parity": [{"outcome": "cost", "by": "area", "tolerance": 0.1}],
}
WEIGHTED = PROBLEM | {"weight": "n", "cluster": "who"}


def drawn(rows, seed):
    rng = np.random.default_rng(seed)
    x, z, p = rng.standard_normal(rows), rng.standard_normal(rows), rng.uniform(0.3, 0.7, rows)
    letter = rng.random(rows) < p
    visit = np.clip(1.0 + 0.3 * x + 0.4 * letter * (x - 0.2) + 0.3 * rng.standard_normal(rows), 0.0, 3.0)
    area, arm = np.where(rng.random(rows) < 0.4, "north", "south"), np.where(letter, "letter", "none")
    n = rng.integers(1, 4, rows).astype(float)
    who = np.arange(rows)
    return pa.table(
        {"x": x, "z": z, "arm": arm, "p": np.where(letter, p, 1 - p), "visit": visit, "area": area, "n": n, "who": who}
    )


def numbers(found):
    return [(m.policy, m.what, m.value) for m in found.measurements()]


@pytest.mark.parametrize("unit", [1.0, 0.37])
def test_weights_that_are_all_the_same_change_no_bit(unit):
    log = drawn(600, 0)
    same = log.set_column(6, "n", pa.array(np.full(600, unit)))
    plain = eh.value(log, PROBLEM, rules=[RULE], estimators=EVERY)
    assert str(eh.value(same, PROBLEM | {"weight": "n"}, rules=[RULE], estimators=EVERY).policies) == str(
        plain.policies
    )


def test_weights_in_any_unit():
    log = drawn(600, 1)
    other = log.set_column(6, "n", pa.array(1e-3 * log["n"].to_numpy()))
    one, another = (eh.value(z, PROBLEM | {"weight": "n"}, rules=[RULE], estimators=EVERY) for z in (log, other))
    for p, q in zip(one.policies, another.policies, strict=True):
        assert q.value.pair == pytest.approx(p.value.pair, rel=1e-9)
        assert [q.by[n].value for n in q.by] == pytest.approx([p.by[n].value for n in p.by], rel=1e-9)


def test_rows_that_count_several_times_are_clusters_of_that_many_rows():
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression
    log = drawn(900, 2)
    rows = np.repeat(np.arange(900), log["n"].to_numpy().astype(int))
    several = log.take(pa.array(rows))
    asked = {"rules": [RULE], "estimators": ("sndr", "mrdr"), "model": linear}
    one, other = eh.value(log, WEIGHTED, **asked), eh.value(several, PROBLEM | {"cluster": "who"}, **asked)
    assert [p.policy for p in one.policies] == [
        "as logged",
        "all none",
        "all letter",
        "targeted, cost 0.3",
        "targeted, all limits",
        RULE,
    ]
    for p, q in zip(one.policies, other.policies, strict=True):
        rel = 1e-4 if p.policy.startswith("targeted") else 1e-9  # of equal rows some may get the letter
        assert p.value.pair == pytest.approx(q.value.pair, rel=rel), p.policy
        assert p.beyond.pair == pytest.approx(q.beyond.pair, rel=10 * rel), p.policy
        for name in ("ips", "snips", "sndr", "mrdr", "direct_method", "switch"):
            assert p.by[name].value == pytest.approx(q.by[name].value, rel=rel), (p.policy, name)
        for k, other_k in zip(p.kept, q.kept, strict=True):
            assert k.used.pair == pytest.approx(other_k.used.pair, rel=10 * rel, abs=1e-9)
        assert p.doubt.cases == pytest.approx(q.doubt.cases, rel=rel)


def test_limits_by_group_count_rows_by_weights():
    log = drawn(900, 2)
    n = log["n"].to_numpy() * np.where(log["area"].to_numpy(zero_copy_only=False) == "north", 3.0, 1.0)
    log, rows = log.set_column(6, "n", pa.array(n)), np.repeat(np.arange(900), n.astype(int))
    read = (Evidence.read(log, WEIGHTED), Evidence.read(log.take(pa.array(rows)), PROBLEM))
    own, prices = np.random.default_rng(0).random(900), np.arange(4.0)
    used = list[tuple[np.ndarray, np.ndarray]]()
    for evidence, weights, use in zip(read, (n / n.mean(), None), (own * n / n.mean(), own[rows]), strict=True):
        table = np.column_stack([np.zeros(len(use)), use])
        some = Population({"cost": Tables(table, table)}, evidence.groups, weights)
        ((_, resource, _),) = bounds_of(evidence, demands_of(evidence.problem).averages, some)
        found = resource.influence(use, prices)
        used.append((resource.summed(use) / len(use), found / (1.0 if weights is None else weights)))
    assert used[0][0] == pytest.approx(used[1][0])
    assert used[0][1][rows] == pytest.approx(used[1][1])


def test_plans_count_rows_by_weights():
    log = drawn(900, 2)
    several = log.take(pa.array(np.repeat(np.arange(900), log["n"].to_numpy().astype(int))))
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression
    read = (Evidence.read(log, WEIGHTED), Evidence.read(several, PROBLEM | {"cluster": "who"}))
    one, other = (policies_of(Crossed(each, 5, 0, linear)).moved["targeted, cost 0.3"]["visit"] for each in read)
    for z, y in zip(one, other, strict=True):
        assert z == pytest.approx(y, abs=0.02 * np.abs(y).max())
    one, other = (next(planned(Crossed(each, 5, 0, linear), best([0.3]), "cost")).moves for each in read)
    assert one == pytest.approx(other, abs=0.02 * np.abs(other).max())
    assert read[0].problem.groups[0].shares == pytest.approx(read[1].problem.groups[0].shares)


def test_curves_of_rows_that_count_several_times():
    linear = pytest.importorskip("sklearn.linear_model").LinearRegression
    log = drawn(900, 2)
    x, n = log["x"].to_numpy(), log["n"].to_numpy() + 4.0 * (log["x"].to_numpy() > 0.5)
    log = log.set_column(6, "n", pa.array(n)).append_column("price", pa.array(0.5 + (x > 0.0)))
    several = log.take(pa.array(np.repeat(np.arange(900), log["n"].to_numpy().astype(int))))
    one, other = ({k: v for k, v in each.items() if k != "parity"} for each in (WEIGHTED, PROBLEM | {"cluster": "who"}))
    outcomes = PROBLEM["outcomes"] | {"cost": {"known": {"letter": 1}, "column": "price"}}
    one, other = one | {"outcomes": outcomes}, other | {"outcomes": outcomes}
    asked = {"budgets": (0.1, 0.3, 0.8), "model": linear}
    found, expected = eh.curve(log, one, **asked), eh.curve(several, other, **asked)
    assert [line.name for line in found.lines] == ["targeted", "only letter", "as logged", "all none"]
    for line, of_many in zip(found.lines, expected.lines, strict=True):
        for z, y in zip((*line.value, *line.less), (*of_many.value, *of_many.less), strict=True):
            assert z.pair == pytest.approx(y.pair, rel=1e-8, abs=1e-12)
        assert line.spent == pytest.approx(of_many.spent, rel=1e-8)
        assert line.price == pytest.approx(of_many.price, rel=0.01, abs=1e-9)
    same = log.set_column(6, "n", pa.array(np.full(900, 3.0)))
    plain = {k: v for k, v in PROBLEM.items() if k != "parity"}
    assert str(eh.curve(same, plain | {"weight": "n"}, **asked).lines) == str(eh.curve(log, plain, **asked).lines)
    for curve, left_out in ((found, True), (eh.curve(same, plain | {"weight": "n"}, **asked), False)):
        measures = [z.name for z in curve.measures.each]
        assert ("RATE, Qini" in measures) != left_out
        assert any(note.startswith("RATE is left out") for note in curve.notes) == left_out


def test_excess_of_weights():
    rng = np.random.default_rng(8)
    t, n, kind = rng.standard_normal(100), rng.uniform(1.0, 3.0, 100), rng.integers(0, 2, 100)
    found = Clusters.of(np.arange(100)).weighted(n).excess(t, kind, 2)
    for k in range(2):
        own, w = t[kind == k], n[kind == k] / n[kind == k].mean()
        off = own - (w * own).mean()
        for power, factor in zip((2, 3), found, strict=True):
            assert factor[k] == pytest.approx((np.abs(w * off) ** power).sum() / (np.abs(off) ** power).sum())


def test_errors_by_other_code():
    log = drawn(500, 3)
    found = eh.value(log, PROBLEM | {"weight": "n"}, rules=[RULE]).policies[-1]
    n, y, p, x = (log[c].to_numpy() for c in ("n", "visit", "p", "x"))
    w = n * ((log["arm"].to_numpy(zero_copy_only=False) == "letter") == (x > 0.3)) / p
    ips = float((w * y).sum() / n.sum())
    terms = w * y - n * ips  # the linearised ratio of two sums
    error = float(np.sqrt(len(y) / (len(y) - 1.0) * (terms**2).sum()) / n.sum())
    assert found.by["ips"].pair == pytest.approx((ips, error), rel=1e-9)
    snips = float((w * y).sum() / w.sum())
    apart = []  # a jackknife, row by row
    for i in range(len(y)):
        apart.append(((w * y).sum() - w[i] * y[i]) / (w.sum() - w[i]))
    assert found.by["snips"].value == pytest.approx(snips, rel=1e-9)
    assert found.by["snips"].se == pytest.approx(float(np.std(apart)) * np.sqrt(len(y) - 1.0), rel=0.01)


def test_ridge_by_weights_is_that_of_rows_several_times():
    rng = np.random.default_rng(4)
    x, y, n = (
        np.column_stack([np.ones(50), rng.standard_normal((50, 3))]),
        rng.standard_normal(50),
        rng.integers(1, 4, 50),
    )
    parts = [Sums.of(x[:20], y[:20], n[:20] * 1.0), Sums.of(x[20:], y[20:], n[20:] * 1.0)]
    many = Sums.of(np.repeat(x, n, 0), np.repeat(y, n))
    for one, other in zip(Sums.together(parts)[1:], many[1:], strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    alike = RidgeByErrors().fit(x, y, np.full(50, 3.0)).coefficients
    assert alike == pytest.approx(RidgeByErrors().fit(x, y).coefficients, rel=1e-9)


def test_a_log_of_all_buyers_and_a_tenth_of_the_others():
    held, shares, checks = 0, [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, letter = rng.standard_normal(8000), rng.random(8000) < 0.5
        buys = rng.random(8000) < 0.1 + 0.15 * letter * (x > 0.0)
        there = buys | (rng.random(8000) < 0.1)
        columns = {"x": x, "arm": np.where(letter, "letter", "none"), "buys": buys * 1, "n": np.where(buys, 1.0, 10.0)}
        problem = {k: PROBLEM[k] for k in ("horizon", "action")} | {"maximize": "buys", "weight": "n"}
        problem |= {"features": {"numeric": ["x"]}, "propensity": {"constant": 0.5}, "outcomes": {"buys": {}}}
        found = eh.value(
            pa.table({k: z[there] for k, z in columns.items()}), problem, rules=["letter where x > 0; else none"]
        )
        low, high = found.policies[-1].value.interval
        held += low <= 0.1 + 0.15 * 0.5 <= high
        shares.append(found.policies[-1].value.value)
        checks += found.checks["propensities"] is not None or found.checks["features"] is not None
    assert held >= 53  # of 60: two in a thousand fall below where 95 % hold
    assert np.mean(shares) == pytest.approx(0.175, abs=0.002)  # 0.67 without weights
    assert checks <= 1


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_none(bad):
    log = drawn(300, 6)
    n = log["n"].to_numpy().copy()
    n[7] = bad
    with pytest.raises(InvalidInput, match="a number above 0"):
        eh.value(log.set_column(6, "n", pa.array(n)), PROBLEM | {"weight": "n"})


def test_what_does_not_read_weights_refuses_them(tmp_path):
    log, problem = drawn(300, 7), PROBLEM | {"weight": "n"}
    evidence = Evidence.read(log, problem)
    for asked in (eh.curve, for_whom, to_bandit_feedback):
        with pytest.raises(InvalidInput, match="weight: expected none in"):
            asked(evidence)
    with pytest.raises(InvalidInput, match="weight: expected none in a replay"):
        eh.replay_log(log, problem)
    with pytest.raises(InvalidInput, match="weight: expected a column of how many cases"):
        eh.value(log, PROBLEM | {"weight": "arm"})
    (tmp_path / "log.csv").write_text(
        "x,z,arm,p,visit,area,n\n" + "0,1,none,0.5,1,north,2\n0,1,letter,0.5,1,south,1\n" * 60
    )
    (tmp_path / "problem.toml").write_text(
        """
maximize = "visit"
horizon = 100
weight = "n"
features = { numeric = ["x"] }
action = { column = "arm", values = ["none", "letter"] }
propensity = { constant = 0.5 }
outcomes = { visit = {} }
"""
    )
    with pytest.raises(InvalidInput, match="weight: expected none in assign"):
        assign(tmp_path / "log.csv", tmp_path / "problem.toml", learn_from=tmp_path / "log.csv")
