"""A recipe within a budget on a log: what it brought per round of the horizon, and how that compares in pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.core.faces import amount
from evenhand.numerics.student import reach
from evenhand.replay.measures import SERVED, Digest, Measure, Run
from evenhand.report.intervals import Interval, told
from evenhand.report.quantities import objective_name


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The runs of a recipe within a budget.

    Args:
        policy: the recipe.
        rate: the budget per round, None for that of the file.
        run: its runs.
        measures: by name, what it reached in every run.
    """

    policy: str
    rate: float | None
    run: Run
    measures: Mapping[str, Measure]

    @staticmethod
    def of(policy: str, rate: float | None, run: Run) -> Cell:
        """Measure the runs of a recipe."""
        return Cell(policy=policy, rate=rate, run=run, measures={m.name: m for m in _measures(run)})

    @property
    def name(self) -> str:
        return self.policy if self.rate is None else f"{self.policy} at {amount(self.rate, 6)}"

    def digest(self, name: str) -> Digest:
        """Summarise a measure over the runs."""
        return self.run.digest(self.measures[name])

    def beyond(self, other: Cell, name: str) -> Difference:
        """Compare a measure with that of another cell in pairs: run i of both read the same cases in the same order."""
        values = self.measures[name].values - other.measures[name].values
        resamples = (len(values) - self.run.shuffles) // self.run.orders
        return Difference.of(self.run.digest(Measure(name, values)), resamples)


class Difference(NamedTuple):
    """A paired difference of runs, with a 95 % interval for the population behind the log."""

    mean: float
    se: float | None = None
    low: float | None = None
    high: float | None = None

    @staticmethod
    def of(d: Digest, resamples: int) -> Difference:
        """Make the interval by the t distribution of as many degrees of freedom as resamples, less one.

        >>> round(Difference.of(Digest(1.0, 0.5, None, None, None), 40).high, 4)
        2.0113
        """
        if d.se is None:
            return Difference(d.mean)
        half = reach(d.se, resamples - 1)
        return Difference(d.mean, d.se, d.mean - half, d.mean + half)

    @property
    def told(self) -> int:
        """The sign of a difference if its interval leaves out 0, else 0."""
        return told(self.low, self.high)

    def named(self, name: str) -> Interval:
        """Give the difference a name, as pictures show it."""
        return Interval(name, self.mean, self.low, self.high)


def _measures(run: Run) -> Iterator[Measure]:
    trace, problem = run.trace, run.trace.problem
    name = objective_name(problem)
    yield Measure(name, run.objective(), "low")
    for outcome in problem.names:
        if outcome != name:
            yield Measure(f"{outcome} per round", run.whole.average(outcome)[-1], "high")
    for s in problem.stated:
        if s.spends and s.outcome is not None and math.isfinite(s.total):
            yield Measure(f"{s.outcome} of budget", trace.total(s.outcome) / s.total, "high", 1.0)
        elif not s.spends:
            yield Measure(s.constraint.label, trace.measure(s.constraint)[-1], s.constraint.worst, s.limit)
    yield Measure(SERVED, run.rounds / run.due, "low")
