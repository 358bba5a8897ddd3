"""What results from a log have in common: texts, settings, pages, and the rows of `results.json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from evenhand.core import faces
from evenhand.logs.checks import Checks, told as warnings
from evenhand.logs.clusters import Clusters
from evenhand.offline.doubts import Bounds
from evenhand.offline.scores import Estimate, Z, student
from evenhand.report import allowances
from evenhand.report.allowances import Allowance
from evenhand.report.intervals import BOUNDS, SINGLE, Interval
from evenhand.report.page import Page, Part
from evenhand.report.results import Measurement, Results
from evenhand.report.tables import Table, printed


class Counted(NamedTuple):
    """How many clusters the rows of a log have, where they are declared."""

    column: str
    number: int

    @staticmethod
    def of(clusters: Clusters | None) -> Counted | None:
        """Count clusters, None where each row is one."""
        return None if clusters is None else Counted(str(clusters.column), clusters.count)

    def __str__(self) -> str:
        return f" in {self.number:,} clusters by {self.column!r}"


class Judged(Protocol):
    """The result of an evaluation from a log."""

    @property
    def log(self) -> str: ...

    @property
    def problem_file(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def clusters(self) -> Counted | None: ...

    @property
    def folds(self) -> int: ...

    @property
    def seed(self) -> int: ...

    @property
    def checks(self) -> Checks: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


def reached(found: Judged, errors: float = Z) -> float:
    """Return how many standard errors to either side count in place of so many of a normal distribution."""
    if found.clusters is None or found.clusters.number == found.rows:
        return errors
    return student(errors, found.clusters.number - 1.0)


def settings_of(found: Judged, more: Mapping[str, object]) -> dict[str, object]:
    """Return the settings on which the numbers depend, by name."""
    own: dict[str, object] = {
        "log": found.log,
        "problem": found.problem_file,
        "rows": found.rows,
        "folds": found.folds,
        "seed": found.seed,
    }
    counted = {} if found.clusters is None else {"cluster": found.clusters.column, "clusters": found.clusters.number}
    return own | counted | dict(more)


def results_of(name: str, found: Judged, more: Mapping[str, object]) -> Results:
    """Return results without rows, with the settings and notes of what was found."""
    se = "by the influence function, for the population behind the log"
    return Results(name, settings_of(found, more), se_of=se, notes=found.notes, checks=found.checks)


def head(found: Judged, what: str, allowed: tuple[Allowance, ...] = ()) -> Iterator[str]:
    """Yield the first lines of a text, with the budgets, what is wrong and the notes."""
    yield f"{found.log}: {found.rows:,} rows{found.clusters or ''}; {what}; {found.folds} folds, seed {found.seed}"
    yield from allowances.lines(allowed)
    yield from warnings(found.checks)
    yield from (f"note: {note}" for note in found.notes)


def ends_of(name: str, at: Mapping[str, float], metric: str, estimate: Estimate) -> Iterator[Measurement]:
    """Yield rows of `results.json` with the ends of an interval, which a standard error alone does not tell."""
    if not math.isnan(estimate.se):
        for side, end in zip(("low", "high"), estimate.interval, strict=True):
            yield Measurement(name, at, f"{metric}: 95 %, {side}", end)


def told(estimate: Estimate) -> str:
    """Return an estimate for a table; one without an error is a guess.

    >>> told(Estimate(-0.00001, 0.002)), told(Estimate(0.5, float("nan")))
    ('0.0000 ± 0.0020', '0.5000 (guess)')
    """
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
    """Return what is used, its interval, and the confidence that it is within a limit, for a table.

    >>> use_cell(Estimate(0.5, 0.1), 0.5), use_cell(Estimate(0.5, float("nan")), float("nan"))
    ('0.5000 (0.3040 to 0.6960), 50.0%', '0.5000 (guess), unknown')
    """
    return f"{round(used.value, 4) + 0.0:.4f} ({reaches(used) or 'guess'}), {confidence(sure)}"


def confidence(sure: float) -> str:
    """Return a confidence for a table.

    >>> confidence(0.5), confidence(float("nan"))
    ('50.0%', 'unknown')
    """
    return "unknown" if math.isnan(sure) else f"{sure:.1%}"


def in_band(name: str, estimate: Estimate, errors: float, count: int) -> Interval:
    """Return an estimate with the interval that holds for so many at once, of as many standard errors as `Bands` say.

    >>> in_band("mens", Estimate(0.1, 0.01), 3.0, 5).said
    '+0.1000 (95 % for all 5 at once: +0.0700 to +0.1300)'
    """
    return Interval(name, estimate.value, *estimate.within(errors), coverage(count))


def coverage(count: int) -> str:
    """Say what an interval holds for."""
    return SINGLE if count < 2 else f"{SINGLE} for all {count} at once"


def difference(estimate: Estimate, of: str) -> str:
    """Return a difference in words, what it is of, and whether it can be told from chance.

    >>> difference(Estimate(0.1, 0.01), " visits")
    '+0.1000 (95 %: +0.0804 to +0.1196) visits'
    >>> difference(Estimate(0.1, 0.1), "")
    '+0.1000 (95 %: -0.0960 to +0.2960), which is indistinguishable from chance'
    """
    return interval("", estimate).words(of)


class Shown(Protocol):
    """A result with a sentence that states it, sentences that follow, and tables."""

    def headline(self) -> str:
        """State the result in a sentence, without its full stop."""

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow."""

    def tables(self) -> Iterator[Table]:
        """Yield the tables, the most important one first."""


def summary(found: Shown) -> str:
    """Return the result in a few sentences."""
    return " ".join([f"{found.headline()}.", *found.sentences()])


def text(found: Shown, head: Iterable[str], reading: Iterable[str] = ()) -> str:
    """Return what is printed: a heading, the tables, and how to read them."""
    return printed(head, found.tables(), list(reading))


def html(found: Shown) -> str:
    """Return what a notebook shows: the headline and the first table."""
    first = next(found.tables())
    return faces.table(found.headline(), first.rows, first.head)


def page(
    found: Shown, parts: Iterable[Part], *, notes: Iterable[str], command: str, settings: Mapping[str, object]
) -> Page:
    """Return the report, which states the command that made it."""
    return Page(
        title=found.headline(),
        sentences=tuple(found.sentences()),
        notes=tuple(notes),
        parts=tuple(parts),
        command=command,
        settings=settings,
    )
