"""Intersections of curved sets and a polyhedron: alternating projections, and linear programs with cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length
from evenhand.core.types import Floats
from evenhand.sets.base import ConvexSet
from evenhand.sets.polyhedron import Polyhedron, box_rows

_SWEEPS, _CUTS, _PRECISE = 20_000, 1000, 1e-7  # the precision of cuts is lower, as almost parallel tangents lose digits


def alternate(straight: Polyhedron, curved: Sequence[ConvexSet], z: Floats) -> Floats:
    """Find the nearest point of the intersection by Dykstra's corrected alternating projections, `(m)->(m)`.

    Raises:
        InvalidInput: the projections do not converge, for example because the intersection is empty.
    """
    onto: list[Callable[[Floats], Floats]] = [c.project for c in curved]
    if len(straight.rows):
        onto.append(lambda y: straight.project(y[None])[0])
    x, owed, size = z.copy(), np.zeros((len(onto), len(z))), float(np.abs(z).max()) or 1.0
    for _ in range(_SWEEPS):
        before = owed.copy()
        for i, projected in enumerate(onto):
            y = x + owed[i]
            x = projected(y)
            owed[i] = y - x
        if float(np.abs(owed - before).max()) <= 1e-13 * size:
            break
    if all(float(c.distance(x)) <= 1e-10 * size for c in curved):
        return x
    raise InvalidInput("Intersection.parts", "sets that overlap", "projections that do not settle")


def support_by_cuts(straight: Polyhedron, curved: Sequence[ConvexSet], slope: Floats) -> Floats:
    """Find argmax slope.x over the intersection by cuts, `(m)->(m)`."""
    free = np.full(len(slope), np.inf)
    return _cut(straight, curved, lambda inside: inside.support(slope[None], -free, free)[1][0])


def nearest_by_cuts(straight: Polyhedron, curved: Sequence[ConvexSet], z: Floats, norm: Norm) -> float:
    """Compute the distance of a point from the intersection by cuts, `(m)->()`."""
    return float(length(z - _cut(straight, curved, lambda inside: inside.nearest(z, norm)), norm))


def _cut(straight: Polyhedron, curved: Sequence[ConvexSet], best: Callable[[Polyhedron], Floats]) -> Floats:
    """Find the best point of the polyhedron, adding tangents of curved sets until it is almost in all of them."""
    inside = reduce(Polyhedron.and_also, [_around(c) for c in curved], straight)
    for _ in range(_CUTS):
        x = best(inside)
        cuts = []
        for part in curved:
            near = part.project(x)
            gap = x - near
            far = float(length(gap, "euclidean"))
            if far > _PRECISE * inside.size:
                cuts.append((gap / far, float((gap * near).sum()) / far))
        if not cuts:
            return alternate(straight, curved, x)
        more = Polyhedron(inside.kind, np.array([a for a, _ in cuts]), np.array([b for _, b in cuts]))
        inside = inside.and_also(more)
    raise InvalidInput("Intersection.parts", f"curved sets that {_CUTS} tangents describe", "others")


def _around(part: ConvexSet) -> Polyhedron:
    low, high = np.full(part.dim, -np.inf), np.full(part.dim, np.inf)
    for i, e in enumerate(np.eye(part.dim)):
        for sign, ends in ((1.0, high), (-1.0, low)):
            try:
                ends[i] = sign * float(part.support(sign * e)[0])
            except InvalidInput:
                continue
    return Polyhedron("Intersection", *box_rows(low, high))
