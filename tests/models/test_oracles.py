import math
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.models import Glmtron, Gradient, Ridge
from evenhand.models.links import LINKS
from evenhand.models.oracles import project
from tests import twins
from tests.calls import ask, tell
from tests.models.test_ridge import history

CASES = {
    "link": st.sampled_from(LINKS),
    "radius": st.sampled_from([math.inf, 1.0, 0.3]),
    "projection": st.sampled_from(["row", "whole"]),
    "start_at": st.sampled_from([0.0, 0.2]),
    "plays": st.integers(1, 3),
    "n": st.integers(1, 6),
    "m": st.integers(1, 4),
    "seed": st.integers(0, 10_000),
}
TWINS = {Glmtron: twins.newton_oracle, Gradient: twins.gradient_oracle}


def learn(model, x, y, rounds, replicas):
    state = model.start(replicas, np.full(model.n_outcomes, -10.0), np.full(model.n_outcomes, 10.0), 100)
    for t in range(len(x)):
        tell(model, state, x[t], y[t], rounds[t], np.zeros((replicas, 1, model.n_outcomes)))
    return state


def follow(model, plays, seed, rounds=15):
    """Parameters of three replicas, and those of the twin, which sees the observed plays only."""
    rng = np.random.default_rng(seed)
    x, y, counted = history(rng, 3, rounds, plays, model.n_features, model.n_outcomes)
    x = 0.5 * x  # exponentials of these stay small
    state = learn(model, x, y, counted, 3)
    seen = [(counted[:, r, None] > 0) & ~np.isnan(y[:, r]).any(2) for r in range(3)]
    return state.theta, np.array([TWINS[type(model)](model, x[:, r][s], y[:, r][s]) for r, s in enumerate(seen)])


@given(step=st.sampled_from([1.0, 0.4]), ridge=st.sampled_from([1.0, 0.1]), **CASES)
def test_newton_steps_are_their_twin(step, ridge, link, radius, projection, start_at, plays, n, m, seed):
    steps = {"step": step, "ridge": ridge, "radius": radius, "projection": projection, "start_at": start_at}
    model = Glmtron(n_features=n, n_outcomes=m, link="logistic" if link == "exponential" else link, **steps)
    theta, expected = follow(model, plays, seed)
    np.testing.assert_allclose(theta, expected, rtol=1e-8, atol=1e-10)


