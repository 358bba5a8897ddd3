"""The report of a replay: tables to print, and rows for `results.json`."""

from __future__ import annotations

import math
import textwrap
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.texts import amount
from evenhand.logs.checks import Checks, refusal, scope
from evenhand.logs.settings import BLIND, Settings
from evenhand.policy.standings import Standing
from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.base import OneOutcome
from evenhand.problem.constraints.outlook import ERRORS, chance
from evenhand.problem.problem import Problem
from evenhand.replay import measures as spans, tables as legends
from evenhand.replay.execution import Runs
from evenhand.replay.measures import ALL, SERVED, Difference, Digest, Measure, Run, measures
from evenhand.replay.tables import Tables, differences, others, uses
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance, of_rounds
from evenhand.report.charts import Bar
from evenhand.report.intervals import Interval
from evenhand.report.page import Part
from evenhand.report.quantities import objective_name
from evenhand.report.results import Evaluation, Measurement, Records, warnings
from evenhand.report.summary import Ending, endings, with_credit
from evenhand.report.tables import Table

WIDTH = 120  # characters of a line
SPANS = (
    "Bars are parts of what each span allows or asks for, on average over the shuffles; at the line it is all of it."
)


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
class ReplayResult(Evaluation):
    """A result by runs of policies on a log.

    Args:
        log, problem_file: names of the files.
        problem: the problem of the file.
        missing: what was not run because of an interrupt.
        rows: the number of rows of the log that were used.
        averages: what the log says of policies that play without a replay, in a sentence.
        checks: what is wrong with the log, a sentence each; None if nothing was found.
        notes: remarks about the log and the policies.
    """

    name: ClassVar[str] = "replay"
    errors: ClassVar[str] = "of the mean over the shuffles, for the population behind the log"
    per: ClassVar[str]  # what has so many runs

    log: str
    problem_file: str
    problem: Problem
    missing: tuple[str, ...]
    rows: int
    averages: str
    checks: Checks
    notes: tuple[str, ...]

    @property
    @abstractmethod
    def sampling(self) -> Runs:
        """The shuffles of the log and the resamples of its rows."""

    @abstractmethod
    def totals(self) -> Iterator[str]:
        """Yield the results of policies over the horizon, if the log can tell."""

    @abstractmethod
    def details(self) -> Iterator[str]:
        """Yield sentences on budgets and rounds, which follow those on the results of policies."""

    @property
    def interrupted(self) -> bool:
        """Whether something is missing because of an interrupt."""
        return bool(self.missing)

    @property
    def objective(self) -> str:
        """The name of the objective."""
        return objective_name(self.problem)

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowances of the file's budgets."""
        return of_rounds(self.problem)

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        own = {"log": self.log, "problem": self.problem_file, "rows": self.rows, "horizon": self.problem.horizon}
        return own | asdict(self.sampling) | allowances.budget_setting(self.allowed)

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""
        if self.interrupted:
            yield f"Interrupted: nothing is known about {'; '.join(self.missing)}."
        yield from (f"{line}." for line in self.totals())
        yield from allowances.sentences(self.allowed)
        yield f"{self.averages}."
        yield from self.details()

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables: runs, budgets, omitted rows, warnings about the log, and remarks."""
        runs, horizon = self.sampling, f"{self.problem.horizon:,} accepted rounds"
        length = f"horizon {horizon}" if self.problem.until is None else f"about {horizon} until {self.problem.until}"
        resamples = f" and {runs.bootstrap} bootstrap resamples" if runs.bootstrap else ""
        many = f"{self.per} {runs.replicas} shuffles{resamples}, seed {runs.seed}"
        yield f"{self.log}: {self.rows:,} rows, {length}; {many}"
        yield from allowances.lines(self.allowed)
        yield from self.omissions()
        yield from warnings(self.checks)
        yield from (f"note: {note}" for note in self.notes)

    def omissions(self) -> Iterator[str]:
        """Yield which rows were left out."""
        yield from ()

    def opening(self) -> list[str]:
        """Return the first blocks of a text: a note on missing results, and the heading."""
        missing = [f"INTERRUPTED: nothing is known about {'; '.join(self.missing)}"] if self.missing else []
        return [*missing, "\n".join(self.heading())]


@dataclass(frozen=True, kw_only=True, repr=False)
class Replay(ReplayResult):
    """The result of a replay; print it to see its tables.

    Args:
        log, problem_file, problem, missing, rows, averages, checks, notes: as of `ReplayResult`.
        settings: the recipe and the model under test, or beside a policy of your own.
        own: the name of this policy, None if there is none.
        runs: one per system, the policy under test first.
        left_out_rows: the number of rows that were left out.
        left_out: one line per reason for leaving out rows.
        shuffles, bootstrap: runs per system.
        seed: the seed of all random numbers.
    """

    kind: ClassVar[str] = "replay"
    per: ClassVar[str] = "per system"

    settings: Settings
    own: str | None = None
    runs: tuple[Run, ...]
    left_out_rows: int
    left_out: tuple[str, ...]
    shuffles: int
    bootstrap: int
    seed: int

    @property
    def sampling(self) -> Runs:
        """The shuffles of the log and the resamples of its rows."""
        return Runs(replicas=self.shuffles, bootstrap=self.bootstrap, seed=self.seed)

    @cached_property
    def measured(self) -> dict[str, dict[str, tuple[Measure, Digest]]]:
        """All measures with their digests, by system and name."""
        blind = next((r for r in self.runs if r.name == BLIND), None)
        return {r.name: {m.name: (m, r.digest(m)) for m in measures(self.problem, r, blind)} for r in self.runs}

    @cached_property
    def layout(self) -> Tables:
        """The tables of measures."""
        return Tables(problem=self.problem, measured=self.measured, bootstrap=self.bootstrap)

    @property
    def parts_served(self) -> dict[str, float]:
        """The part of the rounds that each system served, of those that did not serve all."""
        parts = {name: found[SERVED][1].mean for name, found in self.measured.items()}
        return {name: part for name, part in parts.items() if part < ALL}

    def headline(self) -> str:
        """State the result in a sentence: the gain of the policy under test over `uniform`, if the log can tell."""
        if not self.runs:
            return "Nothing has finished"
        if (refused := refusal(self.checks)) is not None:
            return refused
        first, name = self.runs[0].name, self.objective
        beyond, part = self.beyond(first), self.parts_served.get(first)
        served = "" if part is None else f"; it served {part:.1%} of the rounds"
        if beyond is None:
            result = f"{first} brings {self.measured[first][name][1].mean:.4f} {name} per round{served}"
        else:
            result = f"{first} brings {beyond.words(f' {name} per round beyond {BLIND}')}{served}"
        return f"{scope(self.checks)}{result}"

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name."""
        own = {} if self.own is None else {"own policy": self.own}
        return super().inputs() | {"left_out": list(self.left_out), **own, "policy": self.settings.to_dict()}

    def measurements(self) -> Iterator[Measurement]:
        """Yield every measure; its spread and its standard error over shuffles are metrics of their own."""
        for line in self.lines():
            yield Measurement(line.system, {}, line.measure, line.mean, line.se, line.worst)
            for title, value in (("spread over shuffles", line.spread), ("se over shuffles of this log", line.se_log)):
                if value is not None:
                    yield Measurement(line.system, {}, f"{line.measure}: {title}", value)

    def details(self) -> Iterator[str]:
        """Yield the uses of the policy under test, the limits that it keeps, and who did not serve all rounds."""
        if not self.runs:
            return
        found = self.measured[self.runs[0].name]
        for s in self.layout.budgets.values():
            d = found[f"{s.outcome} used"][1]
            mean, total, most = (amount(z, 6) for z in (d.mean, s.total, d.worst or 0.0))
            yield f"{s.outcome}: {mean} of {total} used on average, {most} at most."
        yield from (" ".join(line.split()) for line in self._promises())
        for name, part in self.parts_served.items():
            yield f"{name} served {part:.1%} of the rounds, until nothing fitted; the others count 0."

    def totals(self) -> Iterator[str]:
        """Yield the results of systems over the horizon, if the log can tell."""
        if self.runs and refusal(self.checks) is None:
            name, first = self.objective, self.runs[0].name
            means = {system: found[name][1].mean for system, found in self.measured.items()}
            yield from allowances.over_horizon(self.problem, means, self.beyond(first), BLIND, scope(self.checks))

    def lines(self) -> tuple[Line, ...]:
        """Return every measure of every system."""
        return tuple(
            Line(system, name, d.mean, d.se, d.se_log, d.spread, d.worst, m.limit)
            for system, found in self.measured.items()
            for name, (m, d) in found.items()
        )

    def records(self) -> Records:
        """Return a row per line of `lines`."""
        return Records(Line._fields, self.lines())

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: differences, uses, limits, groups, spans of time, and rounds."""
        if not self.runs:
            return
        names, layout = [run.name for run in self.runs], self.layout
        title = f"{self.objective} per round beyond {BLIND}"
        yield from differences(title, [d for d in map(self.beyond, names) if d is not None], layout.objective())
        marks = {SERVED: [self.measured[n][SERVED][1].mean for n in names]} if self.parts_served else {}
        yield from uses(names, layout.used(), marks, tuple(layout.outcomes()))
        yield from others("Limits and groups", layout.limits(), "\n".join(self._promises()))
        yield from (self._groups(c, by) for c, by in by_group(self.problem.subject_to))
        yield from others("Spans of time", [], "\n\n".join(self._spans()))
        yield from self._span_charts()
        yield from others("Rounds", [layout.lengths()], "\n".join(self._ends()))
        yield from others("What the columns mean", [], self._legend())

    def _groups(self, c: OneOutcome, by: str) -> Part:
        """Draw the averages by group of the outcome of a constraint."""
        groups = next(g.names for g in self.problem.groups if g.name == by)
        bars = [
            Bar(f"{system}: {group}", mean := found[f"{c.outcome} rate {by}={group}"][1].mean, f"{mean:.4f}", hue)
            for system, found in self.measured.items()
            for hue, group in enumerate(groups)
        ]
        least = next(s.limit for s in self.problem.stated if s.constraint is c) if c.worst == "low" else None
        return Part(title=f"{c.outcome} per case, by {by}", chart=charts.bars(bars, least), keys=charts.keys(groups))

    def _span_charts(self) -> Iterator[Part]:
        """Draw what the policy under test used or reached in every span of time, beside its limits."""
        for s in spans.span_statements(self.problem):
            use = spans.span_uses(self.runs[0].trace, s)
            if use is not None:
                each = zip(spans.names(self.problem, s), use[: self.shuffles].mean(0), spans.limits(s), strict=True)
                bars = [Bar(span, x / z, f"{amount(x, 3)} of {amount(z, 3)}") for span, x, z in each if z]
                title = f"{spans.title(s)}, by {self.runs[0].name}"
                yield Part(title=title, reading=SPANS, chart=charts.bars(bars[: spans.MOST], limit=1.0))

    def cautions(self) -> Iterator[str]:
        """Yield omitted rows, warnings about the log, and remarks."""
        yield from (f"left out: {reason}" for reason in self.left_out)
        yield from super().cautions()

    def beyond(self, system: str) -> Interval | None:
        """Return by how much a system exceeds `uniform`, with its interval; None for that itself, or without it."""
        found = self.measured[system].get(f"{self.objective} minus {BLIND}")
        if found is None or system == BLIND:
            return None
        return Difference.of(found[1], self.bootstrap).as_interval(system)

    def text(self, *, errors: bool = False) -> str:
        """Return the report as text.

        Args:
            errors: whether tables have standard errors, spreads and worst runs in place of intervals.
        """
        parts = self.opening()
        if self.runs:
            parts.append("\n".join(textwrap.fill(line, WIDTH) for line in (self.headline(), *self.totals())))
            legend = self._legend() if errors else legends.plain_legend(self.bootstrap)
            parts += [*self._tables(errors), legend, *self._promises(), "\n".join(self._ends())]
        return "\n\n".join(p for p in parts if p)

    def _legend(self) -> str:
        """Explain the columns of all errors."""
        shown = [d for _, d in self.measured[self.runs[0].name].values()]
        parts = {part for part in Digest._fields if any(getattr(d, part) is not None for d in shown)}
        return legends.legend(parts, self.shuffles, self.bootstrap, self.runs[0].orders)

    def omissions(self) -> Iterator[str]:
        """Yield which rows were left out."""
        if self.left_out_rows:
            yield f"left out of {self.rows + self.left_out_rows:,} rows:"
            yield from (f"  {reason}" for reason in self.left_out)

    def tables(self) -> Iterator[Table]:
        """Yield the tables, that of the objective first."""
        if self.runs:
            yield from (self.layout.objective(), *self.layout.outcomes(), *self.layout.limits(), self.layout.lengths())

    def _tables(self, errors: bool) -> Iterator[str]:
        tables = replace(self.layout, errors=errors)
        yield from map(str, (tables.objective(), *tables.outcomes()))
        yield from self._spans()
        yield from map(str, (*tables.limits(), tables.lengths()))

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
            for ending in [*ends, *(z.text for z in trace.locked_in)]:
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
