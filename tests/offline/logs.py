"""Simulated logs whose values are known, and problem files that read them."""

from typing import NamedTuple

import numpy as np

from evenhand.offline import Evidence
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem

COSTS = np.array([0.0, 1.0, 2.0])
RNG = np.random.default_rng(123)
SLOPES, LEVELS = 0.7 * RNG.standard_normal((4, 3)), np.array([-1.2, -0.8, -1.0])
GROUPS = ("north", "south", "west")


class Truth(NamedTuple):
    """A log with the mean outcome of every action."""

    evidence: Evidence
    means: np.ndarray


def problem(rate=0.4, tolerance=0.05, **other):
    known = {"small": 1.0, "large": 2.0}
    return Problem(
        **{
            "actions": ("none", "small", "large"),
            "outcomes": (Outcome("sale"), Outcome("cents", known=known)),
            "maximize": "sale",
            "subject_to": (Budget("cents", rate=rate), Parity("cents", by="area", tolerance=tolerance)),
            "groups": (Groups("area", dict.fromkeys(GROUPS, 1 / 3)),),
            "horizon": 1000,
        }
        | other
    )


def means_of(traits, bent=0.5):
    """The mean outcome of every action: logistic, with an interaction that a linear model does not see."""
    bend = bent * traits[:, :1] * traits[:, 1:2] * np.array([0.0, 1.0, -1.0])
    return 1.0 / (1.0 + np.exp(-(traits @ SLOPES + LEVELS + bend)))


def draw(rows, seed, *, skewed=False, stated=None, bent=0.5):
    """Draw a log with means as of `means_of`."""
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((rows, 4))
    means = means_of(traits, bent)
    chances = np.full((rows, 3), 1.0 / 3.0)
    if skewed:
        z = np.exp(1.2 * traits[:, :1] * np.array([1.0, 0.0, -1.0]))
        chances = 0.1 + 0.7 * z / z.sum(1, keepdims=True)
    actions = (rng.random((rows, 1)) > chances.cumsum(1)).sum(1).clip(0, 2)
    sales = (rng.random(rows) < means[np.arange(rows), actions]).astype(float)
    p = stated or problem()
    found = Evidence(
        log="drawn",
        problem_file="drawn.toml",
        problem=p,
        features=np.column_stack([np.ones(rows), traits]),
        columns={f"x{i}": traits[:, i] for i in range(4)},
        actions=actions,
        propensities=chances[np.arange(rows), actions],
        outcomes=sales[:, None],
        known=p.declared[None],
        groups={"area": np.digitize(traits[:, 0], (-0.4, 0.4))},
    )
    return Truth(found, means)
