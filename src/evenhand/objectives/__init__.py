"""Objectives, which are concave functions of the average outcomes."""

from evenhand.core import registry
from evenhand.objectives.alpha_fair import AlphaFair as AlphaFair
from evenhand.objectives.base import (
    Conjugate as Conjugate,
    Objective as Objective,
    Proximal as Proximal,
    Tangential as Tangential,
)
from evenhand.objectives.convex import Concave as Concave
from evenhand.objectives.distance_penalty import DistancePenalty as DistancePenalty
from evenhand.objectives.equal_exposure import EqualExposure as EqualExposure
from evenhand.objectives.gini import GeneralizedGini as GeneralizedGini
from evenhand.objectives.linear import Linear as Linear
from evenhand.objectives.smoothing import Moreau as Moreau, Randomized as Randomized, Smoothing as Smoothing
from evenhand.objectives.weighted_sum import WeightedSum as WeightedSum

__all__ = registry.public(__name__)
