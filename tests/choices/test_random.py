import numpy as np
import pytest

from evenhand.choices import Random
from tests import twins
from tests.choices import plain
from tests.properties import drawn


def pick(choice, playable, u):
    return plain.pick(choice, plain.none(*playable.shape), plain.offer(playable), u=u[:, None])


@drawn(replicas=5, candidates=6, chance=[0.0, 0.5, 1.0], weighted=bool)
def test_a_draw_is_that_of_the_twin(replicas, candidates, chance, weighted, seed):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(candidates) < 0.7, rng.random(candidates), 0.0)
    weights[rng.integers(candidates)] = 0.5
    playable, u = rng.random((replicas, candidates)) < chance, rng.random(replicas)
    got = pick(Random(tuple(weights.tolist()) if weighted else None), playable, u)
    probabilities = twins.lottery(weights if weighted else np.ones(candidates), playable)
    np.testing.assert_allclose(got.lottery, probabilities, rtol=1e-12)
    np.testing.assert_array_equal(got.plays, twins.drawn(probabilities, u))
    np.testing.assert_array_equal(got.forced, np.ones(replicas))


@pytest.mark.parametrize("u", [0.0, 1.0 - 2.0**-53])
def test_the_ends_of_the_unit_interval_never_leave_the_candidates(u):
    playable = np.array([[False, True, True, True, False]])
    got = pick(Random((0.0, 0.0, 0.3, 0.1, 9.0)), playable, np.array([u]))
    assert got.plays[0, 0] == (2 if u == 0.0 else 3)
    thirds = pick(Random((0.1,) * 10), np.ones((1, 10), bool), np.array([u]))  # 0.1 ten times is less than 1
    assert thirds.plays[0, 0] == (0 if u == 0.0 else 9)


def test_a_number_on_the_border_belongs_to_the_part_above():
    """Parts are [lower, upper), as the numbers are in [0, 1)."""
    for u, expected in ((0.25, 1), (0.5, 3), (0.75, 3)):
        assert pick(Random((0.25, 0.25, 0.0, 0.5)), np.ones((1, 4), bool), np.array([u])).plays[0, 0] == expected


def test_rounding_never_lets_a_weight_of_zero_be_drawn():
    weights = (0.7,) * 11 + (0.0,)  # their parts add up to 1 - 4e-16
    assert pick(Random(weights), np.ones((1, 12), bool), np.array([1.0 - 2.0**-53])).plays[0, 0] == 10


def test_where_only_candidates_of_weight_zero_can_be_played_all_are_alike():
    got = pick(Random((1.0, 0.0, 0.0)), np.array([[False, True, True]]), np.array([0.6]))
    np.testing.assert_array_equal(got.lottery, [[0.0, 0.5, 0.5]])
    assert got.plays[0, 0] == 2
