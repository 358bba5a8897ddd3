"""The quantities that a run is judged by: its objective, measures and constraints, observed and in expectation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from evenhand.core.types import Floats, Ints
from evenhand.objectives import Linear
from evenhand.problem.constraints import Constraint, Statement
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select

ARRIVED = ", of outcomes that arrived"
EXPECTED = ", expected of all plays"
_TERMS = 3  # of an objective whose name has all of them
AT_MEANS = ", at true means"  # of a measure: r(means), which differs from the mean of r

Self = TypeVar("Self")


class Course(Protocol):
    """The interface that reports read: a trace, or another object with averages at G points."""

    @property
    def problem(self) -> Problem:
        """The problem that was decided."""

    @property
    def policy(self) -> str:
        """The name of the curve."""

    @property
    def interrupted(self) -> str:
        """The progress of an interrupted run in words; empty if the run finished."""

    @property
    def times(self) -> Ints:
        """The points, `->(G)`."""

    @property
    def under_way(self) -> Floats:
        """The number of rounds whose outcomes had not arrived yet, `->(G,R)`."""

    def objective(self) -> Floats:
        """Compute the objective at the average outcomes, `->(G,R)`."""

    def average(self, name: str) -> Floats:
        """Compute the average of an outcome or a measure per round, `->(G,R)`."""

    def measure(self, constraint: Constraint) -> Floats:
        """Compute the measure of a constraint, `->(G,R)`."""

    def as_arrived(self: Self) -> Self:
        """Return the course of only those outcomes that arrived."""

    def in_expectation(self: Self) -> Self | None:
        """Return the course in expectation over all plays, None if the expectations are unknown."""


class Quantity(NamedTuple):
    """A quantity measured at every point of a run, in the units of its outcomes per round."""

    name: str
    value: Callable[[Any], Floats]  # of a `Course`, -> (G, R)
    worst: Literal["low", "high"]
    limit: float | None = None
    spends: bool = False
    stated: Statement | None = None  # the measured constraint, if all its outcomes arrived


def quantities(run: Course) -> list[Quantity]:
    """List the objective, then every measure and every constraint of a run's problem.

    If outcomes are late, a quantity that reads them appears twice: for the outcomes that arrived and, if expectations
    are known, for all plays in expectation. With known expectations measures always appear twice, as they are not
    linear.
    """
    problem, late, truth = run.problem, bool(run.under_way.any()), run.in_expectation() is not None
    first, *others = [
        (
            Quantity(objective_name(problem), lambda run: run.objective(), "low"),
            select(problem, tuple(problem.objective.outcomes)),
        ),
        *((_constraint(s), s.rows) for s in problem.stated),
    ]

    def parts(q: Quantity, rows: Rows) -> list[Quantity]:
        return _late(q, truth) if late and not rows.is_known.all() else [q]

    return [*parts(*first), *measures_of(run), *(part for other in others for part in parts(*other))]


def at_true_means(run: Course) -> str:
    """Return the name of the objective if it is that of the true means of the plays; else ""."""
    late, truth = bool(run.under_way.any()), run.in_expectation() is not None
    learned = not select(run.problem, tuple(run.problem.objective.outcomes)).is_known.all()
    return objective_name(run.problem) if truth and learned and not late else ""


def objective_name(problem: Problem) -> str:
    """Return the name of the objective: a sum of at most three outcomes by their names, or "objective".

    >>> from dataclasses import replace
    >>> from evenhand.environments import Court
    >>> court = Court().problem
    >>> [objective_name(replace(court, maximize=Linear(w))) for w in ({"appears": -1.0}, {"appears": 1, "ride": -0.1})]
    ['(minus appears)', '(appears - 0.1 ride)']
    """
    objective = problem.objective
    if not isinstance(objective, Linear) or len(objective.outcomes) > _TERMS:
        return "objective"
    (first, weight), *rest = ((name, float(w)) for name, w in objective.weights.items())
    if not rest and weight == 1.0:
        return first
    lead = {1.0: "", -1.0: "minus "}.get(weight, f"{weight:g} ")
    more = (f" {'-' if w < 0.0 else '+'} {'' if abs(w) == 1.0 else f'{abs(w):g} '}{name}" for name, w in rest)
    return f"({lead}{first}{''.join(more)})"


def measures_of(run: Course) -> list[Quantity]:
    """List the measures of a run's problem: of outcomes that arrived and, if known, at the true means of all plays."""
    found, late, truth = [], bool(run.under_way.any()), run.in_expectation() is not None
    for m in run.problem.measures:
        value = partial(_average, m.name)
        found.append(Quantity(m.name + (ARRIVED if late else ""), partial(_of_arrivals, value), m.worst))
        if truth:
            found.append(Quantity(m.name + AT_MEANS, partial(_in_expectation, value), m.worst))
    return found


def _constraint(s: Statement) -> Quantity:
    c = s.constraint
    return Quantity(s.label, lambda run: run.measure(c), c.worst, s.limit, s.spends, s)


def _late(q: Quantity, truth: bool) -> list[Quantity]:
    arrived = q._replace(name=q.name + ARRIVED, value=partial(_of_arrivals, q.value), stated=None)
    return [arrived, q._replace(name=q.name + EXPECTED, value=partial(_in_expectation, q.value))][: 2 if truth else 1]


def _average(name: str, run: Course) -> Floats:
    return run.average(name)


def _of_arrivals(value: Callable[[Any], Floats], run: Course) -> Floats:
    return value(run.as_arrived())


def _in_expectation(value: Callable[[Any], Floats], run: Course) -> Floats:
    whole = run.in_expectation()
    return np.full(run.under_way.shape, np.nan) if whole is None else value(whole)
