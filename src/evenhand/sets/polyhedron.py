"""Polyhedra, perhaps with hidden coordinates: {x : A x + C w <= b for some w}.

Convex hulls of points and downward closures have no short list of inequalities in x alone; with hidden w they do.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, length
from evenhand.core.types import Floats, Ints
from evenhand.sets._nearest import extreme_points, nearest_points
from evenhand.sets.base import Supported, empty_error, unbounded_error
from evenhand.sets.conic import Conic

# Moves of hidden coordinates cost 1e-9 of those of visible ones; at 1e-3 steps may be too short.
_HIDDEN = 3e-5
_PASSES = 200


@runtime_checkable
class Polyhedral(Protocol):
    """A set that may be a polyhedron."""

    @property
    def polyhedron(self) -> Polyhedron | None:
        """The inequalities; None if the set is curved."""


def sides_of(part: object) -> Polyhedron | None:
    """Return the inequalities of a set; None if it is curved."""
    return part.polyhedron if isinstance(part, Polyhedral) else None


class Polyhedron:
    """The set {x : A x + C w <= b for some w}, with w in the units of x.

    >>> below = Polyhedron("Halfspaces", np.array([[1.0, 1.0]]), np.array([1.0]))
    >>> below.project(np.array([[1.0, 1.0]]))
    array([[0.5, 0.5]])
    """

    def __init__(self, kind: str, rows: Floats, bounds: Floats, hidden: Floats | None = None):
        """Normalise rows A `(d,m)`, bounds b and rows C `(d,k)`; `kind` is the set's name in errors."""
        self.kind, self.dim = kind, rows.shape[1]
        both = rows if hidden is None else np.concatenate([rows, hidden], 1)
        size = np.sqrt((both * both).sum(1))
        self.contradiction = bool((bounds[size == 0.0] < 0.0).any())
        kept = size > 0.0
        self.rows, self.bounds = both[kept] / size[kept, None], bounds[kept] / size[kept]

    @property
    def hidden(self) -> int:
        return int(self.rows.shape[1] - self.dim)

    def with_ends(self, low: Floats, high: Floats) -> Polyhedron:
        return self.intersect(Polyhedron(self.kind, *box_rows(low, high)))

    def intersect(self, other: Polyhedron) -> Polyhedron:
        """Return the intersection with another polyhedron."""
        first = np.column_stack([self.rows, np.zeros((len(self.rows), other.hidden))])
        gap = np.zeros((len(other.rows), self.hidden))
        second = np.column_stack([other.rows[:, : self.dim], gap, other.rows[:, self.dim :]])
        rows, bounds = np.concatenate([first, second]), np.append(self.bounds, other.bounds)
        out = Polyhedron(self.kind, rows[:, : self.dim], bounds, rows[:, self.dim :])
        out.contradiction = self.contradiction or other.contradiction
        return out

    @cached_property
    def size(self) -> float:
        """The largest size of a bound, 1 if all are 0."""
        return float(np.abs(self.bounds).max(initial=0.0)) or 1.0

    @cached_property
    def conic(self) -> Conic:
        return Conic(self)

    @cached_property
    def is_empty(self) -> bool:
        return self.contradiction or self._program(np.zeros(self.rows.shape[1]), None, None) is None

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats]:
        """Rows and bounds with hidden coordinates scaled so that their moves cost little."""
        rows = self.rows.copy()
        rows[:, self.dim :] /= _HIDDEN
        size = np.sqrt((rows * rows).sum(1))
        return rows / size[:, None], self.bounds / size

    def excess(self, z: Floats) -> Floats:
        """Compute the largest excess over an inequality, if none has hidden coordinates, `(m)->()`."""
        out = np.full(len(z), -np.inf)
        for row, bound in zip(self.rows, self.bounds, strict=True):
            np.maximum(out, (z * row).sum(1) - bound, out=out)
        return out

    def project(self, z: Floats) -> Floats:
        """Find the nearest point to each row; hidden coordinates are free, by proximal steps, `(m)->(m)`."""
        if not self.hidden:
            return self._solve(*nearest_points(z, self.rows, self.bounds))
        out = np.empty(z.shape)
        for s, row in enumerate(z):
            at, last = np.append(row, np.zeros(self.hidden)), np.inf
            for _ in range(_PASSES):
                found = self._solve(*nearest_points(at[None], *self._scaled))[0]
                gap = float(((found[: self.dim] - row) ** 2).sum())
                out[s], at = found[: self.dim], np.append(row, found[self.dim :])
                if gap >= last * (1.0 - 1e-14):
                    break
                last = gap
        return out

    def _solve(self, found: Floats, active: Ints) -> Floats:
        if (active == -1).any():
            raise InvalidInput(self.kind, "a set that has points", "contradicting inequalities")
        if (active < 0).any():  # pragma: no cover
            raise InvalidInput(self.kind, "inequalities of similar size", "some that cannot be solved")
        return found

    def support(self, direction: Floats, low: Floats, high: Floats) -> Supported:
        """Maximise in the directions of rows between the ends, `(m),(m),(m)->(),(m)`."""
        inside = self.with_ends(low, high) if np.isfinite(low).any() or np.isfinite(high).any() else self
        out, done = np.empty(direction.shape), np.zeros(len(direction), bool)
        if not inside.hidden:
            middle = np.clip(np.zeros(self.dim), low, high)
            out, done = extreme_points(direction, inside.rows, inside.bounds, middle, inside.size)
        for s in np.flatnonzero(~done):
            found = inside._program(np.append(-direction[s], np.zeros(inside.hidden)), None, None)
            if found is None:
                raise empty_error(self.kind)
            out[s] = found[: self.dim]
        return (direction * out).sum(1), out

    def distance(self, z: Floats, norm: Norm) -> Floats:
        """Compute the distance of every row, `(m)->()`."""
        if norm == "euclidean":
            return length(z - self.project(z), norm)
        if not isinstance(norm, str):
            return self.conic.distance(z, self.project(z), norm)
        return np.array([length(row - self.nearest(row, norm), norm) for row in z])

    def nearest(self, z: Floats, norm: Norm) -> Floats:
        """Find a nearest point by a norm other than the Euclidean, `(m)->(m)`."""
        if not isinstance(norm, str):
            return self.conic.nearest(z, self.project(z[None])[0], norm)
        m = self.dim
        # Columns of auxiliary s >= |x - z|: one in all, or one per coordinate.
        spread = np.ones((m, 1)) if norm == "sup" else np.eye(m)
        gaps = [np.column_stack([sign * np.eye(m), np.zeros((m, self.hidden)), -spread]) for sign in (1.0, -1.0)]
        cost = np.append(np.zeros(m + self.hidden), np.ones(spread.shape[1]))
        at = self._program(cost, np.concatenate(gaps), np.append(z, -z))
        if at is None:
            raise InvalidInput(self.kind, "a set that has points", "contradicting inequalities")
        return at[:m]

    def _program(self, cost: Floats, more: Floats | None, limits: Floats | None) -> Floats | None:
        """Find argmin cost.x by HiGHS, None if there is no point; `more` rows may have further columns."""
        from scipy.optimize import linprog

        rows, bounds = self.rows, self.bounds
        if more is not None and limits is not None:
            wide = np.zeros((len(rows), more.shape[1] - rows.shape[1]))
            rows, bounds = np.concatenate([np.column_stack([rows, wide]), more]), np.append(bounds, limits)
        size = float(np.abs(bounds).max(initial=0.0)) or 1.0  # tolerances of the solver are absolute
        steep = float(np.abs(cost).max()) or 1.0
        if not len(rows):
            rows, bounds = np.zeros((1, len(cost))), np.ones(1)
        for presolve in (True, False):  # presolve cannot always distinguish infeasible from unbounded
            result = linprog(
                cost / steep,
                A_ub=rows,
                b_ub=bounds / size,
                bounds=(None, None),
                method="highs",
                options={
                    "primal_feasibility_tolerance": 1e-10,
                    "dual_feasibility_tolerance": 1e-10,
                    "presolve": presolve,
                },
            )
            if result.status == 0:
                return np.asarray(result.x) * size
            if result.status == 2:
                return None
            if result.status == 3:
                raise unbounded_error(self.kind)
        raise InvalidInput(self.kind, "inequalities of similar size", result.message)  # pragma: no cover


def everything(kind: str, m: int) -> Polyhedron:
    """Return the polyhedron of all points."""
    return Polyhedron(kind, np.zeros((0, m)), np.zeros(0))


def box_rows(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return rows and bounds of low <= x <= high without infinite ends, `(m),(m)->(k,m),(k)`.

    >>> box_rows(np.array([-np.inf, 0.0]), np.array([1.0, np.inf]))
    (array([[ 1.,  0.],
           [-0., -1.]]), array([ 1., -0.]))
    """
    each = np.eye(len(low))
    top, bottom = np.isfinite(high), np.isfinite(low)
    return np.concatenate([each[top], -each[bottom]]), np.append(high[top], -low[bottom])
