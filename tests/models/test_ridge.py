import numpy as np
import pytest

from evenhand.models import Fixed, Logarithmic, Ridge, Sampled, SelfNormalised
from tests import twins
from tests.calls import ask, tell
from tests.models.test_bayesian_ridge import history, run
from tests.properties import drawn


def closed_form(x, y, ridge):
    """(V^-1, theta, log det V / ridge) of all plays at once, `(s,n),(s,M)`."""
    v = ridge * np.eye(x.shape[1]) + x.T @ x
    log_det = np.linalg.slogdet(v)[1] - x.shape[1] * np.log(ridge)
    return np.linalg.inv(v), np.linalg.solve(v, x.T @ y).T, log_det


@drawn(replicas=4, plays=3, n=6, m=4, ridge=[1.0, 0.1, 0.001])
def test_the_state_is_the_closed_form_of_all_plays_that_were_observed(replicas, plays, n, m, ridge, seed):
    rng = np.random.default_rng(seed)
    x, y, rounds = history(rng, replicas, 25, plays, n, m)
    model = Ridge(n_features=n, n_outcomes=m, ridge=ridge)
    state = run(model, x, y, rounds, np.full(m, -10.0), np.full(m, 10.0))
    for r in range(replicas):
        seen = (rounds[:, r, None] > 0) & ~np.isnan(y[:, r]).any(2)
        inverse, theta, log_det = closed_form(x[:, r][seen], y[:, r][seen], ridge)
        np.testing.assert_allclose(state.inverse[r], inverse, rtol=1e-7, atol=1e-9 / ridge)
        np.testing.assert_allclose(state.theta[r], theta, rtol=1e-6, atol=1e-6)
        assert state.log_det[r] == pytest.approx(log_det, abs=1e-7)
        assert state.count[r] == seen.sum()


@pytest.mark.parametrize("ridge", [1.0, 1e-6])
def test_two_thousand_rounds_stay_the_closed_form(ridge):
    rng = np.random.default_rng(1)
    x, truth = rng.normal(size=(2000, 1, 1, 5)), rng.normal(size=(3, 5))
    y = x @ truth.T + 0.1 * rng.normal(size=(2000, 1, 1, 3))
    model = Ridge(n_features=5, n_outcomes=3, ridge=ridge)
    state = run(model, x, y, np.ones((2000, 1)), np.full(3, -50.0), np.full(3, 50.0))
    _, theta, _ = closed_form(x[:, 0, 0], y[:, 0, 0], ridge)
    np.testing.assert_allclose(state.theta[0], theta, rtol=1e-7, atol=1e-8)


@drawn(
    replicas=3,
    candidates=4,
    n=4,
    m=3,
    k=3,
    width=[Fixed(), Fixed(0.4), Logarithmic(0.2), SelfNormalised(delta=0.1)],
    clipped=bool,
)
def test_value_is_its_twin(replicas, candidates, n, m, k, width, clipped, seed):
    rng = np.random.default_rng(seed)
    model = Ridge(n_features=n, n_outcomes=m, width=width, clipped=clipped)
    low = rng.uniform(-1, 0, m)
    state = run(model, *history(rng, replicas, 10, 2, n, m), low, low + rng.uniform(0.1, 2, m))
    query, w = rng.normal(size=(replicas, candidates, n)), rng.normal(size=(replicas, k, m)).round(1)
    mean, bonus = ask(model, state, query, w)
    half = width.radius(state.count, state.log_det, 1.0)[:, None] * twins.norms(query, state.inverse)
    half = half[:, None] * (state.high - state.low)[:, None]
    center = np.einsum("ran,rmn->rma", query, state.theta)
    ends = (state.low, state.high) if clipped else (np.full(m, -np.inf), np.full(m, np.inf))
    expected = twins.values(center, half, *ends, w)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(bonus, expected[1], rtol=1e-8, atol=1e-10)


def test_a_price_of_zero_asks_for_no_optimism():
    model = Ridge(n_features=1, n_outcomes=2, width=Fixed(1.0))
    state = model.start(1, np.zeros(2), np.ones(2), 100)
    one = np.ones((1, 1, 1))
    _, bonus = ask(model, state, one, np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]]]))
    np.testing.assert_array_equal(bonus[0, :, 0], [0.0, 1.0, 0.0])  # nothing can be below the range


def test_features_of_any_scale_keep_the_state_finite():
    rng = np.random.default_rng(2)
    model = Ridge(n_features=3, ridge=1e-6, width=SelfNormalised(delta=0.1))
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    for _ in range(2000):
        z = rng.normal(size=(1, 1, 1)) * 1e6
        x = np.concatenate([z, z, np.ones((1, 1, 1))], 2)
        tell(model, state, x, rng.random((1, 1, 1)), np.ones(1), np.ones((1, 1, 1)))
        mean, bonus = ask(model, state, x, np.ones((1, 1, 1)))
        assert np.isfinite(mean).all()
        assert np.isfinite(bonus).all()


@pytest.mark.parametrize(
    "inner", [Ridge(n_features=3, n_outcomes=2, width=Fixed(0.4)), Sampled(inner=Ridge(n_features=3, n_outcomes=2))]
)
def test_widths_and_draws_are_in_units_of_each_outcomes_range(inner):
    """Outcomes and ranges times a factor, prices divided by it: the same worth and bonus."""
    rng, factor = np.random.default_rng(5), np.array([1e-6, 1e5])
    plain, restated = inner.start(2, np.zeros(2), np.ones(2), 100), inner.start(2, np.zeros(2), factor, 100)
    for _ in range(15):
        x, y, w = rng.normal(size=(2, 1, 3)), rng.random((2, 1, 2)), rng.normal(size=(2, 1, 1, 2))
        inner.update(plain, x, y, y >= 0, w)
        inner.update(restated, x, y * factor, y >= 0, w / factor)
    query, w, u = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 2, 1, 2)), rng.random((2, inner.draws(4)))
    first, again = inner.value(plain, query, w, u), inner.value(restated, query, w / factor, u)
    np.testing.assert_allclose(again.mean, first.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(again.bonus, first.bonus, rtol=1e-9, atol=1e-12)
    assert (first.bonus != 0.0).any()
