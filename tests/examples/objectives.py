"""An example of every objective and smoothing."""

import cvxpy as cp
import numpy as np

from evenhand import objectives as o
from evenhand.sets import Ball, Box


def roots(z):
    """A user's own objective, at module level so that other processes find it."""
    return cp.sum(cp.sqrt(z + 0.1)) + 0.5 * cp.min(z)


_THREE = ("a", "b", "c")
_ITEMS = ("song", "film", "book", "play")
_USERS = o.Linear({"clicks": 1.0})
OBJECTIVES = [
    o.Linear({"a": 1.0, "b": -0.25, "c": 3.0}),
    o.Linear({"a": 1.0}),
    o.GeneralizedGini(_THREE),
    o.GeneralizedGini(("a",)),
    o.GeneralizedGini(_ITEMS, (1.0, 1.0, 0.2, 0.0)),
    o.GeneralizedGini.welfare(_ITEMS),
    o.GeneralizedGini.difference(_ITEMS),
    o.GeneralizedGini.difference(_THREE),
    o.AlphaFair(_THREE, alpha=1.0, offset=0.01),
    o.AlphaFair(_THREE, alpha=1.0),
    o.AlphaFair(_THREE, alpha=3.5, offset=0.1, weights=(1.0, 0.5, 2.0)),
    o.AlphaFair(("a", "b"), alpha=0.05),
    o.AlphaFair.welfare(_ITEMS, power=0.5),
    o.AlphaFair.welfare(_ITEMS, power=0.2, offset=0.05),
    o.EqualExposure(("a", "b")),
    o.EqualExposure(_ITEMS),
    o.DistancePenalty(_THREE, Box.below((0.625, 0.25, 2.0))),
    o.DistancePenalty(_THREE, Ball((0.5, 0.4, 0.3), 0.1)),
    o.DistancePenalty(("a",), Box.below((0.25,))),
    o.WeightedSum(((1.0, _USERS), (0.5, o.GeneralizedGini.difference(_ITEMS)))),
    o.WeightedSum(((1.0, _USERS), (0.5, o.GeneralizedGini.welfare(_ITEMS)))),
    o.WeightedSum(((2.0, o.AlphaFair(_THREE, alpha=2.0, offset=0.2)), (0.3, o.Linear({"b": -1.0, "d": 0.5})))),
]
SUMS = [  # whose parts read the same outcomes, or are unable themselves: they have neither prox nor maximizer
    o.WeightedSum(((1.0, o.GeneralizedGini(_THREE)), (0.5, o.AlphaFair.welfare(("c", "d"), 0.5)))),
    o.WeightedSum(((1.0, o.EqualExposure(_ITEMS)), (2.0, o.GeneralizedGini.welfare(("film", "play"))))),
]
WRITTEN = [
    o.Concave(("a", "b", "c"), roots),
    o.Concave(("a", "b"), lambda z: -cp.sum_squares(np.array([[1.0, 2.0], [0.5, -1.0]]) @ z - 0.5), smooth=True),
    o.Concave(("a", "b", "c"), lambda z: cp.geo_mean(z)),
    o.WeightedSum(((0.5, o.Concave(("a", "b"), lambda z: cp.sum(cp.log(z)))), (1.0, o.Linear({"c": 1.0})))),
]
SMOOTHINGS = [o.Moreau(0.01), o.Moreau(1.0), o.Randomized(0.1), o.Randomized(0.02, samples=3)]
