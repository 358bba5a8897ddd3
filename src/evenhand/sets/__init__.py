"""Convex sets in which averages of outcomes may have to lie."""

from evenhand.sets.ball import Ball
from evenhand.sets.base import ConvexSet
from evenhand.sets.box import Box
from evenhand.sets.convex import Convex
from evenhand.sets.downward_closed import DownwardClosed
from evenhand.sets.halfspaces import Halfspaces
from evenhand.sets.intersection import Intersection
from evenhand.sets.polytope import Polytope
from evenhand.sets.simplex import Simplex

__all__ = [
    "Ball",
    "Box",
    "Convex",
    "ConvexSet",
    "DownwardClosed",
    "Halfspaces",
    "Intersection",
    "Polytope",
    "Simplex",
]
