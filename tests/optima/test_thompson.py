"""Posterior sampling in the place of optimism, around the same inner model, with everything else the same.

One scale for all: that of the posterior. A ridge has V^-1 in units of the noise, so that its draws are scaled by the
standard deviation of that; the Hessian of a logistic model has its units, so that its scale is 1. No scale is tuned.
Budgets are hard for both, as a share that comes with overspending is no measure.
"""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.types import Floats
from evenhand.models import Logistic, Sampled
from evenhand.policy import Policy
from evenhand.recipes import fw_linucb, pgd, resolving
from evenhand.report.summary import standard_error
from evenhand.run import simulate
from tests.optima.table import REPLICAS
from tests.optima.targets import CHECKED_ON
from tests.optima.worlds import World, world

PLACES = {
    "resolving": lambda w: resolving(w.environment.problem, w.model),
    "pgd": lambda w: pgd(w.environment.problem, w.model, hard=True),
    "fw_linucb": lambda w: fw_linucb(w.environment.problem, w.model),
}
PAIRS = [
    ("resolving", "Court"),
    ("resolving", "MixedArms"),
    ("resolving", "MultiObjective"),
    ("pgd", "Court"),  # needs a constraint, and `MultiObjective` has none
    ("pgd", "MixedArms"),
    ("fw_linucb", "MultiObjective"),  # takes no constraints
]


def sampled(w: World) -> World:
    """The same with its model sampled."""
    scale = 1.0 if isinstance(w.model, Logistic) else w.noise
    return replace(w, model=Sampled(inner=w.model, scale=scale))


def reached(policy: Policy, w: World) -> Floats:
    """The share of the optimum, `->(R)`; the same people and luck for every policy."""
    trace = simulate(policy, w.environment, replicas=REPLICAS, seed=CHECKED_ON, progress=False)
    return np.asarray(trace.objective()[-1] / w.best(CHECKED_ON, REPLICAS)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "name"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_sampling_is_within_three_percent_of_optimism(recipe, name):
    w = world(name)
    optimistic, drawn = reached(PLACES[recipe](w), w), reached(PLACES[recipe](sampled(w)), sampled(w))
    difference = drawn - 0.97 * optimistic  # paired: replica i meets the same contexts and luck in both
    assert difference.mean() + 3 * standard_error(difference) >= 0
    assert (drawn != optimistic).any()
