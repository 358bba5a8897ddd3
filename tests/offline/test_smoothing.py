"""The smoothed dual of a list: its derivatives, and prices beside a general minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand.offline.smoothing import _at, smooth_prices
from tests.offline.test_sifting import instance


def scaled(seed):
    worth, resources = instance(seed, 200)
    worth = worth - worth[:, :1]
    return worth / np.abs(worth).max(), [z.scaled() for z in resources]


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_finite_differences(seed):
    worth, resources = scaled(seed)
    count = sum(len(z.most) for z in resources)
    prices = np.random.default_rng(seed).uniform(0.0, 1.0, count)
    at, h = _at(worth, resources, prices, 0.1), 1e-6
    for j, step in enumerate(h * np.eye(count)):
        more, less = (_at(worth, resources, prices + s, 0.1) for s in (step, -step))
        assert (more.value - less.value) / (2 * h) == pytest.approx(at.slope[j], abs=1e-7)
        assert (more.slope - less.slope) / (2 * h) == pytest.approx(at.curve[j], abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_prices_are_those_of_a_general_minimiser(seed):
    """Newton's steps end where they would gain less than a hundredth of the squared temperature."""
    worth, resources = scaled(seed)
    start = np.zeros(sum(len(z.most) for z in resources))
    found = _at(worth, resources, smooth_prices(worth, resources, start, 0.3, 0.05), 0.05)

    def of(prices):
        at = _at(worth, resources, prices, 0.05)
        return at.value, at.slope

    best = minimize(of, start, jac=True, bounds=[(0.0, None)] * len(start), method="L-BFGS-B", options={"ftol": 1e-15})
    assert found.value <= best.fun + 0.01 * 0.05**2
