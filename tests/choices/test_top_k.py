import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import TopK
from evenhand.core.records import Mix
from tests import twins
from tests.choices import plain
from tests.properties import drawn


@drawn(replicas=4, readings=3, candidates=7, k=8, chance=[0.0, 0.4, 1.0], ties=bool)
def test_the_best_are_those_of_the_twin(replicas, readings, candidates, k, chance, ties, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, replicas, readings, candidates)).round(0 if ties else 9)
    playable = rng.random((replicas, candidates)) < chance
    u = rng.random((replicas, 1))
    pick = plain.pick(TopK(k), plain.worth(mean, bonus), plain.offer(playable), u=u)
    plain.agree(pick, twins.top_k(mean, bonus, playable, k, u))


@drawn(candidates=9, k=10, limits=(0, 3), alike=bool, scale=[1.0, 1e-300, 1e300])
def test_the_best_are_taken_in_order_while_they_fit(candidates, k, limits, alike, scale, seed):
    rng = np.random.default_rng(seed)
    mean = scale * rng.normal(size=(3, 1, candidates))
    offer = plain.limits(rng, 3, candidates, limits, alike)
    pick = plain.pick(TopK(k), plain.worth(mean), offer)
    for r in range(3):
        worst = offer.worst if alike else offer.worst[r : r + 1]
        within = plain.offer(offer.playable[r], worst, offer.left[r : r + 1])
        plays = plain.in_order(np.argsort(-mean[r, 0], kind="stable"), k, within)
        assert pick.plays[r].tolist() == plays
        assert pick.lottery[r].tolist() == (np.arange(candidates) == plays[0]).tolist()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("cost", [0.0, 0.3, 5.0])
def test_of_many_candidates_those_that_fit_are_found_wherever_they_stand(order, cost):
    """All but every fortieth cost so much that after a few plays only the cheap ones fit."""
    rng, k = np.random.default_rng(1), 30
    mean = np.sort(rng.normal(size=2500))[::order]
    worst = np.where(np.arange(2500) % 40 == 7, 1e-3, cost)[None, :, None]
    offer = plain.offer([True] * 2500, worst, [[5.5]])
    pick = plain.pick(TopK(k), plain.worth(mean[None, None]), offer)
    assert pick.plays[0].tolist() == plain.in_order(np.argsort(-mean, kind="stable"), k, offer)


@pytest.mark.parametrize("size", [1e-300, 1.0, -1e300])
def test_worths_that_differ_by_rounding_tie_and_others_do_not(size):
    mean = size * np.array([1.0, 1.0 + 1e-12, 1.0 - 1e-12, 1.0 + (-1e-6 if size > 0 else 1e-6)])
    pick = plain.pick(TopK(2), plain.worth(mean[None, None]), plain.offer([True] * 4))
    np.testing.assert_allclose(pick.lottery, [[1 / 3, 1 / 3, 1 / 3, 0.0]])
    np.testing.assert_allclose(pick.propensities, [[1 / 3, 1 / 2]])
    assert pick.plays.max() < 3


def test_a_candidate_that_is_priced_out_does_not_make_others_tie():
    pick = plain.pick(TopK(), plain.worth([[[0.0, 1e-6, -1e12]]]), plain.offer([True] * 3))
    np.testing.assert_array_equal(pick.lottery, [[0.0, 1.0, 0.0]])


@given(k=st.integers(1, 4), limits=st.integers(0, 2), seed=st.integers(0, 1000))
def test_lists_come_with_the_stated_chances_in_any_order_of_the_candidates(k, limits, seed):
    """Worths of 0 and 1; chances of lists do not depend on the order, and 6,000 evenly spread numbers draw them so."""
    rng, draws = np.random.default_rng(seed), 6000
    mean, order = rng.integers(0, 2, 5).astype(float), rng.permutation(5)
    worst, left = rng.random((5, limits)), 2.0 * rng.random(limits)
    lists = []
    for names in (np.arange(5), order):
        playable, each = (worst[names] <= left).all(1), np.ones((draws, 1))
        offer = plain.offer(playable[None].repeat(draws, 0), worst[names][None], left * each)
        pick = plain.pick(
            TopK(k), plain.worth((mean[names] * each)[:, None]), offer, u=(np.arange(draws)[:, None] + 0.5) / draws
        )
        plays = np.where(pick.plays >= 0, names[pick.plays], -1)
        found, where, count = np.unique(plays, axis=0, return_index=True, return_counts=True)
        stated = pick.propensities[where].prod(1)
        np.testing.assert_allclose(count / draws, stated, atol=2 / draws)
        assert stated.sum() == pytest.approx(1.0)
        lists.append({tuple(row): p for row, p in zip(found.tolist(), stated.tolist(), strict=True)})
    assert lists[0] == pytest.approx(lists[1])


