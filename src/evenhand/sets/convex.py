"""Convex sets written with cvxpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import attempt, constant, cvxpy
from evenhand.core.norms import Norm, length, norm_of, order
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import picklable, whole
from evenhand.sets.base import Supported, empty_error, ends_of, margin_of, rows_of, unbounded_error

# Attempts: the step as a fraction of the way to the edge of a cone, and the accepted accuracy. The solver runs until
# rounding stops it. If one attempt stops early, another seldom does.
_TRIES = ((0.8, 1e-13, 1e-8), (0.9, 1e-13, 1e-8), (0.8, 1e-13, 1e-6), (0.99, 1e-13, 1e-5))


@named("B9", source="evenhand's own: disciplined convex constraints (Grant, Boyd & Ye 2006) by cvxpy")
@dataclass(frozen=True, eq=False)
class Convex:
    """The set of points that satisfy constraints written with cvxpy.

    Equation: S = {z : build(z)}. Each projection, support function or distance is one conic program, which takes about
    a millisecond, with the error of an interior-point solver: about 1e-8 for points of order 1.

    Two instances are equal if they have the same length, constraints and constants; the functions that built them may
    differ.

    Args:
        dim: the number of coordinates.
        build: maps a cvxpy variable of that length to a constraint or a list of constraints; a module-level function
            rather than a lambda if runs are divided among processes.

    Raises:
        MissingExtra: cvxpy is not installed.
        InvalidInput: cvxpy cannot verify that the constraints are convex, they read other variables, or no point
            satisfies them; from methods that solve, the solver fails.

    >>> import cvxpy as cp
    >>> Convex(2, lambda z: [cp.norm(z) <= 1]).project(np.array([3.0, 4.0])).round(6)
    array([0.6, 0.8])
    """

    dim: int
    build: InitVar[Callable[[Any], Any]]
    # These identify an instance in any process: the constraints as text, and their constants with all their digits.
    constraints: str = field(init=False)
    constants: tuple[Floats, ...] = field(init=False, repr=False)

    def __post_init__(self, build: Callable[[Any], Any]) -> None:
        whole("Convex.dim", self.dim, 1)
        cp = _cvxpy()
        z = cp.Variable(self.dim, name="z")
        stated = _constraints(build, z)
        programs = {norm: _nearest(z, stated, norm) for norm in ("euclidean", "sup", "one")}
        for name, value in (
            ("constraints", "; ".join(map(str, stated))),
            ("constants", tuple(constant(c.value) for one in stated for c in one.constants())),
            ("_build", build),
            ("_stated", stated),
            ("_z", z),
            ("_programs", programs),
        ):
            object.__setattr__(self, name, value)
        try:
            self.project(np.zeros(self.dim))
        except InvalidInput as error:
            raise InvalidInput("Convex.build", "constraints that some point satisfies", error.got) from error

    def __eq__(self, other: object) -> bool:
        return self._mark == other._mark if isinstance(other, Convex) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._mark)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the building function, because cvxpy's ids of variables are valid in one process only."""
        build = self._build  # type: ignore[attr-defined]
        picklable("Convex.build", build)
        return type(self), (self.dim, build)

    def __copy__(self) -> Convex:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Convex:
        return self

    def contains(self, z: Floats, tolerance: float = 1e-9) -> Bools:
        """Whether each constraint holds up to a tolerance, in its own units, `(m)->()`."""
        points, shape = rows_of("Convex.contains(z)", z, self.dim)
        out = []
        for row in points:
            self._z.value = row  # type: ignore[attr-defined]
            out.append(all(c.value(tolerance) for c in self._stated))  # type: ignore[attr-defined]
        return np.array(out, bool).reshape(shape)

    def project(self, z: Floats) -> Floats:
        """Find the nearest point; points inside stay exactly where they are, `(m)->(m)`."""
        points, shape = rows_of("Convex.project(z)", z, self.dim)
        return self._closest(points, "euclidean").reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        norm = norm_of("Convex.distance(norm)", norm)
        points, shape = rows_of("Convex.distance(z)", z, self.dim)
        return length(points - self._closest(points, norm), norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        slopes, shape = rows_of("Convex.support(direction)", direction, self.dim)
        ends = ends_of("Convex.support", low, high, self.dim)
        at = np.array([self._furthest(row, *ends) for row in slopes]).reshape(slopes.shape)
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Convex:
        """Return the set itself for a margin of 0; other margins are refused, as they need tighter constraints."""
        if margin_of("Convex.shrunk", margin, norm) > 0.0:
            raise InvalidInput("Convex.shrunk(margin)", "0: state constraints that are tighter themselves", margin)
        return self

    def halfspaces(self) -> None:
        return

    def _closest(self, points: Floats, norm: Norm) -> Floats:
        z, programs = self._z, self._programs  # type: ignore[attr-defined]
        if norm not in programs:
            programs[norm] = _nearest(z, self._stated, norm)  # type: ignore[attr-defined]
        found = points.copy()
        for i in np.flatnonzero(~self.contains(points, 0.0)):
            programs[norm].at.value = points[i]
            found[i] = _solution(programs[norm].problem, z)
        return found

    def _furthest(self, slope: Floats, low: Floats, high: Floats) -> Floats:
        cp, z = _cvxpy(), self._z  # type: ignore[attr-defined]
        size = float(np.abs(slope).max()) or 1.0
        stated = list(self._stated)  # type: ignore[attr-defined]
        for ends, side in ((low, -1.0), (high, 1.0)):
            finite = np.flatnonzero(np.isfinite(ends))
            if len(finite):
                stated.append(side * z[finite] <= side * ends[finite])
        return _solution(cp.Problem(cp.Maximize((slope / size) @ z), stated), z)

    @property
    def _mark(self) -> tuple[Any, ...]:
        return self.dim, self.constraints, tuple((c.shape, c.tobytes()) for c in self.constants)


class _Program(NamedTuple):
    """A program compiled once, with its parameter."""

    problem: Any
    at: Any


def _nearest(z: Any, stated: list[Any], norm: Norm) -> _Program:
    cp = _cvxpy()
    at = cp.Parameter(z.shape)
    size = cp.sum_squares(z - at) if norm == "euclidean" else cp.norm(z - at, order(norm))
    return _Program(cp.Problem(cp.Minimize(size), stated), at)


def _solution(problem: Any, z: Any) -> Floats:
    status = ""
    for tries in _TRIES:
        status = attempt(problem, *tries)
        if status in ("optimal", "optimal_inaccurate"):
            return np.array(z.value, np.float64)
        if status.startswith("infeasible"):
            raise empty_error("Convex")
        if status.startswith("unbounded"):
            raise unbounded_error("Convex")
    raise InvalidInput("Convex", "constraints that the solver can solve, in units of order 1", status)


def _constraints(build: Any, z: Any) -> list[Any]:
    """Build the constraints and check that they are convex and read only this variable."""
    cp = _cvxpy()
    if not callable(build):
        raise InvalidInput("Convex.build", "a function from a cvxpy variable to constraints", repr(build))
    try:
        made = build(z)
    except Exception as error:
        expected = f"a function that builds constraints on a cvxpy variable of {z.size} entries"
        raise InvalidInput("Convex.build", expected, f"{type(error).__name__}: {error}") from error
    stated = list(made) if isinstance(made, list | tuple) else [made]
    if not stated or not all(isinstance(c, cp.Constraint) for c in stated):
        raise InvalidInput("Convex.build", "a function that returns cvxpy constraints", repr(made))
    for c in stated:
        others = [v for v in [*c.variables(), *c.parameters()] if v is not z]
        if others:
            raise InvalidInput("Convex.build", f"constraints on nothing but {z}", f"{c}, which reads {others}")
        if not c.is_dcp():
            expected = "constraints that are convex by cvxpy's rules (DCP); see dcp.stanford.edu/rules"
            raise InvalidInput("Convex.build", expected, str(c))
    return stated


def _cvxpy() -> Any:
    return cvxpy("convex sets of your own")
