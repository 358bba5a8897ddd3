"""Convex sets restated in other units of their coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.norms import Norm, length
from evenhand.core.types import Bools, Floats
from evenhand.sets.base import ConvexSet, Supported
from evenhand.sets.box import Box
from evenhand.sets.halfspaces import Halfspaces


def in_units(within: ConvexSet, unit: Floats) -> tuple[ConvexSet, Floats]:
    """Restate a set as {x : unit x in S}; returns it and the units, one per coordinate and above 0, `(m)->(m)`.

    Polyhedra have inequalities in any units. Distances from other sets mix coordinates, so these use the largest unit
    for all coordinates.

    >>> in_units(Box((0.0, 0.0), (3.0, np.inf)), np.array([60.0, 1.0]))
    (Box(low=(0.0, 0.0), high=(0.05, inf)), array([60.,  1.]))
    """
    if (unit == 1.0).all():
        return within, unit
    stated = within.halfspaces()
    if stated is None:
        one = np.full(len(unit), unit.max())
        return Scaled(within, float(unit.max())), one
    rows, bounds = stated[0] * unit, stated[1]
    if not len(rows):
        return within, unit
    if ((rows != 0.0).sum(1) == 1).all():
        return _box(rows, bounds), unit
    size = length(rows, "euclidean")
    size = np.where(size > 0.0, size, 1.0)
    return Halfspaces(tuple(map(tuple, (rows / size[:, None]).tolist())), tuple((bounds / size).tolist())), unit


def _box(rows: Floats, bounds: Floats) -> Box:
    """Build the box of inequalities on one coordinate each, `(k,m),(k)->`."""
    at = (rows != 0.0).argmax(1)
    slope = rows[np.arange(len(rows)), at]
    low, high = np.full(rows.shape[1], -np.inf), np.full(rows.shape[1], np.inf)
    np.minimum.at(high, at[slope > 0.0], (bounds / slope)[slope > 0.0])
    np.maximum.at(low, at[slope < 0.0], (bounds / slope)[slope < 0.0])
    return Box(tuple(low.tolist()), tuple(high.tolist()))


@dataclass(frozen=True)
class Scaled:
    """A set in another unit of all its coordinates: {x : unit x in S}.

    >>> from evenhand.sets.ball import Ball
    >>> Scaled(Ball((60.0, 0.0), 30.0), 60.0).project(np.array([3.0, 0.0]))
    array([1.5, 0. ])
    """

    within: ConvexSet
    unit: float

    @property
    def dim(self) -> int:
        return self.within.dim

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        return self.within.contains(self.unit * np.asarray(z), self.unit * tolerance)

    def project(self, z: Floats) -> Floats:
        """Find the nearest point; coordinates that it does not move stay exactly where they are, `(m)->(m)`."""
        there = self.unit * np.asarray(z)
        near = self.within.project(there)
        return np.where(near == there, z, near / self.unit)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        return self.within.distance(self.unit * np.asarray(z), norm) / self.unit

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        ends = (None if end is None else self.unit * np.asarray(end) for end in (low, high))
        h, at = self.within.support(direction, *ends)
        return h / self.unit, at / self.unit

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Scaled:
        return Scaled(self.within.shrunk(self.unit * margin, norm), self.unit)

    def halfspaces(self) -> tuple[Floats, Floats] | None:
        stated = self.within.halfspaces()
        return None if stated is None else (self.unit * stated[0], stated[1])
