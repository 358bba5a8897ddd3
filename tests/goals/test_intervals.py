"""B1, B2: what a choice reads of intervals are optimistic vertices; and the intervals hold, as often as stated."""

import itertools
import math

import numpy as np
import pytest

from evenhand.goals import Intervals
from evenhand.models import Fixed, Ridge, Tabular
from evenhand.problem import Rows
from tests.rows import for_each

NAMES = ["a", "b", "c"]


def ends(model, state, x, ends="both"):
    """Readings of three outcomes, mean and bonus added, `->(k,A)`."""
    goal = Intervals(rows=Rows.plain(NAMES, np.eye(3), np.zeros((3, 0))), ends=ends)
    q, o = goal.price(goal.start(len(x)))
    assert not o.any()
    said = model.value(state, x, q[:, :, None], np.zeros((len(x), 0)))
    return said.mean + said.bonus


def taught(seed, tabular):
    """A model that has seen 30 plays of 4 arms with outcomes in [-1, 2], and its arms."""
    rng = np.random.default_rng(seed)
    if tabular:
        model, x = Tabular(arms=4, n_outcomes=3, confidence=0.3), np.eye(4)[None]
    else:
        model, x = Ridge(n_features=2, n_outcomes=3, width=Fixed(0.3)), rng.normal(size=(1, 4, 2))
    state = model.start(1, np.full(3, -1.0), np.full(3, 2.0), 100)
    for _ in range(30):
        a, y = rng.integers(4), rng.uniform(-1, 2, (1, 1, 3))
        model.update(state, x[:, a : a + 1], y, np.ones((1, 1, 3), bool), np.ones((1, 1, 1, 3)))
    return rng, model, state, x


@pytest.mark.parametrize("tabular", [True, False])
@for_each("seed", range(5))
def test_a_direction_of_prices_is_worth_its_best_vertex(seed, tabular):
    """By brute force over all corners of the box of every arm, and any direction theta."""
    rng, model, state, x = taught(seed, tabular)
    both = ends(model, state, x)[0]
    high, low = both[:3], -both[3:]
    assert (low <= high).all()
    assert (low >= -1.0 - 1e-12).all()
    assert (high <= 2.0 + 1e-12).all()
    np.testing.assert_array_equal(ends(model, state, x, "upper")[0], high)
    np.testing.assert_array_equal(-ends(model, state, x, "lower")[0], low)
    for theta in rng.normal(size=(5, 3)):
        said = model.value(state, x, theta[None, None, None], np.zeros((1, 0)))
        for a in range(4):
            corners = itertools.product(*zip(low[:, a], high[:, a], strict=True))
            assert (said.mean + said.bonus)[0, 0, a] == pytest.approx(max(theta @ z for z in corners), abs=1e-9)


@pytest.mark.parametrize("v", [0.02, 0.3, 0.7])
@pytest.mark.parametrize("confidence", [0.5, 1.0, 2.0])
def test_means_are_within_their_intervals_as_often_as_the_lemma_says(v, confidence):
    """Lemma B.1 and B.3: all of 200 intervals along the plays of an arm hold with probability 1 - T exp(-Omega(gamma)).

    A mean leaves single intervals with probability at most 2 exp(-gamma), by Bernstein's inequality, in the Monte Carlo
    with five binomial standard errors to spare.
    """
    runs, plays = 2000, 200
    y = np.random.default_rng(0).random((runs, plays)) < v
    n = np.arange(plays + 1) + 1.0
    mean = np.concatenate([np.zeros((runs, 1)), np.cumsum(y, 1)], 1) / n
    half = 2.0 * (np.sqrt(confidence * mean / n) + confidence / n)
    outside = (np.abs(mean - v) > half).mean(0)
    rate = min(2.0 * math.exp(-confidence), 1.0)
    assert (outside <= rate + 5.0 * math.sqrt(rate * (1.0 - rate) / runs)).all()
    model = Tabular(arms=1, n_outcomes=1, confidence=confidence)  # which has these very intervals
    state = model.start(runs, np.zeros(1), np.ones(1), plays)
    one, price = np.ones((runs, 1, 1)), np.tile(np.array([[[1.0]], [[-1.0]]]), (runs, 1, 1, 1))
    for t in (0, 1, 7):
        state.count[:], state.total[:, 0, 0] = float(t), y[:, :t].sum(1)
        state.inverse[:] = 1.0 / (t + 1.0)
        said = model.value(state, one, price, np.zeros((runs, 0)))
        high, low = (said.mean + said.bonus)[:, 0, 0], -(said.mean + said.bonus)[:, 1, 0]
        np.testing.assert_allclose(high, np.minimum(mean[:, t] + half[:, t], 1.0))
        np.testing.assert_allclose(low, np.maximum(mean[:, t] - half[:, t], 0.0), atol=1e-15)
