"""B2: the optimistic program of every round, and what its readings mean."""

import numpy as np
import pytest

from evenhand.choices import LinearProgram
from tests.choices import plain
from tests.numerics.test_simplex import by_highs
from tests.rows import for_each


@for_each("seed", range(10))
def test_worth_is_mean_and_bonus_and_uses_are_minus_them(seed):
    rng = np.random.default_rng(seed)
    mean, bonus, bound = rng.random((6, 5, 7)), 0.2 * rng.random((6, 5, 7)), (0.4, 0.5, 0.6)
    mean[:, 2:] *= -1.0
    playable = rng.random((6, 7)) < 0.8
    playable[:, 0] = True
    made = plain.pick(LinearProgram(2, bound), plain.worth(mean, bonus), plain.offer(playable), u=0.3)
    readings = mean + bonus
    for r, p in enumerate(made.lottery):
        worth, use = readings[r, :2].sum(0), -readings[r, 2:]
        least, most = by_highs(worth[playable[r]], use[:, playable[r]], np.array(bound))
        assert not p[~playable[r]].any()
        size = np.maximum(use[:, playable[r]].max(1), bound)
        assert max(((use @ p - bound) / size).max(), 0.0) == pytest.approx(least, abs=1e-7)
        assert p @ worth == pytest.approx(most, abs=1e-6)
    assert made.forced.tolist() == [0.0] * 6


def test_what_does_nothing_costs_and_brings_nothing_whatever_the_model_says():
    readings = np.array([[[0.9, 0.5], [-0.9, -0.4]]])  # the first is said to be good, and not to fit
    offer = plain.offer([True, True])
    np.testing.assert_allclose(
        plain.pick(LinearProgram(1, (0.2,), 0), plain.worth(readings), offer).lottery, [[0.5, 0.5]]
    )
    np.testing.assert_allclose(plain.pick(LinearProgram(1, (0.2,)), plain.worth(readings), offer).lottery, [[0.0, 1.0]])
