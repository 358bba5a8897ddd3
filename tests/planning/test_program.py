"""The linear program of the reference, in any units."""

import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem
from evenhand.planning.program import Sample, dual_value, solve


def instance(seed, samples=400, actions=3, rows=2):
    rng = np.random.default_rng(seed)
    reward, uses = rng.random((samples, actions)), rng.random((samples, actions, rows))
    uses[:, 0] = 0.0
    return Sample(reward, uses, np.ones((samples, actions))), rng.uniform(0.05, 0.4, rows)


@pytest.mark.parametrize("reward", [1e-8, 1e-4, 1.0, 1e8])
@pytest.mark.parametrize("units", [(1.0, 1.0), (1e-8, 1e8), (1e5, 1e-4)])
def test_units_of_rewards_and_rows_do_not_matter(units, reward):
    for seed in range(3):
        sample, limit = instance(seed)
        plain = solve(sample, limit)
        restated = Sample(reward * sample.reward, sample.rows * np.array(units), sample.offered)
        there = solve(restated, limit * np.array(units))
        assert there.value / reward == pytest.approx(plain.value, rel=1e-9)
        np.testing.assert_allclose(there.prices * np.array(units) / reward, plain.prices, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e8])
def test_value_and_prices_certify_each_other(scale):
    """The dual value at the prices bounds the optimum from above, and the lottery reaches it."""
    for seed in range(3):
        sample, limit = instance(seed)
        sample = sample._replace(reward=scale * sample.reward)
        found = solve(sample, limit)
        assert dual_value(sample, limit, found.prices) == pytest.approx(found.value, rel=1e-6)
        assert (found.lottery * sample.reward).sum(1).mean() == pytest.approx(found.value, rel=1e-9)
        assert ((found.lottery[:, :, None] * sample.rows).sum(1).mean(0) <= limit * (1.0 + 1e-7)).all()


def test_what_cannot_be_kept_is_said():
    sample, limit = instance(0)
    with pytest.raises(InfeasibleProblem, match="no static policy keeps to the constraints on 400 sampled contexts"):
        solve(sample, np.array([limit[0], -1e-3]))
