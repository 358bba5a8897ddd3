import math

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair

Z = 0.01 + np.random.default_rng(1).random((20, 3))
NAMES = ("a", "b", "c")


def test_alpha_one_is_nash_welfare():
    np.testing.assert_allclose(AlphaFair(NAMES, 1.0).value(Z), np.log(Z).sum(1), rtol=1e-12)
    np.testing.assert_allclose(AlphaFair(NAMES, 1.0, offset=0.5).supergradient(Z), 1 / (Z + 0.5), rtol=1e-15)


@pytest.mark.parametrize("power", [0.1, 0.5, 0.9])
def test_welfare_is_a_sum_of_powers(power):
    welfare = AlphaFair.welfare(NAMES, power, offset=0.2)
    np.testing.assert_allclose(welfare.value(Z), ((Z + 0.2) ** power).sum(1), rtol=1e-13)
    np.testing.assert_allclose(welfare.supergradient(Z), power * (Z + 0.2) ** (power - 1), rtol=1e-13)
    assert AlphaFair.welfare(NAMES, power).value(np.zeros(3)) == 0.0


def test_the_larger_alpha_the_more_the_least_counts():
    shares = []
    for alpha in (0.5, 1.0, 2.0, 8.0):
        g = AlphaFair(NAMES, alpha).supergradient(np.array([0.2, 0.4, 0.6]))
        shares.append(g[0] / g.sum())
    assert shares == sorted(shares)


def test_the_prox_brings_averages_into_the_domain():
    for alpha in (0.3, 1.0, 4.0):
        y = AlphaFair(NAMES, alpha, offset=0.05).prox(np.array([-3.0, -0.05, 0.0]), 0.01)
        assert (y > -0.05).all()


def test_without_an_offset_the_steepness_has_no_bound_and_smoothing_is_due():
    assert not AlphaFair(NAMES, 1.0).smooth
    assert AlphaFair(NAMES, 1.0).lipschitz == math.inf
    assert AlphaFair(NAMES, 1.0, offset=0.1).smooth
    assert AlphaFair(NAMES, 2.0, offset=0.1).lipschitz == pytest.approx(math.sqrt(3) * 100)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_a_start_outside_the_domain_is_refused_with_the_way_out(alpha):
    nash = AlphaFair(NAMES, alpha)
    expected = (
        rf"outcome 'b': expected an average above -?0, where the gradient of AlphaFair\(alpha={alpha:g}, offset=0\)"
    )
    with pytest.raises(InvalidInput, match=rf"^start_at, {expected} is bounded: set an offset above 0, got 0\.0"):
        nash.check(np.array([0.5, 0.0, 0.5]), "start_at")
    with pytest.raises(InvalidInput, match=rf"{expected} is bounded: set an offset above 0\.25, got -0\.25"):
        nash.check(np.array([[0.5, 0.1, 0.5], [0.5, -0.25, 0.5]]), "the average after round 9")
    with pytest.raises(InvalidInput, match=r"^AlphaFair\.supergradient, outcome 'b'"):
        nash.supergradient(np.array([0.5, 0.0, 0.5]))
    AlphaFair(NAMES, alpha, offset=0.01).check(np.zeros(3), "start_at")
    assert nash.value(np.array([0.5, -0.1, 0.5])) == -math.inf


def test_gradients_beyond_what_can_be_written_are_refused_too():
    with pytest.raises(InvalidInput, match=r"outcome 'a'.* set an offset above 0, got 1e-10"):
        AlphaFair(NAMES, 50.0).check(np.array([1e-10, 0.5, 0.5]), "start_at")
