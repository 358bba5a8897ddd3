"""Euclidean balls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length, norm_of, widest
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative, numbers
from evenhand.sets._closed_forms import in_ball
from evenhand.sets.base import Supported, empty_error, ends_of, margin_error, margin_of, rows_of
from evenhand.sets.conic import Conic
from evenhand.sets.polyhedron import everything


@named("B9", source="evenhand's own: a Euclidean ball as a convex set of Agrawal & Devanur 2014")
@dataclass(frozen=True)
class Ball:
    """The set of points within a radius of a centre.

    Equation: S = {x : ||x - centre||_2 <= radius}. Balls of the sup norm are `Box`es.

    Args:
        centre: one finite number per coordinate.
        radius: the radius, at least 0.

    Raises:
        InvalidInput: there are no coordinates, they are infinite, or the radius is negative or infinite.

    >>> around = Ball((0.5, 0.5), radius=0.25)
    >>> around.project(np.array([0.5, 1.0]))
    array([0.5 , 0.75])
    >>> around.support(np.array([3.0, 4.0]))[0].round(3)
    np.float64(4.75)
    """

    centre: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        m = np.size(self.centre)
        centre = numbers("Ball.centre", self.centre, m, "finite numbers, one per coordinate")
        if not m:
            raise InvalidInput("Ball.centre", "at least one number", self.centre)
        radius = nonnegative("Ball.radius", self.radius)
        object.__setattr__(self, "centre", tuple(centre.tolist()))
        object.__setattr__(self, "radius", radius)

    @property
    def dim(self) -> int:
        return len(self.centre)

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        points, shape = rows_of("Ball.contains(z)", z, self.dim)
        return np.asarray(length(points - self._c, "euclidean") <= self.radius + tolerance).reshape(shape)

    def project(self, z: Floats) -> Floats:
        """Project points outside onto the sphere, towards the centre, `(m)->(m)`."""
        points, shape = rows_of("Ball.project(z)", z, self.dim)
        gap = points - self._c
        far = length(gap, "euclidean")
        share = np.where(far > self.radius, self.radius / np.where(far > 0.0, far, 1.0), 1.0)[:, None]
        return np.where(share < 1.0, self._c + share * gap, points).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance: in closed form for named norms, else by a conic program, `(m)->()`."""
        norm = norm_of("Ball.distance(norm)", norm)
        points, shape = rows_of("Ball.distance(z)", z, self.dim)
        if not isinstance(norm, str):
            return self.conic.distance(points, self.project(points), norm).reshape(shape)
        gap = np.abs(points - self._c)
        if norm == "euclidean":
            return np.asarray(np.maximum(length(gap, norm) - self.radius, 0.0)).reshape(shape)
        cut = [_sup(row, self.radius) if norm == "sup" else _one(row, self.radius) for row in gap]
        return np.array(cut).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Maximise in closed form over the ball cut by the ends, `(m),(m),(m)->(),(m)`."""
        slopes, shape = rows_of("Ball.support(direction)", direction, self.dim)
        at, found = in_ball(slopes, self._c, self.radius, *ends_of("Ball.support", low, high, self.dim), False)
        if not found.all():
            raise empty_error("Ball")
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Ball:
        """Return a smaller ball; for q > 2 its radius falls by m^(1/2 - 1/q) margins, which is safe but not tight."""
        margin = margin_of("Ball.shrunk", margin, norm)
        radius = self.radius - margin * widest(self.dim, norm)
        if radius < 0.0:
            raise margin_error("Ball", margin)
        return Ball(self.centre, radius)

    def halfspaces(self) -> None:
        return

    @cached_property
    def conic(self) -> Conic:
        return Conic(everything("Ball", self.dim), ((0, self._c, self.radius),))

    @cached_property
    def _c(self) -> Floats:
        return np.array(self.centre)


def _sup(gap: Floats, radius: float) -> float:
    """Find the least s with |(gap - s)_+| <= radius: the largest j gaps are above s, for some j."""
    if math.sqrt(float((gap * gap).sum())) <= radius:
        return 0.0
    down = np.sort(gap)[::-1]
    for j in range(1, len(gap) + 1):
        mean = float(down[:j].mean())
        spread = float(((down[:j] - mean) ** 2).sum())
        s = mean - math.sqrt(max(radius * radius - spread, 0.0) / j)
        if j == len(gap) or s >= down[j]:
            return s
    raise AssertionError  # pragma: no cover  # the last j always holds


def _one(gap: Floats, radius: float) -> float:
    """Compute sum (gap - s)_+ for the s at which min(gap, s) has the radius as its norm: the smallest j gaps stay."""
    up = np.sort(gap)
    if math.sqrt(float((gap * gap).sum())) <= radius:
        return 0.0
    kept = 0.0
    for j in range(len(up)):
        s = math.sqrt(max(radius * radius - kept, 0.0) / (len(up) - j))
        if s <= up[j]:
            return float(np.maximum(up - s, 0.0).sum())
        kept += float(up[j] ** 2)
    raise AssertionError  # pragma: no cover  # the largest gap is above s, as the norm of all is above the radius


def ball_of(part: object) -> Ball | None:
    """Return a set that is a ball; None for any other."""
    return part if isinstance(part, Ball) else None
