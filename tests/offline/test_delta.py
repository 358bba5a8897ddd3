"""Objectives that are no weighted sums: values by the delta method against bootstraps, and where it fails."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.offline import value
from evenhand.offline.plans.objectives import objective_of, trouble
from evenhand.offline.scores import Average
from evenhand.problem import Outcome
from tests.offline.bootstraps import resampled
from tests.offline.logs import draw, problem

OUTCOMES = (Outcome("sale"), Outcome("visit"), Outcome("cents", known={"small": 1.0, "large": 2.0}))
WELFARE = {
    "nash": AlphaFair(("sale", "visit"), alpha=1.0),
    "alpha 2": AlphaFair(("sale", "visit", "cents"), alpha=2.0, offset=0.1),
    "gini": GeneralizedGini(("sale", "visit"), (0.7, 0.3)),
    "sum": Linear({"sale": 1.0, "visit": -0.5}),
}


def drawn(objective, rows=4000, seed=3, kept=()):
    """A log whose visits are what small letters bring."""
    log, means = draw(rows, seed, skewed=True, stated=problem(outcomes=OUTCOMES, maximize=objective, subject_to=kept))
    chance = 0.25 + 0.35 * (log.actions == 1)
    visits = (np.random.default_rng(seed + 99).random(rows) < chance).astype(float)
    return replace(log, outcomes=np.column_stack([log.outcomes[:, 0], visits])), means


def valued(found, name):
    return next(p for p in found.policies if p.policy == name)


@pytest.mark.parametrize("name", WELFARE)
def test_values_are_the_objective_of_averages(name):
    objective = WELFARE[name]
    log, _ = drawn(objective)
    found, tables, even = (
        value(log, policies={"even": np.full((4000, 3), 1 / 3)}),
        log.tables(),
        np.full((4000, 3), 1 / 3),
    )
    terms = np.stack([(even * tables[o].scores).sum(1) for o in objective.outcomes], 1)
    p = valued(found, "even")
    assert p.value.value == pytest.approx(float(objective.value(terms.mean(0))), rel=1e-12)
    logged = log.used(objective.outcomes)
    here = float(objective.value(np.array([logged[o].mean() for o in objective.outcomes])))
    assert valued(found, "as logged").value.value == pytest.approx(here, rel=1e-12)
    assert p.beyond.value == pytest.approx(p.value.value - here, rel=1e-9)
    assert p.trouble is None


@pytest.mark.slow
@pytest.mark.parametrize("name", WELFARE)
def test_standard_errors_are_those_of_bootstraps(name):
    """Of all estimates with an error, and of the difference; 4,000 resamples have an error of 1.1 % themselves."""
    objective = WELFARE[name]
    log, _ = drawn(objective)
    policy = np.tile([0.2, 0.5, 0.3], (4000, 1))
    p = valued(value(log, policies={"mine": policy}), "mine")
    tables, logged = log.tables(), log.used(objective.outcomes)
    y = np.stack([logged[o] for o in objective.outcomes], 1)
    w = policy[np.arange(4000), log.actions] / log.propensities
    terms = np.stack([(policy * tables[o].scores).sum(1) for o in objective.outcomes], 1)
    again = {"value": [], "beyond": [], "ips": [], "snips": []}
    for counts in resampled(4000, 4000, seed=4):
        f = objective.value(counts @ terms / 4000)
        again["value"].append(f)
        again["beyond"].append(f - objective.value(counts @ y / 4000))
        again["ips"].append(objective.value(counts @ (w[:, None] * y) / 4000))
        again["snips"].append(objective.value(counts @ (w[:, None] * y) / (counts @ w)[:, None]))
    for what, each in again.items():
        estimate = p.by[what] if what in p.by else getattr(p, what)
        assert estimate.se == pytest.approx(np.concatenate(each).std(ddof=1), rel=0.03), what


def test_intervals_hold_the_truth():
    objective = WELFARE["nash"]
    log, means = drawn(objective, rows=40_000)
    found = value(log)
    for a, name in enumerate(("none", "small", "large")):
        truth = np.log(means[:, a].mean()) + np.log(0.6 if a == 1 else 0.25)
        for estimate in (valued(found, f"all {name}").value, valued(found, f"all {name}").by["snips"]):
            assert abs(estimate.value - truth) < 4.0 * estimate.se


def test_averages_outside_of_the_domain_have_no_value():
    log, _ = drawn(AlphaFair(("sale", "cents"), alpha=1.0))
    found = value(log)
    none = valued(found, "all none")
    assert none.value.value == -np.inf
    assert np.isnan(none.value.se)
    assert np.isnan(none.beyond.se)
    assert np.isfinite(valued(found, "all small").value.pair).all()
    assert (
        "check: 'all none' has no value: the averages of 'all none', outcome 'cents': expected an average above"
        in str(found)
    )
    assert found.checks["objective"] == none.trouble


def test_kinks_within_the_error_are_said():
    """The least of two averages that are alike: the error by a tangent is that of one of them, and too large."""
    least, rng = GeneralizedGini(("a", "b"), (1.0, 0.0)), np.random.default_rng(0)
    for apart, rough in ((0.0, True), (0.01, True), (0.3, False)):
        z = rng.standard_normal((2000, 2))
        z += np.array([1.0, 1.0 + apart]) - z.mean(0)
        said = trouble(least, [Average.of(z[:, 0]), Average.of(z[:, 1])], "mine")
        assert (said is not None) == rough, apart
        assert not rough or said.startswith("the objective bends within the error of 'mine'")


def test_tangents_of_sums_are_never_rough():
    rng = np.random.default_rng(1)
    averages = [Average.of(rng.standard_normal(50)), Average.of(np.zeros(50)), Average.of(rng.random(50))]
    objective = Linear({"a": 1e6, "b": -3.0, "c": 0.0})
    assert trouble(objective, averages, "mine") is None
    assert objective_of(objective, averages).estimate.se == pytest.approx(1e6 * averages[0].estimate.se)
