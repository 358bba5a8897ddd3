"""What a user wrote has the gradients of closed forms, in every round of a long run and next to edges.

Errors are in units of 1 + |gradient|, so that a gradient that has no bound at an edge is held to its leading digits.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq

from evenhand.objectives import Concave, EqualExposure, GeneralizedGini, Moreau
from evenhand.objectives.smoothing import moreau_gradient

NAMES = ("a", "b", "c")
ROUNDS = (1e1, 1e3, 1e4, 2e4, 1e5, 1e6)
NO_LUCK = np.zeros(0)
GINI, EQUAL = GeneralizedGini(NAMES), EqualExposure(NAMES)

# What a user writes, the slope of one coordinate of it, and where its domain ends.
SEPARABLE = {
    "square": (lambda z: -cp.sum_squares(z - 0.2), lambda y: -2.0 * (y - 0.2), -np.inf),
    "steep square": (lambda z: -cp.sum_squares(1000.0 * (z - 0.2)), lambda y: -2e6 * (y - 0.2), -np.inf),
    "log": (lambda z: cp.sum(cp.log(z)), lambda y: 1.0 / y, 0.0),
    "log with an offset": (lambda z: cp.sum(cp.log(z + 0.01)), lambda y: 1.0 / (y + 0.01), -0.01),
    "1000 logs": (lambda z: 1000.0 * cp.sum(cp.log(z + 0.01)), lambda y: 1000.0 / (y + 0.01), -0.01),
    "a thousandth of a log": (lambda z: 0.001 * cp.sum(cp.log(z + 0.01)), lambda y: 0.001 / (y + 0.01), -0.01),
    "root": (lambda z: cp.sum(cp.sqrt(z)), lambda y: 0.5 / np.sqrt(y), 0.0),
    "inverse": (lambda z: -cp.sum(cp.inv_pos(z)), lambda y: 1.0 / y**2, 0.0),
    "entropy": (lambda z: cp.sum(cp.entr(z)), lambda y: -np.log(y) - 1.0, 0.0),
    "cubes of an excess": (
        lambda z: -cp.sum(cp.power(cp.pos(z - 0.5), 3)),
        lambda y: -3.0 * max(y - 0.5, 0.0) ** 2,
        -np.inf,
    ),
    "Huber": (lambda z: -cp.sum(cp.huber(z - 0.3, 0.1)), lambda y: -2.0 * np.clip(y - 0.3, -0.1, 0.1), -np.inf),
}
TOGETHER = {
    "Gini": (lambda z: 0.5 * cp.min(z) + 0.25 * cp.sum_smallest(z, 2) + 0.25 * cp.sum(z), GINI),
    "equal exposure": (lambda z: -cp.norm(z - cp.sum(z) / 3) / 3, EQUAL),
}


def points(count):
    """Inside the unit cube, next to its edge at 0, and on it."""
    z = np.random.default_rng(7).random((count, 3))
    third = count // 3
    z[:third, 0] = 10.0 ** -np.linspace(3, 8, third)
    z[third : third + 3] *= np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return z


def slope_of_envelope(slope, end, z, beta):
    """f'(y) at y = z + beta f'(y), by bisection: no difference of almost equal numbers."""

    def gap(y):
        return y - z - beta * slope(y)

    low = end + 1e-18 * (1.0 - end) if end == 0.0 else max(end * (1.0 - 2e-16), z - 1e4)
    return slope(brentq(gap, low, max(z, end) + 1e4, xtol=1e-300, rtol=1e-15, maxiter=5000))


def off(got, expected):
    return float((np.abs(got - expected).max(-1) / (1.0 + np.abs(expected).max(-1))).max())


@pytest.mark.parametrize("name", SEPARABLE)
def test_no_round_dies_and_gradients_are_those_of_the_closed_form(name):
    build, slope, end = SEPARABLE[name]
    written, z = Concave(NAMES, build), points(24)
    for t in ROUNDS:
        beta = 0.01 / np.sqrt(t + 1.0)
        exact = np.array([[slope_of_envelope(slope, end, x, beta) for x in row] for row in z])
        assert off(Moreau(0.01).gradient(written, z, np.full(24, t), NO_LUCK), exact) < 2e-5


@pytest.mark.parametrize("name", TOGETHER)
def test_next_to_kinks_too(name):
    """Distances from the kink are of the size of beta, where the gradient is between two supergradients."""
    build, ours = TOGETHER[name]
    written, rng = Concave(NAMES, build), np.random.default_rng(8)
    for t in ROUNDS:
        beta = 0.01 / np.sqrt(t + 1.0)
        z = np.concatenate([rng.random((8, 1)) + beta * rng.random((8, 3)), rng.random((8, 3))])
        z[:4, 2] = rng.random(4)
        gradient = Moreau(0.01).gradient(written, z, np.full(16, t), NO_LUCK)
        assert off(gradient, moreau_gradient(ours, z, beta)) < 1e-6


@pytest.mark.parametrize("name", SEPARABLE)
def test_supergradients_are_those_of_the_closed_form(name):
    build, slope, _ = SEPARABLE[name]
    z = np.maximum(points(24), 1e-3)
    assert off(Concave(NAMES, build).supergradient(z), np.vectorize(slope)(z)) < 2e-5


def test_averages_in_other_units_do_not_end_a_run():
    """Of 10^4, where three digits are promised; with averages at the edge among them."""
    z = 1e4 * points(12)
    for name in ("log", "root"):
        build, slope, end = SEPARABLE[name]
        for t in (1e1, 1e4, 1e6):
            beta = 0.01 / np.sqrt(t + 1.0)
            exact = np.array([[slope_of_envelope(slope, end, x, beta) for x in row] for row in z])
            assert off(Moreau(0.01).gradient(Concave(NAMES, build), z, np.full(12, t), NO_LUCK), exact) < 2e-3


# Without a closed form at hand: where the gradient g is that of f at z + beta g, g is right to within the difference.
ORDINARY = {
    "geometric mean": (lambda z: cp.geo_mean(z + 0.01), False),
    "harmonic mean": (lambda z: cp.harmonic_mean(z + 0.01), False),
    "log of a sum of exponentials": (lambda z: -cp.log_sum_exp(5 * z), False),
    "square over linear": (lambda z: -cp.quad_over_lin(z[:2] - 0.5, z[2] + 0.01), False),
    "log of a determinant": (lambda z: cp.log_det(cp.diag(z) + 0.1 * np.eye(3)), False),
    "squares of rows": (lambda z: -cp.sum_squares(np.array([[1.0, 2.0, 1.0], [0.5, -1.0, 0.0]]) @ z - 0.5), False),
    "least": (lambda z: cp.min(z), True),
    "distance": (lambda z: -cp.norm(cp.pos(z - 0.5)), True),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_other_ordinary_objectives_run_too(name):
    build, kinks = ORDINARY[name]
    written, z = Concave(NAMES, build), points(24)
    for t in ROUNDS:
        beta = 0.01 / np.sqrt(t + 1.0)
        gradient = Moreau(0.01).gradient(written, z, np.full(24, t), NO_LUCK)
        assert np.isfinite(gradient).all()
        if not kinks:
            assert off(gradient, written.supergradient(z + beta * gradient)) < 1e-4
