"""Concave functions written with cvxpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import attempt, constant, cvxpy
from evenhand.core.types import Floats
from evenhand.core.validate import number, picklable
from evenhand.objectives.base import check_finite, each, flat, outcome_names

# Attempts in order: the step as a fraction of the way to the edge of a cone, the accuracy to aim for, and the accuracy
# that is enough. 1e-13 is out of reach: the solver runs until rounding stops it, and its result is accepted if it is
# accurate enough. Short steps stay away from the edge, where results are more accurate. If one attempt stops early,
# another seldom does. The last attempts are for problems that mix large and small numbers, and lose digits.
_TRIES = ((0.8, 1e-13, 1e-8), (0.9, 1e-13, 1e-8), (0.8, 1e-13, 1e-5), (0.6, 1e-8, 1e-4), (0.99, 1e-8, 1e-3))


class _Program(NamedTuple):
    """A problem compiled once, its parameters, and the constraint whose dual variable is the gradient."""

    problem: Any
    at: Any
    root: Any
    pinned: Any


class CvxpyExpression:
    """A concave expression f of one variable: values, domain, and gradients of its envelopes.

    Raises:
        MissingExtra: cvxpy is not installed.
        InvalidInput: `build` does not return such an expression; from `gradient`, the solver fails.
    """

    def __init__(self, build: Callable[[Any], Any], m: int):
        """Build and check the expression of m averages."""
        cp = _cvxpy()
        self.point = cp.Variable(m, name="z")
        self.f = _expression(build, self.point)
        # Drop constraints that always hold, such as pos(z - 1) >= 0: they have no edge.
        self.domain = [
            c for c in self.f.domain if not (isinstance(c, cp.constraints.Inequality) and c.expr.is_nonpos())
        ]

    @property
    def text(self) -> str:
        return str(self.f)

    @property
    def constants(self) -> tuple[Floats, ...]:
        """The constants with all their digits; the text may print fewer."""
        return tuple(constant(c.value) for c in self.f.constants())

    def value(self, row: Floats) -> float:
        """Compute f(z), `(m)->()`; -inf outside the domain."""
        return -math.inf if self._margin(row) < 0.0 else self._here()

    def inside(self, row: Floats) -> bool:
        """Whether a point is strictly inside the domain."""
        return self._margin(row) > 0.0 and math.isfinite(self._here())

    def gradient(self, row: Floats, beta: float) -> Floats:
        """Compute the gradient of the envelope, a supergradient for beta = 0, `(m),()->(m)`.

        Equation: g is the dual variable of y = z + sqrt(beta) v in max f(y) - |v|^2/2. For small beta the program tends
        to the one for a supergradient, and its numbers stay of the size of z and f. A program for (f(y) - f(z))/beta
        would lose its digits in a difference of almost equal numbers.
        """
        program = self._program
        program.at.value, program.root.value = row, math.sqrt(beta)
        status = ""
        for tries in _TRIES:
            status = attempt(program.problem, *tries)
            if status in ("optimal", "optimal_inaccurate") and np.isfinite(program.pinned.dual_value).all():
                return np.array(program.pinned.dual_value, np.float64)
        expected = "a problem that the solver can solve, such as with outcomes in units of order 1"
        raise InvalidInput(f"Concave({self.text})", expected, status)

    def culprits(self, row: Floats) -> list[int]:
        """Find the averages that keep a point out of the domain; all of them if that cannot be determined."""
        at = [row + side * step for side in (1.0, -1.0) for step in np.diag(0.01 * np.maximum(1.0, np.abs(row)))]
        here = self._excesses(row)
        if len(here) and here.max() >= 0.0:  # the averages that relax the most violated constraint
            worst = int(here.argmax())
            helps = [self._excesses(z)[worst] < here[worst] for z in at]
        else:
            helps = [self.inside(z) for z in at]
        found = np.flatnonzero(np.reshape(helps, (2, len(row))).any(0)).tolist()
        return found or list(range(len(row)))

    def _here(self) -> float:
        """Evaluate f at the value of the variable; NaN becomes -inf."""
        with np.errstate(all="ignore"):
            value = float(np.ravel(self.f.value)[0])
        return value if not math.isnan(value) else -math.inf

    def _margin(self, row: Floats) -> float:
        """Compute the distance to the edge of the domain, negative outside, in the units of the closest constraint."""
        excesses = self._excesses(row)
        return -float(excesses.max()) if len(excesses) else math.inf

    def _excesses(self, row: Floats) -> Floats:
        """Compute the violation of each constraint of the domain, negative if it holds, `(m)->(c)`."""
        self.point.value = row
        plain, found = _cvxpy().constraints.Inequality, [np.zeros(0)]
        with np.errstate(all="ignore"):
            for c in self.domain:
                if isinstance(c, plain):
                    found.append(np.ravel(c.expr.value))
                else:  # such as a cone: its violation is 0 on the edge and inside
                    found.append(np.array([-math.inf if c.value() else np.max(c.violation())]))
        excesses = np.concatenate(found)
        return np.where(np.isnan(excesses), 0.0, excesses)  # count NaN as the edge

    @cached_property
    def _program(self) -> _Program:
        """The program max f(y) - |v|^2/2 with y = z + sqrt(beta) v."""
        cp = _cvxpy()
        at, root, v = cp.Parameter(self.point.shape), cp.Parameter(nonneg=True), cp.Variable(self.point.shape)
        pinned = self.point == at + root * v
        return _Program(cp.Problem(cp.Maximize(self.f - 0.5 * cp.sum_squares(v)), [pinned]), at, root, pinned)


def _expression(build: Any, point: Any) -> Any:
    """Build the expression and check that it is concave and reads only this variable."""
    if not callable(build):
        raise InvalidInput("Concave.build", "a function from a cvxpy variable to an expression", repr(build))
    try:
        f = build(point)
    except Exception as error:
        expected = f"a function that builds an expression from a cvxpy variable of {point.size} entries"
        raise InvalidInput("Concave.build", expected, f"{type(error).__name__}: {error}") from error
    if not (isinstance(f, _cvxpy().Expression) and f.is_scalar()):
        raise InvalidInput("Concave.build", "a function that returns a scalar cvxpy expression", repr(f))
    others = [v for v in [*f.variables(), *f.parameters()] if v is not point]
    if others:
        raise InvalidInput("Concave.build", f"an expression of nothing but {point}", f"{f}, which reads {others}")
    if not f.is_concave():
        expected = "an expression that is concave by cvxpy's rules (DCP); see dcp.stanford.edu/rules"
        raise InvalidInput("Concave.build", expected, f"{f}, which is {f.curvature}")
    return f


def _cvxpy() -> Any:
    return cvxpy("objectives of your own")


@named("C7", source="evenhand's own: disciplined concave expressions (Grant, Boyd & Ye 2006) by cvxpy")
@dataclass(frozen=True, eq=False)
class Concave:
    """A concave function written with cvxpy.

    Equation: f(z) = build(z). A supergradient is the dual of y = z in max_y f(y). The prox is z + beta g, with g the
    dual of y = z + sqrt(beta) v in max f(y) - |v|^2/2, so that g, the gradient of the envelope, stays accurate for any
    beta. Both are one cached parametrised problem, solved once per replica, which takes about a millisecond.

    Two instances are equal if they have the same outcomes, expression, constants, `smooth` and `lipschitz`; the
    functions that built them may differ.

    Args:
        outcomes: the names of the outcomes, in the order of the variable's entries.
        build: maps a cvxpy variable of that length to a scalar expression; a module-level function rather than a lambda
            if runs are divided among processes.
        smooth: declares that the gradient is Lipschitz where averages may be; then f is not smoothed.
        lipschitz: a known Lipschitz constant, for tuning.

    Raises:
        MissingExtra: cvxpy is not installed.
        InvalidInput: names twice, or not one scalar expression of that variable alone that cvxpy can verify to be
            concave; later, from methods that solve, a problem that the solver cannot solve, and a lambda where it has
            to go to another process.

    Deviation: gradients carry the error of an interior-point solver. For averages in the unit cube and beta from 1e-6
    to 1 (`Moreau(0.01)` for 10^8 rounds) it is below 2e-5 of 1 + |gradient|, edges of the domain included, and mostly
    below 1e-6. For averages of 10^4 it reaches 1e-3 if others are at an edge, and a few such problems cannot be solved:
    state outcomes in units of order 1.

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
    # These identify an instance in any process: the expression as text, and its constants with all their digits.
    expression: str = field(init=False)
    constants: tuple[Floats, ...] = field(init=False, repr=False)

    def __post_init__(self, build: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "outcomes", outcome_names("Concave", self.outcomes))
        steep = number("Concave.lipschitz", self.lipschitz, "a number of at least 0", lambda x: x >= 0)
        written = CvxpyExpression(build, len(self.outcomes))
        for name, kept in (
            ("lipschitz", steep),
            ("expression", written.text),
            ("constants", written.constants),
            ("_build", build),
            ("_written", written),
        ):
            object.__setattr__(self, name, kept)

    def __eq__(self, other: object) -> bool:
        return self._mark == other._mark if isinstance(other, Concave) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._mark)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the building function, because cvxpy's ids of variables are valid in one process only."""
        build = self._build  # type: ignore[attr-defined]
        picklable("Concave.build", build)
        return type(self), (self.outcomes, build, self.smooth, self.lipschitz)

    def __copy__(self) -> Concave:
        """Return itself, as it never changes; so instances built by a lambda can be copied within a process."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Concave:
        return self

    def check(self, z: Floats, place: str) -> None:
        """Refuse points that are not strictly inside the domain of the expression, `(m)->`."""
        check_finite(self.outcomes, z, place)
        written = self._expression
        for row in flat(z):
            if not written.inside(row):
                within = ", ".join(map(str, written.domain)) or "finite values"
                bad = {self.outcomes[i]: float(row[i]) for i in written.culprits(row)}
                names = ", ".join(map(repr, bad))
                one = len(bad) == 1
                expected = (
                    f"{'an average' if one else 'averages'} inside the domain of {self.expression}: {within}, "
                    "strictly; add an offset to the variable, such as z + 0.01"
                )
                where = f"{place}, outcome{'' if one else 's'} {names}"
                raise InvalidInput(where, expected, next(iter(bad.values())) if one else bad)

    def value(self, z: Floats) -> Floats:
        return np.array([self._expression.value(row) for row in flat(z)]).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Compute the dual variable of y = z in max_y f(y), `(m)->(m)`."""
        self.check(z, "Concave.supergradient")
        return np.array([self._expression.gradient(row, 0.0) for row in flat(z)]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute z + beta g with g from cvxpy, `(m),()->(m)`."""
        pairs = zip(flat(z), each(beta, z).tolist(), strict=True)
        return np.array([row + b * self._expression.gradient(row, b) for row, b in pairs]).reshape(z.shape)

    @property
    def _expression(self) -> CvxpyExpression:
        return self._written  # type: ignore[attr-defined,no-any-return]

    @property
    def _mark(self) -> tuple[Any, ...]:
        digits = tuple((c.shape, c.tobytes()) for c in self.constants)
        return self.outcomes, self.smooth, self.lipschitz, self.expression, digits
