import numpy as np
import pytest

from evenhand.models import Fixed, Logarithmic, Logistic, SelfNormalised
from tests import twins
from tests.calls import ask, tell
from tests.numerics.test_newton import derivatives, fit_logistic, reference, room
from tests.properties import drawn


def start(model, replicas=1):
    return model.start(replicas, np.zeros(1), np.ones(1), 100)


def feed(model, state, x, y, rounds=None):
    rounds = np.ones(len(x)) if rounds is None else rounds
    tell(model, state, x, y, rounds, np.ones((len(x), 1, 1)))


def exact(x, y, ridge):
    theta = np.zeros(x.shape[1])
    fit_logistic(x, y, theta, room(theta), ridge, 1e-14)
    return theta


@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
def test_growth_1_is_a_refit_in_every_round(ridge):
    rng = np.random.default_rng(1)
    x = np.abs(rng.normal(size=(60, 1, 1, 3)))
    y = (rng.random((60, 1, 1, 1)) < 1 / (1 + np.exp(-x[..., :1]))).astype(float)
    model = Logistic(n_features=3, ridge=ridge, growth=1.0, tolerance=1e-10)
    state = start(model)
    for t in range(60):
        feed(model, state, x[t], y[t])
        gradient, hessian = derivatives(x[: t + 1, 0, 0], y[: t + 1, 0, 0, 0], state.theta[0], ridge)
        assert gradient @ np.linalg.solve(hessian, gradient) <= 1e-9  # the squared Newton decrement: at the optimum
        assert state.fitted[0] == t + 1
    found, _ = reference(x[:, 0, 0], y[:, 0, 0, 0], ridge)
    np.testing.assert_allclose(state.theta[0], found, atol=1e-4)


def test_a_growing_history_is_refitted_on_a_geometric_schedule():
    rng = np.random.default_rng(2)
    model = Logistic(n_features=2, growth=1.5, tolerance=1e-12)
    state = start(model)
    x, y = rng.normal(size=(100, 1, 1, 2)), (rng.random((100, 1, 1, 1)) < 0.5).astype(float)
    refits, fitted = [], 0
    for t in range(100):
        before = state.theta.copy()
        feed(model, state, x[t], y[t])
        if t + 1 >= 1.5 * fitted:
            fitted = t + 1
            refits.append(fitted)
            np.testing.assert_allclose(state.theta[0], exact(x[:fitted, 0, 0], y[:fitted, 0, 0, 0], 1.0), atol=1e-6)
        else:
            np.testing.assert_array_equal(state.theta, before)
        assert state.fitted[0] == fitted
    assert refits == [1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93]


def test_a_history_of_any_length_is_kept():
    """Room doubles at 256, 512, ... observations."""
    rng = np.random.default_rng(3)
    model = Logistic(n_features=2, growth=2.0, tolerance=1e-12)
    state = start(model, 2)
    x, y = rng.normal(size=(700, 2, 1, 2)), (rng.random((700, 2, 1, 1)) < 0.3).astype(float)
    rounds = np.stack([np.ones(700), rng.random(700) < 0.5], 1).astype(float)  # the second replica learns less
    for t in range(700):
        feed(model, state, x[t], y[t], rounds[t])
    assert state.past.x.shape[1] == 1024
    for r in range(2):
        seen = rounds[:, r] > 0
        s = int(state.fitted[r])
        assert state.count[r] == seen.sum()
        np.testing.assert_array_equal(state.past.x[r, : seen.sum()], x[seen, r, 0])
        np.testing.assert_array_equal(state.past.y[r, : seen.sum()], y[seen, r, 0, 0])
        np.testing.assert_allclose(state.theta[r], exact(x[seen, r, 0][:s], y[seen, r, 0, 0][:s], 1.0), atol=1e-6)
        v = np.eye(2) + x[seen, r, 0].T @ x[seen, r, 0]
        np.testing.assert_allclose(state.inverse[r], np.linalg.inv(v), rtol=1e-8)
        assert state.log_det[r] == pytest.approx(np.linalg.slogdet(v)[1])


