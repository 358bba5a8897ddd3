"""Prices of the smoothed dual beside a general minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from evenhand.planning.moments import Memory, smooth_dual
from evenhand.planning.smoothed_dual import minimise, scale_of
from tests.planning.programs import optimum, program
from tests.rows import for_each


@for_each("seed", range(14))
def test_prices_are_those_of_a_general_minimiser(seed):
    """Newton's steps end where they would gain less than a hundredth of the squared temperature."""
    block, terms = program(seed)
    if not len(terms.bound) or optimum(block, terms) is None:
        return
    held, scale, prices = Memory((block,)), scale_of(block, terms), np.zeros(len(terms.bound))
    for temperature in (0.3, 0.1, 0.05):
        prices, least = minimise(held, terms, scale, prices, temperature, 100)
    t, units = 0.05 * scale.worth, scale.prices
    found = smooth_dual(held, terms, prices, t)
    assert (prices >= 0.0).all()
    assert least >= optimum(block, terms) - 1e-8 * scale.worth

    def of(scaled):
        at = smooth_dual(held, terms, scaled * units, t)
        return at.value / scale.worth, at.slope * units / scale.worth

    best = minimize(of, prices / units, jac=True, bounds=[(0.0, None)] * len(prices), options={"ftol": 1e-15})
    assert found.value / scale.worth <= best.fun + 0.01 * 0.05**2


def test_derivatives_are_finite_differences():
    for seed in range(8):
        block, terms = program(seed)
        held, scale = Memory((block,)), scale_of(block, terms)
        prices = np.random.default_rng(seed).uniform(0.1, 1.0, len(terms.bound)) * scale.prices
        t, h = 0.3 * scale.worth, 1e-5
        at = smooth_dual(held, terms, prices, t)
        for j, unit in enumerate(scale.prices):
            step = np.zeros(len(prices))
            step[j] = h * unit
            more, less = (smooth_dual(held, terms, prices + s, t) for s in (step, -step))
            slope = (more.value - less.value) / (2.0 * h)
            assert slope / scale.worth == pytest.approx(at.slope[j] * unit / scale.worth, abs=1e-5)
            curve = (more.slope - less.slope) / (2.0 * h) / scale.rows
            assert curve == pytest.approx(at.curve[j] * unit / scale.rows, rel=1e-3, abs=1e-4)
