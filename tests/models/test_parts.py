"""The parts of features add up to the difference of worths, and are what coefficients say of every feature."""

import numpy as np
import pytest

from evenhand.models.base import explains
from evenhand.models.bayesian_logistic import BayesianLogistic
from evenhand.models.bayesian_ridge import BayesianRidge
from evenhand.models.generalized_linear import GeneralizedLinear
from evenhand.models.per_action import PerAction
from evenhand.models.prior import Prior
from evenhand.models.ridge import Ridge
from evenhand.models.sampling import Bootstrapped

R, A, N, K = 2, 3, 4, 2
MODELS = {
    "ridge": (Ridge(n_features=N, n_outcomes=2), False),
    "bayesian ridge": (BayesianRidge(n_features=N, n_outcomes=2), False),
    "logistic": (BayesianLogistic(n_features=N), False),
    "ridge by action": (PerAction(inner=Ridge(n_features=N, n_outcomes=2), actions=A), True),
    "bayesian ridge by action": (
        PerAction(inner=BayesianRidge(n_features=N, n_outcomes=2, prior=Prior(mean=0.3)), actions=A),
        True,
    ),
    "logistic by action": (PerAction(inner=BayesianLogistic(n_features=N), actions=A), True),
}


def taught(model, lead, seed=0):
    """A state after some plays, and candidates with features of their own."""
    rng, m = np.random.default_rng(seed), model.n_outcomes
    low, high = np.zeros(m), np.array([1.0, 5.0])[:m]
    state = model.start(R, low, high, 1000)
    for _ in range(40):
        x = rng.normal(size=(R, 1, N))
        if lead:
            x = np.concatenate([rng.integers(A, size=(R, 1, 1)).astype(float), x], 2)
        y = (rng.random((R, 1, m)) < 0.5) * high
        model.update(state, x, y, np.ones((R, 1, m), bool), np.ones((R, K, 1, m)))
    x = rng.normal(size=(R, 2, N))
    if lead:
        x = np.concatenate([np.tile([[[2.0], [0.0]]], (R, 1, 1)), x], 2)
    return state, x, rng


@pytest.mark.parametrize("each", [False, True], ids=["common prices", "prices by candidate"])
@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_the_difference_of_worths(name, each):
    model, lead = MODELS[name]
    state, x, rng = taught(model, lead, seed=2)
    w = rng.normal(size=(R, K, 2 if each else 1, model.n_outcomes))
    found, mean = model.contributions(state, x, w), model.value(state, x, w, np.zeros((R, 0))).mean
    assert found.shape == (R, K, x.shape[2])
    wanted = mean[:, :, 0] - mean[:, :, 1]
    if each and "logistic" in name:  # what the prices themselves make of the mean of both probabilities is left over
        one = np.ones((R, K, 1, 1))
        p = model.value(state, x, one, np.zeros((R, 0))).mean
        wanted = wanted - (w[:, :, 0, 0] - w[:, :, 1, 0]) * p.mean(2)
    np.testing.assert_allclose(found.sum(2), wanted, atol=1e-12)
    assert np.abs(wanted).min() > 1e-3
    if lead:
        assert not found[:, :, 0].any()


@pytest.mark.parametrize("name", MODELS)
def test_a_feature_has_the_part_that_setting_it_to_nothing_takes_away(name):
    model, lead = MODELS[name]
    state, x, rng = taught(model, lead)
    w, none = rng.normal(size=(R, K, 1, model.n_outcomes)), np.zeros((R, 0))
    found, without = model.contributions(state, x, w), x.copy()
    without[:, :, -1] = 0.0
    assert (np.abs(model.contributions(state, without, w)[:, :, -1]) < 1e-15).all()
    if "logistic" not in name:  # only a linear mean has parts that do not depend on one another
        a, b = (model.value(state, z, w, none).mean for z in (x, without))
        np.testing.assert_allclose(found[:, :, -1], (a - b)[:, :, 0] - (a - b)[:, :, 1], atol=1e-12)


def test_equal_log_odds_have_parts_at_the_slope_there():
    model, _ = MODELS["logistic"]
    state, x, _ = taught(model, False)
    x[:, 1] = x[:, 0]
    w = np.ones((R, 1, 1, 1))
    assert not model.contributions(state, x, w).any()
    x[:, 0, 0] += 1e-12
    p = model.value(state, x, w, np.zeros((R, 0))).mean[:, 0, 0]
    np.testing.assert_allclose(
        model.contributions(state, x, w)[:, 0, 0], 1e-12 * state.theta[:, 0] * p * (1 - p), rtol=1e-2
    )


def test_models_that_cannot_say_say_so():
    assert all(explains(model) for model, _ in MODELS.values())
    assert not explains(Bootstrapped(inner=Ridge(n_features=N)))
    assert not explains(PerAction(inner=GeneralizedLinear(n_features=N, link="logistic"), actions=A))
