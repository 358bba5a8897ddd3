"""Any concave function that a user writes with cvxpy. This is the one module that imports cvxpy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import InvalidInput, MissingExtra
from evenhand.objectives.base import check_finite, each, flat, named
from evenhand.system import system
from evenhand.types import Floats

# From the best to what will do: near the edge of a domain the first may be out of reach.
_TOLERANCES = (1e-10, 1e-8)


class _Program(NamedTuple):
    """A problem that is compiled once, and what is filled in and read off."""

    problem: Any
    parameters: tuple[Any, ...]
    answer: Any  # a variable, or a constraint whose dual variable is asked for


@system("C7", source="evenhand's own: disciplined concave expressions (Grant, Boyd & Ye 2006) by cvxpy")
@dataclass(frozen=True, eq=False)
class Concave:
    """A concave function that is written with cvxpy.

    Equation: f(z) = build(z). A supergradient is the dual of y = z in max_y f(y). The prox is z + beta g with the best
    g of (f(z + beta g) - f(z))/beta - |g|^2/2, so that g, the gradient of the envelope, keeps its digits for any beta.
    Both are cached parametrised problems, solved afresh for every replica: about a millisecond each.

    Args:
        outcomes: what it reads, in the order of the entries of the variable.
        build: from a cvxpy variable of that length to a scalar expression; a function of a module rather than a
            lambda where runs are divided among processes.
        smooth: declare that the gradient is Lipschitz where averages may be; then nothing is smoothed.
        lipschitz: a constant you know, for tuning.

    Raises:
        MissingExtra: cvxpy is not installed.
        InvalidInput: names twice, or not one scalar expression of that variable alone that cvxpy can verify to be
            concave; later, from methods that solve, a problem that the solver cannot solve.

    Deviation: gradients and proxes carry the error of an interior-point solver, about 1e-5 at worst.

    >>> import cvxpy as cp
    >>> objective = Concave(("a", "b"), lambda z: cp.sum(cp.sqrt(z)))
    >>> objective.value(np.array([0.25, 1.0])).item()
    1.5
    >>> objective.supergradient(np.array([0.25, 1.0])).round(3)
    array([1. , 0.5])
    """

    outcomes: tuple[str, ...]
    build: InitVar[Callable[[Any], Any]]
    smooth: bool = False
    lipschitz: float = math.inf
    # What tells two of them apart, in any process: the expression as text, and its constants with all their digits.
    expression: str = field(init=False)
    constants: tuple[Floats, ...] = field(init=False, repr=False)

    def __post_init__(self, build: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "outcomes", named("Concave", self.outcomes))
        if not self.lipschitz >= 0:
            raise InvalidInput("Concave.lipschitz", "a number of at least 0", self.lipschitz)
        cp = _cvxpy()
        point = cp.Variable(len(self.outcomes), name="z")
        f = build(point)
        if not (isinstance(f, cp.Expression) and f.is_scalar()):
            raise InvalidInput("Concave.build", "a function that returns a scalar cvxpy expression", repr(f))
        others = [v for v in [*f.variables(), *f.parameters()] if v is not point]
        if others:
            raise InvalidInput("Concave.build", f"an expression of nothing but {point}", f"{f}, which reads {others}")
        if not f.is_concave():
            expected = "an expression that is concave by cvxpy's rules (DCP); see dcp.stanford.edu/rules"
            raise InvalidInput("Concave.build", expected, f"{f}, which is {f.curvature}")
        object.__setattr__(self, "expression", str(f))
        object.__setattr__(self, "constants", tuple(_dense(c.value) for c in f.constants()))
        for name, kept in (("_build", build), ("_f", f), ("_point", point)):
            object.__setattr__(self, name, kept)

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process builds it from: numbers by which cvxpy knows variables hold in one process only."""
        return type(self), (self.outcomes, self._build, self.smooth, self.lipschitz)  # type: ignore[attr-defined]

    def check(self, z: Floats, place: str) -> None:
        """Refuse points that are not strictly inside the domain of the expression, `(m)->`."""
        check_finite(self.outcomes, z, place)
        for row in flat(z):
            if self._margin(row) <= 0.0 or not math.isfinite(self._at(row)):
                expected = (
                    f"averages inside the domain of {self.expression}: "
                    f"{', '.join(str(c) for c in self._f.domain) or 'finite values'}, strictly; "  # type: ignore[attr-defined]
                    "add an offset to the variable, such as z + 0.01"
                )
                raise InvalidInput(place, expected, dict(zip(self.outcomes, row.tolist(), strict=True)))

    def value(self, z: Floats) -> Floats:
        """The expression at z, `(m)->()`; -inf outside of its domain."""
        return np.array([self._at(row) for row in flat(z)]).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """How much more would be reached per unit of z, `(m)->(m)`.

        Raises:
            InvalidInput: a point that is not inside the domain, or a problem that cannot be solved.
        """
        self.check(z, "Concave.supergradient")
        dual = self._dual
        return np.array([self._solve(dual, row).dual_value for row in flat(z)]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """By cvxpy, `(m),()->(m)`.

        Raises:
            InvalidInput: a problem that cannot be solved.
        """
        rows, out = flat(z), []
        for row, b in zip(rows, each(beta, z).tolist(), strict=True):
            here = self._at(row)
            gradient = self._solve(self._envelope, row, b, here if math.isfinite(here) else 0.0).value
            out.append(row + b * gradient)
        return np.array(out).reshape(z.shape)

    def _at(self, row: Floats) -> float:
        if self._margin(row) < 0.0:
            return -math.inf
        with np.errstate(all="ignore"):
            value = float(np.ravel(self._f.value)[0])  # type: ignore[attr-defined]
        return value if not math.isnan(value) else -math.inf

    def _margin(self, row: Floats) -> float:
        """How far inside the domain a point is, negative outside, in the units of the constraint that is closest."""
        self._point.value = row  # type: ignore[attr-defined]
        least = math.inf
        for c in self._f.domain:  # type: ignore[attr-defined]
            if isinstance(c, _cvxpy().constraints.Inequality):
                least = min(least, -float(np.max(c.expr.value)))
            elif not c.value():  # such as a cone, whose edge cannot be told from its inside
                least = -math.inf
        return least

    @cached_property
    def _dual(self) -> _Program:
        """max f(y) with y = z."""
        cp, y, f = _cvxpy(), self._point, self._f  # type: ignore[attr-defined]
        at = cp.Parameter(y.shape)
        pinned = y == at
        return _Program(cp.Problem(cp.Maximize(f), [pinned]), (at,), pinned)

    @cached_property
    def _envelope(self) -> _Program:
        """max s - |g|^2/2 with beta s + f(z) <= f(y) and y = z + beta g."""
        cp, y, f = _cvxpy(), self._point, self._f  # type: ignore[attr-defined]
        at, beta, here = cp.Parameter(y.shape), cp.Parameter(nonneg=True), cp.Parameter()
        g, s = cp.Variable(y.shape), cp.Variable()
        goal = cp.Maximize(s - 0.5 * cp.sum_squares(g))
        return _Program(cp.Problem(goal, [y == at + beta * g, beta * s + here <= f]), (at, beta, here), g)

    def _solve(self, program: _Program, *values: Any) -> Any:
        """The answer of a program for these values of its parameters; from a cold start, as in a batch of one."""
        for parameter, value in zip(program.parameters, values, strict=True):
            parameter.value = value
        status = ""
        for tolerance in _TOLERANCES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # solutions that are inaccurate are not used
                try:
                    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
                    program.problem.solve(solver="CLARABEL", warm_start=False, **dict.fromkeys(names, tolerance))
                    status = program.problem.status
                except _cvxpy().SolverError as error:
                    status = str(error)
            if status == "optimal":
                return program.answer
        raise InvalidInput(f"Concave({self.expression})", "a problem that the solver can solve", status)


def _dense(value: Any) -> Floats:
    return np.array(value.toarray() if hasattr(value, "toarray") else value, np.float64)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:  # pragma: no cover
        raise MissingExtra("objectives of your own", "convex") from error
    return cvxpy
