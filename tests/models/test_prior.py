"""What is believed before any data: shifted data, in units, and by how much it is believed."""

import numpy as np
import pytest

from evenhand.models import BayesianBilinear, BayesianLogistic, BayesianRidge, PerAction, Prior
from tests.models.test_bayesian_ridge import ask
from tests.rows import for_each

ONE = np.ones((1, 1, 1))
WIDE = np.full(1, -50.0), np.full(1, 50.0)


def told(model, x, y, low, high):
    state = model.start(1, low, high, 1000)
    for a, b in zip(x, y, strict=True):
        model.update(state, a[None, None], np.full((1, 1, len(low)), b), np.ones((1, 1, len(low)), bool), ONE[None])
    return state


def data(count=25, n=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n))
    return x, x @ np.array([4.0, -2.0, 1.0])[:n] + rng.normal(size=count)


@pytest.mark.parametrize("count", [0, 1, 4, 25])
def test_a_prior_mean_is_learning_what_lies_beyond_it(count):
    x, y = data()
    mean, query = np.array([3.0, -1.0, 0.5]), np.array([[[0.4, -1.0, 2.0]]])
    state = told(BayesianRidge(n_features=3, prior=Prior(mean=mean)), x[:count], y[:count], *WIDE)
    beyond = told(BayesianRidge(n_features=3), x[:count], y[:count] - x[:count] @ mean, *WIDE)
    np.testing.assert_allclose(100.0 * state.theta[0, 0], mean + 100.0 * beyond.theta[0, 0], rtol=1e-9)
    model = BayesianRidge(n_features=3, prior=Prior(mean=mean))
    said, plain = ask(model, state, query, ONE), ask(BayesianRidge(n_features=3), beyond, query, ONE)
    assert said[0].item() == pytest.approx(plain[0].item() + (query @ mean).item(), rel=1e-9)
    if count == 25:  # with fewer, bonuses end at the ends of the range, which the mean moves
        assert said[1].item() == pytest.approx(plain[1].item(), rel=1e-9)


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e6])
def test_a_prior_is_in_units_of_outcomes_and_features(units):
    x, y = data()
    query = np.array([[[0.4, -1.0, 2.0]]])
    said = []
    for unit, size in ((1.0, 1.0), (units, 1.0), (1.0, units)):
        prior = Prior(mean=np.array([3.0, -1.0, 0.5]) * unit / size, sd=2.0 * unit)
        model = BayesianRidge(n_features=3, prior=prior)
        state = told(model, size * x, unit * y, *(unit * np.array(WIDE)))
        mean, bonus = ask(model, state, size * query, ONE)
        said.append((mean.item() / unit, bonus.item() / unit))
    np.testing.assert_allclose(said, [said[0]] * 3, rtol=1e-8)


def test_before_any_data_a_mean_is_as_uncertain_as_its_sd():
    for sd, times in ((0.25, 1.0), (0.025, 0.1), (2.5, 10.0)):  # 0.25 is believed anyway, of a range of 1
        model = BayesianRidge(n_features=1, prior=Prior(sd=sd * 100.0))
        state = model.start(1, *WIDE, 10**9)  # so many rounds that the logarithm hardly matters
        bonus = model.value(state, np.ones((1, 1, 1)), np.full((1, 1, 1, 1), 1e-9), np.zeros((1, 0))).bonus.item()
        logarithm = np.sqrt(np.log1p((1e9 * times**2) ** 2))
        assert bonus / 1e-9 / logarithm == pytest.approx(sd * 100.0, rel=1e-9) or bonus == pytest.approx(50e-9)


@pytest.mark.parametrize("model", [BayesianRidge(n_features=3), BayesianLogistic(n_features=3)])
def test_what_models_believe_by_themselves_is_the_same_if_it_is_said(model):
    x, y = data()
    low, high = np.zeros(1), np.ones(1)
    y = (y > 0.0) * 1.0
    sd = 0.25 if isinstance(model, BayesianRidge) else 2.0
    stated = type(model)(n_features=3, prior=Prior(mean=[0.0, 0.0, 0.0], sd=sd))
    np.testing.assert_array_equal(told(model, x, y, low, high).theta, told(stated, x, y, low, high).theta)


def test_a_right_and_narrow_prior_stays_nearer_than_a_wide_one_and_a_wrong_one_is_forgotten():
    x, y = data(count=200, seed=1)
    truth = np.array([4.0, -2.0, 1.0])
    far = {}
    for name, prior in {
        "none": Prior(),
        "right": Prior(mean=truth, sd=0.1),
        "wrong": Prior(mean=-truth, sd=0.1),
    }.items():
        model = BayesianRidge(n_features=3, prior=prior)
        few, many = (100.0 * told(model, x[:t], y[:t], *WIDE).theta[0, 0] - truth for t in (6, 200))
        far[name] = np.linalg.norm(few), np.linalg.norm(many)
    assert far["right"][0] < 0.2 * far["none"][0]
    assert far["wrong"][1] < 0.3  # three standard errors of 1 / sqrt(200) in each direction


