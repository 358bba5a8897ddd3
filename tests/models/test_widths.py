import math

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.models import Fixed, Logarithmic, Ridge, Scalarised, SelfNormalised, WorstCase
from tests.calls import ask, tell

RUNS, ROUNDS = 200, 300


def test_the_radii_are_those_of_the_equations():
    count, log_det = np.array([0.0, 1.0, 7.0]), np.array([0.0, 0.5, 4.0])
    np.testing.assert_array_equal(Fixed(0.2).radius(count, log_det, 3.0), [0.2] * 3)
    np.testing.assert_allclose(Logarithmic(0.2).radius(count, log_det, 3.0), [0.2, 0.2, 0.2 * (1 + math.log(7))])
    radius = SelfNormalised(delta=0.05, noise=0.3, norm_bound=2.0).radius(count, log_det, 3.0)
    expected = [0.3 * math.sqrt(z + 2 * math.log(1 / 0.05)) + math.sqrt(3.0) * 2.0 for z in log_det]
    np.testing.assert_allclose(radius, expected)


def test_the_worst_case_is_equation_76_of_the_reduction():
    """alpha_t = L D_K / 2 sqrt(n M ln((1 + t (L D_X)^2 / ridge) / delta)) + sqrt(ridge) D_theta."""
    steep, size, length, norm, ridge, delta = 1.7, 2.0, 3.0, 0.4, 0.1, 0.05
    width = WorstCase(n_parameters=20, delta=delta, noise=steep * size / 2, norm_bound=norm, length=steep * length)
    for t in (0, 1, 500):
        first = steep * size / 2 * math.sqrt(20 * math.log((1 + t * (steep * length) ** 2 / ridge) / delta))
        found = width.radius(np.array([float(t)]), np.array([7.0]), ridge)
        np.testing.assert_allclose(found, first + math.sqrt(ridge) * norm, rtol=1e-12)


@pytest.mark.parametrize(("n", "m", "ridge"), [(2, 1, 1.0), (3, 4, 0.1)])
def test_the_worst_case_is_never_narrower_than_what_features_give(n, m, ridge):
    """With features and slopes as long as allowed, in all rounds of a scalarised regression."""
    rng, options = np.random.default_rng(5), {"delta": 0.1, "noise": 0.7, "norm_bound": 2.0}
    model = Scalarised(n_features=n, n_outcomes=m, ridge=ridge, width=SelfNormalised(**options))
    wide = WorstCase(n_parameters=n * m, length=1.0, **options)
    state = model.start(1, np.full(m, -np.inf), np.full(m, np.inf), 100)
    for _ in range(300):
        x, g = rng.normal(size=(1, 1, n)), rng.normal(size=(1, 1, m))
        x, g = x / np.linalg.norm(x), g / np.linalg.norm(g)
        tell(model, state, x, rng.normal(size=(1, 1, m)), np.ones(1), g)
        narrow = model.width.radius(state.count, state.log_det, ridge)
        assert wide.radius(state.count, state.log_det, ridge)[0] >= narrow[0]


def gaussian(rng, mean):
    return mean + 0.5 * rng.normal(size=mean.shape)


def binary(rng, mean):
    """Means in [0, 1], so that noise is within 1 of width: sub-Gaussian of scale 1/2."""
    return (rng.random(mean.shape) < mean).astype(float)


