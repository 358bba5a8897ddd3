"""The penalty and noise of a fit, against plain NumPy and against SciPy's maximum of the closed-form evidence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from evenhand.numerics.evidence import (
    BELIEVED,
    Fit,
    Sums,
    affordable,
    clip_penalty,
    fit,
    future_observations,
    log_evidence as judged,
    reach,
)
from evenhand.numerics.newton import cholesky, invert
from tests.properties import drawn


def fitted(x, y, ridge=0.0, times=1, free=None):
    """(rho, theta, V^-1, Sigma) after fits in a row, of data some of which are declared zeros, `(N,n),(N,M),(N,M)`."""
    n, m = x.shape[1], y.shape[1]
    theta, inverse, sigma = np.zeros((m, n)), np.zeros((n, n)), np.zeros((m, m))
    zeros = np.zeros(m) if free is None else free.sum(0).astype(float)
    for _ in range(times):
        sums = Sums((x.T @ x)[None], (y.T @ x)[None], y.T @ y, float(len(x)), zeros)
        ridge = fit(sums, ridge, np.full(m, BELIEVED), Fit(theta[None], inverse[None], sigma))
    return ridge, theta, inverse, sigma


def twin(x, y, ridge=0.0, free=None):
    """The same formulas on the data themselves, by np.linalg."""
    count, n = x.shape
    scale = (x**2).sum() / count
    rho, part = ridge or scale, np.ones(y.shape[1]) if free is None else 1.0 - free.mean(0)
    for step in range(3):
        rho = min(max(rho, 1e-10 * scale * count), 1e10 * scale * count)
        v = x.T @ x + rho * np.eye(n)
        theta, inverse = np.linalg.solve(v, x.T @ y).T, np.linalg.inv(v)
        unfixed = n - rho * np.trace(inverse)
        miss = y - x @ theta.T
        noisy = 1.0 + part * (count - unfixed)
        squares = miss.T @ miss
        average = (BELIEVED + np.diag(squares)).sum() / noisy.sum()
        sigma = (np.diag(part * BELIEVED + (1.0 - part) * average) + squares) / np.sqrt(np.outer(noisy, noisy))
        if step < 2:
            spread = (BELIEVED + scale * (theta**2).sum(1)) / (1.0 + part * unfixed)
            rho = scale / (spread / np.diag(sigma)).mean()
    return rho, theta, inverse, sigma


def turned(x, y):
    """The squares of x's singular values, and y, in the basis where the covariance of y is diagonal, `->(N),(N)`."""
    squares, basis = np.linalg.eigh(x @ x.T)
    return np.maximum(squares, 0.0), basis.T @ y


def log_evidence(squares, y, noise, penalty):
    """Log density of y = x.theta + e, theta ~ N(0, noise / penalty I), e ~ N(0, noise I), turned, `(N),(N)->()`."""
    variance = noise * (1.0 + squares / penalty)
    return -0.5 * (np.log(2.0 * math.pi * variance) + y**2 / variance).sum()


def log_believed(variance):
    """Log density, up to a constant, of one observation with the variance believed before any data."""
    return -0.5 * (math.log(variance) + BELIEVED / variance)


def data(seed, count, n, m=1, noise=0.1, spread=0.2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n)) * (rng.random((count, n)) < 0.8)
    return x, x @ rng.normal(size=(n, m)) * spread + noise * rng.normal(size=(count, m))


