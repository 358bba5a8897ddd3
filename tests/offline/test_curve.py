"""Curves: against each row's own policy, bootstraps, the truth of simulated logs, and the e-mails."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import Evidence, Frontier, RidgeByErrors, curve, value
from evenhand.offline.curve_policies import cheapest_of, planned, single
from evenhand.offline.plans.fold_plans import Crossed, Fold, best
from evenhand.offline.scores import Estimate
from evenhand.problem import Budget, Floor, Parity
from tests.offline.bootstraps import fair_measured, measured, resampled, single_again, targeted_again
from tests.offline.folds import folds_of
from tests.offline.logs import draw, problem

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("EVENHAND_DATA", ROOT.parent / "shared" / "data"))
LOG, PROBLEM = DATA / "hillstrom.csv", ROOT / "examples" / "email.toml"


@pytest.fixture(scope="module")
def log():
    return draw(4000, 5).evidence


def line(found, name):
    return next(each for each in found.lines if each.name == name)


def test_values_are_averages_of_scores_under_the_policy_of_each_budget(log):
    found, budgets = line(curve(log, budgets=(0.0, 0.3, 0.9)), "targeted"), (0.0, 0.3, 0.9)
    tables, fold = log.tables(), folds_of(4000, 5, 0)
    worth, cost = log.worth(tables), log.problem.declared[None, :, 0]
    for budget, estimate, spent in zip(budgets, found.value, found.spent, strict=True):
        v, psi = np.empty(4000), np.empty(4000)
        for k in range(5):  # each fold for itself
            rows = np.flatnonzero(fold == k)
            point = Frontier.of(worth.predicted[rows], cost).at(budget)
            lottery = point.probabilities(3)
            c = (lottery * cost).sum(1)
            assert c.mean() == pytest.approx(budget)
            v[rows] = (lottery * worth.scores[rows]).sum(1)
            psi[rows] = v[rows] - point.price * (c - c.mean())
        assert spent == pytest.approx(budget)
        assert estimate.value == pytest.approx(v.mean(), rel=1e-12)
        assert estimate.se >= (1.0 - 1e-9) * psi.std(ddof=1) / np.sqrt(4000)


def test_errors_have_what_folds_have_in_common(log):
    """By hand: each fold is planned again by models that have not seen one more fold either."""
    (at,) = planned(Crossed(log, 4, 4), best([0.3]), "cents")
    fold, x, y, cost = folds_of(4000, 4, 4), log.features, log.outcomes[:, 0], np.array([[0.0, 1.0, 2.0]])

    def brings(out, j):
        """What fold j brings if its models have not seen the folds that are out."""
        rows, seen = np.flatnonzero(fold == j), ~np.isin(fold, out)
        q = [RidgeByErrors().fit(x[seen & (log.actions == a)], y[seen & (log.actions == a)]) for a in range(3)]
        plan = Frontier.of(np.clip(np.stack([m.predict(x[rows]) for m in q], 1), 0.0, 1.0), cost).at(0.3)
        return plan.of(log.worth(log.tables(folds=4, seed=4)).scores[rows]).sum()

    expected = [[0.0 if j == k else brings([j], j) - brings([j, k], j) for k in range(4)] for j in range(4)]
    assert at.moves == pytest.approx(np.array(expected) / 4000, abs=1e-12)
    together = sum(at.moves[j, k] * at.moves[k, j] for j in range(4) for k in range(4))
    assert together > 0.0
    found = curve(log, budgets=(0.3,), folds=4, seed=4)
    se = line(found, "targeted").value[0].se
    assert se == pytest.approx(np.sqrt(at.psi.var(ddof=1) / 4000 + together), rel=1e-12)
    crossed = Crossed(log, 4, 4)
    start = cheapest_of(crossed.dealt, crossed.cost_dealt("cents"))
    (other,) = single(1, start, crossed.dealt, [0.3], crossed.cost_dealt("cents"))
    less = np.sqrt((at.psi - other.psi).var(ddof=1) / 4000 + together)  # a single action owes nothing to folds
    assert line(found, "only small").less[0].se == pytest.approx(less, rel=1e-12)
    fixed = next(crossed.plans(best([0.3]), "cents")).own.of(log.worth(crossed.tables).scores)
    by_name = {p.policy: p for p in value(replace(log, problem=problem(rate=0.3)), folds=4, seed=4).policies}
    valued = by_name["targeted, cents 0.3"]
    assert valued.value.se == pytest.approx(np.sqrt(fixed.var(ddof=1) / 4000 + together), rel=1e-12)
    beyond = np.sqrt((fixed - y).var(ddof=1) / 4000 + together)
    assert valued.beyond.se == pytest.approx(beyond, rel=1e-12)


def test_ties_are_broken_by_chance():
    """All customers look alike, and letters work in the second half of the file alone."""
    rows, found = 2000, []
    rng = np.random.default_rng(0)
    log = draw(rows, 0).evidence
    effect = np.where(np.arange(rows) < rows // 2, 0.0, 0.4)
    y = (rng.random(rows) < 0.1 + effect * (log.actions > 0)).astype(float)
    log = replace(log, features=np.ones((rows, 1)), outcomes=y[:, None])
    back = {name: getattr(log, name)[::-1] for name in ("actions", "outcomes", "features", "propensities")}
    for each in (log, replace(log, **back, groups={"area": log.groups["area"][::-1]})):
        estimate = line(curve(each, budgets=(0.5,)), "targeted").value[0]
        found.append(estimate)
        assert abs(estimate.value - (0.1 + 0.5 * 0.2)) < 3.0 * estimate.se
        by_name = {p.policy: p.value for p in value(replace(each, problem=problem(rate=0.5))).policies}
        assert by_name["targeted, cents 0.5"].value == pytest.approx(estimate.value)


def test_batches_of_bootstraps_are_those_of_rows_drawn_again(log):
    crossed, budgets = Crossed(log, 5, 0), (0.2, 0.6)
    worth, use = log.worth(crossed.tables), crossed.tables["cents"]
    frontier = Frontier.of(worth.predicted, use.predicted)
    (counts,) = resampled(4000, 3)
    one = targeted_again(crossed, budgets, counts)
    two = single_again(1, frontier, worth, use.predicted, budgets, counts)
    for k in range(3):
        brought = np.zeros(2)
        for fold in crossed.rows.members:
            part = crossed.aim.part(np.repeat(fold, counts[k, fold].astype(int)))
            plans = best(budgets)(Fold(part, use.predicted, {}, np.arange(part.rows)))
            brought += [plan.of(part.tables[0].scores).sum() for plan in plans]
        assert one[k].tolist() == pytest.approx((brought / 4000).tolist(), rel=1e-9)
        again = crossed.aim.part(np.repeat(np.arange(4000), counts[k].astype(int)))
        assert two[k].tolist() == pytest.approx(
            [at.value for at in single(1, cheapest_of(again, use), again, budgets, use)], rel=1e-9
        )


@pytest.mark.slow
def test_standard_errors_are_those_of_bootstraps():
    """4,000 resamples have an error of 1 / sqrt(8,000) = 1.1 % in a standard deviation; the seeds are fixed."""
    for name, ratios in measured(4000).items():
        assert np.abs(ratios - 1.0).max() < 0.03, name


@pytest.mark.slow
def test_fair_lines_have_standard_errors_of_bootstraps():
    """As above; the shares of groups differ between resamples."""
    assert abs(fair_measured(4000) - 1.0) < 0.03


def test_curves_are_near_the_truth():
    """With 60,000 rows, within four standard errors of what the same policies are worth by the true means."""
    log, means = draw(60_000, 9)
    found = curve(log, budgets=(0.4,))
    q, fold = log.worth(log.tables()).predicted, folds_of(60_000, 5, 0)
    each = [(q[fold == k], means[fold == k]) for k in range(5)]
    truth = np.mean([Frontier.of(q, log.problem.declared[None, :, 0]).at(0.4).of(m).mean() for q, m in each])
    (estimate,) = line(found, "targeted").value
    assert abs(estimate.value - truth) <= 4 * estimate.se
    at_random = [(0.8 * means[:, 0] + 0.2 * means[:, 2]).mean(), (0.6 * means[:, 0] + 0.4 * means[:, 1]).mean()]
    for name, expected in zip(("only large", "only small"), at_random, strict=True):
        (value,) = line(found, name).value
        assert abs(value.value - expected) <= 4 * value.se


def test_a_tolerance_that_does_not_bind_changes_nothing(log):
    found = curve(log, budgets=(0.2, 0.5), tolerances=(9.0,))
    fair = line(found, "fair by area, 9")
    for mine, other, less in zip(fair.value, found.lines[0].value, fair.less, strict=True):
        assert mine.value == pytest.approx(other.value)
        assert mine.se == pytest.approx(other.se, rel=0.01)  # a row with a lottery may be another one
        assert less.se < 0.02 * mine.se


def test_constraints_that_no_line_keeps_are_said(log):
    stated = problem(subject_to=(Budget("cents", rate=0.4), Floor("sale", total=10.0, per=100)))
    found = curve(replace(log, problem=stated), budgets=(0.4,))
    assert "note: no plan keeps to: sale per round" in str(found)


def test_budgets_go_to_where_money_is_worth_nothing(log):
    found = curve(log, budgets=5)
    assert found.budgets[0] == 0.0
    assert found.stated in found.budgets
    assert len(found.budgets) == 6
    assert line(found, "targeted").price[-1] == 0.0
    prices = line(found, "targeted").price
    assert list(prices) == sorted(prices, reverse=True)
    assert str(found).startswith("drawn: 4,000 rows; sale per case against cents per case; 5 folds, seed 0")


def test_a_difference_that_is_rounding_is_not_beyond(log):
    found = curve(log, budgets=(0.4, 0.8))
    targeted, other = found.lines[:2]
    for less, count in (((1e-17, 1e-18), 0), ((1e-3, 1e-6), 2)):
        lines = (targeted, other._replace(less=(Estimate(*less),) * 2))
        assert f"for its differences, of which {count} of 2 are beyond" in str(replace(found, lines=lines))


def test_results_pictures_and_frames(log, tmp_path):
    found = curve(log, budgets=4, tolerances=(0.0, 0.1), out=tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert len(kept["rows"]) == (12 * len(found.budgets) + 2) * len(found.lines) + 3 * len(found.measures.each) + 1
    assert (tmp_path / "curve.svg").read_text().count('class="course') == 2 * len(found.lines) - 1
    frame = found.to_frame()
    assert len(frame) == len(found.lines) * len(found.budgets)
    assert (frame.low <= frame.value).all()
    assert list(frame.policy.unique()) == [
        *("targeted", "only small", "only large", "fair by area, 0", "fair by area, 0.1", "as logged", "all none")
    ]


def test_the_same_seed_gives_the_same_curve_and_another_one_others(log):
    one, two, three = (curve(log, budgets=3, seed=seed) for seed in (1, 1, 2))
    assert one.lines == two.lines
    assert one.lines != three.lines


def test_a_model_of_scikit_learn(log):
    linear = pytest.importorskip("sklearn.linear_model")
    found = curve(log, budgets=(0.4,), model=lambda: linear.Ridge(10.0))
    other = curve(log, budgets=(0.4,))
    assert found.lines[0].value[0].value == pytest.approx(other.lines[0].value[0].value, abs=0.01)


def test_withdrawn_actions_are_not_planned(log):
    stated = replace(log.problem, withdrawn=("large",))
    found = curve(replace(log, problem=stated), budgets=(0.4,))
    names = [each.name for each in found.lines]
    assert names == ["targeted", "only small", "fair by area, 0.05", "as logged", "all none"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subject_to": ()}, "budget: expected a budget of all groups together, got none"),
        (
            {"subject_to": (Parity("cents", by="area", tolerance=0.1),)},
            "budget: expected a budget of all groups together, got none",
        ),
    ],
)
def test_problems_without_a_curve(change, message):
    log = draw(300, 1, stated=problem(**change)).evidence
    with pytest.raises(InvalidInput, match=message):
        curve(log, budgets=3)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"budgets": 1}, "budgets: expected 2 to 10,000"),
        ({"budgets": (0.5, 0.1)}, "budgets: expected 1 to 10,000 rising numbers"),
        ({"budgets": ()}, "budgets: expected 1 to 10,000 rising numbers"),
        ({"budgets": (-1.0, 0.1)}, r"budgets\[0\]: expected at least 0"),
        ({"budgets": (0.1, float("nan"))}, r"budgets\[1\]: expected a finite number"),
        ({"tolerances": (-0.1,)}, r"tolerances\[0\]"),
        ({"folds": 1}, "folds: expected a whole number of at least 3"),
        ({"seed": -1}, "seed"),
        ({"problem": "p.toml"}, "problem: expected none"),
    ],
)
def test_arguments_that_are_none(log, asked, message):
    with pytest.raises(InvalidInput, match=message):
        curve(log, **asked)


def test_a_log_without_its_problem():
    with pytest.raises(InvalidInput, match="problem: expected a TOML file"):
        curve("log.csv")


def test_tolerances_without_a_parity(log):
    stated = problem(subject_to=(Budget("cents", rate=0.4),))
    with pytest.raises(InvalidInput, match="tolerances: expected none, or a parity on 'cents'"):
        curve(replace(log, problem=stated), tolerances=(0.1,))


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="hillstrom.csv is absent: set EVENHAND_DATA to its folder")
def test_targeting_e_mails_pays_near_a_tenth_and_not_beyond_a_half():
    """The difference to the best single e-mail, drawn at random, over three ways to deal the folds."""
    evidence = Evidence.read(LOG, PROBLEM)
    for seed in range(3):
        mens = line(curve(evidence, budgets=(0.1, 0.5, 0.7, 0.9), seed=seed), "only mens")
        assert 0.0045 < mens.less[0].value < 0.0068
        assert 0.0011 < mens.less[0].se < 0.0013
        assert mens.less[0].value > 3.5 * mens.less[0].se
        assert all(less.value < 2.0 * less.se for less in mens.less[1:])
