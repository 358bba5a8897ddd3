import numpy as np
from hypothesis import given, strategies as st

from evenhand.choices import EpsilonGreedy
from tests.choices import plain

NONE = np.zeros(2)


def pick(epsilon, mean, bonus, playable=None, u=0.5):
    """Worths are (replicas, readings, candidates)."""
    worth = plain.worth(mean, bonus)
    may = np.ones(worth.mean[:, 0].shape) if playable is None else playable
    return plain.pick(EpsilonGreedy(epsilon), worth, plain.offer(may), u=u)


def test_the_best_is_that_of_the_highest_mean_plus_bonus():
    """The mean alone says 0, the bonus alone 2, their sum 1."""
    mean, bonus = [[[0.5, 0.4, 0.1]]], [[[0.0, 0.3, 0.5]]]
    np.testing.assert_allclose(pick(0.3, mean, bonus).lottery, [[0.1, 0.8, 0.1]])
    np.testing.assert_allclose(pick(0.3, mean, np.zeros((1, 1, 3))).lottery, [[0.8, 0.1, 0.1]])


def test_readings_are_added_with_their_bonuses():
    mean, bonus = [[[0.5, 0.0], [0.0, 0.4]]], [[[0.0, 0.0], [0.1, 0.3]]]
    np.testing.assert_allclose(pick(0.0, mean, bonus).lottery, [[0.0, 1.0]])


def test_each_replica_has_a_best_of_its_own_among_what_is_playable_and_equals_share():
    mean = [[[1.0, 2.0, 3.0]], [[1.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]]]
    playable = [[True, True, False], [True, True, True], [True, True, True]]
    got = pick(0.4, mean, np.zeros((3, 1, 3)), playable).lottery
    np.testing.assert_allclose(
        got, [[0.2, 0.8, 0.0], [0.4 / 3 + 0.3, 0.4 / 3 + 0.3, 0.4 / 3], [0.4 / 3, 0.4 / 3 + 0.3, 0.4 / 3 + 0.3]]
    )


@given(epsilon=st.floats(0, 1), u=st.floats(0, 0.999), seed=st.integers(0, 999))
def test_what_is_played_has_the_probability_that_is_stated(epsilon, u, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(1, 2, 5)), rng.random((1, 2, 5))
    got = pick(epsilon, mean, bonus, u=u)
    best = int((mean + bonus).sum(1).argmax())
    expected = np.full(5, epsilon / 5)
    expected[best] += 1 - epsilon
    np.testing.assert_allclose(got.lottery[0], expected, atol=1e-15)
    assert got.lottery[0, got.plays[0, 0]] > 0
    edges = np.concatenate([[0.0], expected.cumsum()])
    assert edges[got.plays[0, 0]] - 1e-12 <= u <= edges[got.plays[0, 0] + 1] + 1e-12
