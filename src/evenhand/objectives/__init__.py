"""Objectives, which are concave functions of the average outcomes."""

from evenhand.objectives.alpha_fair import AlphaFair
from evenhand.objectives.base import Conjugate, Objective, Proximal, Tangential
from evenhand.objectives.convex import Concave
from evenhand.objectives.distance_penalty import DistancePenalty
from evenhand.objectives.equal_exposure import EqualExposure
from evenhand.objectives.gini import GeneralizedGini
from evenhand.objectives.linear import Linear
from evenhand.objectives.smoothing import Moreau, Randomized, Smoothing
from evenhand.objectives.weighted_sum import WeightedSum

__all__ = [
    "AlphaFair",
    "Concave",
    "Conjugate",
    "DistancePenalty",
    "EqualExposure",
    "GeneralizedGini",
    "Linear",
    "Moreau",
    "Objective",
    "Proximal",
    "Randomized",
    "Smoothing",
    "Tangential",
    "WeightedSum",
]
