from functools import partial

import numpy as np
import pytest

from evenhand.core.kernel import kernels
from evenhand.models import BayesianLogistic, BayesianRidge
from evenhand.numerics.evidence import clip_penalty
from evenhand.numerics.likelihood import LOGISTIC
from evenhand.numerics.low_rank import WIDE, absorb_few, fit_few, invert_sum
from evenhand.numerics.newton import cholesky, fit, invert
from evenhand.numerics.products import add_products


def features(count, seed=0):
    """Rows of features of unlike sizes, one of which is always 0."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, WIDE)) * np.append(0.0, 10.0 ** rng.uniform(-2, 1, WIDE - 1))


def data(count):
    x = features(count)
    return x, (np.random.default_rng(1).random(count) < 0.4).astype(float)


@pytest.mark.parametrize("count", [0, 1, 5, WIDE // 3, WIDE // 3 + 1, 2 * WIDE])
def test_a_sum_is_inverted_at_any_rank(count):
    x, inverse = features(count), np.full((WIDE, WIDE), np.nan)
    gram, room = x.T @ x, np.empty((WIDE, WIDE))
    for amount in (1.0, 2.0):  # again, as observations that come twice add no rank
        invert_sum(amount * gram, 0.5, room, inverse)
        expected = np.linalg.inv(0.5 * np.eye(WIDE) + amount * gram)
        np.testing.assert_allclose(inverse, expected, atol=1e-9)
        np.testing.assert_array_equal(inverse, inverse.T)


def test_the_smallest_penalties_leave_an_inverse_that_is_definite():
    x, inverse = features(3), np.empty((WIDE, WIDE))
    invert_sum(x.T @ x, clip_penalty(0.0, np.trace(x.T @ x)), np.empty((WIDE, WIDE)), inverse)
    np.testing.assert_allclose(((x @ inverse) * x).sum(1), 1.0, atol=1e-5)
    assert (np.linalg.eigvalsh(inverse) > 0.0).all()


def test_observations_that_hardly_differ_are_told_apart():
    x, inverse = features(2), np.empty((WIDE, WIDE))
    x[1] = x[0] + 1e-4 * x[1]
    invert_sum(x.T @ x, 1e-5, np.empty((WIDE, WIDE)), inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(1e-5 * np.eye(WIDE) + x.T @ x), atol=1e-2)


@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("center", [0.0, 0.3])
def test_few_observations_are_fitted_as_many_are(count, center):
    x, y = data(count)
    x, y, weight = np.concatenate([x, x[:1]]), np.append(y, y[:1]), np.linspace(0.5, 1.5, count + len(x[:1]))
    origin = np.full(WIDE, center)
    found, inverse, usual = origin.copy(), np.empty((WIDE, WIDE)), origin.copy()
    fit_few((x, y, weight), origin, 0.5, 1e-12, found, inverse)
    root, expected = np.empty((WIDE, WIDE)), np.empty((WIDE, WIDE))
    older = np.zeros(WIDE), -0.5 * origin, np.zeros((WIDE, WIDE))
    for _ in range(2):  # the second time, the Hessian is that of the optimum
        fit(LOGISTIC, (x, y, weight), older, usual, root, 0.5, 1e-12)
    invert(root, expected)
    np.testing.assert_allclose(found, usual, atol=1e-7)
    np.testing.assert_allclose(inverse, expected, atol=1e-6)


@pytest.mark.parametrize(("count", "few"), [(1, True), (4, True), (WIDE // 10 + 1, False)])
def test_few_rows_are_added_one_by_one_and_many_are_left(count, few):
    x, seen = features(count), features(30, seed=2)
    before = np.linalg.inv(np.eye(WIDE) + seen.T @ seen)
    expected = np.linalg.inv(np.eye(WIDE) + seen.T @ seen + 0.25 * x.T @ x) if few else before
    inverse = before.copy()
    assert absorb_few(inverse, x.T @ x, 0.25, np.empty((WIDE, WIDE))) is few
    np.testing.assert_allclose(inverse, expected, atol=1e-9)


def test_interpreted_kernels_of_few_observations_have_the_same_bits():
    x, y = data(3)
    found = []
    for way in ("interpreted", "compiled"):
        theta, room, more = np.zeros(WIDE), np.empty((WIDE, WIDE)), np.eye(WIDE)
        fitted, inverse = np.empty((2, WIDE, WIDE))
        with kernels(way):
            fit_few((x, y, np.ones(3)), theta.copy(), 0.5, 1e-4, theta, fitted)
            invert_sum(x.T @ x, 0.5, room, inverse)
            absorb_few(more, x.T @ x, 0.25, room)
        found.append([z.tobytes() for z in (theta, fitted, inverse, more)])
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [0, 1, 3, 64, 131])
def test_products_of_many_rows_have_the_bits_of_one_after_another(count):
    rng = np.random.default_rng(count)
    rows, amount, found = rng.normal(size=(count, 9)), rng.normal(size=count), rng.normal(size=(9, 9))
    expected = found.copy()
    for row, each in zip(rows, amount, strict=True):
        expected += np.tril((each * row)[:, None] * row)
    add_products(rows, amount, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [1, 4, 7, 30])
def test_a_factor_has_the_bits_of_one_column_after_another(n):
    x = np.random.default_rng(n).normal(size=(n // 2 + 1, n))  # singular, from n = 4 on
    matrix = x.T @ x
    expected = np.tril(matrix)
    for j in range(n):
        least = 1e-13 * expected[j, j]
        for k in range(j):
            expected[j:, j] -= expected[j:, k] * expected[j, k]
        expected[j, j] = max(expected[j, j], least)
        expected[j:, j] /= np.sqrt(expected[j, j])
    cholesky(matrix)
    np.testing.assert_array_equal(matrix, expected + np.tril(expected, -1).T)


@pytest.mark.parametrize("kind", [BayesianRidge, BayesianLogistic, partial(BayesianLogistic, buffer=16)])
def test_a_wide_model_is_the_narrow_one_where_all_other_features_are_0(kind):
    rng, told = np.random.default_rng(0), []
    x, y = rng.normal(size=(90, 1, 1, 8)), (rng.random((90, 1, 1, 1)) < 0.4).astype(float)
    for n in (8, WIDE):
        model = kind(n_features=n)
        state = model.start(1, np.zeros(1), np.ones(1), 200)
        for row, outcome in zip(x, y, strict=True):
            wide = np.concatenate([row, np.zeros((1, 1, n - 8))], 2)
            model.update(state, wide, outcome, outcome >= 0.0, np.ones((1, 1, 1, 1)))
        told.append((state.ridge, state.theta[..., :8], state.inverse[:, :8, :8]))
    for narrow, wide in zip(*told, strict=True):
        np.testing.assert_allclose(wide, narrow, rtol=1e-3, atol=1e-6)
