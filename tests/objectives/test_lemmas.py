"""Lemmas 16 and 18 of Do et al. 2023: how fast stand-ins come closer to an objective, and how smooth they are."""

from math import gamma

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from evenhand.core.luck import Luck, Stream
from evenhand.objectives import (
    AlphaFair,
    DistancePenalty,
    EqualExposure,
    GeneralizedGini,
    Linear,
    Moreau,
    Randomized,
    WeightedSum,
)
from evenhand.objectives.smoothing import ball, moreau_gradient
from evenhand.sets import Box
from tests.objectives.envelopes import envelope

THREE, FOUR = ("a", "b", "c"), ("a", "b", "c", "d")
STEEP = [  # Lipschitz on all of space, as the lemmas ask
    GeneralizedGini(THREE),
    GeneralizedGini.difference(FOUR),
    EqualExposure(FOUR),
    DistancePenalty(THREE, Box.below((0.625, 0.25, 0.5))),
    WeightedSum(((1.0, Linear({"clicks": 1.0})), (0.5, GeneralizedGini.welfare(FOUR)))),
]
EVERY = pytest.mark.parametrize("objective", STEEP, ids=repr)
rounds = st.one_of(st.integers(1, 9), st.sampled_from([100, 10_000, 1_000_000]))
averages = st.one_of(st.integers(0, 64).map(lambda k: k / 64), st.floats(0.0, 1.0))
SAMPLES = 4000


def point(data, objective):
    return data.draw(arrays(np.float64, len(objective.outcomes), elements=averages))


def unit_ball(m, seed=11):
    luck = Luck(seed=seed, replicas=np.arange(1)).normal(Stream.SAMPLE, np.zeros(1, np.int64), SAMPLES * (m + 2))
    return ball(luck.reshape(SAMPLES, m + 2))


@EVERY
@given(data=st.data(), t=rounds, size=st.sampled_from([0.01, 0.3, 5.0]))
def test_lemma_16(objective, data, t, size):
    """M_1 = M_2 = L^2 beta_0 / 2, and f_t, which prices round t + 1, is sqrt(t + 1) / beta_0 smooth."""
    y, z, steep = point(data, objective), point(data, objective), objective.lipschitz
    before, now = (envelope(objective, z, size / np.sqrt(s + 1.0)) for s in (t - 1, t))
    bound, slack = steep**2 * size / 2, 1e-12
    assert -slack <= before - now <= bound / (t * np.sqrt(t)) + slack
    assert abs(now - objective.value(z)) <= bound / np.sqrt(t) + slack
    slopes = [Moreau(size).gradient(objective, x, np.array(float(t)), np.zeros(0)) for x in (y, z)]
    rounding = 1e-15 * np.sqrt(t + 1) / size
    smooth = np.sqrt(t + 1) / size * np.linalg.norm(y - z)
    assert np.linalg.norm(slopes[0] - slopes[1]) <= smooth * (1 + 1e-9) + 4 * rounding
    assert max(map(np.linalg.norm, slopes)) <= steep + 4 * rounding


def test_lemma_16_asks_for_no_more_than_twice_what_happens():
    """Far from kinks f_t - f is L^2 beta_t / 2, which moves by half of the bound."""
    objective, z, size = DistancePenalty(("a",), Box.below((0.0,))), np.array([9.0]), 0.5
    for t, share in ((1, 1 - 0.5**0.5), (100, 0.5), (10_000, 0.5)):
        before, now = (envelope(objective, z, size / np.sqrt(s + 1.0)) for s in (t - 1, t))
        assert before - now == pytest.approx(share * size / 2 / t**1.5, rel=0.01)


@EVERY
@given(data=st.data(), t=rounds)
def test_lemma_18(objective, data, t):
    """M_2 = L D^(1/4) D_K and M_1 = 2 L D^(1/4) D_K with beta_t = D^(1/4) D_K / sqrt(t + 1), D_K = sqrt(D) in the cube.

    The same points for both t, each of which keeps to the bounds by itself; what is sampled is how close they come.
    """
    z, m, steep = point(data, objective), len(objective.outcomes), objective.lipschitz
    reach = m**0.25 * np.sqrt(m)
    u = unit_ball(m)
    before, now = (objective.value(z + reach / np.sqrt(s + 1.0) * u) for s in (t - 1, t))
    assert np.abs(before - now).mean() <= 2 * steep * reach / t**1.5 + 1e-12
    assert abs((now - objective.value(z)).mean()) <= steep * reach / np.sqrt(t) + 1e-12


@EVERY
@given(data=st.data(), t=rounds, apart=st.sampled_from([0.01, 0.1, 0.5, 2.0]))
def test_gradients_of_averages_over_a_ball_are_lipschitz_as_lemma_17_says(objective, data, t, apart):
    """By L sqrt(m) / beta_t, to within five standard errors: paired points leave little noise."""
    m, size = len(objective.outcomes), 0.2
    beta = size / np.sqrt(t + 1.0)
    z = point(data, objective)
    way = data.draw(arrays(np.float64, m, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 0.1))
    y = z + apart * beta * way / np.linalg.norm(way)
    u = unit_ball(m)
    change = objective.supergradient(y + beta * u) - objective.supergradient(z + beta * u)
    error = 5 * np.linalg.norm(change.std(0)) / np.sqrt(SAMPLES)
    assert np.linalg.norm(change.mean(0)) <= objective.lipschitz * np.sqrt(m) * apart + error + 1e-9


