"""The contract of a convex set: points are arrays whose last axis has one entry per coordinate.

Leading axes are replicas; each gets the same result, bit for bit, as if it were computed alone. Sets know no names of
outcomes and no units: distances mix the units of the coordinates.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, dual_order, length, norm_of
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative

_FLOAT = np.dtype(np.float64)


@runtime_checkable
class ConvexSet(Protocol):
    """A non-empty closed convex set."""

    @property
    def dim(self) -> int:
        """The number of coordinates, m."""

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        """Whether points are in the set up to a tolerance, `(m)->()`.

        The tolerance is a Euclidean distance; a set of several inequalities may apply it to each.
        """

    def project(self, z: Floats) -> Floats:
        """Find the nearest point by the Euclidean distance, `(m)->(m)`."""

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        """Compute the distance of points by a norm: "euclidean", "sup", "one", or q >= 1 for L_q, `(m)->()`."""

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Maximise direction.x over the set between low and high; returns value and point, `(m),(m),(m)->(),(m)`.

        Ends may be infinite; missing ends are.

        Raises:
            InvalidInput: no point of the set is between the ends, or direction.x has no bound.
        """

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> ConvexSet:
        """Return a subset inside by at least a margin: d(x, shrunk) <= margin implies that x is in the set.

        Raises:
            InvalidInput: nothing is left.
        """

    def halfspaces(self) -> tuple[Floats, Floats] | None:
        """Return rows A and bounds b with set = {x : A x <= b}, `->(k,m),(k)`; None if there is no such form."""


Supported = tuple[Floats, Floats]


def rows_of(field: str, z: object, m: int) -> tuple[Floats, tuple[int, ...]]:
    """Flatten finite points of m numbers to contiguous rows; returns also the shape of the leading axes, `(m)->(m)`."""
    try:
        points = np.asarray(z, np.float64)
    except (TypeError, ValueError):
        points = np.zeros(())
    if points.ndim == 0 or points.shape[-1] != m:
        raise InvalidInput(field, f"points of {m} numbers", f"shape {np.shape(points)}")
    if not np.isfinite(points).all():
        raise InvalidInput(field, "finite numbers", points)
    return np.ascontiguousarray(points).reshape(-1, m), points.shape[:-1]


def ends_of(field: str, low: Floats | None, high: Floats | None, m: int) -> tuple[Floats, Floats]:
    """Check lower and upper ends of length m; missing ones become infinite, `(m),(m)->(m),(m)`."""
    ends = []
    for name, given, out in (("low", low, -np.inf), ("high", high, np.inf)):
        try:
            end = np.full(m, out) if given is None else np.array(given, np.float64)
        except (TypeError, ValueError):
            end = np.zeros(())
        if end.shape != (m,) or np.isnan(end).any():
            raise InvalidInput(f"{field}({name})", f"{m} numbers, infinite ones allowed", given)
        ends.append(end)
    if (ends[0] > ends[1]).any():
        raise InvalidInput(f"{field}(low, high)", "low <= high", (low, high))
    return ends[0], ends[1]


def margin_of(field: str, margin: float, norm: Norm) -> float:
    """Check a margin of at least 0 and its norm."""
    norm_of(f"{field}(norm)", norm)
    return nonnegative(f"{field}(margin)", margin)


def dual_length(rows: Floats, norm: Norm) -> Floats:
    """Compute the dual norm of every row: the largest change of row.x if x moves by 1, `(m)->()`."""
    return np.asarray(length(rows, dual_order(norm)))


def unbounded_error(kind: str) -> InvalidInput:
    """Return the error of an unbounded support function."""
    return InvalidInput(f"{kind}.support", "a set that is bounded in this direction, or finite ends", "no bound")


def empty_error(kind: str) -> InvalidInput:
    """Return the error of a support function over an empty set."""
    return InvalidInput(f"{kind}.support(low, high)", "ends between which the set has points", "none")


def margin_error(kind: str, margin: float) -> InvalidInput:
    """Return the error of a margin that leaves nothing."""
    return InvalidInput(f"{kind}.shrunk(margin)", "a margin that leaves some of the set", margin)
