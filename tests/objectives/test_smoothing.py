import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, Moreau, Randomized
from evenhand.objectives.smoothing import ball, default_smoothing, moreau_gradient
from evenhand.objectives.steepness import worth_of_an_outcome
from tests.examples.objectives import OBJECTIVES, SUMS

GINI = GeneralizedGini(("a", "b", "c"))
NO_LUCK = np.zeros(0)


def normals(replicas, size):
    return Luck(seed=5, replicas=np.arange(replicas)).normal(Stream.SAMPLE, np.zeros(1, np.int64), size)


def test_round_t_is_priced_with_beta_over_the_root_of_t():
    """C1: round t uses f_{t-1}, and beta_{t-1} = beta_0 / sqrt(t); before it, t - 1 rounds were averaged."""
    z = np.array([0.50, 0.51, 0.52])
    for t in (1, 2, 100):
        expected = moreau_gradient(GINI, z, 0.3 / np.sqrt(t))
        np.testing.assert_array_equal(Moreau(0.3).gradient(GINI, z, np.array(t - 1.0), NO_LUCK), expected)


def test_the_ball_of_round_t_has_the_radius_beta_over_the_root_of_t():
    """Point by point, at a curved objective whose slope tells where it was asked."""
    nash, smoothing = AlphaFair(("a", "b"), 1.0, offset=0.5), Randomized(0.3, samples=5)
    z, luck = np.array([0.4, 0.6]), normals(1, smoothing.draws(2))[0]
    for t in (1, 4, 100):
        points = z + 0.3 / np.sqrt(t) * ball(luck.reshape(5, 4))
        got = smoothing.gradient(nash, z, np.array(t - 1.0), luck)
        np.testing.assert_allclose(got, (1 / (points + 0.5)).mean(0), rtol=1e-14)


def test_by_default_what_cannot_be_smoothed_exactly_is_smoothed_by_luck():
    def unit(f):
        return np.zeros(len(f.outcomes)), np.ones(len(f.outcomes))

    assert [default_smoothing(f, *unit(f)) for f in SUMS] == [Randomized(0.01)] * len(SUMS)
    for f in SUMS:
        smoothing, m = default_smoothing(f, *unit(f)), len(f.outcomes)
        slope = smoothing.gradient(f, np.full((2, m), 0.5), np.zeros(2), normals(2, smoothing.draws(m)))
        assert np.isfinite(slope).all()
    for f in OBJECTIVES:
        worth = worth_of_an_outcome(f, *unit(f))
        assert default_smoothing(f, *unit(f)) == (None if f.smooth else Moreau(0.01 * (1.0 / worth)))
    assert default_smoothing(GeneralizedGini(("a", "b")), np.zeros(2), np.ones(2)) == Moreau(0.01)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("f", [GeneralizedGini(("a", "b")), AlphaFair(("a", "b"), alpha=1.0)], ids=repr)
def test_by_default_units_only_change_the_unit_of_slopes(f, unit):
    """A Gini function is worth as much per unit of outcomes, and a logarithm less."""
    z, t = np.array([0.3, 0.02]), np.array(4.0)
    plain = default_smoothing(f, np.zeros(2), np.ones(2)).gradient(f, z, t, np.zeros(0))
    scaled = default_smoothing(f, np.zeros(2), np.full(2, unit)).gradient(f, unit * z, t, np.zeros(0))
    np.testing.assert_allclose(scaled * (unit if isinstance(f, AlphaFair) else 1.0), plain, rtol=1e-9)


def test_each_replica_has_its_own_clock():
    z, t = np.random.default_rng(1).random((4, 3)), np.array([0.0, 5.0, 5.0, 99.0])
    for smoothing in (Moreau(0.2), Randomized(0.2, samples=7)):
        luck = normals(4, smoothing.draws(3))
        together = smoothing.gradient(GINI, z, t, luck)
        assert together.shape == z.shape
        for i in range(4):
            np.testing.assert_array_equal(together[i], smoothing.gradient(GINI, z[i], t[i], luck[i]))
            one = slice(i, i + 1)
            np.testing.assert_array_equal(together[one], smoothing.gradient(GINI, z[one], t[one], luck[one]))


