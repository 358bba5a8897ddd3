import numpy as np
from scipy.special import softmax

from evenhand.choices import Cycle, Gibbs
from tests.choices import plain


def test_probabilities_are_a_softmax_over_what_is_playable():
    rng = np.random.default_rng(0)
    mean, bonus = rng.normal(size=(50, 2, 4)), rng.random((50, 2, 4))
    playable = rng.random((50, 4)) < 0.7
    pick = plain.pick(Gibbs(0.3), plain.worth(mean, bonus), plain.offer(playable), u=rng.random((50, 1)))
    worth = np.where(playable, (mean + bonus).sum(1), -np.inf)
    some = playable.any(1)
    np.testing.assert_allclose(pick.lottery[some], softmax(worth[some] / 0.3, axis=1), atol=1e-12)
    assert (pick.plays[~some] == -1).all()


def test_a_tiny_temperature_neither_overflows_nor_leaves_the_best():
    worth = plain.worth([[[1e6, -1e6, 1e6 - 1e-3]]])
    pick = plain.pick(Gibbs(1e-9), worth, plain.offer([True] * 3), u=0.999)
    np.testing.assert_array_equal(pick.lottery, [[1.0, 0.0, 0.0]])


def test_turns_skip_what_is_not_playable():
    playable = np.array([[True, False, True, True], [False] * 4])
    plays = [plain.pick(Cycle(), plain.none(2, 4), plain.offer(playable), t).plays[:, 0] for t in range(5)]
    np.testing.assert_array_equal(plays, [[0, -1], [2, -1], [2, -1], [3, -1], [0, -1]])
