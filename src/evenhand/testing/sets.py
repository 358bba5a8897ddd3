"""The contract of convex sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length
from evenhand.core.types import Bools, Floats
from evenhand.sets.base import ConvexSet
from evenhand.testing.promises import Draw, complete, number, require, same

_POINTS, _MARGIN = 12, 0.02
_NORMS: tuple[Norm, ...] = ("sup", "euclidean", "one")  # each is at least the one before


def check_set(kind: ConvexSet, *, tolerance: float = 1e-6) -> None:
    """Check that projections, distances, supports, margins and half-spaces of a set agree, in a batch and alone.

    Equation: (z - p).(y - p) <= 0 for the projection p of z and every y of the set, |z - p| is the distance of z, and
    d.y <= support(d) = d.x at a point x of the set.

    Args:
        kind: any of `evenhand.sets`, or your own.
        tolerance: the allowed error of coordinates near 1, such as that of a solver.

    Raises:
        AssertionError: naming the promise that is broken.

    >>> from evenhand.sets import Ball
    >>> check_set(Ball((0.5, 0.5), 0.2))
    """
    complete(kind, ConvexSet)
    number(kind.dim, "dim")
    require(kind.dim > 0, "a set has at least one coordinate")
    draw = Draw(np.arange(_POINTS), 0)
    z, other = 3.0 * draw(1, kind.dim) - 1.0, 3.0 * draw(2, kind.dim) - 1.0
    p, y = _answer(kind.project, z), _answer(kind.project, other)
    y = np.concatenate([p, y, 0.5 * (p + y)])
    require(p.shape == z.shape, f"projections have shape (m), not {p.shape[1:]}")
    require(bool(_inside(kind, y, tolerance)), "projections are in the set, and so are their mixtures")
    slope = (z - p) @ y.T - ((z - p) * p).sum(1)[:, None]
    require(bool((slope <= tolerance).all()), "no point of the set is nearer than the projection")
    require(bool((np.abs(kind.project(y) - y) <= tolerance).all()), "a point of the set is its own projection")
    _check_distances(kind, z, p, y, tolerance)
    _check_support(kind, 2.0 * draw(3, kind.dim) - 1.0, y, tolerance)
    _check_margin(kind, 2.0 * draw(4, kind.dim) - 1.0, other, tolerance)
    _check_halfspaces(kind, np.concatenate([z, y]), tolerance)


def _check_distances(kind: ConvexSet, z: Floats, p: Floats, y: Floats, tolerance: float) -> None:
    """Require distances that fit the projection, the points of the set and each other."""
    smaller = np.zeros(len(z))
    for norm in _NORMS:
        found = _answer(lambda points, norm=norm: kind.distance(points, norm), z)  # type: ignore[misc]
        require(found.shape == z.shape[:1], "distances have shape ()")
        require(bool((found >= smaller - tolerance).all()), "distances are at least 0, and longer in a longer norm")
        nearest = np.min([length(z - point, norm) for point in y], axis=0)
        require(bool((found <= nearest + tolerance).all()), f"no point of the set is nearer than the {norm} distance")
        zero = np.abs(kind.distance(y, norm))
        require(bool((zero <= tolerance).all()), "the distance of a point of the set is 0")
        smaller = found
    far = kind.distance(z)
    require(not bool((kind.contains(z) & (far > 0.01)).any()), "a point away from the set is not in it")
    apart = np.abs(far - length(z - p, "euclidean"))
    require(bool((apart <= tolerance).all()), "the distance is that of the projection")


def _check_support(kind: ConvexSet, slopes: Floats, y: Floats, tolerance: float) -> None:
    """Require supports between ends that are reached in the set, and that none of its points there is beyond them."""
    low, high = y.min(0) - 0.1, y.max(0) + 0.1
    value, at = kind.support(slopes, low, high)
    require(value.shape == slopes.shape[:1] and at.shape == slopes.shape, "a support is a value () and a point (m)")
    for i, row in enumerate(slopes):
        one, point = kind.support(row, low, high)
        same(np.asarray(value[i]), np.asarray(one), "a replica has in a batch what it has alone")
        same(at[i], point, "a replica has in a batch what it has alone")
    require(bool((np.abs((slopes * at).sum(1) - value) <= tolerance).all()), "a support is d.x at its point x")
    require(bool(_inside(kind, at, tolerance)), "the point of a support is in the set")
    between = (at >= low - tolerance) & (at <= high + tolerance)
    require(bool(between.all()), "the point of a support is between the ends")
    beyond = (slopes @ y.T).max(1) > value + tolerance
    require(not bool(beyond.any()), "no point of the set is beyond a support")


def _check_margin(kind: ConvexSet, away: Floats, z: Floats, tolerance: float) -> None:
    """Require that all points near a shrunk set are in the set, where anything is left of it."""
    for norm in _NORMS:
        try:
            smaller = kind.shrunk(_MARGIN, norm)
        except InvalidInput:
            continue
        near = smaller.project(z) + _MARGIN * away / length(away, norm)[:, None]
        require(bool(_inside(kind, near, tolerance)), f"what is within a {norm} margin of a shrunk set is in the set")


def _check_halfspaces(kind: ConvexSet, points: Floats, tolerance: float) -> None:
    """Require that half-spaces, where there are any, hold exactly for the points of the set."""
    found = kind.halfspaces()
    if found is None:
        return
    rows, bounds = found
    require(rows.shape == (*bounds.shape, kind.dim), f"half-spaces have shapes (k, m) and (k), not {rows.shape}")
    sizes = np.maximum(np.sqrt((rows**2).sum(1)), 1.0)
    over = ((points @ rows.T - bounds) / sizes).max(1, initial=-np.inf)
    far = kind.distance(points)
    require(not bool(((over > tolerance) & (far <= 0.0)).any()), "half-spaces hold for all points of the set")
    require(not bool(((over <= 0.0) & (far > tolerance)).any()), "what half-spaces allow is in the set")


def _inside(kind: ConvexSet, z: Floats, tolerance: float) -> Bools:
    return np.asarray(kind.contains(z, tolerance).all())


def _answer(ask: Callable[[Floats], Floats], z: Floats) -> Floats:
    """Return the answer for a batch; requires the same for each point alone, and unchanged input."""
    given, out = z.copy(), np.asarray(ask(z))
    require(bool(np.isfinite(out).all()), "answers are finite")
    same(z, given, "a set leaves the points that it is handed as they are")
    for i, row in enumerate(z):
        same(np.asarray(out[i]), np.asarray(ask(row)), "a replica has in a batch what it has alone")
    return out
