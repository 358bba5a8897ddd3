"""The common parts of results from a log: their settings, headings and errors, and estimates in words."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from evenhand.core.texts import amount
from evenhand.logs.checks import Checks
from evenhand.logs.clusters import Clusters
from evenhand.offline.cautions import Bounds
from evenhand.offline.estimated_propensities import CAUTION
from evenhand.offline.scores import Estimate, Z, student
from evenhand.report import allowances
from evenhand.report.allowances import Allowance
from evenhand.report.intervals import BOUNDS, SINGLE, Interval
from evenhand.report.results import Evaluation, warnings


class Counted(NamedTuple):
    """The number of clusters that the rows of a log have, where they are declared."""

    column: str
    number: int

    @staticmethod
    def of(clusters: Clusters | None) -> Counted | None:
        """Count clusters, None where each row is one."""
        return None if clusters is None or clusters.column is None else Counted(str(clusters.column), clusters.count)

    def __str__(self) -> str:
        return f" in {self.number:,} clusters by {self.column!r}"


@dataclass(frozen=True, kw_only=True, repr=False)
class LogResult(Evaluation):
    """A result by models of a log, each fitted to other rows than it predicts.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        rows: of the log that were used.
        clusters: how many clusters the rows have, and by which column; None where each row is one.
        folds, seed: of the cross-fitting.
        checks: what is wrong with the log or with what is asked of it, a sentence each; None if nothing was found.
        notes: remarks about the log.
        units: what outcomes are counted in, where the problem file says so.
        adds_up: whether averages per case times the rows are totals.
    """

    errors: ClassVar[str] = "by the influence function, for the population behind the log"

    log: str
    problem_file: str
    objective: str
    rows: int
    folds: int
    seed: int
    checks: Checks
    notes: tuple[str, ...]
    clusters: Counted | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    adds_up: bool = False

    @property
    @abstractmethod
    def about(self) -> str:
        """The contents of the tables, in a few words."""

    def summary(self) -> str:
        """Return the result in a few sentences, with the caution on propensities if these were estimated."""
        said = (f"{CAUTION[0].upper()}{CAUTION[1:]}.",) if CAUTION in self.notes else ()
        return " ".join((super().summary(), *said))

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowances of the budgets."""
        return ()

    @property
    def cluster_count(self) -> dict[str, float]:
        """The number of clusters, as a column of data frames; nothing where each row is one."""
        return {} if self.clusters is None else {"clusters": self.clusters.number}

    def remarks(self) -> Iterator[str]:
        """Yield cautions about the numbers, besides the notes on the log."""
        yield from ()

    def reached(self, errors: float = Z) -> float:
        """Return the number of standard errors to either side, given that of a normal distribution."""
        if self.clusters is None or self.clusters.number == self.rows:
            return errors
        return student(errors, self.clusters.number - 1.0)

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        found: dict[str, object] = {"log": self.log, "problem": self.problem_file, "rows": self.rows}
        found |= {"folds": self.folds, "seed": self.seed}
        if self.clusters is not None:
            found |= {"cluster": self.clusters.column, "clusters": self.clusters.number}
        return found | allowances.budget_setting(self.allowed)

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables, with the budgets, what is wrong, the notes and the result."""
        rows = f"{self.rows:,} rows{self.clusters or ''}"
        yield f"{self.log}: {rows}; {self.about}; {self.folds} folds, seed {self.seed}"
        yield from allowances.lines(self.allowed)
        yield from warnings(self.checks)
        yield from (f"note: {note}" for note in (*self.notes, *self.remarks()))
        yield f"{self.headline()}."

    def cautions(self) -> Iterator[str]:
        """Yield warnings about the log, and remarks."""
        yield from warnings(self.checks)
        yield from (*self.notes, *self.remarks())


class Total(NamedTuple):
    """A number of all cases, by its estimate per case."""

    estimate: Estimate
    cases: int

    @property
    def pair(self) -> tuple[float, float]:
        """The total and its standard error."""
        return self.estimate.value * self.cases, self.estimate.se * self.cases

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; NaN where no error is known."""
        return self.within(Z)

    def within(self, errors: float) -> tuple[float, float]:
        """The interval with the confidence of a number of standard errors of a normal one to either side."""
        low, high = self.estimate.within(errors)
        return low * self.cases, high * self.cases

    def text(self, what: str, of: str = SINGLE, errors: float = Z, *, signed: bool = False) -> str:
        """Return the total with its interval, in words.

        Args:
            what: it is a total of.
            of, errors: what the interval covers, and the standard errors of a normal one with its confidence.
            signed: whether a sign is in front, as of differences.

        >>> Total(Estimate(2.5, 0.1), 30_000).text("euros", signed=True)
        '+75,000 euros (95 %: +69,120 to +80,880)'
        """
        value, low, high = (_whole(z, signed) for z in (self.pair[0], *self.within(errors)))
        return f"{value} {what} " + ("(no error known)" if math.isnan(self.estimate.se) else f"({of}: {low} to {high})")

    def cells(self) -> tuple[str, str]:
        """Return the total and its interval for a table."""
        if math.isnan(self.estimate.value):
            return "", ""
        if math.isnan(self.estimate.se):
            return f"{_whole(self.pair[0])} (guess)", ""
        low, high = self.interval
        return _whole(self.pair[0]), f"{_whole(low)} to {_whole(high)}"