@drawn(
    replicas=3,
    plays=3,
    candidates=4,
    k=3,
    width=[Fixed(), Fixed(0.4), Logarithmic(0.1), SelfNormalised(delta=0.1, norm_bound=0.1)],
    ranges=[(0.0, 1.0), (0.2, 0.6)],
)
def test_value_is_its_twin_and_plays_not_observed_do_not_count(replicas, plays, candidates, k, width, ranges, seed):
    rng = np.random.default_rng(seed)
    model = Logistic(n_features=3, width=width, growth=1.0, tolerance=1e-12)
    state = model.start(replicas, np.array(ranges[:1]), np.array(ranges[1:]), 100)
    x, y = rng.normal(size=(12, replicas, plays, 3)), rng.uniform(*ranges, (12, replicas, plays, 1))
    y[rng.random(y.shape) < 0.3] = np.nan
    rounds = (rng.random((12, replicas)) < 0.8).astype(float)
    for t in range(12):
        feed(model, state, x[t], y[t], rounds[t])
    query, w = rng.normal(size=(replicas, candidates, 3)), rng.normal(size=(replicas, k, 1)).round(1)
    mean, bonus = ask(model, state, query, w)
    for r in range(replicas):
        seen = (rounds[:, r, None] > 0) & ~np.isnan(y[:, r, :, 0])
        theta = exact(x[:, r][seen], y[:, r, :, 0][seen], 1.0)
        inverse = np.linalg.inv(np.eye(3) + x[:, r][seen].T @ x[:, r][seen])[None]
        log_det = -np.linalg.slogdet(inverse)[1]
        half = width.radius(np.array([float(seen.sum())]), log_det, 1.0)[:, None] * twins.norms(query[[r]], inverse)
        center = 1 / (1 + np.exp(-query[[r]] @ theta))[:, None]
        half = half[:, None] * (state.high - state.low)[:, None]
        expected = twins.values(center, half, state.low, state.high, w[[r]])
        np.testing.assert_allclose(mean[r], expected[0][0], atol=1e-7)
        np.testing.assert_allclose(bonus[r], expected[1][0], atol=1e-7)


def test_tuned_widths_are_reported_not_promised():
    """K6 as the experiments use it: C (1 + ln t) ||x||_{V^-1}, V = ridge I + sum x x^T."""
    model = Logistic(n_features=2, width=Logarithmic(0.025), ridge=1e-6)
    state = start(model)
    rng = np.random.default_rng(4)
    x = rng.random((20, 1, 1, 2))
    for t in range(20):
        feed(model, state, x[t], np.ones((1, 1, 1)) * (t % 3 == 0))
    query = np.array([[[0.5, 0.25]]])
    mean, bonus = ask(model, state, query, np.ones((1, 1, 1)))
    v = 1e-6 * np.eye(2) + np.einsum("ti,tj->ij", x[:, 0, 0], x[:, 0, 0])
    half = 0.025 * (1 + np.log(20)) * np.sqrt(query[0, 0] @ np.linalg.solve(v, query[0, 0]))
    assert bonus[0, 0, 0] == pytest.approx(half)
    assert 0 < mean[0, 0, 0] < 1


@pytest.mark.parametrize("scale", [1e-6, 1e3, 1e6])
def test_features_of_any_scale_keep_the_state_finite_and_the_predictions_right(scale):
    """Collinear features and next to no ridge: the Hessian is singular in floating point from the first fit on."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=(400, 1, 1, 1))
    x = np.concatenate([z, z, -z], 3) * scale
    y = (rng.random(z.shape) < 1 / (1 + np.exp(-2 * z))).astype(float)
    model = Logistic(n_features=3, ridge=1e-6 * min(scale, 1.0) ** 2, growth=1.1, width=Fixed(0.1))
    state = start(model)
    for t in range(400):
        feed(model, state, x[t], y[t])
        assert all(np.isfinite(a).all() for a in (state.theta, state.inverse, state.log_det))
    mean, _ = ask(model, state, np.array([[[1.0, 1.0, -1.0]]]) * scale, np.ones((1, 1, 1)))
    assert mean[0, 0, 0] == pytest.approx(1 / (1 + np.exp(-2)), abs=0.1)