@pytest.mark.parametrize("m", [1, 2, 5])
def test_points_of_the_ball_are_uniform(m):
    u = ball(normals(1, 20_000 * (m + 2)).reshape(20_000, m + 2))
    radius = np.linalg.norm(u, axis=1)
    assert radius.max() < 1
    # P(radius <= r) = r^m, so that radius^m is uniform; coordinates have mean 0 and variance 1/(m + 2).
    np.testing.assert_allclose(np.quantile(radius**m, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.015)
    np.testing.assert_allclose(u.mean(0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(u.T).reshape(m, m), np.eye(m) / (m + 2), atol=0.01)


@pytest.mark.parametrize("objective", OBJECTIVES + SUMS, ids=repr)
def test_averages_over_a_ball_keep_to_lemma_17(objective):
    """In the signs of concave functions: f - L beta <= f_beta <= f."""
    m, beta = len(objective.outcomes), 0.05
    z = 0.2 + 0.7 * np.random.default_rng(2).random((6, m))
    u = ball(normals(6, 3000 * (m + 2)).reshape(6, 3000, m + 2))
    values = objective.value(z[:, None] + beta * u)
    error = 5 * values.std(1) / np.sqrt(3000) + 1e-12
    assert (values.mean(1) <= objective.value(z) + error).all()
    assert (values.mean(1) >= objective.value(z) - min(objective.lipschitz, 1e300) * beta - error).all()


def test_its_gradient_is_the_slope_of_the_average_over_the_ball():
    """The same points on both sides, so that what is left is the slope of a piecewise linear function."""
    objective, smoothing = EqualExposure(("a", "b", "c")), Randomized(0.1, samples=4000)
    z, luck = np.array([0.30, 0.33, 0.31]), normals(1, 4000 * 5)
    u, h = ball(luck.reshape(4000, 5)), 1e-6
    steps = h * np.eye(3)
    rise = [objective.value(z + s + 0.1 * u).mean() - objective.value(z - s + 0.1 * u).mean() for s in steps]
    gradient = smoothing.gradient(objective, z, np.array(0.0), luck[0])
    np.testing.assert_allclose(gradient, np.array(rise) / (2 * h), atol=1e-6)


def test_nothing_is_drawn_where_luck_is_not_needed():
    assert Moreau(1.0).draws(7) == 0
    assert Randomized(1.0, samples=3).draws(7) == 27


def test_an_objective_without_a_prox_is_refused_with_the_way_out():
    class Bare:
        outcomes = ("a",)

    expected = r"^Moreau\.gradient: expected an objective with a prox, or smoothing by Randomized, got Bare"
    with pytest.raises(InvalidInput, match=expected):
        Moreau(0.1).gradient(Bare(), np.zeros(1), np.array(0.0), NO_LUCK)


def test_a_ball_that_leaves_the_domain_is_refused():
    smoothing = Randomized(1.0, samples=50)
    with pytest.raises(InvalidInput, match=r"outcome 'a': expected an average above"):
        smoothing.gradient(AlphaFair(("a",), 1.0), np.array([0.1]), np.array(0.0), normals(1, smoothing.draws(1))[0])


def test_what_is_linear_keeps_its_slope():
    linear, z = Linear({"a": 2.0, "b": -1.0}), np.random.default_rng(3).random((3, 2))
    for smoothing in (Moreau(0.1), Randomized(0.1, samples=4)):
        gradient = smoothing.gradient(linear, z, np.zeros(3), normals(3, smoothing.draws(2)))
        np.testing.assert_allclose(gradient, np.tile([2.0, -1.0], (3, 1)), rtol=1e-13)
