import numpy as np
import pytest

from evenhand.environments import FixedContexts
from evenhand.experiments.square_cbwk.study import newton
from evenhand.run import simulate
from tests.experiments.plain_square import features, numbers, run, truth


@pytest.mark.parametrize("projection", ["row", "whole"])
@pytest.mark.parametrize(("m", "arms", "rounds"), [(52, 3, 2000), (5, 3, 1500), (9, 8, 600)])
def test_the_house_takes_the_same_actions_as_a_plain_loop(m, arms, rounds, projection):
    world = FixedContexts(dimension=m, arms=arms, horizon=rounds)
    policy = newton(world, projection, "newton")
    trace = simulate(policy, world, replicas=[0, 3], seed=11, record="all", progress=False)
    assert trace.plays is not None
    for i, replica in enumerate((0, 3)):
        plain = run(numbers(11, replica, rounds), m, arms, rounds, whole=projection == "whole")
        np.testing.assert_array_equal(trace.plays.actions[:, i, 0], plain)
        assert 0.3 * rounds < trace.stopped[i] == (plain >= 0).sum() < 0.6 * rounds  # both stop, and together


def test_the_plain_loop_lives_in_the_same_world():
    world = FixedContexts(dimension=9, arms=8)
    np.testing.assert_array_equal(world.arm_features, features(9, 8))
    np.testing.assert_array_equal(world.theta, truth(9))
