"""What a run is judged by: objective, measures and constraints, of what arrived and of all plays where these differ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.problem.constraints import Constraint, Stated
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select

ARRIVED = ", of outcomes that arrived"
EXPECTED = ", expected of all plays"
AT_MEANS = ", at true means"  # of a measure: r(means), which is not the mean of r

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

    def average(self, name: str) -> Floats:
        """Average of an outcome or a measure of the problem per round, `->(G,R)`."""

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
    stated: Stated | None = None  # the constraint that is measured, where all of it arrived


def quantities(run: Course) -> list[Quantity]:
    """The objective, first, then every measure and every constraint of a run's problem.

    Where outcomes are late, a quantity that reads them is there twice: of the outcomes that arrived, and where there is
    a truth, expected of all plays. Where there is a truth, measures are always there twice, as they are not linear.
    """
    problem, late, truth = run.problem, bool(run.under_way.any()), run.in_expectation() is not None
    names = problem.objective.outcomes
    first, *others = [
        (Quantity(names[0] if len(names) == 1 else "objective", _objective, "low"), select(problem, tuple(names))),
        *((_constraint(s), s.rows) for s in problem.stated),
    ]

    def parts(q: Quantity, rows: Rows) -> list[Quantity]:
        return _late(q, truth) if late and not rows.is_known.all() else [q]

    return [*parts(*first), *measured(run), *(part for other in others for part in parts(*other))]


def measured(run: Course) -> list[Quantity]:
    """The measures of a run's problem, of what arrived and where there is a truth at the true means of all plays."""
    found, late, truth = [], bool(run.under_way.any()), run.in_expectation() is not None
    for m in run.problem.measures:
        value = partial(_average, m.name)
        found.append(Quantity(m.name + (ARRIVED if late else ""), partial(_arrived, value), m.worst))
        if truth:
            found.append(Quantity(m.name + AT_MEANS, partial(_expected, value), m.worst))
    return found


def _constraint(s: Stated) -> Quantity:
    return Quantity(s.constraint.label, partial(_measure, s.constraint), s.constraint.worst, s.limit, s.spends, s)


def _late(q: Quantity, truth: bool) -> list[Quantity]:
    arrived = q._replace(name=q.name + ARRIVED, value=partial(_arrived, q.value), stated=None)
    return [arrived, q._replace(name=q.name + EXPECTED, value=partial(_expected, q.value))][: 2 if truth else 1]


def _objective(run: Course) -> Floats:
    return run.objective()


def _average(name: str, run: Course) -> Floats:
    return run.average(name)


def _measure(constraint: Constraint, run: Course) -> Floats:
    return run.measure(constraint)


def _arrived(value: Callable[[Any], Floats], run: Course) -> Floats:
    return value(run.as_arrived())


def _expected(value: Callable[[Any], Floats], run: Course) -> Floats:
    whole = run.in_expectation()
    return np.full(run.under_way.shape, np.nan) if whole is None else value(whole)
