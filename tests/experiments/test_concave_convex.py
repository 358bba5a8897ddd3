"""Rates of regrets: what is run, what is measured, and what is reported and drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.environments import BernoulliKnapsacks
from evenhand.experiments.concave_convex import WORLDS, ConcaveConvexExperiment
from evenhand.experiments.concave_convex.study import OUTSIDE, REGRET, outside, rate, settings, systems
from evenhand.experiments.loop import run
from evenhand.models import Tabular
from evenhand.problem import Budget
from evenhand.recipes import bwcr
from evenhand.run import opt, simulate


def test_a_power_of_the_length_is_found_again():
    rounds = np.array([100.0, 1000.0, 10_000.0])
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (3, 8))
    exact, noisy = (
        rate(rounds, rounds[:, None] ** -0.4 * np.ones((3, 8))),
        rate(rounds, rounds[:, None] ** -0.4 * noise),
    )
    assert exact == (0.4, 0.0)
    assert 0 < noisy.se < 0.02
    assert abs(noisy.exponent - 0.4) < 3 * noisy.se


def test_rates_of_nothing_are_not_made_up():
    assert np.isnan(rate(np.array([10.0, 100.0]), np.array([[0.1, 0.2], [0.0, 0.0]])).exponent)
    assert np.isnan(rate(np.array([10.0]), np.array([[0.1, 0.2]])).exponent)
    assert np.isnan(rate(np.array([10.0, 100.0]), np.array([[0.2], [0.1]])).se)


def test_outside_is_the_norm_of_all_excesses():
    world = BernoulliKnapsacks(arms=3, resources=2, horizon=200)
    model = Tabular(arms=3, n_outcomes=3, confidence=0.5)
    trace = simulate(bwcr(world.problem, model, margin=0.0, hard=False), world, replicas=3, progress=False)
    over = [np.maximum(trace.total(c.outcome) / 200 - c.limit(200), 0.0) for c in world.problem.subject_to]
    assert (np.array(over) > 0).any()
    np.testing.assert_allclose(outside(trace), np.sqrt(over[0] ** 2 + over[1] ** 2))


def test_budgets_that_are_used_up_are_not_exceeded_by_rounding():
    world = BernoulliKnapsacks(arms=3, resources=1, horizon=200)
    model = Tabular(arms=3, n_outcomes=2, confidence=0.5)
    trace = simulate(bwcr(world.problem, model), world, replicas=1, progress=False)
    (budget,) = trace.problem.subject_to
    spent = float(trace.total(budget.outcome)[0]) / 200
    for part, expected in ((1.0 - 1e-14, 0.0), (0.9, 0.1 * spent)):
        limited = replace(trace.problem, subject_to=(Budget(budget.outcome, rate=part * spent),))
        np.testing.assert_allclose(outside(replace(trace, problem=limited)), [expected], rtol=1e-9, atol=0.0)


def test_every_world_has_systems_and_one_that_is_reached_by_resolving():
    for setting in settings(WORLDS, 1):
        world = setting.at(50)
        found = list(systems(setting, world))
        names = [name for name, _, _ in found]
        assert len(set(names)) == len(names)
        assert {"resolving", "bwcr, primal-primal"} <= set(names)
        for name, policy, why in found:
            assert (policy is None) == bool(why)
            assert policy is None or policy.name == name


@pytest.mark.slow
def test_results_and_pictures_of_a_small_run(tmp_path):
    lines = []
    small = ConcaveConvexExperiment(worlds=("knapsacks",), instances=1, replicas=2, rounds=640)
    results = run(small, out=tmp_path, progress=False, log=lines.append)
    at = {"T": 640.0, "knapsacks": 0.0}
    world = BernoulliKnapsacks(horizon=640)
    model = Tabular(arms=10, n_outcomes=4, confidence=np.log(11 * 640 * 4 / 0.05) / 32)
    trace = simulate(bwcr(world.problem, model), world, replicas=2, progress=False)
    best = opt(world, contexts=1, replicas=1, progress=False).value
    found = results.find("bwcr, primal-primal, hard", REGRET, at)
    np.testing.assert_allclose(found.mean, best - trace.objective()[-1].mean())
    for system in ("ucb_bwk", "greedy_bwk", "pd_bwk", "lin_cbwk", "resolving"):
        assert results.find(system, OUTSIDE, at).mean == 0.0  # hard
    assert results.find("bwcr, dual-dual", f"exponent of {OUTSIDE}", {"knapsacks": 0.0}) is not None
    assert (tmp_path / "concave-convex-knapsacks-0.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "results.json").read_text())["settings"]["rounds"] == 640
    assert "exponent" in "\n".join(lines)
