"""The report of a replay: tables to print, and rows for `results.json`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.core import faces
from evenhand.core.extras import data_frame
from evenhand.core.faces import amount
from evenhand.logs.checks import Checks, refusal, scope, told
from evenhand.logs.settings import BLIND, Settings
from evenhand.policy.standings import Standing
from evenhand.problem.constraints.outlook import ERRORS, chance
from evenhand.problem.problem import Problem
from evenhand.replay import measures as spans, tables as legends
from evenhand.replay.measures import ALL, SERVED, Difference, Digest, Measure, Run, measures
from evenhand.replay.tables import Tables, differences, others, uses
from evenhand.report import allowances
from evenhand.report.allowances import Allowance, of_rounds
from evenhand.report.credit_lines import with_credit
from evenhand.report.intervals import Interval
from evenhand.report.page import Page, Part
from evenhand.report.quantities import objective_name
from evenhand.report.results import Measurement, Results
from evenhand.report.summary import Ending, endings, number
from evenhand.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


WIDTH = 120  # characters of a line


class Line(NamedTuple):
    """A measure of a system."""

    system: str
    measure: str
    mean: float
    se: float | None  # of the mean, for the population behind the log
    se_log: float | None  # of the mean, for this one log
    spread: float | None
    worst: float | None
    limit: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Replay:
    """The result of a replay; print it to see its tables.

    Args:
        log, problem_file: names of the files.
        problem: the problem of the file.
        settings: the recipe and the model under test.
        runs: one per system, the policy under test first.
        missing: systems that were not run because of an interrupt.
        rows: the number of rows of the log that were used.
        left_out_rows: the number of rows that were left out.
        left_out: one line per reason for leaving out rows.
        averages: what the log says of policies that play without a replay, in a sentence.
        checks: what is wrong with the log, a sentence each; None if nothing was found.
        notes: remarks about the log.
        shuffles, bootstrap: runs per system.
        seed: the seed of all random numbers.
    """

    log: str
    problem_file: str
    problem: Problem
    settings: Settings
    runs: tuple[Run, ...]
    missing: tuple[str, ...]
    rows: int
    left_out_rows: int
    left_out: tuple[str, ...]
    averages: str
    checks: Checks
    notes: tuple[str, ...]
    shuffles: int
    bootstrap: int
    seed: int

    @property
    def interrupted(self) -> bool:
        """Whether systems are missing because of an interrupt."""
        return bool(self.missing)

    @cached_property
    def measured(self) -> dict[str, dict[str, tuple[Measure, Digest]]]:
        """All measures with their digests, by system and name."""
        blind = next((r for r in self.runs if r.name == BLIND), None)
        return {r.name: {m.name: (m, r.digest(m)) for m in measures(self.problem, r, blind)} for r in self.runs}

    @cached_property
    def tables(self) -> Tables:
        """The tables of measures."""
        return Tables(problem=self.problem, measured=self.measured, bootstrap=self.bootstrap)

    @property
    def served(self) -> dict[str, float]:
        """The part of the rounds that each system served, of those that did not serve all."""
        parts = {name: found[SERVED][1].mean for name, found in self.measured.items()}
        return {name: part for name, part in parts.items() if part < ALL}

    def headline(self) -> str:
        """State the result in a sentence: what the policy under test brings beyond `uniform`, if the log can tell."""
        if not self.runs:
            return "Nothing has finished"
        if (refused := refusal(self.checks)) is not None:
            return refused
        first, name = self.runs[0].name, objective_name(self.problem)
        beyond, part = self.beyond(first), self.served.get(first)
        served = "" if part is None else f"; it served {part:.1%} of the rounds"
        if beyond is None:
            result = f"{first} brings {self.measured[first][name][1].mean:.4f} {name} per round{served}"
        else:
            result = f"{first} brings {beyond.words(f' {name} per round beyond {BLIND}')}{served}"
        return f"{scope(self.checks)}{result}"

    def results(self) -> Results:
        """Collect the rows of `results.json`; spreads and standard errors over shuffles are separate metrics."""
        settings = {
            "log": self.log,
            "problem": self.problem_file,
            "rows": self.rows,
            "left_out": list(self.left_out),
            "horizon": self.problem.horizon,
            "replicas": self.shuffles,
            "bootstrap": self.bootstrap,
            "seed": self.seed,
            "policy": self.settings.to_dict(),
        } | allowances.setting(self._allowed)
        se = "of the mean over the shuffles, for the population behind the log"
        results = Results(
            "replay", settings, interrupted=self.interrupted, se_of=se, notes=self.notes, checks=self.checks
        )
        for system, found in self.measured.items():
            for name, (_, d) in found.items():
                results.rows.append(Measurement(system, {}, name, d.mean, d.se, d.worst))
                for title, value in (("spread over shuffles", d.spread), ("se over shuffles of this log", d.se_log)):
                    if value is not None:
                        results.rows.append(Measurement(system, {}, f"{name}: {title}", value))
        return results

    def summary(self) -> str:
        """Return the result in a few sentences."""
        return " ".join([f"{self.headline()}.", *self._sentences()])

    def _sentences(self) -> Iterator[str]:
        if self.interrupted:
            yield f"Interrupted: nothing is known about {'; '.join(self.missing)}."
        if self.runs:
            yield from (f"{line}." for line in self._totals())
            yield from allowances.sentences(self._allowed)
            yield f"{self.averages}."
            found = self.measured[self.runs[0].name]
            for s in self.tables.budgets:
                d = found[f"{s.outcome} used"][1]
                mean, total, most = (amount(z, 6) for z in (d.mean, s.total, d.worst or 0.0))
                yield f"{s.outcome}: {mean} of {total} used on average, {most} at most."
            yield from (" ".join(line.split()) for line in self._promises())
            for name, part in self.served.items():
                yield f"{name} served {part:.1%} of the rounds, until nothing fitted; the others count 0."

    def _totals(self) -> Iterator[str]:
        """Say what systems bring over the horizon, if the log can tell."""
        name, first = objective_name(self.problem), self.runs[0].name
        if refusal(self.checks) is None:
            means = {system: found[name][1].mean for system, found in self.measured.items()}
            yield from allowances.over_horizon(self.problem, means, self.beyond(first), BLIND, scope(self.checks))

    def lines(self) -> tuple[Line, ...]:
        """Return every measure of every system."""
        return tuple(
            Line(system, name, d.mean, d.se, d.se_log, d.spread, d.worst, m.limit)
            for system, found in self.measured.items()
            for name, (m, d) in found.items()
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per line of `lines`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame([tuple(line) for line in self.lines()], list(Line._fields))

    def plot(self) -> Figure:
        """Draw what every system brings beyond `uniform`, what it used of budgets, and what groups got.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from evenhand.replay.pictures import draw  # matplotlib only when asked for
        from evenhand.report.plots import figure_of

        return figure_of(draw(self))

    def page(self, command: str = "") -> Page:
        """Return the report, which states the command that made it."""
        parts: list[Part] = []
        if self.runs:
            names = [run.name for run in self.runs]
            beyond = [d for d in map(self.beyond, names) if d is not None]
            used = {
                s.outcome: [self.measured[n].get(f"{s.outcome} of budget") for n in names] for s in self.tables.budgets
            }
            means = {str(k): [None if z is None else z[1].mean for z in found] for k, found in used.items()}
            parts += differences(
                f"{objective_name(self.problem)} per round beyond {BLIND}", beyond, self.tables.objective()
            )
            marks = {SERVED: [self.measured[n][SERVED][1].mean for n in names]} if self.served else {}
            parts += uses(names, means, marks, tuple(self.tables.outcomes()))
            parts += others("Limits and groups", self.tables.limits(), "\n".join(self._promises()))
            parts += others("Spans of time", [], "\n\n".join(self._spans()))
            parts += others("Rounds", [self.tables.lengths()], "\n".join(self._ends()))
            parts += others("What the columns mean", [], self._legend())
        reasons = (f"left out: {reason}" for reason in self.left_out)
        return Page(
            title=self.headline(),
            sentences=tuple(self._sentences()),
            notes=(*reasons, *told(self.checks), *self.notes),
            parts=tuple(parts),
            command=command,
            settings=self.results().settings,
        )

    def beyond(self, system: str) -> Interval | None:
        """Return by how much a system exceeds `uniform`, with its interval; None for that itself, or without it."""
        found = self.measured[system].get(f"{objective_name(self.problem)} minus {BLIND}")
        if found is None or system == BLIND:
            return None
        return Difference.of(found[1], self.bootstrap).named(system)

    def __repr__(self) -> str:
        return faces.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        head = [name.replace("_", " ") for name in Line._fields]
        rows = [[*line[:2], *(number(x) for x in line[2:])] for line in self.lines()]
        return faces.table("\n".join(self._head()), rows, head)

    def to_dict(self) -> dict[str, object]:
        """Return the contents of `results.json`."""
        return self.results().to_dict()

    def __str__(self) -> str:
        return self.text()

    def text(self, *, errors: bool = False) -> str:
        """Return the report as text.

        Args:
            errors: whether tables have standard errors, spreads and worst runs in place of intervals.
        """
        parts = [f"INTERRUPTED: nothing is known about {'; '.join(self.missing)}"] if self.interrupted else []
        parts.append("\n".join(self._head()))
        if self.runs:
            parts.append("\n".join(textwrap.fill(line, WIDTH) for line in (self.headline(), *self._totals())))
            legend = self._legend() if errors else legends.plain_legend(self.bootstrap)
            parts += [*map(str, self._tables(errors)), legend, *self._promises(), "\n".join(self._ends())]
        return "\n\n".join(p for p in parts if p)

    def _legend(self) -> str:
        """Explain the columns of all errors."""
        shown = [d for _, d in self.measured[self.runs[0].name].values()]
        parts = {part for part in Digest._fields if any(getattr(d, part) is not None for d in shown)}
        return legends.legend(parts, self.shuffles, self.bootstrap, self.runs[0].orders)

    def _head(self) -> Iterator[str]:
        resamples = f" and {self.bootstrap} bootstrap resamples" if self.bootstrap else ""
        yield (
            f"{self.log}: {self.rows:,} rows, {self._length}; per system "
            f"{self.shuffles} shuffles{resamples}, seed {self.seed}"
        )
        yield from allowances.lines(self._allowed)
        if self.left_out_rows:
            yield f"left out of {self.rows + self.left_out_rows:,} rows:"
            yield from (f"  {reason}" for reason in self.left_out)
        yield from told(self.checks)
        yield from (f"note: {note}" for note in self.notes)

    @property
    def _allowed(self) -> tuple[Allowance, ...]:
        return of_rounds(self.problem)

    @property
    def _length(self) -> str:
        if self.problem.until is not None:
            return f"about {self.problem.horizon:,} accepted rounds until {self.problem.until}"
        return f"horizon {self.problem.horizon:,} accepted rounds"

    def _tables(self, errors: bool) -> Iterator[Table | str]:
        tables = replace(self.tables, errors=errors)
        yield tables.objective()
        yield from tables.outcomes()
        yield from self._spans()
        yield from tables.limits()
        yield tables.lengths()

    def _spans(self) -> Iterator[str]:
        ends = {run: {m: (d.mean, d.worst) for m, (_, d) in found.items()} for run, found in self.measured.items()}
        yield from spans.tables(self.problem, ends)

    def _promises(self) -> Iterator[str]:
        """Compare the policy under test with the limits of those constraints that are not budgets."""
        first = self.runs[0]
        problem = first.trace.problem
        credit = {s.constraint.label: left.min() for s, left in with_credit(problem, first.trace.credits)}
        for s in problem.stated:
            if not s.spends and s.by is None:
                c = s.constraint
                d, limit = self.measured[first.name][c.label][1], s.limit
                per = s.per(first.trace)
                one = None if per is None else per[-1].mean(keepdims=True)  # all runs read one log
                error = chance(s, problem, first.rounds.mean(keepdims=True), one)
                stands = Standing(
                    name=c.label,
                    value=d.mean,
                    limit=limit,
                    worst=c.worst,
                    error=error,
                    size=1.0 if s.credit is None else max(s.credit.slack, 1.0),
                    over=True,
                    credit=credit.get(c.label),
                )
                mean = f"{d.mean:.4f} on average; limit {amount(limit, 6)}"
                yield f"{first.name}: {c.label}, is {mean},\n{_verdict(stands)}."
        for s in problem.stated:
            if s.outcome is None or s.by is None:
                continue
            c, by = s.constraint, s.by
            d, limit = self.measured[first.name][c.label][1], s.limit
            sign = 1.0 if c.worst == "high" else -1.0
            error = first.even_gap(s.outcome, by)
            bound = limit + sign * error
            kept = sign * (d.worst or 0) <= sign * bound
            yield (
                f"{first.name}: the {c.label} is {d.mean:.4f} on average and {d.worst or 0:.4f} at "
                f"worst;\nlimit {amount(limit, 6)} {'+' if sign > 0 else '-'} sampling error {error:.4f} "
                f"(one se of a blind lottery) = {bound:.4f}, {'kept' if kept else 'NOT kept'} in every run."
            )

    def _ends(self) -> Iterator[str]:
        """Describe runs that ended before the horizon or with part of their offer masked: the rounds and the reason."""
        horizon = self.problem.horizon
        for run in self.runs:
            trace, of = run.trace, f"of {len(run.rounds)} runs"
            ends = endings(Ending.of(trace.stopped), Ending.of(trace.restricted_after))
            for ending in [*ends, *(z.said for z in trace.locked_in)]:
                yield f"{run.name}: {of}, {ending}"
            short = np.isfinite(trace.ran_out)
            if short.any():
                left = "; ".join(
                    f"{name} {m.values[short].mean():,.1f}"
                    for name, (m, _) in self.measured[run.name].items()
                    if name.endswith(" left")
                )
                yield (
                    f"{run.name}: {of}, {short.sum()} reached the end of the log before the horizon of {horizon:,} "
                    f"{Ending.of(trace.ran_out)}" + (f"; on average, {left}" if left else "")
                )


def _verdict(stands: Standing) -> str:
    """Word the verdict on a constraint as `Policy.status` does, and compare a miss with the sampling error."""
    if stands.kept or stands.credit is not None or math.isinf(stands.error):
        return stands.text
    no = "no " if stands.verdict == "close" else ""
    return f"missed, by {no}more than chance explains ({ERRORS:g} standard errors, of at most {stands.error:.4f} each)"