def _whole(z: float, signed: bool = False) -> str:
    return f"{'+' * (signed and z > 0.0)}{amount(z + 0.0)}"


def told(estimate: Estimate) -> str:
    """Return an estimate for a table; one without an error is a guess, and NaN is nothing.

    >>> told(Estimate(-0.00001, 0.002)), told(Estimate(0.5, float("nan"))), told(Estimate(*[float("nan")] * 2))
    ('0.0000 ± 0.0020', '0.5000 (guess)', '')
    """
    if math.isnan(estimate.value):
        return ""
    error = "(guess)" if math.isnan(estimate.se) else f"± {estimate.error:.4f}"
    return f"{round(estimate.value, 4) + 0.0:.4f} {error}"


def reaches(estimate: Estimate) -> str:
    """Return the interval of an estimate for a table; nothing for a guess.

    >>> reaches(Estimate(0.5, 0.1)), reaches(Estimate(0.5, float("nan")))
    ('0.3040 to 0.6960', '')
    """
    return "" if math.isnan(estimate.se) else "{:.4f} to {:.4f}".format(*estimate.interval)


def interval(name: str, estimate: Estimate, bounds: Bounds | None = None) -> Interval:
    """Return an estimate as pictures show it: with its interval, or where it is a guess with its bounds, if known."""
    if bounds is not None:
        return Interval(name, estimate.value, *bounds, BOUNDS)
    return Interval(name, estimate.value, *(() if math.isnan(estimate.se) else estimate.interval))


def use_cell(used: Estimate, sure: float) -> str:
    """Return the use, its interval, and the confidence that it is within a limit, for a table.

    >>> use_cell(Estimate(0.5, 0.1), 0.5), use_cell(Estimate(0.5, float("nan")), float("nan"))
    ('0.5000 (0.3040 to 0.6960), 50.0%', '0.5000 (guess), unknown')
    """
    if math.isnan(used.value):
        return ""
    confidence = "unknown" if math.isnan(sure) else f"{sure:.1%}"
    return f"{round(used.value, 4) + 0.0:.4f} ({reaches(used) or 'guess'}), {confidence}"


def in_band(name: str, estimate: Estimate, errors: float, count: int) -> Interval:
    """Return an estimate with the interval that holds for several at once, by the standard errors of `Bands`.

    >>> in_band("mens", Estimate(0.1, 0.01), 3.0, 5).text
    '+0.1000 (95 % for all 5 at once: +0.0700 to +0.1300)'
    """
    return Interval(name, estimate.value, *estimate.within(errors), coverage(count))


def coverage(count: int) -> str:
    """State which values an interval covers."""
    return SINGLE if count < 2 else f"{SINGLE} for all {count} at once"
