import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.linear_model import LinearRegression

from evenhand.choices import InverseGap, Rate
from evenhand.goals.hard_limits import hard_budget
from evenhand.goals.linear_reward import reward
from evenhand.models import (
    Aggregation,
    Cover,
    Fixed,
    Glmtron,
    Gradient,
    Logistic,
    OnlineToBatch,
    Ridge,
    Sklearn,
    Stacked,
)
from evenhand.policy import Policy
from evenhand.testing import check_policy
from tests.calls import ask, tell
from tests.examples.problems import EVERYTHING
from tests.models.test_ridge import history
from tests.rows import for_each
from tests.worlds import Market

INNER = {
    "newton": Glmtron(n_features=3, n_outcomes=2, radius=2.0),
    "gradient": Gradient(n_features=3, n_outcomes=2),
    "ridge with widths": Ridge(n_features=3, n_outcomes=2, width=Fixed(0.3)),
    "logistic link": Gradient(n_features=3, n_outcomes=2, link="logistic"),
    "cells": Aggregation(experts=Cover(cuts=(2, 2, 2), levels=4), n_outcomes=2),
    "beside": Stacked((Glmtron(n_features=3, link="probit"), Ridge(n_features=3))),
    "trees or so": Sklearn(
        estimator=LinearRegression(), n_features=3, n_outcomes=2, min_observations=2, buffer=7, growth=1.0
    ),
}


def iterates(inner, x, y, rounds, query, w):
    """What the inner model alone predicted before each round that taught it something, (t, K, A) twice."""
    state, means, bonuses = inner.start(1, np.full(2, -5.0), np.full(2, 5.0), 100), [], []
    for t in range(len(x)):
        if rounds[t, 0] and (~np.isnan(y[t, 0]).any(1)).any():
            mean, bonus = ask(inner, state, query, w)
            means.append(mean[0])
            bonuses.append(bonus[0])
        tell(inner, state, x[t], y[t], rounds[t], w)
    return np.array(means), np.array(bonuses)


def sampled(count, snapshots):
    """Which of the iterates 0..count-1 are kept, by the rule in words: the least stride 2^k that leaves few enough."""
    stride = 1
    while len(range(0, count, stride)) > snapshots:
        stride *= 2
    return list(range(0, count, stride))


@for_each("name", INNER)
@for_each(("snapshots", "rounds"), [(64, 30), (4, 30), (2, 9), (4, 0)])
def test_predictions_are_the_average_of_those_of_the_iterates(name, snapshots, rounds):
    """Two replicas that learn in different rounds, each against the inner model run alone and watched."""
    rng = np.random.default_rng(11)
    inner = INNER[name]
    x, y, counted = history(rng, 2, rounds, 2, 3, 2)
    y = np.clip(y, -5, 5)
    query, w = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3, 2))
    model = OnlineToBatch(inner=inner, snapshots=snapshots)
    state = model.start(2, np.full(2, -5.0), np.full(2, 5.0), 100)
    for t in range(rounds):
        tell(model, state, x[t], y[t], counted[t], w)
    mean, bonus = ask(model, state, query, w)
    for r in (0, 1):
        one = slice(r, r + 1)
        before, wide = iterates(inner, x[:, one], y[:, one], counted[:, one], query[one], w[one])
        assert state.count[r] == len(before)
        if not rounds:
            before, wide = (z for z in ask(inner, inner.start(2, np.full(2, -5.0), np.full(2, 5.0), 100), query, w))
            before, wide = before[one], wide[one]
        kept = range(len(before)) if name in ("newton", "gradient") else sampled(len(before), snapshots)
        np.testing.assert_allclose(mean[r], before[list(kept)].mean(0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(bonus[r], wide[list(kept)].mean(0), rtol=1e-9, atol=1e-12)


@given(count=st.integers(1, 200), half=st.integers(1, 8))
def test_the_sample_is_evenly_spaced_and_at_least_half_full(count, half):
    model = OnlineToBatch(inner=Ridge(n_features=1), snapshots=2 * half)
    state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    for _ in range(count):
        tell(model, state, one, one, np.ones(1), one)
    kept = int(state.kept[0])
    told = [int(s.count[0]) for s in state.past[:kept]]  # how much each of them had seen
    assert told == sampled(count, 2 * half)
    assert kept >= min(count, half)


def test_a_history_that_grows_is_kept_as_well():
    """More than the 256 rows that a logistic history starts with, in a replica that starts late."""
    rng = np.random.default_rng(4)
    model = OnlineToBatch(inner=Logistic(n_features=2), snapshots=4)
    state, one = model.start(2, np.zeros(1), np.ones(1), 100), np.ones((2, 1, 1))
    for t in range(700):
        x, y = rng.normal(size=(2, 1, 2)), (rng.random((2, 1, 1)) < 0.5).astype(float)
        tell(model, state, x, y, np.array([1.0, float(t > 400)]), one)
    assert state.count.tolist() == [700, 299]
    for r, count in enumerate([700, 299]):
        seen = [int(s.count[r]) for s in state.past[: int(state.kept[r])]]
        assert seen == sampled(count, 4)


def test_the_average_is_better_than_the_last_iterate_of_a_restless_oracle():
    """A fixed step keeps gradient descent moving about the truth for ever: the average settles (Lemma B.1).

    Mean squares over 200 runs; the difference is held against five of its standard errors.
    """
    rng = np.random.default_rng(5)
    inner = Gradient(n_features=2, step=0.5, power=0.0)
    model = OnlineToBatch(inner=inner)
    state, one = model.start(200, np.full(1, -9.0), np.full(1, 9.0), 100), np.ones((200, 1, 1))
    truth = np.array([0.5, -0.5])
    for _ in range(400):
        x = rng.uniform(-1, 1, (200, 1, 2))
        tell(model, state, x, (x @ truth + rng.normal(0, 0.5, (200, 1)))[:, :, None], np.ones(200), one)
    x = rng.uniform(-1, 1, (200, 50, 2))
    errors = [
        ((z[:, 0] - x @ truth) ** 2).mean(1) for z in (ask(model, state, x, one)[0], ask(inner, state.inner, x, one)[0])
    ]
    gain = errors[1] - errors[0]
    assert gain.mean() >= 5 * gain.std() / np.sqrt(200)
    assert errors[0].mean() <= errors[1].mean() / 4


@pytest.mark.parametrize("name", ["newton", "logistic link", "cells", "beside", "trees or so"])
def test_a_policy_acts_alike_in_a_batch_alone_and_after_it_was_saved(name):
    model = OnlineToBatch(inner=INNER[name], snapshots=4)
    choice = InverseGap(Rate(20.0))
    policy = Policy(problem=EVERYTHING, model=model, goals=(reward(EVERYTHING), hard_budget(EVERYTHING)), choice=choice)
    check_policy(policy, Market(problem=EVERYTHING, offered=0.8), rounds=40)
