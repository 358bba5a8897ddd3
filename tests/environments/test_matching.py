"""Matching: how features, popularity, groups and outcomes are drawn, and what the problem says of pairs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import normals
from evenhand.environments import Matching
from evenhand.environments._pairs import sort_columns
from evenhand.problem import Budget, Outcome, Parity, Problem
from evenhand.welfare import Capped, Linear, Logarithmic, Satisfaction, satisfaction_of
from tests.rankings import decision

SMALL = Matching(users=4, arms=3, n_features=2, horizon=50)
SIDES = {"left": 0.3, "right": 0.7}


def shown(world, replicas=4000, step=3, seed=1):
    """Features by pair, `(R,N,A,n)`."""
    x = world.start(seed, np.arange(replicas)).context(step).features
    return x.reshape(replicas, world.users, world.arms, world.n_features)


def test_fast_normal_numbers_are_normal_and_a_replica_alone_has_the_same():
    seed, stream = np.uint64(3), np.uint64(1)
    x = normals(seed, stream, np.arange(500), 4, 4001)
    assert (normals(seed, stream, np.array([7]), 4, 4001)[0] == x[7]).all()
    assert not np.isin(normals(seed, stream, np.array([7]), 5, 4001)[0], x[7]).any()
    z, n = x.ravel(), x.size
    assert stats.kstest(z, "norm").pvalue > 0.01
    assert stats.chisquare(np.histogram(z, stats.norm.ppf(np.linspace(0, 1, 1001)))[0]).pvalue > 0.01
    for at in (3.0, 3.6541528853610088, 4.0):  # the tail, which a rule of its own draws
        beyond = n * stats.norm.sf(at)
        assert abs((z > at).sum() - beyond) <= 4 * math.sqrt(beyond)
        assert abs((z < -at).sum() - beyond) <= 4 * math.sqrt(beyond)
    pairs = z[: n // 2 * 2].reshape(-1, 2) ** 2
    assert abs(np.corrcoef(pairs.T)[0, 1]) <= 4 / math.sqrt(len(pairs))


@pytest.mark.parametrize("count", [1, 2, 3, 6, 10, 17])
def test_columns_are_sorted(count):
    z = np.random.default_rng(count).normal(size=(count, 40))
    sorted_ = z.copy()
    sort_columns(sorted_)
    np.testing.assert_array_equal(sorted_, np.sort(z, 0))


def test_popularity_alone_sorts_features_over_the_arms_and_without_it_all_are_alike():
    """Means of order statistics of three normal numbers: -0.846, 0, 0.846; five standard errors."""
    popular = shown(replace(SMALL, popularity=1.0))
    assert (np.diff(popular, axis=2) > 0).all()
    middle = 3 / (2 * math.sqrt(math.pi))
    se = 1.0 / math.sqrt(popular.shape[0] * 8)
    np.testing.assert_allclose(popular.mean((0, 1, 3)), [-middle, 0.0, middle], atol=5 * se)
    base = shown(replace(SMALL, popularity=0.0)).ravel()
    assert stats.kstest(base, "norm").pvalue > 0.01


def test_the_mixture_adds_up():
    """phi = lam pop + (1 - lam) base, where both parts are those that the extremes show."""
    pop, base, mixed = (shown(replace(SMALL, popularity=lam), 5) for lam in (1.0, 0.0, 0.3))
    np.testing.assert_allclose(mixed, 0.3 * pop + 0.7 * base, rtol=1e-12)
    assert abs(np.corrcoef(pop.ravel(), base.ravel())[0, 1]) < 0.5


def test_the_parameter_is_uniform_and_features_are_drawn_anew_or_stay():
    theta = SMALL.start(2, np.arange(3000)).theta
    assert theta.shape == (3000, 2)
    assert stats.kstest(theta.ravel(), "uniform").pvalue > 0.01
    run, fixed = SMALL.start(2, np.arange(3)), replace(SMALL, redraw=False).start(2, np.arange(3))
    assert not (run.context(0).features == run.context(1).features).any()
    np.testing.assert_array_equal(fixed.context(0).features, fixed.context(9).features)
    np.testing.assert_array_equal(fixed.context(9).features, run.context(0).features)


@pytest.mark.parametrize("link", ["logistic", "poisson", "identity"])
def test_outcomes_have_the_stated_means(link):
    """Five standard errors, 20,000 replicas of a fixed step; the mean by numpy."""
    world, count = replace(SMALL, link=link), 20_000
    run = world.start(5, np.arange(count))
    context, plays = run.context(2), np.tile([7, 2, -1, 9], (count, 1))
    _, ((step, _, y, exposed, _),) = run.respond(2, context, decision(plays))
    mean = run.expected(context, plays)
    assert (step, exposed, y.shape, mean.shape) == (2, None, (count, 4, 1), (count, 4, 1))
    x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
    z = np.einsum("rpk,rk->rp", x, run.theta)
    by_hand = {"logistic": 1 / (1 + np.exp(-z)), "poisson": np.exp(z), "identity": z}[link]
    np.testing.assert_allclose(mean[:, [0, 1, 3], 0], by_hand[:, [0, 1, 3]], rtol=1e-12)
    assert (mean[:, 2] == 0).all()
    assert (y[:, 2] == 0).all()
    variance = by_hand if link == "poisson" else by_hand * (1 - by_hand)
    off = (y[:, :, 0] - by_hand)[:, [0, 1, 3]].mean(0)
    assert (np.abs(off) <= 5 * np.sqrt(variance[:, [0, 1, 3]].mean(0) / count)).all()
    every = run.means(context)
    np.testing.assert_allclose(every.reshape(count, -1)[:, 7], mean[:, 0, 0], rtol=1e-12)
    assert every.shape == (count, 4, 3)
    if link == "poisson":
        assert set(np.unique(y[:, 0])) >= {0.0, 1.0, 2.0, 3.0}
        spread = y[:, 0, 0].var() - by_hand[:, 0].var()  # E of the Poisson variance
        assert abs(spread / by_hand[:, 0].mean() - 1) < 0.1
    if link == "identity":
        assert ((every > 0) & (every < 1)).all()


def test_a_user_who_is_given_the_same_arm_matches_alike_whatever_the_order_of_plays():
    run = SMALL.start(3, np.arange(200))
    context = run.context(1)
    one, other = np.tile([1, 5, 6, 9], (200, 1)), np.tile([9, 2, 5, 6], (200, 1))
    a, b = (run.respond(1, context, decision(plays))[1][0].y for plays in (one, other))
    np.testing.assert_array_equal(a[:, [1, 2, 3]], b[:, [2, 3, 0]])
    assert 0 < a.mean() < 1


def test_groups_differ_by_their_shift_and_shares_and_may_be_compared():
    """Shares within five standard errors; a shift moves every feature of the group's users by the same."""
    parity = Parity("match", by="group", tolerance=0.1)
    world = replace(SMALL, groups=SIDES, shifts_by_group={"right": 0.5}, subject_to=(parity,))
    run, plain = world.start(4, np.arange(4000)), SMALL.start(4, np.arange(4000))
    context, without = run.context(6), plain.context(6)
    assert context.groups.shape == (4000, 12, 1)
    by_user = context.groups.reshape(4000, 4, 3)
    assert (by_user == by_user[:, :, :1]).all()
    share = by_user[:, :, 0].mean()
    assert abs(share - 0.7) <= 5 * math.sqrt(0.21 / 16_000)
    moved = context.features - without.features
    np.testing.assert_allclose(moved, np.broadcast_to(0.5 * context.groups, moved.shape), atol=1e-12)
    np.testing.assert_array_equal(run.means(context)[by_user == 0], plain.means(without)[by_user == 0])
    assert (run.means(context)[by_user == 1] > plain.means(without)[by_user == 1]).all()
    assert world.problem.columns == (("group", "left"), ("group", "right"))


