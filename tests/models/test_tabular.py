import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.core.records import distinct
from evenhand.environments import BernoulliKnapsacks
from evenhand.models import Tabular
from evenhand.recipes import pd_bwk
from evenhand.run import simulate
from tests import twins
from tests.calls import ask, tell
from tests.properties import drawn


def intervals(y, gamma, low, high):
    """Mean and half-width of outcomes that were seen of one arm, `(N,M)->(M),(M)`, from the paper's equations."""
    seen = (y - low) / (high - low)
    n = len(y) + 1
    v = seen.sum(0) / n
    return low + (high - low) * v, 2 * (high - low) * (np.sqrt(gamma * v / n) + gamma / n)


@drawn(replicas=3, plays=2, arms=4, m=3, k=3, gamma=[0.0, 0.05, 0.5, 16.0])
def test_it_is_the_papers_averages_and_widths(replicas, plays, arms, m, k, gamma, seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-1, 0.5, m)
    high = low + rng.uniform(0.1, 2, m)
    model = Tabular(arms=arms, n_outcomes=m, confidence=gamma)
    state = model.start(replicas, low, high, 100)
    which = rng.integers(0, arms, (30, replicas, plays))
    y = low + (high - low) * rng.random((30, replicas, plays, m))
    y[rng.random(y.shape) < 0.1] = np.nan
    rounds = (rng.random((30, replicas)) < 0.8).astype(float)
    for t in range(30):
        tell(model, state, np.eye(arms)[which[t]], y[t], rounds[t], np.zeros((replicas, k, m)))
    asked, w = rng.integers(0, arms, (replicas, 5)), rng.normal(size=(replicas, k, m)).round(1)
    mean, bonus = ask(model, state, np.eye(arms)[asked], w)
    for r in range(replicas):
        counted = (rounds[:, r, None] > 0) & ~np.isnan(y[:, r]).any(2)
        for i, arm in enumerate(asked[r]):
            seen = y[:, r][counted & (which[:, r] == arm)]
            center, half = intervals(seen, gamma, low, high)
            assert state.count[r, arm] == len(seen)
            np.testing.assert_allclose(mean[r, :, i], w[r] @ center, rtol=1e-10, atol=1e-12)
            ends = twins.optimism(center, half, low, high, w[r])
            np.testing.assert_allclose(bonus[r, :, i], ends.sum(1), rtol=1e-10, atol=1e-12)


def test_optimism_ends_at_the_range_on_either_side():
    model = Tabular(arms=1, confidence=1.0)
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    one = np.ones((1, 1, 1))
    for y in (1.0, 0.0, 0.0):
        tell(model, state, one, np.full((1, 1, 1), y), np.ones(1), one)
    mean, bonus = ask(model, state, one, np.array([[[1.0], [-1.0], [0.0]]]))
    np.testing.assert_array_equal(mean[0, :, 0], [0.25, -0.25, 0.0])
    np.testing.assert_array_equal((mean + bonus)[0, :, 0], [1.0, 0.0, 0.0])


def test_an_arm_never_played_may_be_anything_from_one_half_on():
    for gamma, best in ((0.5, 3.0), (0.25, 1.0)):
        model = Tabular(arms=1, confidence=gamma)
        one = np.ones((1, 1, 1))
        mean, bonus = ask(model, model.start(1, np.array([-1.0]), np.array([3.0]), 100), one, one)
        assert mean.item() == -1.0
        assert (mean + bonus).item() == best


def test_zeros_do_nothing_and_teach_nothing():
    model = Tabular(arms=2, confidence=0.5)
    state = model.start(1, np.array([0.5]), np.ones(1), 100)
    one = np.ones((1, 1, 1))
    tell(model, state, np.zeros((1, 1, 2)), one, np.ones(1), one)
    assert not state.count.any()
    mean, bonus = ask(model, state, np.zeros((1, 3, 2)), one)
    assert not mean.any()
    assert not bonus.any()


@pytest.mark.parametrize("x", [[0.5, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, -1.0], [np.nan, 1.0]])
def test_other_features_are_refused(x):
    model = Tabular(arms=2, confidence=0.5)
    state = model.start(1, np.zeros(1), np.ones(1), 100)
    one, x = np.ones((1, 1, 1)), np.array([[x]])
    with pytest.raises(
        InvalidInput, match=r"^features: expected one-hot, for Tabular \(WithoutContexts makes them so\)"
    ):
        ask(model, state, x, one)
    with pytest.raises(InvalidInput, match=r"^features: expected one-hot"):
        tell(model, state, x, one, np.ones(1), one)
    tell(model, state, x, one, np.zeros(1), one)  # nothing happened
    tell(model, state, x, np.nan * one, np.ones(1), one)
    assert not state.count.any()


def test_features_that_all_replicas_share_are_read_once():
    """A copy for each of 100 replicas made a round of 50 arms dearer by a quarter."""
    world = BernoulliKnapsacks(arms=3, resources=1, horizon=20)
    asked = []

    class Spy(Tabular):
        def value(self, state, x, w, u):
            asked.append(x)
            return super().value(state, x, w, u)

    class Plain(Spy):
        reads_once = False

    simulate(pd_bwk(world.problem, Spy(arms=3, n_outcomes=2, confidence=0.5)), world, replicas=4, seed=0)
    assert asked
    assert all(x.strides[0] == 0 and distinct(x).shape == (1, 4, 3) for x in asked)
    asked.clear()
    simulate(pd_bwk(world.problem, Plain(arms=3, n_outcomes=2, confidence=0.5)), world, replicas=4, seed=0)
    assert asked
    assert all(x.flags.c_contiguous and x.strides[0] > 0 for x in asked)
