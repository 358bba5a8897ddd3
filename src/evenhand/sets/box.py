"""Boxes: a range for every coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import numbers
from evenhand.sets.base import Supported, empty_error, ends_of, margin_error, margin_of, rows_of, unbounded_error
from evenhand.sets.polyhedron import Polyhedron, box_rows


@named("B9", source="Agrawal & Devanur 2014: the orthant of knapsacks, and ranges")
@dataclass(frozen=True)
class Box:
    """The set of points between two ends in every coordinate.

    Equation: S = {x : low <= x <= high}, with infinite ends allowed.

    Args:
        low, high: the ends, one per coordinate.

    Raises:
        InvalidInput: ends have different lengths or are NaN, or a lower end is above its upper end.

    >>> Box((0.0, 0.0), (1.0, np.inf)).project(np.array([2.0, 2.0]))
    array([1., 2.])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        m = np.size(self.high)
        for field, end in (("low", -np.inf), ("high", np.inf)):
            given = getattr(self, field)
            expected = f"{m} numbers, {end} where there is no bound"
            kept = numbers(f"Box.{field}", given, m, expected, lambda x, end=end: ~np.isnan(x) & (x != -end))  # type: ignore[misc]
            object.__setattr__(self, field, tuple(kept.tolist()))
        if not m or any(a > b for a, b in zip(self.low, self.high, strict=True)):
            raise InvalidInput("Box", "low <= high in at least one coordinate", (self.low, self.high))

    @classmethod
    def below(cls, high: tuple[float, ...]) -> Box:
        """Make the box of points with x <= high.

        >>> Box.below((1.0,)).low
        (-inf,)
        """
        return cls((-np.inf,) * np.size(high), high)

    @property
    def dim(self) -> int:
        return len(self.high)

    @cached_property
    def polyhedron(self) -> Polyhedron:
        return Polyhedron("Box", *box_rows(*self._ends))

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        points, shape = rows_of("Box.contains(z)", z, self.dim)
        low, high = self._ends
        return np.asarray((np.maximum(points - high, low - points) <= tolerance).all(1)).reshape(shape)

    def project(self, z: Floats) -> Floats:
        points, shape = rows_of("Box.project(z)", z, self.dim)
        return np.asarray(np.clip(points, *self._ends)).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        norm = norm_of("Box.distance(norm)", norm)
        points, shape = rows_of("Box.distance(z)", z, self.dim)
        return length(points - np.clip(points, *self._ends), norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Pick the end of each coordinate by the direction's sign; the value nearest 0 if 0, `(m),(m),(m)->(),(m)`."""
        slopes, shape = rows_of("Box.support(direction)", direction, self.dim)
        least, most = ends_of("Box.support", low, high, self.dim)
        least, most = np.maximum(least, self._ends[0]), np.minimum(most, self._ends[1])
        if (least > most).any():
            raise empty_error("Box")
        at = np.where(slopes > 0.0, most, np.where(slopes < 0.0, least, np.clip(0.0, least, most)))
        if not np.isfinite(at).all():
            raise unbounded_error("Box")
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Box:
        margin = margin_of("Box.shrunk", margin, norm)
        low, high = self._ends[0] + margin, self._ends[1] - margin
        if (low > high).any():
            raise margin_error("Box", margin)
        return Box(tuple(low.tolist()), tuple(high.tolist()))

    def halfspaces(self) -> tuple[Floats, Floats]:
        return box_rows(*self._ends)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.array(self.low), np.array(self.high)