@drawn(count=40, n=7, m=3, ridge=[0.0, 0.3, 50.0], noise=[0.0, 0.1, 3.0], size=[1e-06, 1.0, 1000000.0])
def test_a_fit_is_its_twin(count, n, m, ridge, noise, size, seed):
    x, y = data(seed, count, n, m, noise)
    x = size * (x + (x == 0.0))
    ridge *= size**2
    for own, expected in zip(fitted(x, y, ridge), twin(x, y, ridge), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("count", [9, 40, 400])
def test_a_fit_of_declared_zeros_is_its_twin(count):
    x, y = data(2, count, 5, 3)
    free = np.arange(count)[:, None] % [2, 3, 9] != 0
    for own, expected in zip(fitted(x, y * ~free, free=free), twin(x, y * ~free, free=free), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rare", [4, 40])
def test_declared_zeros_are_not_outcomes_without_noise(rare):
    """Two actions, each with an outcome that is a coin, and 0 under the other; one of them is played rarely."""
    which = np.arange(1000) < rare
    x = np.stack([which, ~which], 1).astype(float)
    y = x * (np.arange(1000) % 2)[:, None]
    noise = np.diag(fitted(x, y, times=5, free=x == 0.0)[3])
    assert 0.15 < noise[0] < 0.35
    assert 0.24 < noise[1] < 0.26
    assert np.diag(fitted(x, y, times=5)[3])[0] < 0.02  # if they were observed


@pytest.mark.parametrize(("noise", "spread"), [(0.1, 0.2), (0.5, 0.05), (0.02, 1.0)])
@pytest.mark.parametrize("count", [15, 300])
def test_a_fixed_point_maximises_the_evidence_and_what_is_believed(noise, spread, count):
    """Over both variances at once; SciPy starts elsewhere, without derivatives."""
    x, y = data(3, count, 6, noise=noise, spread=spread)
    scale, there = (x**2).sum() / count, turned(x, y[:, 0])

    def lost(logs):
        variance, means = np.exp(logs)
        total = log_evidence(*there, variance, scale * variance / means)
        return -total - log_believed(variance) - log_believed(means)

    best = minimize(lost, np.log([BELIEVED, BELIEVED]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10})
    penalty, _, _, sigma = fitted(x, y, times=100)
    assert sigma[0, 0] == pytest.approx(np.exp(best.x[0]), rel=1e-5)
    assert penalty == pytest.approx(scale * np.exp(best.x[0] - best.x[1]), rel=1e-4)


def test_a_fixed_point_maximises_the_evidence_alone_where_data_outweigh_what_is_believed():
    """Sizes of 50 in place of 1/4, and 60 directions: what one more observation moves is below its standard error."""
    x, y = data(4, 600, 60, noise=200.0, spread=50.0)
    there = turned(x, y[:, 0])
    best = minimize(
        lambda logs: -log_evidence(*there, *np.exp(logs)),
        np.log([1e4, 1.0]),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-8},
    )
    penalty, _, _, sigma = fitted(x, y, times=100)
    assert sigma[0, 0] == pytest.approx(np.exp(best.x[0]), rel=1.5 / 540)
    assert penalty == pytest.approx(np.exp(best.x[1]), rel=1.5 / 60)


def test_estimated_noise_and_spread_are_right_on_data_from_the_prior():
    """On average over 200 data sets, within five standard errors; what is believed beforehand is the truth."""
    count, n, noises, ratios = 100, 20, [], []
    for seed in range(200):
        x, y = data(seed, count, n, noise=0.25, spread=0.25 / math.sqrt(0.8 * n))
        penalty, _, _, sigma = fitted(x, y, times=20)
        noises.append(sigma[0, 0])
        ratios.append(math.log((x**2).sum() / count * sigma[0, 0] / penalty))
    assert abs(np.mean(noises) - 0.0625) < 5.0 * np.std(noises) / math.sqrt(200)
    assert np.std(noises) == pytest.approx(0.0625 * math.sqrt(2.0 / (count - n)), rel=0.25)
    # the log of a sum of 20 squares is on average lower by 1/20 than that of its mean
    assert abs(np.mean(ratios) - math.log(0.0625) + 1.0 / n) < 5.0 * np.std(ratios) / math.sqrt(200)


def test_correlated_noise_is_estimated():
    rng = np.random.default_rng(8)
    x, truth = rng.normal(size=(4000, 5)), np.array([[0.04, 0.03], [0.03, 0.09]])
    y = x @ rng.normal(size=(5, 2)) * 0.2 + rng.multivariate_normal(np.zeros(2), truth, 4000)
    error = np.sqrt((truth**2 + np.outer(np.diag(truth), np.diag(truth))) / 4000)
    assert (np.abs(fitted(x, y)[3] - truth) < 4.0 * error).all()


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("size", [1e-90, 1e-8, 1.0, 1e8, 1e90])
def test_collinear_features_and_no_noise_leave_a_finite_fit(rank, size):
    rng = np.random.default_rng(2)
    for count in (1, 3, 30, 1000):
        x = size * rng.normal(size=(count, rank)) @ rng.normal(size=(rank, 6))
        y = x[:, :1] / size
        penalty, theta, inverse, sigma = fitted(x, y, times=10)
        assert all(np.isfinite(z).all() for z in (penalty, theta, inverse, sigma))
        assert penalty > 0.0
        assert (np.linalg.eigvalsh(inverse * size**2) > 0.0).all()
    np.testing.assert_allclose(x @ theta.T, y, atol=1e-2 * np.abs(y).max())


@settings(max_examples=20)
@given(n=st.integers(1, 12), seed=st.integers(0, 1000))
def test_invert_is_the_inverse(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, n))
    factor, out = x.T @ x + 0.1 * np.eye(n), np.full((n, n), np.nan)
    expected = np.linalg.inv(factor)
    cholesky(factor)
    invert(factor, out)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_array_equal(out, out.T)


