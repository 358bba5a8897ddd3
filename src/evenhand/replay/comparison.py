"""The comparison of several recipes within several budgets on one log: a table, a picture and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.texts import amount
from evenhand.logs.checks import refusal, scope
from evenhand.logs.settings import BLIND
from evenhand.replay.execution import Runs
from evenhand.replay.measures import ALL, SERVED, Cell, Difference
from evenhand.replay.report import ReplayResult
from evenhand.replay.tables import beyond, differences, most, others, plain_legend, uses
from evenhand.report import allowances
from evenhand.report.allowances import Allowance, of_rounds
from evenhand.report.page import Part
from evenhand.report.results import Measurement, Records, Results
from evenhand.report.summary import number
from evenhand.report.tables import Table

OF_BUDGET = " of budget"  # how the names of measures end that say how much of a budget was used
_SLACK = 1e-9  # of a budget, for sums that were rounded


class Line(NamedTuple):
    """A measure of a recipe within a budget, or its difference to another recipe within the same budget."""

    policy: str
    budget: float | None  # per round; None for that of the file
    measure: str
    beyond: str  # the other recipe; empty for the measure itself
    mean: float
    se: float | None
    low: float | None  # the 95 % interval
    high: float | None
    worst: float | None  # of all runs
    limit: float | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Replays(ReplayResult):
    """Several recipes within several budgets on one log; print it to see its table.

    Args:
        log, problem_file, problem, missing, rows, averages, checks, notes: as of `ReplayResult`.
        cells: one per budget and recipe, those of the first budget first.
        runs: the shuffles and resamples of each cell.
    """

    kind: ClassVar[str] = "replay of several"
    per: ClassVar[str] = "per policy and budget"

    cells: tuple[Cell, ...]
    runs: Runs

    @property
    def sampling(self) -> Runs:
        """The shuffles of the log and the resamples of its rows."""
        return self.runs

    def __getitem__(self, key: str | tuple[str, float]) -> Cell:
        """Find a cell by its recipe, or by its recipe and its rate."""
        policy, rate = key if isinstance(key, tuple) else (key, None)
        for cell in self.cells:
            if cell.policy == policy and (rate is None or cell.rate == rate):
                return cell
        raise InvalidInput("cell", f"one of {', '.join(c.name for c in self.cells)}", key)

    def beyond(self, cell: Cell, policy: str, measure: str | None = None) -> Difference | None:
        """Compare a cell in pairs with another recipe within the same budget; None with itself or what is missing."""
        for other in self.cells:
            if other.policy == policy and other.rate == cell.rate and other is not cell:
                return cell.beyond(other, measure or self.objective)
        return None

    @property
    def references(self) -> tuple[str, ...]:
        """The recipes that others are compared with: the first one, and `uniform`."""
        return tuple(dict.fromkeys([self.cells[0].policy, BLIND])) if self.cells else ()

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowance of the file's budget, or of each of several by which it was replaced."""
        rates = dict.fromkeys(cell.rate for cell in self.cells if cell.rate is not None)
        return tuple(a._replace(rate=rate or a.rate) for a in of_rounds(self.problem) for rate in rates or [None])

    def details(self) -> Iterator[str]:
        """Yield who used more than a budget, did not serve all rounds, or came to the end of the log."""
        yield from (f"{line}." for line in self._spent())
        for cell in self.cells:
            served = cell.digest(SERVED)
            if served.mean < ALL:
                yield f"{cell.name} served {served.mean:.1%} of the rounds; the others count 0."
        yield from (f"{line}." for line in self._short())

    def totals(self) -> Iterator[str]:
        """Yield the results of recipes over the horizon, if the log can tell."""
        if refusal(self.checks) is None and self.cells:
            means = {cell.name: cell.digest(self.objective).mean for cell in self.cells}
            yield from allowances.over_horizon(self.problem, means, None, BLIND, scope(self.checks))

    def lines(self) -> tuple[Line, ...]:
        """Return every measure of every cell, and the differences of the objective."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[Line]:
        for cell in self.cells:
            at = (cell.policy, cell.rate)
            for name, m in cell.measures.items():
                d = cell.digest(name)
                mean, se, low, high = Difference.of(d, self.runs.bootstrap)
                yield Line(*at, name, "", mean, se, low, high, d.worst, m.limit)
            for other in self.references:
                difference = self.beyond(cell, other)
                if difference is not None:
                    mean, se, low, high = difference
                    yield Line(*at, self.objective, other, mean, se, low, high, None, None)

    def records(self) -> Records:
        """Return a row per line of `lines`."""
        return Records(Line._fields, self.lines())

    def headline(self) -> str:
        """State the result in a sentence, if the log can tell it."""
        if not self.cells:
            return "nothing has finished"
        if (refused := refusal(self.checks)) is not None:
            return refused
        return f"{scope(self.checks)}{self._result()}"

    def _result(self) -> str:
        policies = list(dict.fromkeys(c.policy for c in self.cells))
        if len(policies) > 2:
            means = {p: [c.digest(self.objective).mean for c in self.cells if c.policy == p] for p in policies}
            return most(means, {cell.policy for cell, _ in self._over()}, self.objective, self._pairs)
        if len(policies) == 1:
            return f"{policies[0]} brings {self.cells[0].digest(self.objective).mean:.4f} {self.objective} per round"
        said = (self._verdict(policies[0], other) for other in policies[1:])
        return "; ".join([*said, *islice(self._spent(), 1)])

    def _verdict(self, first: str, other: str) -> str:
        """Compare the first recipe with another one, in words."""
        found = self._pairs(first, other)
        at = f" at {len(found)} budgets" if len(found) > 1 else ""
        what = f"{self.objective} per round of {first} beyond {other}{at}"
        return f"{what}: {beyond(found)}" if found else f"nothing is known about {other}"

    def _pairs(self, first: str, other: str) -> list[Difference]:
        """Return the differences of two recipes, one per budget."""
        return [d for c in self.cells if c.policy == first and (d := self.beyond(c, other)) is not None]

    def text(self) -> str:
        """Return the printed text: the headline, the table, and which runs ended early or used too much."""
        parts = self.opening()
        if self.cells:
            parts += ["\n".join([self.headline(), *self.totals()]), *map(str, self.tables())]
            parts += [plain_legend(self.runs.bootstrap), "\n".join([*self._spent(), *self._short()])]
        return "\n\n".join(filter(None, parts))

    def tables(self) -> Iterator[Table]:
        """Yield the table, if anything has finished."""
        if self.cells:
            yield Table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Make a row per cell: the objective, its differences, budgets, constraints, and rounds that were served."""
        rest = [name for name in self.cells[0].measures if name.endswith(OF_BUDGET)]
        rest += [s.constraint.label for s in self.problem.stated if not s.spends]
        budget = ["budget"] if self.cells[0].rate is not None else []
        error = ["± 95 %"] if self.runs.bootstrap else []
        head = [f"{self.objective} per round", *budget, "mean", *error]
        for other in self.references:
            head += [f"beyond {other}", *error]
        head += [*(z for name in rest for z in (name, "worst")), "served"]
        rows = []
        for cell in self.cells:
            row = [cell.policy] + ([] if cell.rate is None else [amount(cell.rate, 6)])
            row += _cells(Difference.of(cell.digest(self.objective), self.runs.bootstrap), bool(error))
            for other in self.references:
                row += _cells(self.beyond(cell, other), bool(error))
            for name in rest:
                d = cell.digest(name)
                row += [number(d.mean), number(d.worst)]
            rows.append([*row, number(cell.digest(SERVED).mean, 3)])
        return head, rows

    def _spent(self) -> Iterator[str]:
        """Say which recipes used more than a budget, so that their results cannot be had within it."""
        for cell, name in self._over():
            part = cell.digest(name).mean
            yield f"{cell.name} does not keep to the budget: it used {part:.1%} of {name.removesuffix(OF_BUDGET)}"

    def _over(self) -> Iterator[tuple[Cell, str]]:
        """Yield the cells that used more than a budget, each with the measure that says so."""
        for cell in self.cells:
            for name in cell.measures:
                if name.endswith(OF_BUDGET) and cell.digest(name).mean > 1.0 + _SLACK:
                    yield cell, name

    def _short(self) -> Iterator[str]:
        """Say which runs came to the end of the log before the horizon."""
        for cell in self.cells:
            run = cell.run
            short = (run.rounds < self.problem.horizon) & np.isnan(run.trace.stopped)
            if self.problem.until is None and short.any():
                at = f"{run.rounds[short].min():,.0f}"
                yield f"{cell.name}: {short.sum()} of {len(short)} runs came to the end of the log, from round {at} on"

    def results(self) -> Results:
        """Collect the rows of `results.json`, whose settings have the headline too."""
        found = super().results()
        return replace(found, settings=found.settings | {"result": self.headline()})

    def measurements(self) -> Iterator[Measurement]:
        """Yield every measure and difference, and the ends of its interval."""
        for line in self.lines():
            name = f"{line.measure} beyond {line.beyond}" if line.beyond else line.measure
            at = {} if line.budget is None else {"budget": line.budget}
            yield Measurement(line.policy, at, name, line.mean, line.se, line.worst)
            for side, end in (("low", line.low), ("high", line.high)):
                if end is not None:
                    yield Measurement(line.policy, at, f"{name}: {side} end of 95 %", end)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: differences to each reference, the table, budgets and rounds."""
        if not self.cells:
            return
        for other in self.references:
            pairs = ((cell, self.beyond(cell, other)) for cell in self.cells)
            found = [d.as_interval(cell.name) for cell, d in pairs if d is not None]
            if found:
                yield from differences(f"{self.objective} per round beyond {other}", found)
        yield from others("All recipes and budgets", self.tables(), "")
        names = [cell.name for cell in self.cells]
        used = [name for name in self.cells[0].measures if name.endswith(OF_BUDGET)]
        of = {n: [c.digest(n).mean if n in c.measures else None for c in self.cells] for n in (*used, SERVED)}
        short = any(part is not None and part < ALL for part in of[SERVED])
        yield from uses(names, {n: of[n] for n in used}, {SERVED: of[SERVED]} if short else {}, ())


def _cells(d: Difference | None, error: bool) -> list[str]:
    if d is None:
        return [""] * (1 + error)
    reach = None if d.high is None else d.high - d.mean
    return [number(d.mean), *([number(reach)] if error else [])]
