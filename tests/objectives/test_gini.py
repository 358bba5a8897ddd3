import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import GeneralizedGini
from evenhand.objectives.smoothing import moreau_gradient

ITEMS = ("a", "b", "c", "d", "e")
Z = np.random.default_rng(1).random((20, 5))


def test_by_default_weights_halve_and_the_least_counts_most():
    gini = GeneralizedGini(("a", "b", "c"))
    assert gini.weights == (1.0, 0.5, 0.25)
    assert gini.value(np.array([3.0, 1.0, 2.0])) == 1.0 + 0.5 * 2.0 + 0.25 * 3.0
    np.testing.assert_array_equal(gini.supergradient(np.array([3.0, 1.0, 2.0])), [0.25, 1.0, 0.5])


def test_the_difference_is_minus_the_mean_of_all_differences():
    """Equation 2 of Do et al. 2023 with beta = 1."""
    direct = -np.abs(Z[:, :, None] - Z[:, None]).sum((1, 2)) / (2 * 5)
    difference = GeneralizedGini.difference(ITEMS)
    np.testing.assert_allclose(difference.value(Z), direct, rtol=1e-13)
    assert difference.value(np.full(5, 0.7)) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(difference.supergradient(np.full(5, 0.7)), 0.0, atol=1e-16)


def test_welfare_is_that_of_equation_15():
    direct = (np.sort(Z) * (5 - np.arange(5)) / 5).sum(1)
    np.testing.assert_allclose(GeneralizedGini.welfare(ITEMS).value(Z), direct, rtol=1e-14)


def test_equal_outcomes_share_their_weights():
    np.testing.assert_allclose(
        GeneralizedGini(("a", "b", "c")).supergradient(np.array([2.0, 1.0, 1.0])), [0.25, 0.75, 0.75]
    )


def test_only_equal_weights_need_no_smoothing():
    assert GeneralizedGini(("a", "b"), (0.3, 0.3)).smooth
    assert GeneralizedGini(("a",)).smooth
    assert not GeneralizedGini(("a", "b")).smooth


@pytest.mark.parametrize("beta", [1e-12, 1e-6, 1e-3])
def test_far_from_ties_the_smoothed_gradient_is_the_gradient(beta):
    gini, z = GeneralizedGini(("a", "b", "c")), np.array([0.5, 0.25, 0.75])
    np.testing.assert_allclose(moreau_gradient(gini, z, beta), gini.supergradient(z), atol=4e-16 / beta)


def test_far_more_weights_than_numbers_can_halve():
    gini = GeneralizedGini(tuple(map(str, range(2000))))
    z = np.random.default_rng(3).random((2, 2000))
    for answer in (gini.value(z), gini.supergradient(z), gini.prox(z, 0.1), gini.maximizer(z - 0.5)):
        assert np.isfinite(answer).all()


def test_averages_that_are_no_numbers_are_refused_by_name():
    with pytest.raises(
        InvalidInput, match=r"^the average after round 3, outcome 'b': expected a finite number, got nan"
    ):
        GeneralizedGini(("a", "b")).check(np.array([[0.1, 0.2], [0.1, np.nan]]), "the average after round 3")
    with pytest.raises(InvalidInput, match=r"^z: expected 2 average outcomes \('a', 'b'\), got 3 of them"):
        GeneralizedGini(("a", "b")).check(np.zeros(3), "z")