@given(power=st.sampled_from([0.0, 0.5, 1.0]), first_step=st.sampled_from([0.0, 1.5]), **CASES)
def test_gradient_steps_are_their_twin(power, first_step, link, radius, projection, start_at, plays, n, m, seed):
    steps = {"power": power, "first_step": first_step, "radius": radius, "projection": projection, "start_at": start_at}
    model = Gradient(n_features=n, n_outcomes=m, link="probit" if link == "exponential" else link, step=0.2, **steps)
    theta, expected = follow(model, plays, seed)
    np.testing.assert_allclose(theta, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", [Glmtron, Gradient])
def test_the_exponential_link_is_followed_too(model):
    theta, expected = follow(model(n_features=3, n_outcomes=2, link="exponential", step=0.1, radius=1.0), 2, 5)
    np.testing.assert_allclose(theta, expected, rtol=1e-8, atol=1e-10)


@given(ridge=st.sampled_from([1.0, 0.1, 1e-3]), n=st.integers(1, 6), m=st.integers(1, 3), seed=st.integers(0, 10_000))
def test_whole_newton_steps_without_a_projection_are_ridge_regression_to_the_last_digits(ridge, n, m, seed):
    x, y, rounds = history(np.random.default_rng(seed), 2, 30, 2, n, m)
    ours, ridges = Glmtron(n_features=n, n_outcomes=m, ridge=ridge), Ridge(n_features=n, n_outcomes=m, ridge=ridge)
    a, b = learn(ours, x, y, rounds, 2), learn(ridges, x, y, rounds, 2)
    np.testing.assert_allclose(a.theta, b.theta, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(a.inverse, b.inverse)


@pytest.mark.parametrize("radius", [0.5, 1.0, 3.0])
def test_each_row_goes_to_the_nearest_point_of_its_ball(radius):
    """Against cvxpy; 1e-6 is that of a conic solver's argument here."""
    theta = np.random.default_rng(1).normal(size=(4, 3))
    nearest = cp.Variable(theta.shape)
    cp.Problem(cp.Minimize(cp.sum_squares(nearest - theta)), [cp.norm(nearest, 2, axis=1) <= radius]).solve(
        solver=cp.CLARABEL
    )
    ours = theta.copy()
    project(ours, radius, False)
    np.testing.assert_allclose(ours, nearest.value, atol=1e-6)
    np.testing.assert_allclose(ours, twins.projected(theta, radius, "row"), rtol=1e-14)


def test_the_published_projection_scales_all_rows_to_one_norm_and_drops_signs():
    theta = np.array([[3.0, 0.0], [0.0, -4.0]])
    project(theta, 1.0, True)
    np.testing.assert_allclose(theta, [[0.6, 0.0], [0.0, 0.8]])
    inside = np.array([[-0.1, 0.2]])
    project(inside, 1.0, True)
    np.testing.assert_allclose(inside, [[0.1, 0.2]])


ROUNDS, RUNS, DIMENSION = 4096, 48, 6


def regret(model, truth, x, y):
    """Sums over rounds of (prediction - truth)^2, (T, R): the excess square loss over the best in class, in mean."""
    state = model.start(RUNS, np.full(1, -9.0), np.full(1, 9.0), 100)
    one, total = np.ones((RUNS, 1, 1)), []
    for t in range(len(x)):
        mean = ask(model, state, x[t], one)[0][:, 0, 0]
        total.append((mean - truth[t]) ** 2)
        tell(model, state, x[t], y[t], np.ones(RUNS), one)
    return np.cumsum(total, 0)


def linear_class(noise, link="identity", seed=0):
    """Features in the unit ball, norms of the truth 1, bounded noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROUNDS, RUNS, 1, DIMENSION))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=3, keepdims=True))
    theta = rng.normal(size=(RUNS, DIMENSION))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    truth = twins.LINKS[link](np.einsum("trpn,rn->tr", x, theta))
    return x, truth, (truth + rng.uniform(-noise, noise, truth.shape))[:, :, None, None]


def exponent(total):
    """Slope of log(regret of rounds T to 2T) over log T for T = 128 to 2048: 0 for a + b log T, p for a + b T^p.

    Unlike the regret itself, a doubling's does not depend on what the first rounds cost. Of eight groups of runs:
    mean and standard error.
    """
    ends = 2 ** np.arange(7, 13)
    groups = np.diff(total[ends - 1], axis=0).reshape(len(ends) - 1, 8, -1).mean(2)
    z = np.log(ends[:-1]) - np.log(ends[:-1]).mean()
    slopes = (z[:, None] * np.log(groups)).sum(0) / (z**2).sum()
    return slopes.mean(), slopes.std(ddof=1) / math.sqrt(8)


@pytest.mark.parametrize(("link", "step"), [("identity", 1.0), ("logistic", 5.1)])
def test_the_regret_of_newton_steps_grows_like_a_logarithm(link, step):
    """O(n log T): an exponent of 0. Allowed: five standard errors. 1/5.1 is the least slope of the link on [-1, 1].

    The bound itself, by the identity link's: ridge |theta|^2 + n ln(1 + T / (n ridge)) times the largest squared miss,
    here (1 + 1/2)^2, and `step` times that for another link.
    """
    x, truth, y = linear_class(0.5, link)
    total = regret(Glmtron(n_features=DIMENSION, link=link, step=step, radius=1.0), truth, x, y)
    slope, error = exponent(total)
    assert error < 0.1  # so that a root would be told from a logarithm
    assert abs(slope) <= 5 * error
    assert total[-1].mean() <= step * (1 + 2.25 * DIMENSION * math.log(1 + ROUNDS / DIMENSION))


@pytest.mark.parametrize("link", ["identity", "logistic"])
def test_the_regret_of_gradient_steps_grows_no_faster_than_a_root(link):
    """O(sqrt T), whatever the dimension: an exponent of at most 1/2. Allowed: five standard errors.

    The bound itself is Zinkevich's, sqrt(T) (D^2 / 2 + G^2), D = 2, for the linearised loss with |gradient| <= G = 2.5.
    """
    x, truth, y = linear_class(0.5, link)
    total = regret(Gradient(n_features=DIMENSION, link=link, radius=1.0), truth, x, y)
    slope, error = exponent(total)
    assert error < 0.1
    assert slope <= 0.5 + 5 * error
    least = 1.0 if link == "identity" else 1 / 5.1
    assert total[-1].mean() <= math.sqrt(ROUNDS) * (2.0 + 2.5**2) / least


@pytest.mark.parametrize("model", [Glmtron, Gradient], ids=lambda m: m.__name__)
@pytest.mark.parametrize("link", LINKS)
def test_a_misspecified_model_stays_finite_and_raises_nothing(model, link):
    """Outcomes that have nothing to do with the features, which are far larger than the theory's ball."""
    rng = np.random.default_rng(3)
    oracle = model(n_features=4, n_outcomes=2, link=link, radius=1.0)
    state = oracle.start(2, np.full(2, -5.0), np.full(2, 5.0), 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(300):
            x = 20.0 * rng.normal(size=(2, 1, 4))
            mean, bonus = ask(oracle, state, x, np.ones((2, 1, 2)))
            assert np.isfinite(mean).all()
            assert (bonus == 0.0).all()
            tell(oracle, state, x, rng.choice([-5.0, 5.0], size=(2, 1, 2)), np.ones(2), np.ones((2, 1, 2)))
    assert np.isfinite(state.theta).all()
    assert (np.linalg.norm(state.theta, axis=2) <= 1 + 1e-12).all()
