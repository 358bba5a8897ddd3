"""The smoothed best list against a convex program per place, finite differences, and the softmax."""

import numpy as np
import pytest
from scipy.optimize import brentq

from evenhand.planning.soft_lists import Moments, ScaledSample, soft_lists
from tests.rows import for_each


def smoothed(worth, u, position, temperature):
    """Value, mean, mean square and spread (whole)."""
    k = len(u)
    mean, square, spread = np.empty(k), np.empty(k), np.empty((k, k))
    further = position[1:].copy() if len(position) > 1 else None
    cases = ScaledSample(np.ones(1), worth[None], u[None], position[0], further)
    value = soft_lists(cases, np.zeros(k), temperature, Moments(mean, square, spread))
    return value, mean, square, np.tril(spread) + np.tril(spread, -1).T


def plain(worth, position, temperature):
    """Value and expected exposures, with a root per place: y = min(1, exp((x - nu) / temp)) sums to p."""
    offered = worth > -np.inf
    x, count = worth[offered], offered.sum()
    b = np.append(position[: min(len(position), count)], 0.0)
    value, y = 0.0, np.zeros(len(x))
    for p in range(1, len(b)):
        if p == count:
            here = np.ones(len(x))
        else:
            total = lambda nu, p=p: np.minimum(1.0, np.exp(np.minimum((x - nu) / temperature, 0.0))).sum() - p  # noqa: E731
            loose = x.min() - 1.0, x.max() + temperature * np.log(len(x)) + 1.0
            if p == 1:  # nothing is capped
                total = lambda nu: np.exp((x - nu) / temperature).sum() - 1.0  # noqa: E731
            nu = brentq(total, *loose, xtol=1e-14, rtol=1e-15, maxiter=500)
            here = np.minimum(1.0, np.exp((x - nu) / temperature))
        entropy = -(here * np.log(np.maximum(here, 1e-300))).sum()
        value += (b[p - 1] - b[p]) * (x @ here + temperature * entropy)
        y += (b[p - 1] - b[p]) * here
    whole = np.zeros(len(worth))
    whole[offered] = y
    return value, whole


def instance(seed, candidates=9, places=4, rows=3, closed=0):
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=candidates)
    worth[rng.permutation(candidates)[:closed]] = -np.inf
    return worth, rng.normal(size=(rows, candidates)), np.sort(rng.uniform(0, 1, places))[::-1].copy()


@for_each("temperature", [0.01, 0.1, 0.5, 3.0])
@for_each(("places", "closed"), [(1, 0), (2, 0), (4, 0), (4, 3), (4, 5), (4, 7), (9, 0), (12, 0)])
def test_values_and_exposures_are_those_of_one_program_per_place(temperature, places, closed):
    for seed in range(5):
        worth, u, position = instance(seed, places=places, closed=closed)
        value, y = plain(worth, position, temperature)
        got, mean, square, _ = smoothed(worth, u, position, temperature)
        assert got == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(mean, u @ y, atol=1e-9)
        np.testing.assert_allclose(square, u**2 @ y + (1 - 1 / places) * (u @ y) ** 2, atol=1e-9)


@pytest.mark.parametrize("places", [1, 3, 6])
def test_spreads_are_second_derivatives(places):
    """Differences of means along u, at points where no candidate is about to be capped."""
    h, temperature = 1e-6, 0.4
    for seed in range(5):
        worth, u, position = instance(seed, places=places)
        spread = smoothed(worth, u, position, temperature)[3]
        for i in range(len(u)):
            up, down = (smoothed(worth + s * h * u[i], u, position, temperature)[1] for s in (1, -1))
            np.testing.assert_allclose((up - down) / (2 * h), spread[i] / temperature, atol=1e-5)


def test_one_place_is_the_softmax():
    worth, u, _ = instance(0)
    p = np.exp(worth / 0.3) / np.exp(worth / 0.3).sum()
    value, mean, square, spread = smoothed(worth, u, np.array([0.7]), 0.3)
    assert value == pytest.approx(0.7 * 0.3 * np.log(np.exp(worth / 0.3).sum()))
    np.testing.assert_allclose(mean, 0.7 * u @ p)
    np.testing.assert_allclose(square, 0.7 * u**2 @ p)
    np.testing.assert_allclose(spread, 0.7 * (u * p) @ u.T - 0.7 * np.outer(u @ p, u @ p), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_worths_that_differ_by_a_thousand_temperatures_stay_finite(scale):
    """Far below the best, exp underflows; the places after the first are then between candidates that count as 0."""
    worth, position = scale * np.array([5000.0, 3000.0, 3000.0, 1.0, 0.0]), np.array([1.0, 0.6, 0.3])
    value, mean, _, _ = smoothed(worth, np.eye(5), position, scale)
    np.testing.assert_allclose(mean, [1.0, 0.45, 0.45, 0.0, 0.0], atol=1e-12)
    # of two places, the second is a draw between two; three places are certain
    assert value / scale == pytest.approx(0.4 * 5000 + 0.3 * (8000 + np.log(2)) + 0.3 * 11000, abs=1e-6)


def test_nothing_offered_is_worth_nothing():
    value, mean, square, spread = smoothed(np.full(3, -np.inf), np.ones((2, 3)), np.ones(2), 0.1)
    assert value == 0.0
    assert not mean.any()
    assert not square.any()
    assert not spread.any()
