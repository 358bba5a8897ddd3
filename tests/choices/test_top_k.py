import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import TopK
from evenhand.core.errors import InvalidInput
from tests import twins
from tests.choices import plain


@given(
    replicas=st.integers(1, 4),
    readings=st.integers(1, 3),
    candidates=st.integers(1, 7),
    k=st.integers(1, 8),
    chance=st.sampled_from([0.0, 0.4, 1.0]),
    ties=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_the_best_are_those_of_the_twin(replicas, readings, candidates, k, chance, ties, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, replicas, readings, candidates)).round(0 if ties else 9)
    playable = rng.random((replicas, candidates)) < chance
    pick = plain.pick(TopK(k), plain.worth(mean, bonus), plain.offer(playable))
    plays, first = twins.top_k(mean, bonus, playable, k)
    np.testing.assert_array_equal(pick.plays, plays)
    np.testing.assert_array_equal(pick.lottery, first)
    np.testing.assert_array_equal(pick.propensities, np.ones((replicas, k)))
    np.testing.assert_array_equal(pick.forced, np.zeros(replicas))


def test_optimism_counts_and_readings_add_up():
    mean = np.array([[[1.0, 0.0, 0.5], [0.0, 0.0, 0.2]]])
    bonus = np.array([[[0.0, 0.0, 0.0], [0.0, 1.5, 0.0]]])
    worth, everything = plain.worth(mean, bonus), plain.offer([True] * 3)
    assert plain.pick(TopK(), worth, everything).plays.tolist() == [[1]]
    assert plain.pick(TopK(3), worth, everything).plays.tolist() == [[1, 0, 2]]


@given(
    candidates=st.integers(1, 9),
    k=st.integers(1, 10),
    limits=st.integers(0, 3),
    alike=st.booleans(),
    digits=st.sampled_from([0, 1, 9]),
    scale=st.sampled_from([1.0, 1e-300, 1e300]),
    seed=st.integers(0, 10_000),
)
def test_the_best_are_taken_in_order_while_they_fit(candidates, k, limits, alike, digits, scale, seed):
    rng = np.random.default_rng(seed)
    mean = scale * rng.normal(size=(3, 1, candidates)).round(digits)
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
    mean = np.sort(rng.normal(size=2500).round(2))[::order]
    worst = np.where(np.arange(2500) % 40 == 7, 1e-3, cost)[None, :, None]
    offer = plain.offer([True] * 2500, worst, [[5.5]])
    pick = plain.pick(TopK(k), plain.worth(mean[None, None]), offer)
    assert pick.plays[0].tolist() == plain.in_order(np.argsort(-mean, kind="stable"), k, offer)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_at_least_one_is_chosen(k):
    with pytest.raises(InvalidInput, match=r"^TopK\.k: expected a whole number of at least 1, got"):
        TopK(k)
