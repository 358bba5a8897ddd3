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


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_is_chosen(k):
    with pytest.raises(InvalidInput, match=r"^TopK\.k: expected a whole number of at least 1, got"):
        TopK(k)
