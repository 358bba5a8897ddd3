import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.choices import Lottery, TopK
from evenhand.core.records import Worth
from tests import twins
from tests.choices import plain
from tests.properties import drawn


def pick(choice, mean, bonus, playable, u=0.5):
    return plain.pick(choice, plain.worth(mean, bonus), plain.offer(playable), u=u)


@pytest.mark.slow
@drawn(candidates=8, wanted=3, slacks=3, chance=[0.4, 1.0], digits=[0, 1, 9], shift=[-1.0, 0.0, 1.0])
def test_no_lottery_is_better_by_highs(candidates, wanted, slacks, chance, digits, shift, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, 30, wanted + slacks, candidates)).round(digits)
    mean[:, wanted] += shift
    playable = rng.random((30, candidates)) < chance
    made = pick(Lottery(wanted), mean, bonus, playable)
    readings = mean + bonus
    worth, slack = readings[:, :wanted].sum(1), readings[:, wanted:].sum(1)
    for r in range(30):
        p = made.lottery[r]
        if not playable[r].any():
            assert made.plays[r] == -1
            assert not p.any()
            continue
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert not p[~playable[r]].any()
        assert (p > 0).sum() <= 2 or digits < 9  # optima that tie are averaged
        limits = [(0.0, 1.0 if may else 0.0) for may in playable[r]]
        best = linprog(-worth[r], -slack[r][None], [0.0], np.ones((1, candidates)), [1.0], bounds=limits)
        most = slack[r][playable[r]].max()
        if abs(most) > 1e-6:  # HiGHS calls feasible what is within 1e-7
            assert (best.status == 0) == (most > 0)
        if most >= 0:
            assert p @ slack[r] >= -1e-12
            assert p @ worth[r] >= -best.fun - 1e-6
        else:
            best = twins.tied(slack[r], playable[r])
            np.testing.assert_allclose(p, best / best.sum())
    order = rng.permutation(candidates)
    other = pick(Lottery(wanted), mean[:, :, order], bonus[:, :, order], playable[:, order])
    np.testing.assert_allclose(other.lottery, made.lottery[:, order], atol=1e-9)


def by_pairs(gain, slack, playable):
    """All single candidates and pairs, in O(A^2), and the sum of those that tie, `(A),(A),(A)->(A)`."""
    found = []
    free = np.flatnonzero(playable)
    for a in free:
        if slack[a] >= 0.0:
            found.append((gain[a], a, a, 0.0))
        for b in free:
            if slack[a] > 0.0 > slack[b] and gain[b] > gain[a]:
                chance = slack[a] / (slack[a] - slack[b])
                found.append((gain[a] + chance * (gain[b] - gain[a]), a, b, chance))
    p = np.zeros(len(gain))
    if not found:
        best = twins.tied(slack, playable)
        return best / best.sum()
    best = max(z[0] for z in found)
    for worth, a, b, chance in found:
        if worth >= best - 1e-9 * abs(best):
            p[a] += 1.0 - chance
            p[b] += chance
    return p / p.sum()


@drawn(candidates=30, digits=[0, 1, 2, 9], chance=[0.3, 1.0], shift=[-1.0, 0.0, 1.0], scale=[1e-06, 1.0, 1000000.0])
def test_the_hull_gives_what_all_pairs_give_with_ties(candidates, digits, chance, shift, scale, seed):
    rng = np.random.default_rng(seed)
    readings = rng.normal(size=(20, 2, candidates)).round(digits)
    readings[:, 1] = scale * (readings[:, 1] + shift)
    playable = rng.random((20, candidates)) < chance
    playable[:, 0] = True
    made = pick(Lottery(1), readings, 0 * readings, playable).lottery
    for r in range(20):
        np.testing.assert_allclose(made[r], by_pairs(*readings[r], playable[r]), atol=1e-9)


def test_what_does_nothing_has_the_constants_of_the_goals_whatever_the_model_says():
    readings, constant = np.array([[[0.9, 0.5], [-0.9, -0.2]]]), np.array([[0.0, 0.2]])
    worth = Worth(readings, np.zeros((1, 2, 2)), constant=constant)
    offer = plain.offer([True, True])
    np.testing.assert_array_equal(plain.pick(Lottery(1, nothing=0), worth, offer).lottery, [[0.5, 0.5]])


def test_equals_share():
    wanted = np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    slack = np.array([1.0, 0.0, 0.0, -1.0, -1.0])
    readings = np.stack([wanted, slack])[None]
    everything = np.ones((1, 5), bool)
    expected = [[1 / 4, 1 / 4, 1 / 4, 1 / 8, 1 / 8]]  # one of the middle alone, or the first with one of the last
    np.testing.assert_array_equal(pick(Lottery(1), readings, 0 * readings, everything).lottery, expected)
    readings[0, 1, :2] = 2.0, -1.0  # the first and one of the last are now worth 4/3 together
    expected = [[1 / 3, 0, 0, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(pick(Lottery(1), readings, 0 * readings, everything).lottery, expected)


def test_optimism_counts_on_both_sides():
    mean = np.array([[[0.5, 0.4], [0.0, -1.0]]])
    bonus = np.array([[[0.0, 0.2], [0.0, 1.0]]])
    made = pick(Lottery(1), mean, bonus, np.ones((1, 2), bool))
    assert made.plays.tolist() == [[1]]
    assert made.forced.tolist() == [0.0]


def test_where_nothing_has_enough_slack_the_most_is_played():
    readings = np.array([[[9.0, 1.0, 2.0], [-3.0, -1.0, -1.0]]])
    made = pick(Lottery(1), readings, 0 * readings, np.ones((1, 3), bool))
    np.testing.assert_array_equal(made.lottery, [[0.0, 0.5, 0.5]])
    made = pick(Lottery(1), readings, 0 * readings, np.array([[True, False, False]]))
    np.testing.assert_array_equal(made.lottery, [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12])
def test_units_of_slack_do_not_matter(scale):
    readings = np.array([[[0.0, 1.0, 0.3], [0.5, -0.5, 0.1]]])
    readings[:, 1] *= scale
    made = pick(Lottery(1), readings, 0 * readings, np.ones((1, 3), bool))
    np.testing.assert_allclose(made.lottery, [[0.5, 0.5, 0.0]])


@pytest.mark.parametrize("readings", [1, 2])
def test_without_slack_it_is_the_argmax(readings):
    rng = np.random.default_rng(1)
    mean, bonus = rng.normal(size=(2, 40, readings, 5)).round(1)
    playable = rng.random((40, 5)) < 0.6
    made, top = pick(Lottery(readings), mean, bonus, playable), pick(TopK(1), mean, bonus, playable)
    np.testing.assert_array_equal(made.plays, top.plays)
    np.testing.assert_array_equal(made.lottery, top.lottery)
