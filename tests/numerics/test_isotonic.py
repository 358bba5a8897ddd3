import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression

from evenhand.numerics.isotonic import gini_gradient, gini_prox, gini_supergradient, pool

numbers = st.integers(-8, 8).map(float) | st.floats(-3, 3)
rows = st.integers(1, 30).flatmap(lambda m: arrays(np.float64, m, elements=numbers))


def pooled(x):
    out = x.copy()
    pool(out, np.empty(len(x)), np.empty(len(x), np.int64))
    return out


def plain_pool(x):
    """The min-max formula: max over starts up to i of the min over ends from i on of the mean in between."""
    m = len(x)
    return np.array([max(min(x[a : b + 1].mean() for b in range(i, m)) for a in range(i + 1)) for i in range(m)])


def plain_projection(v, weights):
    """Onto the permutahedron of non-increasing weights, as the papers say it: sort, subtract, regress, unsort."""
    order = np.argsort(-v)
    s = v[order]
    regressed = isotonic_regression(s - weights, increasing=False).x
    out = np.empty_like(v)
    out[order] = s - regressed
    return out


@given(x=rows)
def test_pooling_is_isotonic_regression(x):
    np.testing.assert_allclose(pooled(x), isotonic_regression(x).x, atol=1e-12)
    np.testing.assert_allclose(pooled(x), plain_pool(x), atol=1e-12)


@given(x=rows)
def test_pooling_sorts_keeps_the_sum_and_changes_nothing_the_second_time(x):
    once = pooled(x)
    assert (np.diff(once) >= 0).all()
    assert once.sum() == pytest.approx(x.sum(), abs=1e-10)
    np.testing.assert_allclose(pooled(once), once, rtol=1e-14, atol=1e-14)


@given(z=rows, beta=st.sampled_from([1e-3, 0.1, 1.0, 30.0]), seed=st.integers(0, 99))
def test_the_prox_moves_by_the_projection_onto_the_permutahedron(z, beta, seed):
    w = -np.sort(-np.random.default_rng(seed).normal(size=len(z)))
    moved = gini_prox(z[None], np.argsort(z)[None], w, np.array([beta]))[0]
    np.testing.assert_allclose((moved - z) / beta, plain_projection(-z / beta, w), atol=1e-9 / min(beta, 1.0))


def test_the_projection_is_in_the_permutahedron():
    """No partial sum exceeds that of the largest weights, and the whole is theirs: majorization."""
    rng = np.random.default_rng(1)
    z, w = rng.normal(size=(50, 6)), -np.sort(-rng.normal(size=6))
    p = (gini_prox(z, np.argsort(z), w, np.full(50, 0.4)) - z) / 0.4
    sums = -np.sort(-p).cumsum(1)
    assert (sums <= w.cumsum() + 1e-12).all()
    np.testing.assert_allclose(sums[:, -1], w.sum(), atol=1e-12)


def test_the_supergradient_is_the_cheapest_permutation_and_a_mean_of_them_at_ties():
    w = np.array([1.0, 0.5, 0.25, -0.5])
    permutations = np.array(list(itertools.permutations(w)))
    for z in np.array([[0.3, 0.1, 0.4, 0.2], [0.3, 0.1, 0.3, 0.3], [0, 0, 0, 0], [0.1, 0.2, 0.1, 0.2]]):
        g = gini_supergradient(z[None], np.argsort(z)[None], w)[0]
        costs = permutations @ z
        assert g @ z == pytest.approx(costs.min(), abs=1e-15)
        np.testing.assert_allclose(g, permutations[costs <= costs.min() + 1e-12].mean(0), atol=1e-15)


@given(rows)
def test_a_gradient_finds_the_order_that_it_is_not_given(x):
    """Equal outcomes keep their order, so that a stable sort gives the same numbers, bit for bit."""
    z, weights, beta = np.stack([x, x[::-1]]), np.linspace(1.0, -1.0, len(x)), np.array([0.3, 0.7])
    places, tilt = np.arange(len(x)), np.zeros(len(x))
    order = np.argsort(z, axis=1, kind="stable")
    found = gini_gradient(z, tilt, places, np.zeros((2, 0), np.int64), weights, 1.0, beta)
    np.testing.assert_array_equal(found, gini_gradient(z, tilt, places, order, weights, 1.0, beta))
    np.testing.assert_array_equal(found, (gini_prox(z, order, weights, beta) - z) / beta[:, None])
