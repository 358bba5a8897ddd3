"""Orthants: a lower end for every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.sets.base import Supported, ends_of, margin_of, rows_of, unbounded_error


@named("Z5", source="a test")
@dataclass(frozen=True)
class Orthant:
    """The set of points that are nowhere below a corner.

    Equation: S = {x : x >= corner}.

    >>> Orthant((0.0, 0.0)).project(np.array([-1.0, 2.0]))
    array([0., 2.])
    """

    corner: tuple[float, ...]

    @property
    def dim(self) -> int:
        return len(self.corner)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        points, shape = rows_of("Orthant.contains(z)", z, self.dim)
        return np.asarray((points >= np.array(self.corner) - tolerance).all(1)).reshape(shape)

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Orthant.project(z)", z, self.dim)
        return np.maximum(points, np.array(self.corner)).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        norm = norm_of("Orthant.distance(norm)", norm)
        points, shape = rows_of("Orthant.distance(z)", z, self.dim)
        return length(np.maximum(np.array(self.corner) - points, 0.0), norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        slopes, shape = rows_of("Orthant.support(direction)", direction, self.dim)
        least, most = ends_of("Orthant.support", low, high, self.dim)
        least = np.maximum(least, np.array(self.corner))
        at = np.where(slopes > 0.0, most, least)
        if not np.isfinite(at).all():
            raise unbounded_error("Orthant")
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Orthant:
        margin = margin_of("Orthant.shrunk", margin, norm)
        return Orthant(tuple(x + margin for x in self.corner))

    def halfspaces(self) -> tuple[Floats, Floats]:
        return -np.eye(self.dim), -np.array(self.corner)