def test_pairs_are_eligible_by_chance_and_every_user_has_one():
    world = replace(SMALL, eligible=0.3)
    offered = world.start(5, np.arange(5000)).context(0).offered.reshape(5000, 4, 3)
    assert offered.any(2).all()
    expected = 0.3 + 0.7**3 / 3  # a user of none gets one of three
    assert abs(offered.mean() - expected) <= 5 * math.sqrt(expected * (1 - expected) / 20_000)
    assert SMALL.start(5, np.arange(2)).context(0).offered.shape == (1, 12)
    assert SMALL.start(5, np.arange(2)).context(0).offered.all()


def test_popularity_drifts_and_turns_over_the_run():
    drifting = replace(SMALL, popularity=0.0, drift=1.0)
    first, last = (shown(drifting, 50, step) for step in (0, 49))
    np.testing.assert_array_equal(first, shown(replace(SMALL, popularity=0.0), 50, 0))
    near = shown(replace(SMALL, popularity=0.98), 50, 49)
    np.testing.assert_allclose(last, near, rtol=1e-12)
    turning = replace(SMALL, popularity=1.0, turns=2)  # at steps 25 and never after, as the last is of the end
    plain = shown(replace(SMALL, popularity=1.0), 50, 30)
    np.testing.assert_array_equal(shown(turning, 50, 30), np.roll(plain, -1, axis=2))
    np.testing.assert_array_equal(shown(turning, 50, 24), shown(replace(SMALL, popularity=1.0), 50, 24))


