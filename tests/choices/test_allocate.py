"""An arm for every user: what enters r, what stands beside it, what is carried on, and what limits change."""

import numpy as np
import pytest

from evenhand.choices import Allocate, Random, Staged
from evenhand.core.records import Mix, Offer, Worth
from evenhand.environments import Matching
from evenhand.models import Fixed, Ridge
from evenhand.recipes import cab_ucb
from evenhand.welfare import Anyone, Capped, Exact, Greedy, Linear, Power, Priced, Sequential, satisfaction
from tests.choices import plain
from tests.rows import for_each


def users_arms(plays, arms):
    return [[(p // arms, p % arms) for p in row if p >= 0] for row in plays.tolist()]


@pytest.mark.parametrize("optimism", ["beside", "inside"])
def test_ten_rounds_by_hand(optimism):
    """The first mean, at least 0, enters r; other readings and bonuses are added; constants are nobody's."""
    rng, curve = np.random.default_rng(4), Power(0.3)
    choice = Allocate(users=4, arms=2, curve=curve, oracle=Exact(), optimism=optimism)
    for _ in range(10):
        mean, bonus = rng.normal(0.3, 0.5, (1, 3, 8)), rng.random((1, 3, 8))
        constant = rng.normal(size=(1, 2))
        played = Worth(mean + np.append(constant, 0.0)[None, :, None], bonus, False, constant)
        got = plain.pick(choice, played, plain.offer(np.ones((1, 8)))).plays[0]
        enters, beside = mean[0, 0], (mean + bonus)[0, 1:].sum(0)
        if optimism == "inside":
            enters = enters + bonus[0, 0]
        else:
            beside = beside + bonus[0, 0]
        enters = np.maximum(enters, 0.0)
        worths = {}
        for code in range(16):
            pairs = np.array([2 * i + (code >> i & 1) for i in range(4)])
            sums = np.array([enters[pairs][pairs % 2 == a].sum() for a in range(2)])
            worths[tuple(pairs)] = satisfaction(curve, sums).sum() + beside[pairs].sum()
        assert worths[tuple(got)] >= max(worths.values()) - 1e-4 * 4


def test_prices_go_on_only_by_decisions_that_count():
    world = Matching(users=8, arms=3, curve=Capped(1.5), horizon=50)
    policy = cab_ucb(world.problem, Ridge(n_features=5, width=Fixed(0.1)))
    running, state = world.start(1, np.arange(2)), policy.start(replicas=2)
    context = running.context(0)
    first, second = policy.decide(state, context), policy.decide(state, context)
    assert (state.choice.prices == -1.0).all()
    np.testing.assert_array_equal(first.plays, second.plays)
    np.testing.assert_array_equal(first.carried, second.carried)
    policy.commit(state, context, first._replace(counted=np.array([1.0, 0.0])))
    np.testing.assert_array_equal(state.choice.prices[0], first.carried[0])
    assert (state.choice.prices[1] == -1.0).all()
    policy.choice.on_decision(state.choice, first._replace(forced=np.ones(2)))
    assert (state.choice.prices[1] == -1.0).all()


def both(left, worst, **options):
    choice = Allocate(users=2, arms=2, curve=Linear(), **options)
    worth = plain.worth([[[0.9, 0.1, 0.8, 0.3]]])
    offer = plain.offer((np.array(worst) <= np.array(left)).all(1)[None], [worst], [left])
    return users_arms(plain.pick(choice, worth, offer).plays, 2)[0]


def test_limits_are_fitted_jointly_and_exactly():
    costs = [[1.0], [0.0], [1.0], [0.5]]
    assert both([2.0], costs) == [(0, 0), (1, 0)]  # exactly what is left
    assert both([np.nextafter(2.0, 0.0)], costs) == [(0, 0), (1, 1)]  # who brings more keeps the arm
    assert both([1.5], costs) == [(0, 0), (1, 1)]
    assert both([1.4], costs) == [(0, 0)]
    assert both([0.5], costs) == [(0, 1), (1, 1)]
    assert both([0.0], costs) == [(0, 1)]
    assert both([0.0], [[1.0]] * 4) == []


def test_who_is_refused_by_a_limit_finds_an_arm_with_room():
    """User 1 must leave arm 0; arm 1 has its one place taken until user 2 leaves it."""
    choice = Allocate(users=3, arms=2, curve=Linear(), capacity=(2, 1))
    worth = plain.worth([[[0.9, 0.0, 0.8, 0.1, 0.1, 0.7]]])
    costs = [[1.0], [0.0], [1.0], [0.0], [0.0], [1.0]]
    got = plain.pick(choice, worth, plain.offer(np.ones((1, 6)), [costs], [[1.0]]))
    assert users_arms(got.plays, 2) == [[(0, 0), (1, 1), (2, 0)]]


def test_nothing_is_playable_in_a_replica():
    choice = Allocate(users=2, arms=2, curve=Capped(1.0))
    got = plain.pick(choice, plain.worth(np.full((2, 1, 4), 0.5)), plain.offer([[1, 1, 1, 1], [0, 0, 0, 0]]))
    assert got.plays[1].tolist() == [-1, -1]
    assert (got.propensities[1] == 1.0).all()
    assert (got.plays[0] >= 0).all()


@pytest.mark.parametrize("constant", [0.0, 50.0, -50.0])
def test_a_price_makes_users_stay_whatever_the_constant(constant):
    """The dual's bound times its price is no user's, so it must not keep anybody in."""
    choice = Allocate(users=3, arms=2, curve=Capped(9.0), may_stay=True)
    for price, staying in ((0.5, 0), (0.85, 1), (2.0, 3)):
        gain = np.array([0.9, 0.1, 0.8, 0.3, 0.9, 0.9])
        mean = np.stack([gain, np.full(6, constant - price)])[None]
        worth = Worth(mean, np.zeros(mean.shape), False, np.array([[0.0, constant]]))
        plays = plain.pick(choice, worth, plain.offer(np.ones((1, 6)))).plays
        assert (plays < 0).sum() == staying


def test_chances_are_not_stated_where_limits_may_have_changed_the_draw():
    choice = Allocate(users=2, arms=2, curve=Linear(), oracle=Anyone())
    worth, costs = plain.none(2, 4), [[[1.0], [0.0], [1.0], [0.0]]]
    got = plain.pick(choice, worth, plain.offer(np.ones((2, 4)), costs, [[2.0], [1.9]]))
    assert got.propensities[0].tolist() == [0.5, 0.5]
    assert np.isnan(got.propensities[1]).all()


def test_only_uniform_draws_are_forced():
    offer, worth = plain.offer(np.ones((1, 4))), plain.none(1, 4)
    for oracle, forced in ((Anyone(), 1.0), (Sequential(), 0.0), (Greedy(), 0.0)):
        choice = Allocate(users=2, arms=2, curve=Linear(), oracle=oracle)
        assert plain.pick(choice, worth, offer).forced.tolist() == [forced]


def test_a_warm_up_gives_each_user_one_arm():
    """The default would draw pairs, so that a user could have several arms."""
    staged = Staged(3, Allocate(users=4, arms=3, curve=Capped(1.0)))
    u, t = np.random.default_rng(0).random((200, staged.draws(12))), np.repeat([0.0, 9.0], 100)
    got = plain.pick(staged, plain.worth(np.full((200, 1, 12), 0.5)), plain.offer(np.ones((200, 12))), t, u)
    np.testing.assert_array_equal(got.plays // 3, np.tile(np.arange(4), (200, 1)))
    assert (got.forced == (t < 3)).all()
    assert (got.propensities[:100] == 1 / 3).all()
    assert (got.carried[:100] == -1.0).all()
    assert (got.carried[100:] >= 0.0).all()


@pytest.mark.parametrize("warmup", [None, Random(n_plays=4)])
def test_a_policy_with_a_warm_up_starts_its_prices_after_it(warmup):
    world = Matching(users=4, arms=3, curve=Capped(1.0), horizon=9)
    policy = cab_ucb(world.problem, Ridge(n_features=5, width=Fixed(0.1)))
    policy = type(policy)(
        problem=policy.problem, model=policy.model, goals=policy.goals, choice=Staged(2, policy.choice, warmup)
    )
    running, state = world.start(1, np.arange(1)), policy.start()
    for step in range(4):
        assert (state.choice.then.prices == -1.0).all() == (step < 3)
        policy.act(state, running.context(step))


def test_read_only_arrays_are_taken():
    choice, worth, offer = Allocate(users=2, arms=2, curve=Linear()), plain.none(1, 4), plain.offer(np.ones((1, 4)))
    for z in (worth.mean, worth.bonus, *offer):
        z.flags.writeable = False
    assert (plain.pick(choice, worth, offer).plays >= 0).all()


def test_who_is_moved_by_a_limit_gets_the_arm_that_gains_most_by_it():
    """User 2 does not fit arm 2; arm 0 has enough already, so arm 1 gains more, though the match is less likely."""
    choice = Allocate(users=3, arms=3, curve=Capped(1.0))
    worth = plain.worth([[[1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.95, 0.3, 0.97]]])
    costs = np.zeros((9, 1))
    costs[8] = 2.0
    offer = plain.offer(np.ones((1, 9), bool), [costs], [[1.0]])
    assert users_arms(plain.pick(choice, worth, offer).plays, 3)[0] == [(0, 0), (1, 1), (2, 1)]


def drawn(choice, mean, draws, seed=0, **offered):
    """Arms of the users in many draws of the luck, and chances of their plays, `->(draws,N),(draws,N)`."""
    u = np.random.default_rng(seed).random((draws, choice.draws(mean.size)))
    worth = plain.worth(np.tile(mean, (draws, 1, 1)))
    offer = plain.offer(np.ones((draws, mean.size)), **offered)
    got = choice.pick(choice.start(draws), worth, offer, np.zeros(draws), u)
    return got.plays % choice.arms, got.propensities


@pytest.mark.parametrize("oracle", [Priced(), Greedy()], ids=repr)
@pytest.mark.parametrize("mean", [0.0, 0.1])
def test_arms_that_look_alike_are_drawn_evenly_by_each_user(oracle, mean):
    """600 draws, a third for each arm: five standard errors of .0192 are .096; pairs of users agree as often."""
    choice = Allocate(users=4, arms=3, curve=Linear(), oracle=oracle)
    arms, chances = drawn(choice, np.full(12, mean), 600)
    assert np.isnan(chances).all()
    for i in range(4):
        assert (np.abs(np.bincount(arms[:, i], minlength=3) / 600 - 1 / 3) < 0.096).all()
        for j in range(i):
            assert abs((arms[:, i] == arms[:, j]).mean() - 1 / 3) < 0.096


@pytest.mark.parametrize("oracle", [Priced(), Greedy()], ids=repr)
def test_without_ties_luck_changes_nothing_and_chances_are_stated(oracle):
    mean = np.random.default_rng(3).random(12)
    arms, chances = drawn(Allocate(users=4, arms=3, curve=Power(0.5), oracle=oracle), mean, 40)
    assert (arms == arms[0]).all()
    assert (chances == 1.0).all()


@pytest.mark.parametrize("oracle", [Priced(), Greedy()], ids=repr)
def test_users_who_look_alike_are_drawn_for_an_arm_with_little_room(oracle):
    """One place at the good arm; 600 draws, five standard errors of .0204 are .102."""
    choice = Allocate(users=3, arms=2, curve=Linear(), oracle=oracle, capacity=(1, 3))
    arms, chances = drawn(choice, np.tile([0.9, 0.1], 3), 600)
    assert ((arms == 0).sum(1) == 1).all()
    assert (np.abs((arms == 0).mean(0) - 1 / 3) < 0.102).all()
    assert np.isnan(chances).all()


@for_each("seed", range(8))
def test_stated_chances_of_one_are_those_of_every_draw(seed):
    """Values on a coarse grid, some saturated: wherever a chance of 1 is stated, all draws agree."""
    rng = np.random.default_rng(seed)
    mean = rng.integers(0, 4, 12) / 4.0
    choice = Allocate(users=4, arms=3, curve=Capped(float(rng.choice([0.5, 1.0, 9.0]))), oracle=Priced())
    arms, chances = drawn(choice, mean, 60)
    if (chances == 1.0).any():
        assert (chances == 1.0).all()
        assert (arms == arms[0]).all()


def test_arms_of_equal_gain_are_drawn_as_the_plan_mixes_them():
    """One user, no matches, and what arms cost: shares of 40,000 draws, to four standard errors."""
    draws, heat = 40_000, 0.1
    cost, gain = np.array([0.0, 0.05, 0.2, 0.0]), np.array([0.5, 0.5, 0.5, 0.4])
    choice = Allocate(users=1, arms=4, curve=Linear())
    one = np.ones((draws, 1))
    mean = np.zeros((draws, 2, 4))
    mean[:, 1] = -cost
    bonus = np.zeros((draws, 2, 4))
    bonus[:, 0] = gain
    offer = Offer(np.ones((draws, 4), bool), np.zeros((1, 4, 0)), np.zeros((draws, 0)))
    u = np.random.default_rng(3).random((draws, choice.draws(4)))
    for heated in (heat, 0.0):
        worth = Worth(mean, bonus, mix=Mix(gain * one, (gain - cost) * one, np.full(draws, heated)))
        pick = choice.pick(choice.start(draws), worth, offer, np.zeros(draws), u)
        if heated:
            p = np.exp(-cost / heat) * (gain == 0.5)
            p /= p.sum()
            found = np.bincount(pick.plays[:, 0], minlength=4) / draws
            assert (np.abs(found - p) <= 4 * np.sqrt(p * (1 - p) / draws)).all()
            assert np.isnan(pick.propensities).all()
        else:
            assert (pick.plays == 0).all()
            assert (pick.propensities == 1.0).all()
