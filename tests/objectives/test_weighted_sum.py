import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import (
    AlphaFair,
    Conjugate,
    EqualExposure,
    GeneralizedGini,
    Linear,
    Moreau,
    Proximal,
    Tangential,
    WeightedSum,
)
from evenhand.objectives.base import able, by_prox, whole_space
from evenhand.objectives.smoothing import moreau_gradient

ITEMS = ("x", "y", "z")
GINI = GeneralizedGini.difference(ITEMS)
RANKING = WeightedSum(((1.0, Linear({"clicks": 1.0})), (0.5, GINI)))
Z = np.random.default_rng(1).random((9, 4))


def test_the_ranking_objective_is_that_of_equation_2():
    items = Z[:, 1:]
    direct = Z[:, 0] - 0.5 * np.abs(items[:, :, None] - items[:, None]).sum((1, 2)) / (2 * 3)
    np.testing.assert_allclose(RANKING.value(Z), direct, rtol=1e-12)


def test_smoothing_takes_the_whole_item_part_and_leaves_the_users_alone():
    """C6: the gradient with respect to utility stays 1, and the items' is that of weights beta w."""
    g = moreau_gradient(RANKING, Z, 0.2)
    np.testing.assert_allclose(g[:, 0], 1.0, rtol=1e-14)
    whole = GeneralizedGini(ITEMS, tuple(0.5 * w for w in GINI.weights))
    np.testing.assert_allclose(g[:, 1:], moreau_gradient(whole, Z[:, 1:], 0.2), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("items", [3, 64, 65, 300])
@pytest.mark.parametrize("shared", [False, True])
def test_one_step_gives_the_gradient_that_the_prox_gives(items, shared):
    """Bit for bit: with ties, and where the linear part tilts outcomes that the Gini function ranks."""
    rng, names = np.random.default_rng(items), tuple(f"i{i}" for i in range(items))
    linear = Linear({"clicks": 1.5} | (dict(zip(names, rng.normal(size=items), strict=True)) if shared else {}))
    both = WeightedSum(((1.0, GeneralizedGini.difference(names)), (0.7, linear)))
    z = rng.random((4, items + 1)).round(1)
    z[0] = 0.5
    for beta in (0.3, np.array([1.0, 0.1, 0.01, 2.0])):
        np.testing.assert_array_equal(moreau_gradient(both, z, beta), by_prox(both, z, beta))
    np.testing.assert_array_equal(moreau_gradient(both, z[2], 0.3), by_prox(both, z[2], 0.3))
    z = z.reshape(2, 2, -1)
    np.testing.assert_array_equal(moreau_gradient(both, z, 0.3), by_prox(both, z, 0.3))


def test_sums_with_other_parts_take_the_way_by_the_prox():
    for parts in (((1.0, GINI), (1.0, EqualExposure(("p", "q")))), ((2.0, EqualExposure(ITEMS)),)):
        both = WeightedSum((*parts, (1.0, Linear({"clicks": 1.0}))))
        z = np.random.default_rng(0).random((3, len(both.outcomes)))
        np.testing.assert_array_equal(moreau_gradient(both, z, 0.1), by_prox(both, z, 0.1))


def test_names_come_in_the_order_in_which_they_are_first_read():
    both = WeightedSum(((1.0, Linear({"b": 1.0, "a": 1.0})), (1.0, EqualExposure(("a", "c")))))
    assert both.outcomes == ("b", "a", "c")
    np.testing.assert_array_equal(both.supergradient(np.array([5.0, 0.5, 0.5])), [1.0, 1.0, 0.0])


def test_steepness_adds_by_squares_where_parts_share_nothing():
    apart = WeightedSum(((3.0, Linear({"a": 1.0})), (4.0, Linear({"b": -1.0}))))
    shared = WeightedSum(((3.0, Linear({"a": 1.0})), (4.0, Linear({"a": -1.0}))))
    assert apart.lipschitz == 5.0
    assert shared.lipschitz == 7.0


def test_it_is_smooth_if_all_parts_are():
    nash = AlphaFair(("a",), 1.0, offset=0.1)
    assert WeightedSum(((1.0, nash), (1.0, Linear({"b": 1.0})))).smooth
    assert not RANKING.smooth


def test_linear_parts_may_share_outcomes_with_another():
    tilted = WeightedSum(((1.0, Linear({"x": 0.3})), (2.0, GINI), (1.0, Linear({"x": 0.1, "q": 1.0}))))
    z = np.array([0.4, 0.2, 0.1, 0.6])
    y = tilted.prox(z, 0.05)
    np.testing.assert_allclose(y[:3], GINI.prox(z[:3] + np.array([0.02, 0.0, 0.0]), 0.1))
    assert y[3] == z[3] + 0.05


def test_where_parts_share_outcomes_there_is_no_prox_and_it_says_so():
    shared = WeightedSum(((1.0, GINI), (1.0, AlphaFair.welfare(("z", "u"), 0.5))))
    message = r"expected parts that share no outcomes \(or smoothing by Randomized, .*\), got \['z'\] in several"
    with pytest.raises(InvalidInput, match=rf"^WeightedSum\.prox: {message}"):
        shared.prox(np.full(4, 0.5), 0.1)
    with pytest.raises(InvalidInput, match=rf"^WeightedSum\.prox: {message}"):
        Moreau(0.1).gradient(shared, np.full(4, 0.5), np.array(0.0), np.zeros(0))
    with pytest.raises(InvalidInput, match=r"^WeightedSum\.maximizer: expected parts that share no outcomes"):
        shared.maximizer(np.zeros(4))


def test_what_its_parts_leave_it_is_what_it_is_able_to_do():
    shared = WeightedSum(((1.0, GINI), (1.0, AlphaFair.welfare(("z", "u"), 0.5))))
    mixed = WeightedSum(((1.0, EqualExposure(ITEMS)), (1.0, Linear({"x": 1.0, "q": 1.0}))))
    for objective, prox, maximizer in (
        (RANKING, True, True),
        (shared, False, False),
        (mixed, True, False),
        (WeightedSum(((1.0, Linear({"x": 1.0})), (2.0, Linear({"x": 1.0})))), True, True),
        (WeightedSum(((1.0, shared), (1.0, Linear({"q": 1.0})))), False, False),  # a sum in a sum
        (WeightedSum(((1.0, RANKING), (1.0, AlphaFair(("q",), 1.0)))), True, True),
        (GINI, True, True),
        (EqualExposure(ITEMS), True, False),
        ("no objective", False, False),
    ):
        assert (able(objective, Proximal), able(objective, Conjugate)) == (prox, maximizer)
        assert not able(objective, Tangential)


def test_a_sum_in_a_sum_is_refused_before_it_is_asked():
    inner = WeightedSum(((1.0, GINI), (1.0, GeneralizedGini(ITEMS))))
    with pytest.raises(InvalidInput, match=r"^WeightedSum\.prox: expected parts that have a prox .*, got WeightedSum"):
        WeightedSum(((1.0, inner), (1.0, Linear({"q": 1.0})))).prox(np.full(4, 0.5), 0.1)


def test_a_part_that_lacks_an_ability_is_named():
    with pytest.raises(
        InvalidInput, match=r"^WeightedSum\.maximizer: expected parts that have a maximizer, got EqualExp"
    ):
        WeightedSum(((1.0, EqualExposure(ITEMS)),)).maximizer(np.zeros(3))


def test_the_domain_is_that_of_every_part():
    nash = WeightedSum(((1.0, Linear({"a": 1.0})), (1.0, AlphaFair(("b",), 1.0))))
    with pytest.raises(InvalidInput, match=r"^the average after round 2, outcome 'b': expected an average above"):
        nash.check(np.array([0.0, 0.0]), "the average after round 2")
    with pytest.raises(InvalidInput, match=r"outcome 'a': expected a finite number, got inf"):
        nash.check(np.array([np.inf, 0.0]), "z")
    assert nash.value(np.array([0.0, -1.0])) == -np.inf
    assert not whole_space(nash)
    assert whole_space(RANKING)
