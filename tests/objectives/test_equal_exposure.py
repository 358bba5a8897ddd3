import numpy as np

from evenhand.objectives import EqualExposure
from tests.rows import for_each

NAMES = ("a", "b", "c", "d")


def test_it_is_minus_the_norm_of_deviations_over_m():
    z = np.random.default_rng(1).random((20, 4))
    np.testing.assert_allclose(EqualExposure(NAMES).value(z), -np.sqrt(((z - z.mean(1)[:, None]) ** 2).sum(1)) / 4)
    np.testing.assert_allclose(EqualExposure(NAMES).value(z), -z.std(1) / np.sqrt(4))


@for_each("level", [0.0, 0.1, 0.7, 1e9])
@for_each("m", [2, 3, 7, 49])
def test_at_equality_the_gradient_is_exactly_zero(level, m):
    objective, z = EqualExposure(tuple(map(str, range(m)))), np.full((2, m), level)
    assert not objective.supergradient(z).any()
    assert not objective.value(z).any()
    np.testing.assert_array_equal(objective.prox(z, 0.3), z)


def test_gradients_have_length_one_over_m_elsewhere_and_point_to_the_mean():
    z = np.random.default_rng(2).random((20, 4))
    g = EqualExposure(NAMES).supergradient(z)
    np.testing.assert_allclose(np.linalg.norm(g, axis=1), 0.25)
    np.testing.assert_allclose(g.sum(1), 0, atol=1e-15)
    assert ((g * (z - z.mean(1)[:, None])).sum(1) < 0).all()


def test_a_large_beta_makes_all_equal():
    z = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(EqualExposure(NAMES).prox(z, 10.0), 0.25)