@pytest.mark.parametrize("m", [2, 9, 25])
def test_the_root_of_m_is_needed(m):
    """Across a kink of one coordinate the gradient moves by density over beta: that of u_1 at 0, of order sqrt(m)."""
    names = tuple(map(str, range(m)))
    objective = DistancePenalty(names, Box.below((0.0, *(9.0,) * (m - 1))))
    density = gamma(m / 2 + 1) / (np.sqrt(np.pi) * gamma((m + 1) / 2))
    smoothing, beta, h = Randomized(0.1, samples=40_000), 0.1 / np.sqrt(8), 0.1
    luck = Luck(seed=3, replicas=np.arange(1)).normal(Stream.SAMPLE, np.zeros(1, np.int64), smoothing.draws(m))[0]
    side = np.zeros(m)
    side[0] = h * beta
    slopes = [smoothing.gradient(objective, z, np.array(7.0), luck)[0] for z in (side, -side)]
    share = 2 * h * density  # of the points that change sides, nearly, as the density is flattest at 0
    error = 5 * np.sqrt(share / 40_000)
    assert slopes[1] - slopes[0] == pytest.approx(share, abs=error + 0.02 * share * (1 + m * h**2))
    assert (slopes[1] - slopes[0]) / (2 * h * beta) <= np.sqrt(m) / beta  # L = 1
    if m > 8:
        assert (slopes[1] - slopes[0] - error) / (2 * h * beta) > 1 / beta


SMALL = (1e-6, 1e-7, 1e-8)


@pytest.mark.parametrize("beta", SMALL)
def test_gradients_keep_their_digits_where_beta_is_small(beta):
    """(prox - z) / beta is a difference of almost equal numbers; beta = 1e-6 is round 10^8 of `Moreau(0.01)`."""
    rng = np.random.default_rng(12)
    z, near = 0.05 + rng.random((40, 4)), 0.3 + beta * rng.random((40, 4))  # near: kinks are within beta
    w = np.array([0.5, -0.1, 3.0, 1.0])

    linear = Linear(dict(zip(FOUR, w.tolist(), strict=True)))
    np.testing.assert_allclose(moreau_gradient(linear, z, beta), np.tile(w, (40, 1)), atol=1e-6)

    gini, equal = GeneralizedGini(FOUR), EqualExposure(FOUR)
    apart = np.diff(np.sort(z)).min(1) > 10 * beta  # there the slope is that of the objective
    np.testing.assert_allclose(moreau_gradient(gini, z, beta)[apart], gini.supergradient(z)[apart], atol=1e-6)
    # Between kinks the slope does not change with the unit of z - 0.3, beta having the same one.
    unit = moreau_gradient(gini, (near - 0.3) / beta, 1.0)
    np.testing.assert_allclose(moreau_gradient(gini, near, beta), unit, atol=1e-6)

    for points in (z, near):
        shifted = points - points[:, :1]
        deviations = shifted - shifted.mean(1)[:, None]
        shrunk = np.minimum(1.0 / beta, 0.25 / np.linalg.norm(deviations, axis=1))
        np.testing.assert_allclose(moreau_gradient(equal, points, beta), -shrunk[:, None] * deviations, atol=1e-6)
        excess = np.maximum(points - 0.3, 0.0)
        far = np.maximum(np.linalg.norm(excess, axis=1), beta)[:, None]
        np.testing.assert_allclose(
            moreau_gradient(DistancePenalty(FOUR, Box.below((0.3,) * 4)), points, beta), -excess / far, atol=1e-6
        )

    for alpha, offset in ((0.5, 0.0), (1.0, 0.0), (1.0, 0.01), (3.0, 0.2)):
        fair = AlphaFair(FOUR, alpha, offset)
        slope = fair.supergradient(z)
        for _ in range(50):  # g = (z + offset + beta g)^-alpha, a contraction
            slope = (z + offset + beta * slope) ** -alpha
        np.testing.assert_allclose(moreau_gradient(fair, z, beta), slope, rtol=1e-6)


@pytest.mark.parametrize("beta", SMALL)
def test_at_the_edge_of_a_domain_gradients_keep_their_digits_too(beta):
    """The prox at 0 is where y^(1 + alpha) = beta: alone beside 0, so that nothing is lost."""
    for alpha in (0.5, 1.0, 3.0):
        expected = beta ** (1.0 / (1.0 + alpha)) / beta
        np.testing.assert_allclose(moreau_gradient(AlphaFair(THREE, alpha), np.zeros(3), beta), expected, rtol=1e-9)