@pytest.mark.parametrize("sd", [0.1, 0.01, 0.003, 0.001, 1e-6])
@pytest.mark.parametrize("kind", [BayesianRidge, BayesianLogistic])
def test_a_wrong_guess_is_forgotten_by_100_observations_however_narrow(kind, sd):
    """A guess of .1 where .6 is true; what is believed and what is explored are then those without a guess."""
    guess = 0.1 if kind is BayesianRidge else np.log(0.1 / 0.9)
    y = (np.random.default_rng(0).random(100) < 0.6) * 1.0
    said = []
    for prior in (Prior(), Prior(mean=guess, sd=sd)):
        model = kind(n_features=1, prior=prior)
        state = told(model, np.ones((100, 1)), y, np.zeros(1), np.ones(1))
        said.append([z.item() for z in ask(model, state, ONE, ONE)])
    np.testing.assert_allclose(said[1], said[0], atol=0.01)


@pytest.mark.parametrize("kind", [BayesianRidge, BayesianLogistic])
def test_a_right_guess_is_worth_many_observations(kind):
    """Errors of predictions after 30 plays of five features, in 200 replicas: a fifth of those without a guess."""
    rng, replicas = np.random.default_rng(1), 200
    mean, size = ([0.3, 0, 0, 0, 0], 0.02) if kind is BayesianRidge else ([-1.0, 0, 0, 0, 0], 0.1)
    theta = mean + rng.normal(size=(replicas, 5)) * size / np.sqrt(5)
    x = np.concatenate([np.ones((replicas, 31, 1)), rng.uniform(-1, 1, (replicas, 31, 4))], 2)
    u = np.einsum("rtn,rn->rt", x, theta)
    chance = u if kind is BayesianRidge else 1.0 / (1.0 + np.exp(-u))
    y = (rng.random(chance.shape) < chance) * 1.0
    cases, came, error = x.swapaxes(0, 1)[:, :, None].copy(), y.T[:, :, None, None].copy(), []
    for prior in (Prior(), Prior(mean=mean, sd=size)):
        model = kind(n_features=5, prior=prior)
        state, seen = model.start(replicas, np.zeros(1), np.ones(1), 1000), np.ones((replicas, 1, 1), bool)
        for t in range(30):
            model.update(state, cases[t], came[t], seen, np.ones((replicas, 1, 1, 1)))
        found = model.value(state, cases[30], np.ones((replicas, 1, 1, 1)), np.zeros((replicas, 0))).mean[:, 0, 0]
        error.append(np.sqrt(((found - chance[:, 30]) ** 2).mean()))
    assert error[1] < 0.2 * error[0]


def test_a_prior_of_log_odds_moves_predictions_and_data_move_them_on():
    model = BayesianLogistic(n_features=1, prior=Prior(mean=-3.0, sd=0.5))
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    first = ask(model, state, ONE, ONE)[0].item()
    assert first == pytest.approx(1.0 / (1.0 + np.exp(3.0)), rel=1e-12)
    for _ in range(40):
        model.update(state, ONE, ONE, ONE > 0, ONE[None])
    assert ask(model, state, ONE, ONE)[0].item() > 0.8


@for_each("seed", range(3))
def test_a_logistic_fit_is_at_the_minimum_of_its_penalised_likelihood(seed):
    rng = np.random.default_rng(seed)
    x, mean = rng.normal(size=(60, 2)), np.array([1.0, -2.0])
    y = (rng.random(60) < 0.4) * 1.0
    state = told(BayesianLogistic(n_features=2, prior=Prior(mean=mean, sd=0.3)), x, y, np.zeros(1), np.ones(1))
    fitted = int(state.fitted[0])
    assert fitted > 50
    theta, rho = state.base[0], state.ridge[0]
    slope = x[:fitted].T @ (1.0 / (1.0 + np.exp(-x[:fitted] @ theta)) - y[:fitted]) + rho * (theta - mean)
    np.testing.assert_allclose(slope, 0.0, atol=2e-2)  # a squared Newton decrement of 1e-4


def test_a_bilinear_prior_is_that_of_a_ridge_on_products():
    rng = np.random.default_rng(4)
    u, v, mean = rng.normal(size=(20, 2)), rng.normal(size=(20, 3)), rng.normal(size=6)
    y = np.einsum("ti,ij,tj->t", u, rng.normal(size=(2, 3)), v)
    pair = told(
        BayesianBilinear(n_user_features=2, n_item_features=3, prior=Prior(mean=mean)), np.hstack([u, v]), y, *WIDE
    )
    flat = (u[:, :, None] * v[:, None, :]).reshape(20, 6)
    wide = told(BayesianRidge(n_features=6, prior=Prior(mean=mean)), flat, y, *WIDE)
    np.testing.assert_allclose(pair.theta, wide.theta, rtol=1e-7, atol=1e-12)


def test_actions_may_have_priors_of_their_own():
    model = PerAction(inner=BayesianRidge(n_features=2, prior=Prior(mean=[[[0.1, 0.2]], [[0.3, 0.4]]])), actions=2)
    state = model.start(3, np.zeros(1), np.ones(1), 100)
    said = model.value(
        state, np.tile([[[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]], (3, 1, 1)), np.ones((3, 1, 1, 1)), np.zeros((3, 0))
    )
    np.testing.assert_allclose(said.mean[:, 0], [[0.7, 0.1]] * 3)
