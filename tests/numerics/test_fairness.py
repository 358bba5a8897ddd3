import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from evenhand.objectives.alpha_fair import best_response, marginal, power_root, utility
from tests.rows import for_each

ALPHAS = (0.01, 0.3, 0.5, 1.0, 2.0, 7.5, 100.0)


@pytest.mark.parametrize("alpha", ALPHAS)
@given(c=st.floats(-50, 50), k=st.floats(1e-9, 1e3))
def test_roots_are_roots(alpha, c, k):
    s = power_root(c, k, alpha)
    if s == 0.0:  # below what can be written: s - c is what k s^-alpha would have to be
        assert c < 0
        assert math.log(k / -c) / alpha < math.log(1e-300)
        return
    left = s - c - k * s**-alpha
    slope = 1 + alpha * k * s ** (-alpha - 1)
    assert abs(left / slope) <= 1e-14 * (s + abs(c) / slope)


@for_each("alpha", ALPHAS[1:])
@for_each("c", [-3.0, -0.1, 0.0, 1e-9, 0.2, 40.0])
@for_each("k", [1e-6, 0.01, 5.0])
def test_roots_are_those_of_bisection(alpha, c, k):
    with np.errstate(over="ignore"):
        log_root = brentq(lambda x: np.exp(x) - c - k * np.exp(-alpha * x), -60, 10, xtol=1e-13, rtol=1e-13)
    assert power_root(c, k, alpha) == pytest.approx(math.exp(log_root), rel=1e-10)


def test_the_root_for_logarithms_is_that_of_a_quadratic_equation():
    for c in (-2.0, 0.0, 0.7):
        assert power_root(c, 0.3, 1.0) == pytest.approx((c + math.sqrt(c * c + 1.2)) / 2, rel=1e-14)


def test_newton_takes_a_handful_of_steps():
    """Hundreds would show as a root that is off, as 200 steps is where it stops: the hardest corners are sound."""
    for alpha, c, k in ((0.01, -1.0, 1.0), (0.01, -1e-3, 1e-6), (100.0, -50.0, 1e3), (100.0, 1e-12, 1e-9)):
        s = power_root(c, k, alpha)
        assert s - c == pytest.approx(k * s**-alpha, rel=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_outside_the_domain_nothing_is_nan(alpha):
    z, w = np.array([[-1.0, 0.5], [0.0, 0.5], [1e-320, 0.5]]), np.ones(2)
    value, slope = utility(z, 0.0, w, alpha), marginal(z, 0.0, w, alpha)
    assert not np.isnan(value).any()
    assert not np.isnan(slope).any()
    assert value[0] == -np.inf
    assert (value[1] == -np.inf) == (alpha >= 1.0)
    assert (slope[:2, 0] == np.inf).all()


@for_each("alpha", ALPHAS[:-1])
@for_each(("low", "high"), [(0.0, 1.0), (-0.05, 0.4), (0.3, 1.3)])
def test_best_responses_are_those_of_a_grid(alpha, low, high):
    grid, w = np.linspace(low, high, 2001), np.full(5, 0.7)
    theta = np.array([[-5.0, -1.0, -0.5, 0.0, 2.0]])
    best = best_response(theta, 0.1, w, alpha, np.full(5, low), np.full(5, high))[0]
    for i in range(5):
        worth = theta[0, i] * grid + utility(grid[:, None], 0.1, w[:1], alpha)
        assert abs(best[i] - grid[worth.argmax()]) <= 1e-3
