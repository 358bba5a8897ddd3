import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.goals import LinearReward
from evenhand.goals.linear_reward import reward
from evenhand.problem.rows import select
from tests.examples.problems import EVERYTHING


def test_prices_are_the_weights_and_never_move():
    goal = reward(EVERYTHING)
    assert goal.rows.names == ("gain", "hours", "miles")
    state = goal.start(3)
    q, o = goal.price(state)
    np.testing.assert_array_equal(q, np.tile([[1.0, -0.1, -0.01]], (3, 1, 1)))
    np.testing.assert_array_equal(o, np.zeros(3))


@pytest.mark.parametrize("weights", [(), (1.0,), (1.0, 2.0, 3.0), (1.0, float("nan"))])
def test_there_is_one_finite_weight_per_row(weights):
    with pytest.raises(InvalidInput, match=r"^LinearReward\.weights: expected 2 finite numbers"):
        LinearReward(rows=select(EVERYTHING, ("gain", "hours")), weights=weights)
