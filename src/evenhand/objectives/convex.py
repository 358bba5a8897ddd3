"""Concave functions written with cvxpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.core.validate import number, picklable
from evenhand.objectives.base import check_finite, each, flat, outcome_names
from evenhand.objectives.written import Written


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
        written = Written(build, len(self.outcomes))
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
        written = self._asked
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
        return np.array([self._asked.value(row) for row in flat(z)]).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Compute the dual variable of y = z in max_y f(y), `(m)->(m)`."""
        self.check(z, "Concave.supergradient")
        return np.array([self._asked.gradient(row, 0.0) for row in flat(z)]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute z + beta g with g from cvxpy, `(m),()->(m)`."""
        pairs = zip(flat(z), each(beta, z).tolist(), strict=True)
        return np.array([row + b * self._asked.gradient(row, b) for row, b in pairs]).reshape(z.shape)

    @property
    def _asked(self) -> Written:
        return self._written  # type: ignore[attr-defined,no-any-return]

    @property
    def _mark(self) -> tuple[Any, ...]:
        digits = tuple((c.shape, c.tobytes()) for c in self.constants)
        return self.outcomes, self.smooth, self.lipschitz, self.expression, digits
