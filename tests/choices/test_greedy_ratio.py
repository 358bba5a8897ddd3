"""B8: the ratio by hand, where it is the program's solution and where it is not, and time as a resource."""

import numpy as np
import pytest

from evenhand.choices import GreedyRatio, Lottery
from evenhand.core.records import Worth
from tests.choices import plain
from tests.rows import for_each


def lottery(choice, gain, cost, share, playable=None):
    """Prices are 1: slack is what a round may use less the cost."""
    gain, cost = np.array(gain, float), np.array(cost, float)
    worth = Worth(np.stack([gain, share - cost])[None], np.zeros((1, 2, len(gain))), constant=np.array([[0.0, share]]))
    return plain.pick(choice, worth, plain.offer([True] * len(gain) if playable is None else playable)).lottery[0]


@for_each("seed", range(20))
def test_the_best_ratio_is_played_as_often_as_the_budget_allows(seed):
    rng = np.random.default_rng(seed)
    gain, cost, share = rng.random(6), rng.random(6), rng.random()
    gain[0] = cost[0] = 0.0
    p, best = lottery(GreedyRatio(1, nothing=0), gain, cost, share), 1 + np.argmax(gain[1:] / cost[1:])
    chance = min(1.0, share / cost[best])
    np.testing.assert_allclose(p, chance * np.eye(6)[best] + (1.0 - chance) * np.eye(6)[0], atol=1e-12)
    np.testing.assert_array_equal(lottery(GreedyRatio(1), gain, cost, share), np.eye(6)[best])


def test_it_is_not_the_solution_of_the_program():
    """The source says that it is. But an arm of a better ratio, always played, may leave most of the budget unused."""
    gain, cost = [0.0, 0.2, 0.8], [0.0, 0.05, 0.8]
    greedy = lottery(GreedyRatio(1, nothing=0), gain, cost, 0.8)
    best = lottery(Lottery(1, nothing=0), gain, cost, 0.8)
    assert greedy @ gain == pytest.approx(0.2)
    assert best @ gain == pytest.approx(0.8)


def test_time_has_a_price_in_pd_bwk():
    """With rent 1 and a share of 0.4, time costs 0.6 in every round, so that small gains at small costs lose."""
    gain, cost = [0.0, 0.2, 0.8], [0.0, 0.05, 0.8]
    np.testing.assert_array_equal(lottery(GreedyRatio(1, nothing=0, rent=1.0), gain, cost, 0.4), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(lottery(GreedyRatio(1, nothing=0, rent=0.45), gain, cost, 0.4), [0.0, 1.0, 0.0])


def test_what_is_free_comes_first_the_best_of_it_and_ties_share():
    np.testing.assert_array_equal(
        lottery(GreedyRatio(1), [0.1, 0.3, 0.3, 9.0], [0.0, 0.0, 0.0, 1.0], 0.5), [0, 0.5, 0.5, 0]
    )
    np.testing.assert_array_equal(lottery(GreedyRatio(1), [0.2, 0.4, 0.1], [0.1, 0.2, 0.1], 0.5), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(lottery(GreedyRatio(1, nothing=0), [0.0, -0.1], [0.0, 0.2], 0.5), [1.0, 0.0])
    np.testing.assert_array_equal(
        lottery(GreedyRatio(1, nothing=0), [0.0, 0.4, 0.1], [0.0, 0.1, 0.1], 0.5, [True, False, True]), [0, 0, 1]
    )


def test_where_nothing_gains_the_least_loss_is_played_and_losses_are_never_divided():
    """A ratio of a negative gain is least where a candidate costs least; a free one's gain is no ratio at all."""
    np.testing.assert_array_equal(lottery(GreedyRatio(1), [-0.2, -0.1, -0.3], [0.0, 0.2, 5.0], 9.0), [0, 1, 0])
    np.testing.assert_array_equal(lottery(GreedyRatio(1), [-0.2, 0.1, 0.3], [0.0, 0.2, 5.0], 9.0), [0, 1, 0])
    np.testing.assert_array_equal(
        lottery(GreedyRatio(1, nothing=0), [0.0, -0.1, -0.3], [0.0, 0.2, 5.0], 9.0), [1, 0, 0]
    )


@for_each("seed", range(30))
def test_units_of_gains_and_costs_change_nothing(seed):
    rng = np.random.default_rng(seed)
    gain, cost = rng.uniform(-1.0, 0.3, 6), rng.random(6) * (rng.random(6) < 0.7)
    plain_one = lottery(GreedyRatio(1), gain, cost, 0.5)
    for g, c in ((1e-6, 1e6), (1e6, 1e-6), (1e-6, 1e-6)):
        np.testing.assert_array_equal(lottery(GreedyRatio(1), g * gain, c * cost, c * 0.5), plain_one)
