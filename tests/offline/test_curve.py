"""Curves: against each row's own policy, bootstraps, the truth of simulated logs, and the e-mails."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.offline import Evidence, Frontier, curve
from evenhand.offline.aims import Aim
from evenhand.offline.lines import single, targeted
from evenhand.problem import Budget, Floor, Parity
from tests.offline.bootstraps import fair_measured, measured, resampled, single_again, targeted_again
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
    found = curve(log, budgets=(0.0, 0.3, 0.9))
    tables = log.tables()
    worth, cost = log.worth(tables), log.problem.declared[None, :, 0]
    frontier = Frontier.of(worth.predicted, cost)
    for budget, estimate, spent in zip(
        found.budgets, line(found, "targeted").value, line(found, "targeted").spent, strict=True
    ):
        point = frontier.at(budget)
        lottery = point.probabilities(3)
        v, c = (lottery * worth.scores).sum(1), (lottery * cost).sum(1)
        assert spent == pytest.approx(c.mean()) == pytest.approx(budget)
        assert estimate.value == pytest.approx(v.mean(), rel=1e-12)
        psi = v - v.mean() - point.price * (c - c.mean())
        assert estimate.se == pytest.approx(psi.std(ddof=1) / np.sqrt(4000), rel=1e-9)


def test_batches_of_bootstraps_are_those_of_rows_drawn_again(log):
    tables = log.tables()
    worth, cost, budgets = log.worth(tables), log.problem.declared[None, :, 0], (0.2, 0.6)
    frontier = Frontier.of(worth.predicted, cost)
    (counts,) = resampled(4000, 3)
    one = targeted_again(frontier, worth, cost, budgets, counts)
    two = single_again(1, frontier, worth, cost, budgets, counts)
    for k in range(3):
        rows = np.repeat(np.arange(4000), counts[k].astype(int))
        again = type(worth)(worth.predicted[rows], worth.scores[rows])
        anew, aim, use = Frontier.of(again.predicted, cost), Aim.summed(again), type(worth)(cost, cost)
        assert one[k].tolist() == pytest.approx([at.value for at in targeted(aim, budgets, use, anew)], rel=1e-9)
        assert two[k].tolist() == pytest.approx([at.value for at in single(1, aim, budgets, use, anew)], rel=1e-9)


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
    frontier = Frontier.of(log.worth(log.tables()).predicted, log.problem.declared[None, :, 0])
    truth = frontier.at(0.4).of(means).mean()
    (estimate,) = line(found, "targeted").value
    assert abs(estimate.value - truth) <= 4 * estimate.se
    at_random = [(0.8 * means[:, 0] + 0.2 * means[:, 2]).mean(), (0.6 * means[:, 0] + 0.4 * means[:, 1]).mean()]
    for name, expected in zip(("only large", "only small"), at_random, strict=True):
        (value,) = line(found, name).value
        assert abs(value.value - expected) <= 4 * value.se


def test_a_tolerance_that_does_not_bind_changes_nothing(log):
    found = curve(log, budgets=(0.2, 0.5), tolerances=(9.0,))
    assert found.lines[-1].name == "fair by area, 9"
    for mine, other, less in zip(found.lines[-1].value, found.lines[0].value, found.lines[-1].less, strict=True):
        assert mine.value == pytest.approx(other.value)
        assert mine.se == pytest.approx(other.se, rel=0.01)  # a row with a lottery may be another one
        assert less.se < 0.02 * mine.se


def test_constraints_that_no_line_keeps_are_said(log):
    stated = problem(subject_to=(Budget("cents", rate=0.4), Floor("sale", rate=0.1)))
    found = curve(replace(log, problem=stated), budgets=(0.4,))
    assert "note: no line keeps to: sale per round" in str(found)


def test_budgets_go_to_where_money_is_worth_nothing(log):
    found = curve(log, budgets=5)
    assert found.budgets[0] == 0.0
    assert found.stated in found.budgets
    assert len(found.budgets) == 6
    assert line(found, "targeted").price[-1] == 0.0
    prices = line(found, "targeted").price
    assert list(prices) == sorted(prices, reverse=True)
    assert str(found).startswith("drawn: 4,000 rows; sale per row against cents per row; 5 folds, seed 0")


def test_results_pictures_and_frames(log, tmp_path):
    found = curve(log, budgets=4, tolerances=(0.0, 0.1), out=tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert len(kept["rows"]) == (6 * len(found.budgets) + 2) * len(found.lines)
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    frame = found.to_frame()
    assert len(frame) == len(found.lines) * len(found.budgets)
    assert (frame.low <= frame.value).all()
    assert list(frame.policy.unique()) == [
        *("targeted", "only small", "only large", "fair by area, 0", "fair by area, 0.1")
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
    assert [each.name for each in found.lines] == ["targeted", "only small", "fair by area, 0.05"]


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
        ({"folds": 1}, "folds: expected a whole number of at least 2"),
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
