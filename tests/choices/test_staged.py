import numpy as np

from evenhand.choices import Cycle, Random, Staged, TopK
from tests.choices import plain

MEAN = np.array([[[0.1, 0.9, 0.3]]])


def pick(choice, t, u=0.99):
    return plain.pick(choice, plain.worth(np.repeat(MEAN, len(t), 0)), plain.offer(np.ones((len(t), 3))), t, u)


def test_the_warm_up_lasts_as_many_rounds_as_it_says():
    for t, expected, forced in ((0, 2, 1.0), (4, 2, 1.0), (5, 1, 0.0), (6, 1, 0.0)):
        got = pick(Staged(5, TopK(1)), [t])
        assert got.plays.tolist() == [[expected]]
        assert got.forced.tolist() == [forced]


def test_every_replica_is_in_the_stage_of_its_own_rounds():
    got = pick(Staged(5, TopK(1)), [3, 9, 4, 5])
    assert got.plays.ravel().tolist() == [2, 1, 2, 1]
    assert got.forced.tolist() == [1.0, 0.0, 1.0, 0.0]
    np.testing.assert_allclose(got.lottery[0], [1 / 3] * 3)
    np.testing.assert_array_equal(got.lottery[1], [0.0, 1.0, 0.0])


def test_no_warm_up_is_none():
    assert pick(Staged(0, TopK(1)), [0]).plays.tolist() == [[1]]


def test_stages_may_have_stages():
    choice = Staged(4, TopK(1), warmup=Staged(2, Random((0.0, 0.0, 1.0)), warmup=Random((1.0, 0.0, 0.0))))
    assert [pick(choice, [t]).plays[0, 0] for t in range(6)] == [0, 0, 2, 2, 1, 1]


def test_it_draws_what_the_needier_stage_needs():
    assert Staged(5, TopK(1)).draws(9) == 1
    assert Staged(5, Cycle(), warmup=Cycle()).draws(9) == 0
    assert Staged(5, Random(n_plays=4), warmup=TopK(4)).draws(9) == 4


def test_a_warm_up_draws_as_many_as_are_played_later_whatever_fits():
    worth, u = plain.worth(np.repeat(MEAN, 2, 0)), np.array([[0.0, 0.9], [0.0, 0.9]])
    offer = plain.offer(np.ones((2, 3)), [[[1.0], [2.0], [2.0]]], [[3.0], [9.0]])
    got = plain.pick(Staged(5, TopK(2)), worth, offer, t=[0.0, 9.0], u=u)
    assert got.plays.tolist() == [[0, 2], [1, 2]]
    np.testing.assert_allclose(got.propensities, [[1 / 3, 1 / 2], [1.0, 1.0]])
    np.testing.assert_allclose(got.lottery, [[1 / 3] * 3, [0.0, 1.0, 0.0]])
    assert got.forced.tolist() == [1.0, 0.0]


def test_whether_bonuses_are_read_is_what_the_choice_after_it_says():
    assert Staged(5, TopK(1), warmup=Random()).reads_bonus
    assert not Staged(5, Random(), warmup=TopK(1)).reads_bonus
