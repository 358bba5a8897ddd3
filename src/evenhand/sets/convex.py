"""Convex sets written with cvxpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.norms import Norm, known_norm, length, order
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import picklable, whole
from evenhand.sets.base import Supported, empty_error, ends_of, margin_of, rows_of, unbounded_error

# Attempts: the step as a fraction of the way to the edge of a cone, and the accepted accuracy. The solver runs until
# rounding stops it. If one attempt stops early, another seldom does.
_BEST, _TRIES = 1e-13, ((0.8, 1e-8), (0.9, 1e-8), (0.8, 1e-6), (0.99, 1e-5))


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
        kept = [
            np.array(c.value.toarray() if hasattr(c.value, "toarray") else c.value, float)
            for one in stated
            for c in one.constants()
        ]
        programs = {norm: _nearest(z, stated, norm) for norm in ("euclidean", "sup", "one")}
        for name, value in (
            ("constraints", "; ".join(map(str, stated))),
            ("constants", tuple(kept)),
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
        """Return itself, as it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Convex:
        """Return itself, as it never changes."""
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
        inside = self.contains(points, 0.0)
        at = [row if stays else self._solve("euclidean", row) for row, stays in zip(points, inside, strict=True)]
        return np.array(at).reshape(*shape, self.dim)

    def distance(self, z: Floats, norm: Norm = "euclidean") -> Floats:
        norm = known_norm("Convex.distance(norm)", norm)
        points, shape = rows_of("Convex.distance(z)", z, self.dim)
        inside = self.contains(points, 0.0)
        at = [row if stays else self._solve(norm, row) for row, stays in zip(points, inside, strict=True)]
        return length(points - np.array(at).reshape(points.shape), norm).reshape(shape)

    def support(self, direction: Floats, low: Floats | None = None, high: Floats | None = None) -> Supported:
        """Maximise direction.x; returns value and point, `(m),(m),(m)->(),(m)`.

        Raises:
            InvalidInput: as stated by `ConvexSet`.
        """
        slopes, shape = rows_of("Convex.support(direction)", direction, self.dim)
        ends = ends_of("Convex.support", low, high, self.dim)
        at = np.array([self._furthest(row, *ends) for row in slopes]).reshape(slopes.shape)
        return np.asarray((slopes * at).sum(1)).reshape(shape), at.reshape(*shape, self.dim)

    def shrunk(self, margin: float, norm: Norm = "euclidean") -> Convex:
        """Return the set itself for a margin of 0; other margins need tighter constraints.

        Raises:
            InvalidInput: the margin is above 0.
        """
        if margin_of("Convex.shrunk", margin, norm) > 0.0:
            raise InvalidInput("Convex.shrunk(margin)", "0: state constraints that are tighter themselves", margin)
        return self

    def halfspaces(self) -> None:
        """None, since cvxpy's constraints are treated as curved."""
        return

    def _solve(self, norm: Norm, row: Floats) -> Floats:
        z, programs = self._z, self._programs  # type: ignore[attr-defined]
        if norm not in programs:
            programs[norm] = _nearest(z, self._stated, norm)  # type: ignore[attr-defined]
        programs[norm].at.value = row
        return _solution(programs[norm].problem, z)

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
        """The values that equality compares."""
        return self.dim, self.constraints, tuple((c.shape, c.tobytes()) for c in self.constants)


class _Program(NamedTuple):
    """A program compiled once, with its parameter."""

    problem: Any
    at: Any


def _nearest(z: Any, stated: list[Any], norm: Norm) -> _Program:
    """Build the program of the nearest point by a norm."""
    cp = _cvxpy()
    at = cp.Parameter(z.shape)
    size = cp.sum_squares(z - at) if norm == "euclidean" else cp.norm(z - at, order(norm))
    return _Program(cp.Problem(cp.Minimize(size), stated), at)


def _solution(problem: Any, z: Any) -> Floats:
    sought, status = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), _BEST), ""
    for step, enough in _TRIES:
        reached = {f"reduced_{name}": enough for name in sought}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cvxpy warns if a result misses the best accuracy
            try:
                problem.solve(solver="CLARABEL", warm_start=False, max_step_fraction=step, **sought, **reached)
                status = str(problem.status)
            except _cvxpy().SolverError as error:
                status = str(error)
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
    try:
        import cvxpy
    except ImportError as error:  # pragma: no cover
        raise MissingExtra("convex sets of your own", "convex") from error
    return cvxpy
