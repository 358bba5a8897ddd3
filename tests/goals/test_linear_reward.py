import numpy as np

from evenhand.goals.linear_reward import reward
from tests.examples.problems import EVERYTHING


def test_prices_are_the_weights_and_never_move():
    goal = reward(EVERYTHING)
    assert goal.rows.names == ("gain", "hours", "miles")
    state = goal.start(3)
    q, o = goal.price(state)
    np.testing.assert_array_equal(q, np.tile([[1.0, -0.1, -0.01]], (3, 1, 1)))
    np.testing.assert_array_equal(o, np.zeros(3))
