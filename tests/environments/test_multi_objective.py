import itertools
import math

import numpy as np
import pytest

from evenhand.environments import MultiObjective
from tests.environments.test_court import decide

STEPS, REPLICAS = 1000, 4


def played(**change):
    """Means and outcomes of the second arm, `->(steps,replicas,M)`."""
    world = MultiObjective(**({"arms": 3, "n_outcomes": 3, "n_features": 5, "horizon": STEPS} | change))
    ids = np.arange(REPLICAS)
    started, theta, means, came = world.start(9, ids), world.theta(9, ids), [], []
    for step in range(STEPS):
        context = started.context(step)
        _, (arrival,) = started.respond(step, context, decide(context, 1))
        means.append(np.einsum("rmn,rn->rm", theta, context.features[:, 1]))
        came.append(arrival.y[:, 0])
    return np.array(means), np.array(came)


def test_means_are_linear_in_the_features():
    means, came = played(noise=0.0)
    np.testing.assert_allclose(came, means, rtol=1e-13)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_noise_is_in_proportion_to_the_mean(noise):
    """Appendix B.2: of variance (noise mean)^2, whether the mean is small or large; within five standard errors."""
    means, came = played(noise=noise)
    relative = ((came - means) / means).ravel()
    size = np.abs(means).ravel()
    cuts = np.quantile(size, [0, 1 / 3, 2 / 3, 1])
    for low, high in itertools.pairwise(cuts):
        some = relative[(size >= low) & (size <= high)]
        assert abs(some.mean()) <= 5 * noise / math.sqrt(len(some))
        assert some.std() == pytest.approx(noise, rel=5 / math.sqrt(2 * len(some)))
    assert cuts[2] > 1.3 * cuts[1]  # so that it makes a difference


def test_luck_is_the_same_whatever_its_size():
    means, little = played(noise=0.1)
    _, much = played(noise=0.4)
    np.testing.assert_allclose(much - means, 4.0 * (little - means), atol=1e-12)