@given(k=st.integers(1, 4), limits=st.integers(0, 2), seed=st.integers(0, 1000))
def test_equal_gains_are_drawn_as_the_plan_mixes_them_in_any_order_of_the_candidates(k, limits, seed):
    """Lists one place after the other: of the gain of the best one, in proportion to exp(worth / heat)."""
    rng, draws, heat = np.random.default_rng(seed), 6000, 0.05
    gain, order = rng.integers(0, 2, 5).astype(float), rng.permutation(5)
    worth = gain - 0.1 * rng.random(5)
    worst, left = rng.random((5, limits)), 2.0 * rng.random(limits)
    within = plain.offer((worst <= left).all(1), worst[None], left[None])

    def chances(free):
        best = np.flatnonzero(free)[np.argmax(worth[free])]
        return np.where(gain == gain[best], np.exp((worth - worth[best]) / heat), 0.0)

    lists = []
    for names in (np.arange(5), order):
        each = np.ones((draws, 1))
        offer = plain.offer(within.playable[0, names][None].repeat(draws, 0), worst[names][None], left * each)
        mixed = plain.worth((worth[names] * each)[:, None])._replace(
            mix=Mix(gain[names] * each, worth[names] * each, np.full(draws, heat))
        )
        pick = plain.pick(TopK(k), mixed, offer, u=(np.arange(draws)[:, None] + 0.5) / draws)
        plays = np.where(pick.plays >= 0, names[pick.plays], -1)
        found, where, count = np.unique(plays, axis=0, return_index=True, return_counts=True)
        stated = pick.propensities[where].prod(1)
        np.testing.assert_allclose(count / draws, stated, atol=2 / draws)
        for row, r in zip(found, where, strict=True):
            free, room = within.playable[0].copy(), left.copy()
            for i, a in enumerate(row[row >= 0]):
                p = np.where(free, chances(free), 0.0)
                assert pick.propensities[r, i] == pytest.approx(p[a] / p.sum())
                if i == 0:
                    np.testing.assert_allclose(pick.lottery[r], (p / p.sum())[names])
                room, free[a] = room - worst[a], False
                free &= (worst <= room).all(1)
        lists.append({tuple(row): p for row, p in zip(found.tolist(), stated.tolist(), strict=True)})
    for row in lists[0].keys() | lists[1].keys():  # a list of less than a draw may be in one of them alone
        assert lists[0].get(row, 0.0) == pytest.approx(lists[1].get(row, 0.0), abs=1 / draws)


def test_without_heat_equal_gains_are_no_lottery():
    worth, gain = np.array([[0.3, 0.2, 0.3]]), np.ones((1, 3))
    for heat, lottery in ((0.0, [0.5, 0.0, 0.5]), (1.0, np.exp([0.3, 0.2, 0.3]) / np.exp([0.3, 0.2, 0.3]).sum())):
        mixed = plain.worth(worth[:, None])._replace(mix=Mix(gain, worth, np.array([heat])))
        np.testing.assert_allclose(plain.pick(TopK(), mixed, plain.offer([True] * 3)).lottery, [lottery])


def test_draws_of_a_model_say_which_gain_is_best_and_the_plan_mixes_what_gains_it():
    """Draws prefer candidate 2; without luck it gains as much as 1, which the plan plays three times as often."""
    plan = np.array([[0.0, np.log(3.0), 0.0]])
    mixed = plain.worth([[[0.1, 0.2, 0.9]]])._replace(mix=Mix(np.array([[1.0, 2.0, 2.0]]), plan, np.ones(1)))
    np.testing.assert_allclose(plain.pick(TopK(), mixed, plain.offer([True] * 3)).lottery, [[0.0, 0.75, 0.25]])
