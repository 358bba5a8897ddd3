"""What a run is judged by: its objective and its constraints, of what arrived and of all plays where these differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.problem.constraints import Constraint
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select

ARRIVED = ", of outcomes that arrived"
EXPECTED = ", expected of all plays"

Self = TypeVar("Self")


class Course(Protocol):
    """What is reported: a trace, or anything else that knows its averages at G points."""

    @property
    def problem(self) -> Problem:
        """What was decided."""

    @property
    def policy(self) -> str:
        """The name of the curve."""

    @property
    def interrupted(self) -> str:
        """How far an interrupted run came, in words; empty where the run finished."""

    @property
    def times(self) -> Ints:
        """The points, `->(G)`."""

    @property
    def under_way(self) -> Floats:
        """Rounds whose outcomes had not arrived yet, `->(G,R)`."""

    def objective(self) -> Floats:
        """The objective at the average outcomes, `->(G,R)`."""

    def measure(self, constraint: Constraint) -> Floats:
        """What a constraint measures, `->(G,R)`."""

    def as_arrived(self: Self) -> Self:
        """The same of the outcomes that arrived alone."""

    def in_expectation(self: Self) -> Self | None:
        """The same in expectation over all plays, None where the truth is unknown."""


class Quantity(NamedTuple):
    """Something that is measured at every point of a run, in the units of its outcomes per round."""

    name: str
    value: Callable[[Any], Floats]  # of a `Course`, -> (G, R)
    worst: Literal["low", "high"]
    limit: float | None = None
    spends: bool = False


def quantities(run: Course) -> list[Quantity]:
    """The objective and every constraint of a run's problem.

    Where outcomes are late, a quantity that reads them is there twice: of the outcomes that arrived, and where there is
    a truth, expected of all plays.
    """
    problem, late, truth = run.problem, bool(run.under_way.any()), run.in_expectation() is not None
    names = problem.objective.outcomes
    found = [
        (Quantity(names[0] if len(names) == 1 else "objective", _objective, "low"), select(problem, tuple(names))),
        *(
            (Quantity(c.label, partial(_measure, c), c.worst, c.limit(problem.horizon), c.spends), c.rows(problem))
            for c in problem.subject_to
        ),
    ]
    return [part for q, rows in found for part in (_late(q, truth) if late and not rows.is_known.all() else [q])]


def _late(q: Quantity, truth: bool) -> list[Quantity]:
    arrived = q._replace(name=q.name + ARRIVED, value=partial(_arrived, q.value))
    return [arrived, q._replace(name=q.name + EXPECTED, value=partial(_expected, q.value))][: 2 if truth else 1]


def _objective(run: Course) -> Floats:
    return run.objective()


def _measure(constraint: Constraint, run: Course) -> Floats:
    return run.measure(constraint)


def _arrived(value: Callable[[Any], Floats], run: Course) -> Floats:
    return value(run.as_arrived())


def _expected(value: Callable[[Any], Floats], run: Course) -> Floats:
    whole = run.in_expectation()
    return np.full(run.under_way.shape, np.nan) if whole is None else value(whole)