def test_penalties_stay_within_what_can_be_inverted():
    assert [clip_penalty(rho, 2.0) for rho in (1.0, 0.0, 1e-30, 1e30, math.inf)] == [1.0, 2e-10, 2e-10, 2e10, 2e10]
    assert clip_penalty(math.nan, 2.0) == 2e-10


def test_observations_ahead_go_on_at_the_rate_so_far():
    assert future_observations(0.0, 0.0, 0.0, 100.0, 1.0) == 100.0
    assert future_observations(10.0, 10.0, 0.0, 100.0, 1.0) == 90.0
    assert future_observations(0.0, 9.0, 0.0, 100.0, 1.0) == pytest.approx(
        9.1
    )  # not 0: a run that saw nothing would never look
    assert future_observations(2999.0, 999.0, 0.0, 1999.0, 1.0) == 3000.0
    assert future_observations(10.0, 100.0, 0.0, 100.0, 1.0) == future_observations(10.0, 200.0, 0.0, 100.0, 1.0) == 0.0


def test_no_direction_has_more_observations_ahead_than_the_plays_of_an_action_that_can_be_paid_for():
    plays = np.array([[math.inf, 8.0], [3.0, 0.0]])
    assert [affordable(100.0, 5, plays, (0, a, 2)) for a in range(2)] == [100.0, 40.0]
    assert [affordable(100.0, 5, plays, (1, a, 4)) for a in range(4)] == [15.0, 0.0, 15.0, 0.0]  # two cases at once
    assert affordable(100.0, 50, plays, (0, 1, 2)) == 100.0
    assert affordable(100.0, 5, plays, (1, 1, 3)) == 100.0  # candidates that are not the actions
    assert affordable(100.0, 5, np.zeros((2, 0)), (1, 1, 2)) == 100.0  # nobody said


def test_rounds_that_were_taught_are_not_taken_from_the_horizon_and_what_cannot_be_paid_for_is():
    assert future_observations(1000.0, 1000.0, 1000.0, 1000.0, 1.0) == 1000.0
    assert future_observations(1010.0, 1010.0, 1000.0, 1000.0, 1.0) == 990.0
    assert future_observations(499.0, 999.0, 1000.0, 1000.0, 1.0) == 500.0  # half of the rows taught something
    assert future_observations(10.0, 10.0, 0.0, 100.0, 0.25) == 25.0
    assert future_observations(10.0, 90.0, 0.0, 100.0, 0.25) == pytest.approx(10.0 * 11.0 / 91.0)
    assert future_observations(10.0, 10.0, 0.0, 100.0, 0.0) == 0.0


def test_reach_is_finite_for_any_square():
    assert reach(0.0, 100.0, 3) == 0.0
    assert reach(0.5, 0.0, 3) == 0.0
    assert reach(0.5, 60.0, 3) == pytest.approx(math.sqrt(0.5 * math.log(101.0)))
    assert all(math.isfinite(reach(square, 1e9, 3)) for square in (1e300, math.inf, math.nan))


def test_the_log_of_the_evidence_is_that_of_a_normal_law():
    """ln N(y; 0, noise (I + X X^T / rho)) and the density of one observation of noise and spread, up to a constant."""
    rng, spreads, found = np.random.default_rng(3), np.array([1e-4]), []
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    scale = (x**2).sum() / 40
    for ridge in (0.5, 20.0, 4000.0):
        made = Fit(np.zeros((1, 1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 1)))
        sums = Sums((x.T @ x)[None], (y.T @ x)[None], y.T @ y, 40.0, np.zeros(1))
        rho = fit(sums, ridge, np.array([BELIEVED]), made)
        noise = made.sigma[0, 0]
        spread = noise * scale / rho
        law = multivariate_normal(np.zeros(40), noise * (np.eye(40) + x @ x.T / rho)).logpdf(y[:, 0])
        law -= 0.5 * (math.log(noise) + BELIEVED / noise + math.log(spread) + spreads[0] / spread)
        found.append((judged(sums, rho, spreads, made), law))
    ours, laws = np.array(found).T
    np.testing.assert_allclose(ours - ours[0], laws - laws[0], rtol=1e-6, atol=1e-9)
