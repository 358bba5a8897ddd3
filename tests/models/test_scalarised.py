"""The scalarised ridge against an explicit regression on kron(g, x)."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.models import Fixed, Ridge, Scalarised, SelfNormalised
from tests.calls import ask, tell
from tests.properties import drawn


@drawn(replicas=3, n=4, m=3, k=2, ridge=[1.0, 0.1], width=[Fixed(), Fixed(0.4), SelfNormalised(delta=0.1)])
def test_it_is_a_ridge_on_the_kronecker_product_of_prices_and_features(replicas, n, m, k, ridge, width, seed):
    rng = np.random.default_rng(seed)
    model = Scalarised(n_features=n, n_outcomes=m, ridge=ridge, width=width)
    state = model.start(replicas, np.zeros(m), np.ones(m), 100)
    v = np.tile(ridge * np.eye(n * m), (replicas, 1, 1))
    b = np.zeros((replicas, n * m))
    seen = np.zeros(replicas)
    for _ in range(12):
        x, y, w = (rng.normal(size=(replicas, *s)) for s in ((2, n), (2, m), (k, m)))
        y[rng.random((replicas, 2)) < 0.2, 0] = np.nan
        w[rng.random(w.shape) < 0.3] = 0.0
        rounds = (rng.random(replicas) < 0.8).astype(float)
        tell(model, state, x, y, rounds, w)
        for r in np.flatnonzero(rounds):
            g = w[r].sum(0)
            for p in range(2):
                if not np.isnan(y[r, p]).any():
                    z = np.kron(g, x[r, p])
                    v[r] += np.outer(z, z)
                    b[r] += (g @ y[r, p]) * z
                    seen[r] += 1
    query, w = rng.normal(size=(replicas, 3, n)), rng.normal(size=(replicas, k, m))
    mean, bonus = ask(model, state, query, w)
    for r in range(replicas):
        theta, inverse = np.linalg.solve(v[r], b[r]), np.linalg.inv(v[r])
        log_det = np.linalg.slogdet(v[r] / ridge)[1]
        radius = width.radius(seen[r : r + 1], np.array([log_det]), ridge)[0]
        for i in range(k):
            for a in range(3):
                z = np.kron(w[r, i], query[r, a])
                assert mean[r, i, a] == pytest.approx(z @ theta, abs=1e-7)
                assert bonus[r, i, a] == pytest.approx(radius * np.sqrt(z @ inverse @ z), abs=1e-6)


def test_with_one_outcome_at_price_one_it_is_ridge():
    rng = np.random.default_rng(0)
    one, ridge = Scalarised(n_features=3, width=Fixed(0.3)), Ridge(n_features=3, width=Fixed(0.3))
    low, high = np.full(1, -np.inf), np.full(1, np.inf)  # no clipping, and widths in units of 1
    s, t = one.start(2, low, high, 100), ridge.start(2, low, high, 100)
    w = np.ones((2, 1, 1))
    for _ in range(20):
        x, y = rng.normal(size=(2, 1, 3)), rng.normal(size=(2, 1, 1))
        tell(one, s, x, y, np.ones(2), w)
        tell(ridge, t, x, y, np.ones(2), w)
    x = rng.normal(size=(2, 4, 3))
    for a, b in zip(ask(one, s, x, w), ask(ridge, t, x, w), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_every_play_and_every_candidate_has_its_own_prices():
    rng, n, m = np.random.default_rng(3), 2, 3
    model = Scalarised(n_features=n, n_outcomes=m, width=Fixed(0.4))
    state = model.start(1, np.zeros(m), np.ones(m), 100)
    v, b = np.eye(n * m), np.zeros(n * m)
    for _ in range(15):
        x, y, w = rng.normal(size=(1, 2, n)), rng.normal(size=(1, 2, m)), rng.normal(size=(1, 2, 2, m))
        seen = rng.random((1, 2, m)) < 0.9
        model.update(state, x, np.where(seen, y, 0.0), seen, w)
        for p in np.flatnonzero(seen[0].all(1)):
            g = w[0, :, p].sum(0)
            z = np.kron(g, x[0, p])
            v += np.outer(z, z)
            b += (g @ y[0, p]) * z
    query, w = rng.normal(size=(1, 4, n)), rng.normal(size=(1, 2, 4, m))
    worth = model.value(state, query, w, np.zeros((1, 0)))
    for k in range(2):
        for a in range(4):
            z = np.kron(w[0, k, a], query[0, a])
            assert worth.mean[0, k, a] == pytest.approx(z @ np.linalg.solve(v, b), abs=1e-9)
            assert worth.bonus[0, k, a] == pytest.approx(0.4 * np.sqrt(z @ np.linalg.solve(v, z)), abs=1e-9)


def test_units_of_outcomes_do_not_matter():
    """Outcomes and ranges times a factor, prices divided by it: the same worth and bonus."""
    rng, n, m, factor = np.random.default_rng(4), 2, 3, np.array([1e-6, 1.0, 1e5])
    model = Scalarised(n_features=n, n_outcomes=m, width=Fixed(0.4))
    plain, restated = model.start(1, np.zeros(m), np.ones(m), 100), model.start(1, np.zeros(m), factor, 100)
    for _ in range(15):
        x, y, w = rng.normal(size=(1, 1, n)), rng.random((1, 1, m)), rng.normal(size=(1, 2, 1, m))
        model.update(plain, x, y, y >= 0, w)
        model.update(restated, x, y * factor, y >= 0, w / factor)
    query, w = rng.normal(size=(1, 4, n)), rng.normal(size=(1, 2, 4, m))
    first, again = (model.value(s, query, g, np.zeros((1, 0))) for s, g in ((plain, w), (restated, w / factor)))
    np.testing.assert_allclose(again.mean, first.mean, rtol=1e-9)
    np.testing.assert_allclose(again.bonus, first.bonus, rtol=1e-9)


@given(n=st.integers(1, 3), m=st.integers(1, 3), width=st.sampled_from([0.0, 0.4, 3.0]), seed=st.integers(0, 10_000))
def test_a_clipped_bound_ends_at_what_outcomes_in_their_ranges_can_be_worth(n, m, width, seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-2.0, 1.0, m)
    high = low + rng.uniform(0.1, 2.0, m)
    plain, clipped = (Scalarised(n_features=n, n_outcomes=m, width=Fixed(width), clipped=c) for c in (False, True))
    states = [model.start(1, low, high, 100) for model in (plain, clipped)]
    for _ in range(6):
        x, y, w = rng.normal(size=(1, 1, n)), rng.uniform(low, high, (1, 1, m)), rng.normal(size=(1, 2, m))
        for model, state in zip((plain, clipped), states, strict=True):
            tell(model, state, x, y, np.ones(1), w)
    query, w = rng.normal(size=(1, 4, n)), rng.normal(size=(1, 2, m))
    mean, bonus = ask(plain, states[0], query, w)
    again, found = ask(clipped, states[1], query, w)
    np.testing.assert_array_equal(again, mean)
    least, most = np.sort([w * low, w * high], axis=0).sum(3)[:, :, :, None]  # worths of every reading
    np.testing.assert_allclose(mean + found, np.clip(mean + bonus, least, most), atol=1e-12)


def test_a_clipped_bound_has_no_end_where_a_priced_outcome_has_none():
    one, x = Scalarised(n_features=1, n_outcomes=2, width=Fixed(9.0), clipped=True), np.ones((1, 1, 1))
    state = one.start(1, np.zeros(2), np.array([1.0, np.inf]), 100)
    _, bonus = ask(one, state, x, np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]]))
    np.testing.assert_allclose(bonus[0, :, 0], [1.0, 9.0, 1.0])
