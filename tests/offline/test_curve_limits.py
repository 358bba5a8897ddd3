"""Curves over any limit: beside HiGHS and its derivatives, in other units, by their names, and honest by simulation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.objectives import Linear
from evenhand.offline import curve
from evenhand.offline.curve_limits import Varied, limit_named, names_of, share_within
from evenhand.offline.plans.allocation import Resource
from evenhand.offline.plans.fold_plans import Crossed
from evenhand.offline.plans.frontier import Point
from evenhand.offline.plans.limits import Bound
from evenhand.offline.plans.planned_policies import Once
from evenhand.problem import Budget, Floor, Parity, Ratio
from tests.offline.logs import COSTS, problem
from tests.offline.test_limits import ONE, by_highs
from tests.offline.test_targeting_within_limits import PAPER, VISITS, two_outcomes

LIMITS = {
    "the budget of cents": Budget("cents", rate=0.5),
    "the budget of paper": Budget("paper", rate=0.2),
    "visit per case, at least": Floor("visit", rate=0.27),
    "cents gap by area, at most": Parity("cents", by="area", tolerance=0.15),
    "cents / sale, at most": Ratio("cents", over="sale", at_most=2.0),
    "least visit by area, at least": Floor("visit", rate=0.18, by="area"),
}
POINTS = {
    "the budget of paper": (0.08, 0.12),
    "visit per case, at least": (0.28, 0.31),
    "cents gap by area, at most": (0.05, 0.3),
    "cents / sale, at most": (1.4, 1.5),
    "least visit by area, at least": (0.22, 0.29),
}


def logged(stated, rows=900, seed=3):
    log = two_outcomes(seed, rows)
    areas = np.digitize(log.features[:, 1], (-0.4, 0.4))
    return replace(log, problem=stated, known=stated.declared[None], groups={"area": areas})


@pytest.fixture(scope="module")
def log():
    return logged(problem(outcomes=VISITS, subject_to=tuple(LIMITS.values())))


def floor(rate, **other):
    """The least cost of a volume."""
    return problem(
        outcomes=VISITS, maximize=Linear({"cents": -1.0}), subject_to=(Floor("sale", rate=rate), *other.values())
    )


def by_hand(tables, groups, x, over):
    """The optimum of some rows by HiGHS, with one of the limits at another number."""
    at = {name: limit.limit(1000) for name, limit in LIMITS.items()} | {over: x}
    sale, visit = (np.ascontiguousarray(tables[name].predicted) for name in ("sale", "visit"))
    heads = np.diag(len(groups) / np.bincount(groups, minlength=3))
    limits = [
        Resource.budget(COSTS[None], at["the budget of cents"]),
        Resource.budget(PAPER[None], at["the budget of paper"]),
        Resource.of_groups(-visit, None, ONE, -np.array([at["visit per case, at least"]])),
        Resource.parity(COSTS[None], groups, at["cents gap by area, at most"]),
        Resource.of_groups(COSTS - at["cents / sale, at most"] * sale, None, ONE, np.zeros(1)),
        Resource.of_groups(-visit, groups, heads, np.full(3, -at["least visit by area, at least"])),
    ]
    return by_highs(sale, limits)


@pytest.mark.parametrize("over", POINTS)
def test_targeting_is_the_optimum_of_highs_and_a_price_its_derivative(log, over):
    crossed, points, step, brings = Crossed(log, 3, 0), POINTS[over], 1e-4, []
    for plan, x in zip(
        crossed.own(Varied(crossed, *limit_named(log, over)).planner(points), None), points, strict=True
    ):
        for part, fold in zip(plan.parts, crossed.each_fold(None), strict=True):
            rows = fold.tables, log.groups["area"][fold.rows]
            assert part.of(fold.tables["sale"].predicted).mean() == pytest.approx(by_hand(*rows, x, over), rel=1e-5)
            slope = (by_hand(*rows, x + step, over) - by_hand(*rows, x - step, over)) / (2.0 * step)
            assert part.margin(None) == pytest.approx(slope, rel=0.02, abs=1e-4)
        brings.append(plan.of(crossed.tables["sale"].predicted).mean())
    assert (brings[1] - brings[0]) * (-1.0 if "at least" in over else 1.0) > 1e-4  # a limit that gives way brings more


@pytest.mark.slow
def test_the_points_of_a_curve_are_those_at_which_a_limit_matters(log):
    """From where it does not bind on to the last that is possible, beside the extreme of a program of its own."""
    crossed = Crossed(log, 3, 0)
    for over in POINTS:
        varied = Varied(crossed, *limit_named(log, over))
        points, none = varied.points(5)
        sign = -1.0 if "at least" in over else 1.0
        tight, loose = sorted((points[0], points[-1]), key=lambda x, sign=sign: sign * x)
        assert set(none) <= {varied.limit.rate}
        each = [(fold.tables, log.groups["area"][fold.rows]) for fold in crossed.each_fold(None)]
        beyond = tight - sign * 0.05 * abs(loose - tight)
        assert any(by_hand(*rows, beyond, over) is None for rows in each) or over == "cents gap by area, at most"
        assert all(by_hand(*rows, tight, over) is not None for rows in each)
        free, more = ([by_hand(*rows, loose + z, over) for rows in each] for z in (0.0, sign * 0.1))
        assert varied.limit.rate == loose or free == pytest.approx(more, rel=1e-6)


def test_names_are_those_of_prices_and_an_unknown_one_lists_them(log):
    assert list(names_of(log)) == list(LIMITS)
    assert limit_named(log, "visit per case, at least 0.27")[0] == "visit per case, at least"
    with pytest.raises(InvalidInput, match=r"over: .* of drawn.toml, one of \['the budget of cents'.*did you mean"):
        curve(log, over="visit per case, at leasd")
    with pytest.raises(InvalidInput, match="tolerances: expected none beside over="):
        curve(log, over="the budget of paper", tolerances=(0.1,))
    first = replace(
        log, problem=problem(outcomes=VISITS, subject_to=(Budget("cents", rate=0.5), LIMITS["the budget of paper"]))
    )
    one, same = (curve(first, budgets=(0.2, 0.5), folds=3, over=over) for over in (None, "the budget of cents"))
    assert (one.lines, one.bands, str(one)) == (same.lines, same.bands, str(same))


def test_the_least_cost_of_a_volume_is_charged_for_what_predictions_miss():
    found = curve(logged(floor(0.3)), over="sale per case, at least", budgets=(0.28, 0.32, 0.9), folds=3)
    assert found.budgets == (0.28, 0.32)
    assert "limits exclude each other, so that nothing is drawn, at sale per case, at least 0.9" in str(found)
    crossed = Crossed(logged(floor(0.3)), 3, 0)
    varied = Varied(crossed, *limit_named(crossed.evidence, "sale per case, at least"))
    plans = crossed.own(varied.planner(found.budgets), None)
    targeted = found.lines[0]
    for plan, x, value, used, price in zip(
        plans, found.budgets, targeted.value, targeted.used, targeted.price, strict=True
    ):
        cost = plan.of(COSTS[None]).mean()
        assert plan.of(crossed.tables["sale"].predicted).mean() == pytest.approx(x, abs=1e-5)
        assert used.value == pytest.approx(plan.of(crossed.tables["sale"].scores).mean())
        assert value.value == pytest.approx(-cost - price * (used.value - x), abs=1e-4)
        assert price < 0.0
    small = next(line for line in found.lines if line.name == "only small")
    sale = crossed.tables["sale"].predicted.mean(0)
    share = (0.28 - sale[0]) / (sale[1] - sale[0])
    assert small.spent[0] == pytest.approx(0.28)
    assert small.price[0] == pytest.approx(-1.0 / (sale[1] - sale[0]))
    scored = crossed.tables["sale"].scores.mean(0) @ [1.0 - share, share, 0.0]
    assert small.value[0].value == pytest.approx(-share - small.price[0] * (scored - 0.28))
    assert np.isnan(small.value[1].value)
    with pytest.raises(InfeasibleProblem, match=r"no plan keeps to sale per case, at least 0\.9"):
        curve(logged(floor(0.3)), over="sale per case, at least", budgets=(0.9,), folds=3)


def test_units_of_outcomes_and_limits_do_not_matter():
    """Sales per hundred and cents in euros."""
    log = logged(floor(0.3, even=Parity("cents", by="area", tolerance=0.1)))
    euros = (
        replace(VISITS[0], high=100.0),
        VISITS[1],
        replace(VISITS[2], known={"small": 0.01, "large": 0.02}),
        VISITS[3],
    )
    stated = problem(
        outcomes=euros,
        maximize=Linear({"cents": -1.0}),
        subject_to=(Floor("sale", rate=30.0), Parity("cents", by="area", tolerance=0.001)),
    )
    other = replace(log, problem=stated, known=stated.declared[None], outcomes=log.outcomes * np.array([100.0, 1.0]))
    for over, x, unit in (
        ("sale per case, at least", (0.28, 0.31), 100.0),
        ("cents gap by area, at most", (0.02, 0.2), 0.01),
    ):
        one = curve(log, over=over, budgets=x, folds=3)
        two = curve(other, over=over, budgets=tuple(unit * z for z in x), folds=3)
        for mine, theirs in zip(one.lines, two.lines, strict=True):
            for a, b in zip(mine.value, theirs.value, strict=True):
                assert b.pair == pytest.approx([0.01 * z for z in a.pair], rel=1e-4, abs=1e-7, nan_ok=True)
            assert theirs.price == pytest.approx([0.01 / unit * z for z in mine.price], rel=1e-4, abs=1e-9, nan_ok=True)


def test_noise_does_not_pay():
    """Nothing moves effects: a plan that seems to reach a volume with fewer letters only picks high predictions.

    Differences of 12 logs in standard errors have a mean of 0 +- 0.29; those of costs alone have 1.1.
    """
    rng, claims, beyond, stated = np.random.default_rng(7), 0, [], floor(0.3)
    for _ in range(12):
        actions, features = rng.integers(0, 3, 900), np.column_stack([np.ones(900), rng.standard_normal((900, 12))])
        sales = (rng.random(900) < np.array([0.2, 0.3, 0.5])[actions]).astype(float)
        noise = {"features": features, "actions": actions, "propensities": np.full(900, 1 / 3), "columns": {}}
        log = replace(logged(stated, 900), outcomes=np.column_stack([sales, sales]), **noise)
        found = curve(log, over="sale per case, at least", budgets=(0.3,), folds=3)
        claims += found.pays().startswith("Targeting pays")
        (less,) = next(line.less for line in found.lines if line.name == "only large")
        beyond.append(less.value / less.se)
    assert abs(np.mean(beyond)) < 0.75
    assert claims <= 1


def test_the_influence_of_rows_on_a_lottery_is_what_leaving_one_out_changes():
    rng = np.random.default_rng(2)
    worth, sold, scored = rng.random((80, 2)), rng.random((80, 2)) + np.array([0.0, 1.0]), rng.random((80, 2))
    groups = np.arange(80) % 2

    def lottery(rows):
        shares = np.diag(len(rows) / np.bincount(groups[rows]))
        limit = Resource.of_groups(sold[rows], groups[rows], shares, np.array([0.9, 1.4]), shares)
        none, letter = (Once(Point(np.full(len(rows), a, np.int32), -1, 0, 0.0, 0.0)) for a in (0, 1))
        return share_within([Bound("", limit)], none, letter, worth[rows] + np.array([0.0, 1.0]))

    every = np.arange(80)
    mixed = lottery(every)
    assert 0.0 < mixed.share < 1.0
    own = mixed.of(scored)
    psi = own - mixed.offset(own, lambda policy: policy.of(scored))
    left = [79.0 * (own.mean() - lottery(np.delete(every, i)).of(np.delete(scored, i, 0)).mean()) for i in range(80)]
    assert left == pytest.approx(psi - psi.mean(), abs=0.03)


def test_results_of_a_limit(log, tmp_path):
    found = curve(log, over="cents / sale, at most", budgets=(1.35, 1.5), folds=3, out=tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["settings"]["over"] == "cents / sale, at most"
    assert kept["settings"]["stated limit"] == 2.0
    assert {row["at"]["limit"] for row in kept["rows"] if row["at"]} == {1.35, 1.5}
    assert list(found.to_frame().columns[:2]) == ["policy", "limit"]
    assert found.pays() == "Whether targeting pays cannot be told, as it keeps to limits by predictions alone"
    assert "budget" not in found.headline()
    for name in ("report.html", "curve.svg"):
        assert "nan" not in (tmp_path / name).read_text()
