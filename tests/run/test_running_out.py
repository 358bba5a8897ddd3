"""Runs whose world ends before the horizon, such as a log with too few rows, say so and count per round that came."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.environments.logged import Logged, blocks

HORIZON = 400


def log(horizon: int = HORIZON, total: float = 300.0) -> Logged:
    """A log of 400 rows of two actions with probability 1/2, about half of which a policy accepts; "on" costs 1."""
    problem = eh.Problem(
        actions=("off", "on"),
        outcomes=(eh.Outcome("visit"), eh.Outcome("cost")),
        maximize="visit",
        subject_to=(eh.Budget("cost", total=total),),
        horizon=horizon,
    )
    actions = np.arange(400) % 2
    return Logged(
        problem=problem,
        units=np.ones((400, 1)),
        layout=blocks(2, 1),
        actions=actions,
        propensities=np.full(400, 0.5),
        outcomes=np.column_stack([actions, actions]) * 1.0,
        groups=np.zeros((400, 0), np.int64),
    )


def run(world: Logged) -> eh.run.Trace:
    policy = eh.recipes.uniform(world.problem, world.n_features)
    return eh.simulate(policy, world, replicas=3, progress=False)


def test_spending_is_divided_by_the_rounds_that_came():
    trace = run(log())
    rounds = trace.elapsed[-1]
    assert (rounds < 250).all()
    assert np.array_equal(trace.ran_out, rounds)
    cost = next(line for line in trace.summary().lines if line.name == "cost per round")
    assert cost.mean == pytest.approx((trace.total("cost") / rounds).mean())
    assert not cost.missed


def test_a_total_that_was_not_reached_is_not_missed():
    trace = run(log(total=120.0))  # 0.3 per round, while about half of the rounds that came cost 1
    assert (trace.total("cost") <= 120.0).all()
    assert np.isfinite(trace.ran_out).all()
    cost = next(line for line in trace.summary().lines if line.name == "cost per round")
    assert cost.mean > 0.3
    assert not cost.missed


def test_every_face_says_after_how_many_rounds():
    world = log()
    trace = run(world)
    low, high = (f"{int(z(trace.elapsed[-1])):,}" for z in (np.min, np.max))
    said = f"no more cases after {low} to {high} of 400 rounds"
    assert said in trace.summary().title()
    assert said in repr(trace)
    assert "400 rounds, seed" in repr(trace)
    assert said in trace._repr_html_()
    policies = [eh.recipes.uniform(world.problem, world.n_features, name=name) for name in ("one", "two")]
    found = eh.compare(policies, world, replicas=3, progress=False)
    assert f"one: 3 had {said}, and count per round that came" in str(found)
    assert said in found._repr_html_()


def test_a_sweep_says_it_in_its_table():
    found = eh.sweep(
        lambda problem: [eh.recipes.uniform(problem, log().n_features)],
        "horizon",
        {h: log(h) for h in (100, HORIZON)},
        replicas=2,
        progress=False,
    )
    short, long = found.table().splitlines()[2:]
    assert "no more cases" not in short
    assert "of 400 rounds" in long


def test_replicas_that_a_budget_stopped_count_over_the_horizon():
    trace = run(log(total=20.0))
    assert (trace.stopped < 100).all()
    assert np.isnan(trace.ran_out).all()
    cost = next(line for line in trace.summary().lines if line.name == "cost per round")
    assert cost.mean == pytest.approx(20.0 / HORIZON)
    full = run(log(horizon=100))
    assert np.isnan(full.ran_out).all()
    assert "no more cases" not in str(full.summary())
    assert repr(full).startswith("Trace of 'uniform': 3 replicas, 100 rounds, seed 0")


def test_a_table_says_whether_its_objective_is_of_true_means():
    court = eh.environments.Court(horizon=50)
    said = "; appears: at the true means of the plays"
    found = eh.compare([eh.recipes.uniform(court.problem, 5)], court, replicas=2, progress=False)
    assert str(found["uniform"].summary()).endswith(said)
    assert said in str(found)
    assert said in found._repr_html_()
    assert "true means" not in str(found["uniform"].as_arrived().summary())
    assert "true means" not in str(run(log(horizon=50)).summary())
