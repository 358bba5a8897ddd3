"""Draw docs/goals.png: `python docs/pictures/goals.py` (needs the extras `plot` and `convex`)."""

from pathlib import Path

import cvxpy as cp

import evenhand as eh
from evenhand.report.planes import preferences
from evenhand.report.plots import save
from evenhand.sets import Box

BOTH = ("a", "b")
SUM = eh.objectives.Linear({"a": 1.0, "b": 1.0})
OBJECTIVES = {
    "Linear: a + b": SUM,
    "GeneralizedGini:\nleast + half the other": eh.objectives.GeneralizedGini.welfare(BOTH),
    "AlphaFair:\nNash welfare (alpha = 1)": eh.objectives.AlphaFair(BOTH, alpha=1.0),
    "AlphaFair.welfare:\nsqrt a + sqrt b": eh.objectives.AlphaFair.welfare(BOTH, power=0.5),
    "EqualExposure": eh.objectives.EqualExposure(BOTH),
    "WeightedSum:\na + b, less their difference twice": eh.objectives.WeightedSum(
        ((1.0, SUM), (2.0, eh.objectives.GeneralizedGini.difference(BOTH)))
    ),
    "DistancePenalty:\na at most 0.6, b at most 0.4": eh.objectives.DistancePenalty(BOTH, Box.below((0.6, 0.4))),
    "Concave:\nsqrt a + sqrt b + min(a, b) / 2": eh.objectives.Concave(
        BOTH, lambda z: cp.sum(cp.sqrt(z)) + 0.5 * cp.min(z)
    ),
}

HEADLINE = "An even objective pays more for what there is less of; a plain sum pays the same everywhere"


def draw():
    """Draw level lines and slopes."""
    return preferences(OBJECTIVES, headline=HEADLINE)


if __name__ == "__main__":
    save(draw(), Path(__file__).parents[1] / "goals.png")
