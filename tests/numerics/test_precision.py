from fractions import Fraction

import numpy as np
import pytest

from evenhand.numerics.precision import absorb, dot, fresh, quadratic

EPS = np.finfo(float).eps


def grown(x, ridge):
    inverse, gain = fresh(1, x.shape[1], ridge)[0], np.empty(x.shape[1])
    squares = np.array([absorb(inverse, row, gain) for row in x])
    return inverse, np.log1p(squares).sum()


def blocks(rounds, actions, n, seed):
    """Features of which each action fills its own block, and nothing but zeros elsewhere."""
    rng = np.random.default_rng(seed)
    x = np.zeros((rounds, actions, n))
    x[np.arange(rounds), rng.integers(0, actions, rounds)] = rng.normal(size=(rounds, n))
    return x.reshape(rounds, actions * n)


CASES = {
    "dense": np.random.default_rng(1).normal(size=(2000, 5)),
    "with zeros": np.random.default_rng(2).normal(size=(2000, 6)) * (np.random.default_rng(3).random((2000, 6)) < 0.5),
    "block per action": blocks(2000, 3, 4, 4),
    "one feature": np.random.default_rng(5).random((2000, 1)),
    "never seen direction": np.random.default_rng(6).random((2000, 4)) * np.array([1.0, 1.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("ridge", [1.0, 1e-6])
@pytest.mark.parametrize("name", CASES)
def test_2000_updates_agree_with_the_direct_inverse(name, ridge):
    x = CASES[name]
    inverse, log_det = grown(x, ridge)
    v = ridge * np.eye(x.shape[1]) + x.T @ x
    # The first updates subtract numbers as large as 1/ridge, rounded to EPS of that; later ones shrink such errors.
    np.testing.assert_allclose(inverse, np.linalg.inv(v), rtol=1e-9, atol=10 * EPS / ridge)
    # Each of the 2,000 logarithms carries the relative error that its square has: at most EPS / ridge in all.
    expected = np.linalg.slogdet(v)[1] - x.shape[1] * np.log(ridge)
    assert log_det == pytest.approx(expected, abs=1e-9 + 10 * EPS / ridge)
    for row in x[:20]:
        direct = row @ np.linalg.solve(v, row)
        assert quadratic(row, inverse, np.empty(len(row))) == pytest.approx(direct, rel=1e-9, abs=100 * EPS / ridge)


def test_absorb_returns_the_square_and_the_gain_of_before():
    rng = np.random.default_rng(7)
    x = rng.normal(size=4)
    before = np.linalg.inv(np.eye(4) + np.outer(x, x))
    inverse, gain, row = before.copy(), np.full(4, np.nan), np.array([0.5, 0.0, -1.0, 2.0])
    assert absorb(inverse, row, gain) == pytest.approx(row @ before @ row)
    np.testing.assert_allclose(gain, before @ row)


def test_a_row_of_zeros_changes_nothing():
    inverse = np.linalg.inv(np.eye(3) + np.ones((3, 3)))
    before = inverse.copy()
    assert absorb(inverse, np.zeros(3), np.empty(3)) == 0.0
    np.testing.assert_array_equal(inverse, before)


def test_quadratic_is_never_negative_and_leaves_the_product():
    inverse, product = np.array([[2.0, 0.5], [0.5, 1.0]]), np.empty(2)
    assert quadratic(np.array([1.0, -1.0]), inverse, product) == 2.0 + 1.0 - 2 * 0.5
    np.testing.assert_array_equal(product, [1.5, -0.5])
    assert quadratic(np.array([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), product) == 0.0


def test_dot_is_the_dot_product():
    rng = np.random.default_rng(8)
    x, theta = rng.normal(size=50) * (rng.random(50) < 0.5), rng.normal(size=50)
    assert dot(x, theta) == pytest.approx(x @ theta)


@pytest.mark.parametrize("scale", [1e3, 1e5, 1e7, 1e10])
def test_collinear_features_of_any_scale_leave_a_finite_inverse(scale):
    """Without a guard this inverse turns indefinite by rounding, and then doubles its exponent with every update."""
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=(3000, 2)) * scale
        inverse, log_det = grown(np.concatenate([x, x, x[:, :1] + x[:, 1:]], 1), 1e-6)
        assert np.isfinite(log_det)
        assert np.abs(inverse).max() <= 1.001e6


@pytest.mark.parametrize("seed", [11, 33, 73, 85])
def test_an_inverse_never_grows_however_badly_features_are_scaled(seed):
    """No diagonal can grow in exact arithmetic, so that no entry can exceed 1 / ridge; nor does one by rounding."""
    rng = np.random.default_rng(seed)
    mix = np.round(rng.normal(size=(4, 5))) * 10.0 ** rng.integers(-6, 6, size=5)
    x = rng.normal(size=(2000, 4)) @ mix * 1e5 * 10.0 ** rng.integers(-4, 4, size=(2000, 1))
    inverse, _ = grown(x, 1e-6)
    assert np.abs(inverse).max() <= 1.001e6


@pytest.mark.parametrize("scale", [1e5, 1e7, 1e9, 1e12])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_large_features_are_learned_as_small_ones_are(scale, n):
    """|x|^2 / ridge goes to 1e24. The inverse is compared with one by fractions, in units of the features."""
    x = np.random.default_rng(n).integers(-8, 9, size=(12, n)) + 0.5
    x = x if n == 1 else x * np.tile(np.eye(n), (12 // n, 1))  # one direction at a time
    inverse, _ = grown(x * scale, 1.0)
    for i in range(n):
        exact = 1 / (1 + sum(Fraction(v * scale) ** 2 for v in x[:, i]))
        assert inverse[i, i] == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.parametrize("scale", [1e5, 1e6])
def test_mixed_large_features_leave_a_usable_inverse(scale):
    x = np.random.default_rng(4).normal(size=(50, 3)) * scale
    inverse, _ = grown(x, 1.0)
    np.testing.assert_allclose(inverse @ (x.T @ x + np.eye(3)), np.eye(3), atol=1e-2)
