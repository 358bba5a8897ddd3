import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.environments import FixedContexts
from tests.environments.test_court import decide

ROOT = math.sqrt(2.0)


def test_means_are_those_of_the_paper():
    """Written out from x_a = (e_1 + e_{a+1}) / sqrt 2: reward 1 for arm 1 and 1/2 for others, and so on."""
    world = FixedContexts(arms=5, dimension=9)
    mean = world.arm_features @ world.theta.T
    reward = [1.0, 0.5, 0.5, 0.5, 0.5]
    first = [0.5, 1.0, 0.5, 0.5, 0.5]  # (e_1 + e_3) / sqrt 2
    second = [1 / (2 * ROOT)] * 4 + [0.0]  # (e_2 + e_3 + e_4 + e_5) / 2
    third, fourth = [0.0, 0.0, 1 / ROOT, 0.0, 0.0], [0.0, 0.0, 0.0, 1 / ROOT, 0.0]  # e_4 and e_5
    np.testing.assert_allclose(mean.T, [reward, first, second, third, fourth], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(world.theta, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(world.arm_features, axis=1), 1.0)


@pytest.mark.parametrize(("arms", "dimension"), [(1, 5), (3, 52), (4, 5), (51, 52)])
@pytest.mark.parametrize("null_arm", [False, True])
def test_the_optimum_is_a_half_per_round(arms, dimension, null_arm):
    """Arm 1 every other round: the first resource, 1/4 per round, binds. Doing nothing is allowed: sum p <= 1."""
    world = FixedContexts(arms=arms, dimension=dimension, null_arm=null_arm)
    mean = world.arm_features @ world.theta.T
    ends = np.append(np.full(4, 0.25), 1.0)
    best = linprog(-mean[:, 0], A_ub=np.vstack([mean[:, 1:].T, np.ones(len(mean))]), b_ub=ends, bounds=(0, 1))
    assert -best.fun == pytest.approx(0.5, abs=1e-9)


def outcomes(world, action, replicas=200, steps=60):
    run = world.start(7, np.arange(replicas))
    return np.array(
        [run.respond(t, run.context(t), decide(run.context(t), action))[1][0].y[:, 0] for t in range(steps)]
    )


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_outcomes_are_the_means_and_normal_noise(arm):
    """12,000 draws each: five standard errors of mean, variance (2 sigma^4 / n) and every correlation."""
    world = FixedContexts(arms=3, dimension=8)
    y = outcomes(world, arm).reshape(-1, 5)
    noise, n = y - world.arm_features[arm] @ world.theta.T, len(y)
    assert np.abs(noise.mean(0)).max() <= 5 * 0.2 / math.sqrt(n)
    np.testing.assert_allclose(noise.var(0), 0.04, atol=5 * 0.04 * math.sqrt(2 / n))
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() <= 5 / math.sqrt(n)


def test_what_is_expected_is_the_mean_and_nothing_where_nothing_is_played():
    world = FixedContexts(arms=3, dimension=8, null_arm=True)
    run = world.start(1, np.arange(3))
    got = run.expected(run.context(0), np.array([[-1], [0], [2]]))[:, 0]
    np.testing.assert_allclose(got, [[0.0] * 5, [0.0] * 5, world.arm_features[2] @ world.theta.T])


def test_the_luck_of_a_round_is_the_same_whatever_is_played():
    world = FixedContexts(arms=3, dimension=8)
    mean = world.arm_features @ world.theta.T
    np.testing.assert_allclose(outcomes(world, 0, 5, 5) - mean[0], outcomes(world, 2, 5, 5) - mean[2], atol=1e-12)


def test_declared_ranges_hold_however_large_the_noise():
    """With a standard deviation of 1 every sixth outcome of mean 1 would be above 2."""
    world = FixedContexts(arms=3, dimension=8, noise=1.0)
    y = outcomes(world, 0, 50, 20)
    assert (y >= world.problem.low).all()
    assert (y <= world.problem.high).all()
    assert y.max() == 2.0


def test_the_null_arm_has_neither_reward_nor_costs():
    world = FixedContexts(arms=3, dimension=8, null_arm=True)
    assert world.problem.actions == ("nothing", "arm 1", "arm 2", "arm 3")
    np.testing.assert_array_equal(outcomes(world, 0, 5, 5), 0.0)
    assert (outcomes(world, 1, 5, 5) != 0.0).all()


def test_budgets_are_a_quarter_of_the_horizon():
    problem = FixedContexts(horizon=400).problem
    assert [b.total for b in problem.spending] == [100.0] * 4
    assert problem.learned == ("reward", "cost 1", "cost 2", "cost 3", "cost 4")
    assert FixedContexts(horizon=400).start(0, np.arange(1)).steps == 400


@pytest.mark.parametrize("null_arm", [False, True])
def test_replicas_take_turns_with_random_orders_of_the_arms(null_arm):
    shuffled = FixedContexts(arms=6, dimension=9, null_arm=null_arm, orders=3)
    plain, ids = replace(shuffled, orders=0), np.arange(7)
    x = shuffled.start(5, ids).context(0).features
    for r in ids:
        np.testing.assert_array_equal(x[r], x[r % 3])
        np.testing.assert_array_equal(shuffled.start(5, ids[r : r + 1]).context(0).features[0], x[r])
        np.testing.assert_array_equal(np.sort(x[r], 0), np.sort(plain.arm_features, 0))
        assert not null_arm or not x[r, 0].any()
    assert len(np.unique(x.reshape(7, -1), axis=0)) == 3
    np.testing.assert_array_equal(plain.start(5, ids).context(0).features[3], plain.arm_features)
    assert (shuffled.start(6, ids).context(0).features != x).any()
