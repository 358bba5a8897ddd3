"""Tangents of convex sets that a plan keeps to, in place of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.norms import length
from evenhand.core.types import Bools, Floats, Ints
from evenhand.sets.base import ConvexSet

_SPARE = 2  # tangents beside the m that can bind at once
_OFF = 1e-6  # of the size of a point: what is no further out is in the set; plans are not solved better than that


class Shape(NamedTuple):
    """A convex set of some coordinates of a plan's averages."""

    within: ConvexSet
    at: Ints  # (m,) the coordinates


@kernel
def _use(normal: Floats, bound: Floats, each: Floats, least: Floats, most: Floats) -> Floats:
    count, kept, n, actions = each.shape
    out = np.zeros((count, kept, normal.shape[1], actions))
    for r in range(count):
        for s in range(kept):
            for c in range(normal.shape[1]):
                for i in range(n):
                    if normal[r, c, i] != 0.0:
                        for a in range(actions):
                            x = each[r, s, i, a]
                            if bound[r, c] < 0.0:
                                x = least[r, s, i, a] if normal[r, c, i] > 0.0 else most[r, s, i, a]
                            out[r, s, c, a] += normal[r, c, i] * x
    return out


@kernel
def _of(normal: Floats, z: Floats) -> Floats:
    out = np.zeros(normal.shape[:2])
    for r in range(len(z)):
        for c in range(normal.shape[1]):
            for i in range(normal.shape[2]):
                out[r, c] += normal[r, c, i] * z[r, i]
    return out


@kernel
def _prices(normal: Floats, mu: Floats) -> Floats:
    out = np.zeros((len(mu), normal.shape[2]))
    for r in range(len(mu)):
        for c in range(normal.shape[1]):
            for i in range(normal.shape[2]):
                out[r, i] += normal[r, c, i] * mu[r, c]
    return out


@dataclass
class Tangents:
    """Inequalities a.z <= b that sets satisfy, a fixed number per set; a is 0 where none has been found."""

    normal: Floats  # (R, c, n) unit vectors over all n coordinates
    bound: Floats  # (R, c) infinite where there is none

    def use(self, each: Floats, least: Floats, most: Floats) -> Floats:
        """The use of each inequality by every candidate, from its use of each coordinate, `(S,n,A)->(S,c,A)`.

        An inequality that doing nothing would violate is read at the ends of the coordinates that make it least.
        """
        return _use(self.normal, self.bound, each, least, most)

    def of(self, z: Floats) -> Floats:
        """The inequalities at a point, `(n)->(c)`."""
        return _of(self.normal, np.ascontiguousarray(z))

    def prices(self, mu: Floats) -> Floats:
        """The prices of coordinates at prices of the inequalities, `(c)->(n)`."""
        return _prices(self.normal, mu)

    def add(self, shapes: tuple[Shape, ...], z: Floats, mu: Floats, which: Bools) -> Bools:
        """Add a tangent where a point is out of a set, and tell where, `(n),(c),()->()`; it replaces one that is slack.

        A price that its tangent loses becomes 0, `mu` in place. A tangent that is there already, as where no plan
        reaches the set, keeps its place and its price: rounding would say how equal ones share a price.
        """
        first, added = 0, np.zeros(len(z), bool)
        for within, at in shapes:
            slots = slice(first, first + len(at) + _SPARE)
            first = slots.stop
            near = within.project(z[:, at])
            gap = z[:, at] - near
            far = length(gap, "euclidean")
            for r in np.flatnonzero(which & (far > _OFF * np.maximum(np.abs(z[:, at]).max(1), 1e-300))):
                normal = np.zeros(z.shape[1])
                normal[at] = gap[r] / far[r]
                bound = float((gap[r] * near[r]).sum() / far[r])
                apart = length(self.normal[r, slots] - normal, "euclidean")
                if apart.min() <= _OFF:
                    slot = slots.start + int(apart.argmin())
                else:
                    slot = slots.start + self._spare(int(r), slots, mu, z[r])
                    mu[r, slot] = 0.0
                self.normal[r, slot], self.bound[r, slot], added[r] = normal, bound, True
        return added

    def _spare(self, r: int, slots: slice, mu: Floats, z: Floats) -> int:
        """An empty place, or else the one whose tangent binds least: the lowest price, then the furthest away."""
        bound, price = self.bound[r, slots], np.abs(mu[r, slots])
        away = bound - (self.normal[r, slots] * z).sum(1)
        order = np.lexsort((-np.where(np.isinf(bound), np.inf, away), np.where(np.isinf(bound), -1.0, price)))
        return int(order[0])


def tangents(shapes: tuple[Shape, ...], coordinates: int, n_replicas: int) -> Tangents:
    """Return a store without tangents, with room for as many as can bind, and two more, per set.

    >>> from evenhand.sets import Ball
    >>> disc = Shape(Ball((0.0, 0.0), 1.0), np.array([0, 1]))
    >>> kept = tangents((disc,), 2, 1)
    >>> kept.add((disc,), np.array([[3.0, 4.0]]), np.zeros((1, 4)), np.ones(1, bool))
    array([ True])
    >>> kept.normal[0, 0], kept.bound[0, 0].round(9)
    (array([0.6, 0.8]), np.float64(1.0))
    """
    room = sum(len(shape.at) + _SPARE for shape in shapes)
    return Tangents(np.zeros((n_replicas, room, coordinates)), np.full((n_replicas, room), np.inf))
