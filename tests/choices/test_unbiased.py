"""Bonuses that shrink by exposure."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.choices import Staged, TopK, Unbiased
from evenhand.environments import Delayed
from evenhand.recipes import unbiased_linucb_rank
from evenhand.run import play
from tests import twins
from tests.choices import plain
from tests.properties import drawn
from tests.rankings import SMALL, TASTES, absent, decision


@drawn(replicas=4, readings=2, candidates=7, k=8, chance=[0.0, 0.6, 1.0], digits=[0, 9])
def test_the_best_are_those_of_the_twin(replicas, readings, candidates, k, chance, digits, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, replicas, readings, candidates)).round(digits)
    playable, u = rng.random((replicas, candidates)) < chance, rng.random((replicas, 1))
    choice = Unbiased(k, candidates)
    state = choice.start(replicas)
    state.exposures[:] = rng.integers(0, 4, (replicas, candidates))
    pick = plain.pick(choice, plain.worth(mean, bonus), plain.offer(playable), u=u, state=state)
    plain.agree(pick, twins.unbiased(mean, bonus, state.exposures, playable, k, u))


@given(candidates=st.integers(1, 8), k=st.integers(1, 9), limits=st.integers(1, 2), seed=st.integers(0, 10_000))
def test_the_best_are_taken_in_order_while_they_fit(candidates, k, limits, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, 3, 1, candidates))
    offer = plain.limits(rng, 3, candidates, limits)
    choice = Unbiased(k, candidates)
    state = choice.start(3)
    state.exposures[:] = rng.integers(0, 4, (3, candidates))
    pick = plain.pick(choice, plain.worth(mean, bonus), offer, state=state)
    eta = 1.0 - k * state.exposures / np.maximum(state.exposures.sum(1, keepdims=True), 1.0)
    for r in range(3):
        within = plain.offer(offer.playable[r], offer.worst[r : r + 1], offer.left[r : r + 1])
        order = np.argsort(-(mean[r, 0] + eta[r] * bonus[r, 0]), kind="stable")
        assert pick.plays[r].tolist() == plain.in_order(order, k, within)


def test_three_rounds_by_hand():
    """Two of three candidates of equal means; bonuses are 0.6, 0.5 and 0.4."""
    choice = Unbiased(2, candidates=3)
    state, worth, offer = choice.start(1), plain.worth([[[0.0] * 3]], [[[0.6, 0.5, 0.4]]]), plain.offer([True] * 3)
    # Nothing was exposed yet: plain bonuses.
    assert plain.pick(choice, worth, offer, state=state).plays.tolist() == [[0, 1]]
    choice.on_outcome(state, decision([[0, 1]]), np.array([[True, False]]))
    # N = (1, 0, 0): factors -1, 1, 1 and worths -0.6, 0.5, 0.4.
    assert plain.pick(choice, worth, offer, state=state).plays.tolist() == [[1, 2]]
    choice.on_outcome(state, decision([[1, 2]]), np.array([[True, True]]))
    # N = (1, 1, 1): factors of 1/3 keep the order of the bonuses.
    assert plain.pick(choice, worth, offer, state=state).plays.tolist() == [[0, 1]]
    choice.on_outcome(state, decision([[0, 1]]), None)
    # N = (2, 2, 1) of 5: factors 1/5, 1/5, 3/5 and worths 0.12, 0.10, 0.24.
    assert plain.pick(choice, worth, offer, state=state).plays.tolist() == [[2, 0]]
    np.testing.assert_array_equal(state.exposures, [[2.0, 2.0, 1.0]])


def test_only_what_counts_and_was_exposed_is_counted():
    choice = Unbiased(2, candidates=3)
    state = choice.start(3)
    choice.on_outcome(
        state, decision([[0, 2], [1, -1], [2, 1]], counted=[1, 1, 0]), np.array([[0, 1], [1, 1], [1, 1]]) > 0
    )
    np.testing.assert_array_equal(state.exposures, [[0, 0, 1], [0, 1, 0], [0, 0, 0]])


def test_a_warm_up_teaches_it_as_well():
    choice = Staged(5, Unbiased(1, candidates=2), warmup=TopK(1))
    state = choice.start(1)
    choice.on_outcome(state, decision([[1]], forced=[1.0]), None)
    np.testing.assert_array_equal(state.then.exposures, [[0.0, 1.0]])


@pytest.mark.parametrize("delay", [0, 7])
def test_exposures_are_those_that_arrived(delay):
    """Items are absent at times, and the outcomes of the last `delay` rounds never come."""
    world = Delayed(absent(SMALL), delay)
    policy = unbiased_linucb_rank(world.problem, TASTES)
    state, shown = policy.start(seed=2, replicas=3), np.zeros((3, 4))
    for step in play(policy, state, world.start(2, np.arange(3)), range(world.problem.horizon)):
        for arrival in step.arrivals:
            for r, p in np.argwhere(arrival.exposed):
                shown[r, arrival.decision.plays[r, p]] += 1
        np.testing.assert_array_equal(state.choice.exposures, shown)
    assert (shown > 0).all()


def test_what_expires_is_not_counted():
    policy, there = unbiased_linucb_rank(SMALL.problem, TASTES), SMALL.start(0, np.arange(2))
    state = policy.start(replicas=2)
    policy.expire(state, policy.act(state, there.context(0)))
    assert not state.choice.exposures.any()
