"""Intersections of sets, and their approximation from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.sets._nearest import extreme_in_ball, nearest_in_ball
from evenhand.sets.ball import Ball, ball_of
from evenhand.sets.base import ConvexSet, Supported, empty_error, ends_of, margin_error, margin_of, rows_of
from evenhand.sets.conic import Conic
from evenhand.sets.polyhedron import Polyhedron, box_rows, everything, sides_of

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
    inside = reduce(Polyhedron.intersect, [_bounding_box(c) for c in curved], straight)
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
        inside = inside.intersect(more)
    raise InvalidInput("Intersection.parts", f"curved sets that {_CUTS} tangents describe", "others")


def _bounding_box(part: ConvexSet) -> Polyhedron:
    low, high = np.full(part.dim, -np.inf), np.full(part.dim, np.inf)
    for i, e in enumerate(np.eye(part.dim)):
        for sign, ends in ((1.0, high), (-1.0, low)):
            try:
                ends[i] = sign * float(part.support(sign * e)[0])
            except InvalidInput:
                continue
    return Polyhedron("Intersection", *box_rows(low, high))


@named("B9", source="evenhand's own: an intersection of convex sets; Dykstra 1983 for several curved ones")
@dataclass(frozen=True)
class Intersection:
    """The set of points that are in all of several sets.

    Equation: S = intersection of the parts. Straight sides of all parts are one polyhedron. Beside it one ball is
    exact, by its price; several curved parts are solved by Dykstra's alternating projections (to about 1e-9) and by
    cuts.

    Args:
        parts: at least one set, all with the same number of coordinates.

    Raises:
        InvalidInput: there are no parts, they have different numbers of coordinates, or no point in common.

    >>> from evenhand.sets import Box
    >>> half = Intersection((Ball((0.0, 0.0), 1.0), Box((0.0, -1.0), (1.0, 1.0))))
    >>> half.project(np.array([-1.0, 2.0])).round(6)
    array([0., 1.])
    """

    parts: tuple[ConvexSet, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts) if isinstance(self.parts, tuple | list) else ()
        if not parts or not all(isinstance(part, ConvexSet) for part in parts):
            raise InvalidInput("Intersection.parts", "at least one set", self.parts)
        dims = [part.dim for part in parts]
        if len(set(dims)) > 1:
            raise InvalidInput("Intersection.parts", "sets of the same number of coordinates", dims)
        object.__setattr__(self, "parts", tuple(p for several in parts for p in parts_of(several)))
        if self._straight.is_empty:
            raise InvalidInput("Intersection.parts", "sets that have a point in common", "none")
        if self._curved_parts:
            try:
                near = self.project(np.zeros(self.dim))
            except InvalidInput as error:
                raise InvalidInput("Intersection.parts", "sets that have a point in common", error.got) from error
            size = 1.0 + float(np.abs(near).max())
            if not all(part.contains(near, 1e-6 * size) for part in self.parts):
                raise InvalidInput("Intersection.parts", "sets that have a point in common", "none that was found")

    @property
    def dim(self) -> int:
        return self.parts[0].dim

    @property
    def polyhedron(self) -> Polyhedron | None:
        """The inequalities of all parts; None if a part is curved."""
        return None if self._curved_parts else self._straight

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        return np.asarray(np.logical_and.reduce([part.contains(z, tolerance) for part in self.parts]))

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Intersection.project(z)", z, self.dim)
        ball = self._ball
        if not self._curved_parts:
            out = self._straight.project(points)
        elif ball is not None:
            straight, centre = self._straight, np.array(ball.centre)
            out, found = nearest_in_ball(points, straight.rows, straight.bounds, centre, ball.radius)
            if not found.all():
                raise InvalidInput("Intersection.project", "parts that have a point in common", "none")
        else:
            out = np.array([alternate(self._straight, self._curved_parts, row) for row in points])
        return out.reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance, by cuts for norms other than the Euclidean, `(m)->()`."""
        norm = norm_of("Intersection.distance(norm)", norm)
        points, shape = rows_of("Intersection.distance(z)", z, self.dim)
        sides = None if isinstance(norm, str) else self.conic
        if sides is not None:
            out = sides.distance(points, self.project(points), norm)
        elif norm == "euclidean":
            out = length(points - self.project(points), norm)
        elif self._curved_parts:
            out = np.array([nearest_by_cuts(self._straight, self._curved_parts, row, norm) for row in points])
        else:
            out = self._straight.distance(points, norm)
        return np.asarray(out).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Maximise over the set; exact for polyhedra with at most one ball, else by cuts to about 1e-7."""
        slopes, shape = rows_of("Intersection.support(direction)", direction, self.dim)
        ends = ends_of("Intersection.support", low, high, self.dim)
        ball = self._ball
        if not self._curved_parts:
            value, at = self._straight.support(slopes, *ends)
        elif ball is not None:
            inside, centre = self._straight.with_ends(*ends), np.array(ball.centre)
            at, found = extreme_in_ball(slopes, inside.rows, inside.bounds, centre, ball.radius)
            if not found.all():
                raise empty_error("Intersection")
            value = (slopes * at).sum(1)
        else:
            inside = self._straight.with_ends(*ends)
            at = np.array([support_by_cuts(inside, self._curved_parts, row) for row in slopes])
            value = (slopes * at).sum(1)
        return np.asarray(value).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Intersection:
        margin = margin_of("Intersection.shrunk", margin, norm)
        try:
            return Intersection(tuple(part.shrunk(margin, norm) for part in self.parts))
        except InvalidInput as error:
            raise margin_error("Intersection", margin) from error

    def halfspaces(self) -> tuple[Floats, Floats] | None:
        rows = [part.halfspaces() for part in self.parts]
        stated = [z for z in rows if z is not None]
        if len(stated) < len(rows):
            return None
        return np.concatenate([a for a, _ in stated]), np.concatenate([b for _, b in stated])

    @cached_property
    def conic(self) -> Conic | None:
        """All parts in conic form; None if a part has no such form."""
        sides = [_conic_of(part) for part in self.parts]
        known = [s for s in sides if s is not None]
        return reduce(Conic.intersect, known) if len(known) == len(sides) else None

    @cached_property
    def _straight(self) -> Polyhedron:
        sides = [sides_of(part) for part in self.parts]
        return reduce(Polyhedron.intersect, [s for s in sides if s is not None], everything("Intersection", self.dim))

    @cached_property
    def _curved_parts(self) -> tuple[ConvexSet, ...]:
        return tuple(part for part in self.parts if sides_of(part) is None)

    @cached_property
    def _ball(self) -> Ball | None:
        """The only curved part, if it is a ball and no coordinates are hidden."""
        only = self._curved_parts[0] if len(self._curved_parts) == 1 and not self._straight.hidden else None
        return ball_of(only)


@runtime_checkable
class _HasConic(Protocol):
    @property
    def conic(self) -> Conic | None: ...


def _conic_of(part: ConvexSet) -> Conic | None:
    straight = sides_of(part)
    if straight is not None:
        return straight.conic
    return part.conic if isinstance(part, _HasConic) else None


def parts_of(within: ConvexSet) -> tuple[ConvexSet, ...]:
    """Return the parts of an intersection; any other set is its only part."""
    return within.parts if isinstance(within, Intersection) else (within,)
