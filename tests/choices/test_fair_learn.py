"""A guaranteed share of the rounds for every candidate."""

import math

import numpy as np
from hypothesis import example, given, settings, strategies as st

from evenhand.choices import FairLearn, Random, Staged
from evenhand.environments import Delayed, Listeners, Ranking
from evenhand.models import Bilinear
from evenhand.recipes import fairlearn_rank
from evenhand.run import play
from tests import twins
from tests.choices import plain
from tests.properties import drawn
from tests.rankings import decision


@drawn(replicas=4, readings=2, candidates=7, k=8, chance=[0.0, 0.6, 1.0], tolerance=[0.0, 0.7, 2.0], digits=[0, 9])
def test_the_plays_are_those_of_the_twin(replicas, readings, candidates, k, chance, tolerance, digits, seed):
    rng = np.random.default_rng(seed)
    mean, bonus = rng.normal(size=(2, replicas, readings, candidates)).round(digits)
    playable, u = rng.random((replicas, candidates)) < chance, rng.random((replicas, 1))
    share, t = rng.random() * min(1.0, k / candidates), rng.integers(0, 20, replicas).astype(float)
    choice = FairLearn(k, candidates, share, tolerance)
    state = choice.start(replicas)
    state.ranked[:] = rng.integers(0, 9, (replicas, candidates))
    pick = plain.pick(choice, plain.worth(mean, bonus), plain.offer(playable), t, u, state)
    owed = share * t[:, None] - state.ranked
    plain.agree(pick, twins.fair_learn(mean, bonus, owed, tolerance, playable, k, u))


@given(candidates=st.integers(1, 8), k=st.integers(1, 9), limits=st.integers(1, 2), seed=st.integers(0, 10_000))
def test_they_are_taken_in_order_while_they_fit(candidates, k, limits, seed):
    rng = np.random.default_rng(seed)
    mean, offer = rng.normal(size=(3, 1, candidates)), plain.limits(rng, 3, candidates, limits)
    choice = FairLearn(k, candidates, min(1.0, k / candidates))
    state = choice.start(3)
    state.ranked[:] = 8.0 * rng.random((3, candidates))
    pick = plain.pick(choice, plain.worth(mean), offer, t=10.0, state=state)
    owed = 10.0 * choice.share - state.ranked
    for r in range(3):
        within = plain.offer(offer.playable[r], offer.worst[r : r + 1], offer.left[r : r + 1])
        deprived = sorted(np.flatnonzero(owed[r] > 1.0), key=lambda a, r=r: -owed[r, a])
        others = sorted(np.flatnonzero(owed[r] <= 1.0), key=lambda a, r=r: -mean[r, 0, a])
        assert pick.plays[r].tolist() == plain.in_order([*deprived, *others], k, within)


def test_five_rounds_by_hand():
    """One of three candidates, the first of which is the best; each is to be ranked in 0.3 of the rounds."""
    choice = FairLearn(1, candidates=3, share=0.3, tolerance=0.5)
    state, worth, offer = choice.start(1), plain.worth([[[0.9, 0.5, 0.1]]]), plain.offer([True] * 3)
    made = []
    for t in range(5):
        pick = plain.pick(choice, worth, offer, t, u=0.99, state=state)
        choice.on_decision(state, decision(pick.plays))
        made += pick.plays[0].tolist()
    # What is owed after two rounds is (-1.4, 0.6, 0.6), a tie; then (-1.1, 0.9, -0.1), and then (-0.8, 0.2, 0.2).
    assert made == [0, 0, 2, 1, 0]
    np.testing.assert_array_equal(state.ranked, [[3.0, 1.0, 1.0]])


@drawn(k=6, more=(0, 7), part=st.floats(0.05, 1.0), tolerance=[0.0, 0.4, 0.5, 1.0, 1.7, 3.0], spite=bool)
@settings(max_examples=60, deadline=None)
@example(k=1, more=1, part=1.0, tolerance=0.5, spite=True, seed=0)  # floor(c t) - N_i = 1 after two rounds
def test_nobody_falls_behind_by_more_than_the_tolerance(k, more, part, tolerance, spite, seed):
    """Not even if those are worth most who are owed least."""
    candidates = k + more
    choice = FairLearn(k, candidates, part * k / candidates, tolerance)
    state, rng, offer = choice.start(2), np.random.default_rng(seed), plain.offer(np.ones((2, candidates)))
    for t in range(1, 81):
        mean = state.ranked if spite else rng.normal(size=(2, candidates))
        pick = plain.pick(choice, plain.worth(mean[:, None]), offer, t - 1, rng.random((2, 1)), state)
        choice.on_decision(state, decision(pick.plays))
        owed = choice.share * t - state.ranked
        assert (owed < 1.0 + tolerance - 1e-9).all()
        assert (np.floor(choice.share * t) - state.ranked <= math.ceil(tolerance)).all()


@drawn(k=4, more=(0, 6), part=st.floats(0.1, 1.0), tolerance=(0, 3), delay=[0, 11])
@settings(max_examples=15, deadline=None)
def test_the_guarantee_holds_after_every_round_of_a_run(k, more, part, tolerance, delay, seed):
    """In every replica, also if outcomes come late, as what counts is to be ranked."""
    audience = Listeners(users=3, items=k + more, factors=2, seed=seed).audience
    world = Delayed(Ranking(audience=audience, horizon=60, slots=k), delay)
    share = part * k / (k + more)
    policy = fairlearn_rank(
        world.problem, Bilinear(n_user_features=2, n_item_features=2), share=share, tolerance=float(tolerance)
    )
    state, ranked = policy.start(seed=seed, replicas=3), np.zeros((3, k + more))
    for t, step in enumerate(play(policy, state, world.start(seed, np.arange(3)), range(60)), 1):
        for r in range(3):
            ranked[r, step.decision.plays[r]] += 1
        np.testing.assert_array_equal(state.choice.ranked, ranked)
        assert (np.floor(share * t) - ranked <= tolerance).all()


def test_rounds_that_do_not_count_are_not_counted_and_those_of_a_warm_up_are():
    choice = FairLearn(2, candidates=3, share=0.5)
    state = choice.start(3)
    choice.on_decision(state, decision([[0, 2], [1, -1], [2, 1]], counted=[1, 1, 0]))
    np.testing.assert_array_equal(state.ranked, [[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    staged = Staged(5, choice, warmup=Random(n_plays=2))
    state = staged.start(1)
    staged.on_decision(state, decision([[1, 0]], forced=[1.0]))
    np.testing.assert_array_equal(state.then.ranked, [[1.0, 1.0, 0.0]])
