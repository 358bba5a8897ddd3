"""Choices that play several candidates: place by place, of what is left and fits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import softmax

from evenhand.choices import Cycle, EpsilonGreedy, Gibbs, InverseGap, Lottery, Random, Rate, Staged, TopK
from tests import twins
from tests.choices import plain


def alone(worth, offer, r):
    """One replica of a batch."""
    one = slice(r, r + 1)
    worst = offer.worst[one] if len(offer.worst) > 1 else offer.worst
    return worth._replace(mean=worth.mean[one], bonus=worth.bonus[one]), plain.offer(
        offer.playable[one], worst, offer.left[one]
    )


def greedy(epsilon):
    def chances(worth, free):
        z = (worth.mean + worth.bonus)[0].sum(0)
        best = twins.tied(z, free)
        return epsilon / free.sum() + (1 - epsilon) * best / best.sum()

    return chances


def soft(temperature):
    def chances(worth, free):
        z = np.where(free, (worth.mean + worth.bonus)[0].sum(0), -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            return softmax((z - z.max()) / temperature)

    return chances


def gaps(rate):
    def chances(worth, free):
        z = worth.mean[0].sum(0)
        best = twins.tied(z, free)
        p = np.where(free & ~best, 1.0 / (free.sum() + rate * np.maximum(z[best].max() - z, 0.0)), 0.0)
        return np.where(best, (1.0 - p.sum()) / best.sum(), p)

    return chances


WEIGHTS = np.array([0.0, 3.0, 0.0, 1.0, 1e-9, 0.2, 0.0, 5.0])
RULES = {
    "random": (lambda n: Random(n_plays=n), lambda worth, free: np.ones(len(free))),
    "greedy": (lambda n: EpsilonGreedy(0.3, n), greedy(0.3)),
    "argmax": (lambda n: EpsilonGreedy(0.0, n), greedy(0.0)),
    "soft": (lambda n: Gibbs(0.3, n), soft(0.3)),
    "hard": (lambda n: Gibbs(1e-3, n), soft(1e-3)),
    "gaps": (lambda n: InverseGap(Rate(7.0), n), gaps(7.0)),
}
SHAPES = {
    "replicas": st.integers(1, 4),
    "candidates": st.integers(1, 8),
    "n_plays": st.integers(1, 10),
    "limits": st.integers(0, 2),
    "alike": st.booleans(),
    "digits": st.sampled_from([0, 1, 9]),
    "seed": st.integers(0, 10_000),
}


@pytest.mark.parametrize("rule", RULES)
@given(**SHAPES)
def test_every_place_follows_the_rule_over_what_is_left_and_fits(
    rule, replicas, candidates, n_plays, limits, alike, digits, seed
):
    rng = np.random.default_rng(seed)
    worth = plain.worth(*rng.normal(size=(2, replicas, 2, candidates)).round(digits))
    offer = plain.limits(rng, replicas, candidates, limits, alike)
    make, chances = RULES[rule]
    choice, u = make(n_plays), rng.random((replicas, n_plays))
    assert choice.draws(candidates) == n_plays
    pick = plain.pick(choice, worth, offer, u=u)
    for r in range(replicas):
        mine, within = alone(worth, offer, r)
        plays, odds, lottery = plain.by_turns(n_plays, lambda free, mine=mine: chances(mine, free), within, u[r])
        assert pick.plays[r].tolist() == plays
        np.testing.assert_allclose(pick.propensities[r], odds, rtol=1e-9)
        np.testing.assert_allclose(pick.lottery[r], lottery, rtol=1e-9, atol=1e-300)


@given(n_plays=st.integers(1, 10), limits=st.integers(0, 2), seed=st.integers(0, 10_000))
def test_weights_are_those_of_the_candidates_that_are_left(n_plays, limits, seed):
    """Where the weights of all of them are 0, any is as likely as the other."""
    rng = np.random.default_rng(seed)
    offer, u = plain.limits(rng, 1, 8, limits), rng.random((1, n_plays))
    pick = plain.pick(Random(tuple(WEIGHTS), n_plays), plain.none(1, 8), offer, u=u)
    plays, odds, lottery = plain.by_turns(n_plays, lambda free: WEIGHTS, offer, u[0])
    assert pick.plays[0].tolist() == plays
    np.testing.assert_allclose(pick.propensities[0], odds, rtol=1e-9)
    np.testing.assert_allclose(pick.lottery[0], lottery, rtol=1e-9)


def test_candidates_of_weight_0_are_alike_once_no_other_is_left():
    pick = plain.pick(Random((0.0, 1.0, 0.0, 0.0), 3), plain.none(1, 4), plain.offer([True] * 4), u=[[0.5, 0.9, 0.1]])
    assert pick.plays.tolist() == [[1, 3, 0]]
    np.testing.assert_allclose(pick.propensities, [[1.0, 1 / 3, 1 / 2]])
    np.testing.assert_array_equal(pick.lottery, [[0.0, 1.0, 0.0, 0.0]])


SEVERAL = [
    Random(n_plays=3),
    EpsilonGreedy(0.3, 3),
    Gibbs(0.5, 3),
    InverseGap(Rate(2.0), 3),
    Cycle(3),
    TopK(3),
    Staged(2, Gibbs(0.5, 3)),
]


@pytest.mark.parametrize("choice", SEVERAL, ids=repr)
def test_the_first_of_several_is_the_one_of_a_single_place(choice):
    rng = np.random.default_rng(3)
    worth, offer = plain.worth(*rng.normal(size=(2, 50, 1, 6))), plain.offer(rng.random((50, 6)) < 0.7)
    u = rng.random((50, choice.draws(6)))
    one = {
        Random: Random(),
        EpsilonGreedy: EpsilonGreedy(0.3),
        Gibbs: Gibbs(0.5),
        InverseGap: InverseGap(Rate(2.0)),
        Cycle: Cycle(),
        TopK: TopK(),
        Staged: Staged(2, Gibbs(0.5)),
    }[type(choice)]
    for t in (0.0, 5.0):
        many, single = plain.pick(choice, worth, offer, t, u), plain.pick(one, worth, offer, t, u[:, :1])
        if not isinstance(choice, Cycle) or t == 0:
            np.testing.assert_array_equal(many.plays[:, :1], single.plays)
            np.testing.assert_array_equal(many.lottery, single.lottery)
            np.testing.assert_array_equal(many.propensities[:, :1], single.propensities)
        np.testing.assert_array_equal(many.forced, single.forced)


@pytest.mark.parametrize("choice", SEVERAL, ids=repr)
def test_where_nothing_is_playable_nothing_is_and_that_is_certain(choice):
    pick = plain.pick(choice, plain.none(2, 4), plain.offer([[False] * 4, [False, False, True, False]]), u=0.99)
    assert pick.plays.tolist() == [[-1, -1, -1], [2, -1, -1]]
    np.testing.assert_array_equal(pick.propensities, np.ones((2, 3)))
    np.testing.assert_array_equal(pick.lottery, [[0.0] * 4, [0.0, 0.0, 1.0, 0.0]])


@pytest.mark.parametrize("choice", [*SEVERAL, Lottery(1)], ids=repr)
def test_a_single_candidate_is_played_for_certain_and_once(choice):
    pick = plain.pick(choice, plain.none(1, 1), plain.offer([True], [[[2.0]]], [[9.0]]), u=0.99)
    assert pick.plays[0].tolist() == [0] + [-1] * (choice.n_plays - 1)
    np.testing.assert_array_equal(pick.lottery, [[1.0]])


@pytest.mark.parametrize("choice", SEVERAL, ids=repr)
def test_what_is_just_used_up_fits_and_a_little_more_does_not(choice):
    """Three candidates that cost 1 each; the caller says how much rounding is let through."""
    for left, made in ((3.0, 3), (3.0 - 1e-12, 2), (1.0, 1)):
        pick = plain.pick(choice, plain.none(1, 3), plain.offer([True] * 3, np.ones((1, 3, 1)), [[left]]), u=0.2)
        assert (pick.plays >= 0).sum() == made


def test_every_limit_counts_and_a_smaller_one_after_may_still_be_taken():
    """The two best cost 2 of the first limit, the third 2 of the other, where it would fit twice, the last nothing."""
    worth, worst = plain.worth([[[4.0, 3.0, 2.0, 1.0]]]), [[[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]]]
    within = plain.offer([True] * 4, worst, [[3.0, 4.0]])
    for choice in (TopK(3), Gibbs(1e-3, 3), EpsilonGreedy(0.0, 3), InverseGap(Rate(1e9), 3), Cycle(3)):
        assert plain.pick(choice, worth, within).plays.tolist() == [[0, 2, 3]]
    # A pick takes nothing off the books of the caller.
    np.testing.assert_array_equal(within.left, [[3.0, 4.0]])


def test_one_that_does_not_fit_has_no_part_in_the_chances_of_later_places():
    worst = [[[2.0], [2.0], [1.0], [1.0]]]
    pick = plain.pick(Random(n_plays=2), plain.none(1, 4), plain.offer([True] * 4, worst, [[3.0]]), u=[[0.1, 0.9]])
    assert pick.plays.tolist() == [[0, 3]]
    np.testing.assert_allclose(pick.propensities, [[0.25, 0.5]])


def test_huge_worths_do_not_flatten_what_is_left():
    """Beside 1e6 the others vanish; among themselves they do not."""
    for most in (1e6, 1e300):
        pick = plain.pick(Gibbs(1.0, 3), plain.worth([[[0.0, most, 1.0]]]), plain.offer([True] * 3), u=0.5)
        assert pick.plays.tolist() == [[1, 2, 0]]
        np.testing.assert_allclose(pick.propensities, [[1.0, np.e / (1 + np.e), 1.0]])


def test_a_tiny_temperature_neither_overflows_nor_leaves_the_best():
    worth = plain.worth([[[1e6, -1e6, 1e6 - 1e-3]]])
    pick = plain.pick(Gibbs(1e-9), worth, plain.offer([True] * 3), u=0.999)
    np.testing.assert_array_equal(pick.lottery, [[1.0, 0.0, 0.0]])


def test_inverse_gap_counts_the_candidates_that_are_left():
    """Worths 2, 1, 0 at rate 1: first 1/4 for the second best and 1/5 for the worst, then 1 / (2 + 1) for the worst."""
    pick = plain.pick(InverseGap(Rate(1.0), 2), plain.worth([[[2.0, 1.0, 0.0]]]), plain.offer([True] * 3), u=0.0)
    assert pick.plays.tolist() == [[0, 1]]
    np.testing.assert_allclose(pick.lottery, [[0.55, 0.25, 0.2]])
    np.testing.assert_allclose(pick.propensities, [[0.55, 2 / 3]])


@given(n_plays=st.integers(1, 9), candidates=st.integers(1, 7), limits=st.integers(0, 2), seed=st.integers(0, 10_000))
def test_turns_go_on_where_the_last_round_would_have_ended(n_plays, candidates, limits, seed):
    rng = np.random.default_rng(seed)
    offer, t = plain.limits(rng, 1, candidates, limits), int(rng.integers(30))
    pick = plain.pick(Cycle(n_plays), plain.none(1, candidates), offer, t)
    order = (t * n_plays + np.arange(candidates)) % candidates
    assert pick.plays[0].tolist() == plain.in_order(order, n_plays, offer)
    assert pick.propensities.tolist() == [[1.0] * n_plays]
    assert pick.forced.tolist() == [1.0]


def test_turns_play_all_equally_often():
    everything = plain.offer([True] * 5)
    plays = [plain.pick(Cycle(3), plain.none(1, 5), everything, t).plays[0] for t in range(5)]
    assert np.bincount(np.concatenate(plays)).tolist() == [3] * 5