def never_left(width, *, noise, n, outcomes=1, seed, optimist=True, truth_norm=1.0):
    """Per run and outcome, whether the truth was within `width` of the estimate in every one of ROUNDS rounds."""
    rng = np.random.default_rng(seed)
    model = Ridge(n_features=n, n_outcomes=outcomes, width=width)
    state = model.start(RUNS, np.full(outcomes, -np.inf), np.full(outcomes, np.inf), 100)
    truth = rng.random((RUNS, outcomes, n)) if noise is binary else rng.normal(size=(RUNS, outcomes, n))
    truth *= truth_norm / np.maximum(np.linalg.norm(truth, axis=2, keepdims=True), 1e-300)
    inside = np.ones((RUNS, outcomes), bool)
    w = np.ones((RUNS, 1, outcomes))
    for _ in range(ROUNDS):
        x = rng.random((RUNS, 4, n)) / math.sqrt(n) if noise is binary else rng.normal(size=(RUNS, 4, n))
        if optimist:  # played by what was learned so far, as a policy would
            mean, bonus = ask(model, state, x, w)
            x = x[np.arange(RUNS), (mean + bonus)[:, 0].argmax(1)]
        else:
            x = np.ones((RUNS, n))
        y = noise(rng, np.einsum("rmn,rn->rm", truth, x))
        tell(model, state, x[:, None], y[:, None], np.ones(RUNS), w)
        gap, precision = state.theta - truth, np.linalg.inv(state.inverse)
        distance = np.sqrt(np.einsum("rmi,rij,rmj->rm", gap, precision, gap))
        inside &= distance <= model.width.radius(state.count, state.log_det, model.ridge)[:, None]
    return inside


@pytest.mark.parametrize(
    ("delta", "options"),
    [
        (0.1, {"noise": gaussian, "n": 3, "outcomes": 2, "seed": 1}),
        (0.1, {"noise": binary, "n": 4, "seed": 2}),
        (0.3, {"noise": gaussian, "n": 2, "seed": 3}),
        (0.3, {"noise": gaussian, "n": 1, "seed": 4, "optimist": False}),
    ],
)
def test_self_normalised_widths_cover_the_truth_at_all_times_at_once(delta, options):
    """Each outcome's truth is left in at most a share delta of runs: 200 coins of chance delta show more than `most`
    heads with probability below 0.001. (These inequalities are far from tight: most cases are never left.)"""
    most = binom.isf(0.001, RUNS, delta)
    inside = never_left(SelfNormalised(delta=delta, noise=0.5, norm_bound=1.0), **options)
    assert ((~inside).sum(0) <= most).all()


def test_the_widths_are_hardly_wider_than_they_need_be_and_half_of_them_would_not_do():
    """One feature, a truth of 0 and no allowance for its norm: there the inequality is nearly an equality."""
    options = {"noise": gaussian, "n": 1, "seed": 5, "optimist": False, "truth_norm": 0.0}
    whole = (~never_left(SelfNormalised(delta=0.3, noise=0.5, norm_bound=0.0), **options)).sum()
    half = (~never_left(SelfNormalised(delta=0.3, noise=0.25, norm_bound=0.0), **options)).sum()
    most = binom.isf(0.001, RUNS, 0.3)
    assert 0.2 * 0.3 * RUNS <= whole <= most
    assert half > most


def test_a_model_uses_its_width_around_every_prediction():
    """An interval per outcome, in units of its range and clipped to it, read at the end that the price prefers."""
    model = Ridge(n_features=2, n_outcomes=2, width=Fixed(0.4))
    state = model.start(1, np.array([0.0, -1.0]), np.array([0.3, 1.0]), 100)
    x = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    tell(model, state, x, np.array([[[0.2, 0.5], [0.1, -0.4]]]), np.ones(1), np.ones((1, 1, 2)))
    w = np.array([[[2.0, -3.0]]])
    mean, bonus = ask(model, state, x, w)
    inverse = np.linalg.inv(np.eye(2) + x[0].T @ x[0])
    theta = inverse @ (x[0].T @ np.array([[0.2, 0.5], [0.1, -0.4]]))
    for a in range(2):
        first, second = x[0, a] @ theta
        half = 0.4 * math.sqrt(x[0, a] @ inverse @ x[0, a])
        up, down = min(first + 0.3 * half, 0.3), max(second - 2.0 * half, -1.0)
        assert mean[0, 0, a] == pytest.approx(2 * first - 3 * second)
        assert (mean + bonus)[0, 0, a] == pytest.approx(2 * up - 3 * down)
