"""Convex sets in which averages of outcomes may have to lie."""

from evenhand.core import registry
from evenhand.sets.ball import Ball as Ball
from evenhand.sets.base import ConvexSet as ConvexSet
from evenhand.sets.box import Box as Box
from evenhand.sets.convex import Convex as Convex
from evenhand.sets.downward_closed import DownwardClosed as DownwardClosed
from evenhand.sets.halfspaces import Halfspaces as Halfspaces
from evenhand.sets.intersection import Intersection as Intersection
from evenhand.sets.polytope import Polytope as Polytope
from evenhand.sets.simplex import Simplex as Simplex

__all__ = registry.public(__name__)