def test_the_problem_lists_pairs_in_the_order_of_users_with_costs_by_arm():
    world = replace(SMALL, costs=(0.0, 0.5, 1.0), subject_to=(Budget("cost", rate=1.0),), curve=Logarithmic(2.0))
    problem = world.problem
    assert problem.actions[4] == "user 1 arm 1"
    assert problem.n_plays == 4
    np.testing.assert_array_equal(problem.declared[:, 0], np.tile([0.0, 0.5, 1.0], 4))
    assert satisfaction_of(problem) == Satisfaction(Logarithmic(2.0), arms=3)
    assert world.start(0, np.arange(2)).context(0).known.shape == (1, 12, 1)


def pairs(count=6, *, low=0.0, n_plays=3, measures=()):
    actions = tuple(f"pair {i}" for i in range(count))
    outcomes = (Outcome("match", low=low), Outcome("hours", known=1.0))
    return Problem(actions=actions, outcomes=outcomes, maximize="match", horizon=5, n_plays=n_plays, measures=measures)


@pytest.mark.parametrize(
    ("change", "arms", "of", "message"),
    [
        ({"low": -1.0}, 2, "match", "Satisfaction.of: expected an outcome that is never negative"),
        ({"count": 7}, 2, "match", "Satisfaction.arms: expected 2.33333, the number of actions per play, got 2"),
        ({}, 3, "match", "Satisfaction.arms: expected 2, the number of actions per play, got 3"),
        ({}, 2, "hours", r"Satisfaction.of: expected one of the outcomes \['match'\] that are observed"),
    ],
)
def test_a_satisfaction_that_does_not_fit_is_refused(change, arms, of, message):
    with pytest.raises(InvalidInput, match=message):
        pairs(**change, measures=(Satisfaction(Capped(1.0), arms, of),))


def test_a_problem_without_a_satisfaction_says_so():
    with pytest.raises(InvalidInput, match=r"Problem.measures: expected one Satisfaction.*, got 0"):
        satisfaction_of(pairs())
    two = (Satisfaction(Capped(1.0), 2), Satisfaction(Linear(), 2, name="matches"))
    with pytest.raises(InvalidInput, match=r"got 2 in \['satisfaction', 'matches'\]"):
        satisfaction_of(pairs(measures=two))
