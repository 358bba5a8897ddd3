"""A curve of values against the budget: in words, as tables, as a picture and as a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core import faces
from evenhand.core.extras import data_frame, has_matplotlib
from evenhand.core.faces import amount
from evenhand.core.validate import file, folder
from evenhand.offline import shown
from evenhand.offline.bands import Bands
from evenhand.offline.curve_page import headline, parts, sentences
from evenhand.offline.doubts import Doubt
from evenhand.offline.kept import sure
from evenhand.offline.lines import (
    TARGETED,
    Line,
)
from evenhand.offline.scores import Estimate
from evenhand.offline.told import Counted, ends_of, head, reached, results_of, settings_of, told, use_cell
from evenhand.replay.checks import Checks, told as warnings
from evenhand.report.allowances import Allowance, setting
from evenhand.report.leaving import leave
from evenhand.report.page import Page
from evenhand.report.results import Measurement, Results
from evenhand.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = 6  # budgets of a table
_ROUNDED = 1e-12  # of a value: what the same values may differ by
REACH = "standard errors that hold at all budgets at once (95 %)"


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values of policies against the budget; print it, draw it with `plot`, or `write` its report.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        spent: the outcome that the budget limits.
        budgets: per case, rising.
        lines: one per policy, `targeted` first.
        bands: by policy, the standard errors to either side that hold at all budgets at once.
        stated: the budget of the problem file, per case.
        doubt: what speaks against targeting at the budget of the file.
        learned: whether what the budget limits is learned, so that plans keep to it by predictions.
        rows: of the log that were used.
        clusters: how many clusters the rows have, and by which column; None where each row is one.
        folds, seed: of the cross-fitting.
        checks: what is wrong with the log or with what is asked of it, a sentence each; None if nothing was found.
        notes: remarks about the log.
    """

    log: str
    problem_file: str
    objective: str
    spent: str
    budgets: tuple[float, ...]
    lines: tuple[Line, ...]
    bands: Mapping[str, Bands]
    stated: float
    doubt: Doubt
    learned: bool
    rows: int
    folds: int
    seed: int
    checks: Checks
    notes: tuple[str, ...]
    clusters: Counted | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per policy and budget.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = ["policy", "budget", "value", "se", "low", "high", "less than targeted", "se less"]
        columns += ["low less", "high less"]
        columns += ["spent", "used", "se used", "low used", "high used", "confidence", "price"]
        columns += ["reach of all", "reach less of all"]  # standard errors that hold at all budgets at once
        counted = [] if self.clusters is None else [self.clusters.number]
        columns += ["clusters"] * len(counted)
        return data_frame(
            [
                [
                    line.name,
                    b,
                    *v.pair,
                    *v.interval,
                    *less.pair,
                    *less.interval,
                    spent,
                    *used.pair,
                    *used.interval,
                    sure(used, b),
                    price,
                    *(reached(self, errors) for errors in self.bands[line.name]),
                    *counted,
                ]
                for line in self.lines
                for b, v, less, spent, used, price in zip(self.budgets, *line[1:], strict=True)
            ],
            columns,
        )

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        found = results_of("curve", self, {"stated budget": self.stated} | setting((self.allowed,)))
        for line in self.lines:
            for what, errors in zip(("", f" less than {TARGETED}"), self.bands[line.name], strict=True):
                found.rows.append(Measurement(line.name, {}, f"{self.objective}{what}: {REACH}", reached(self, errors)))
            for b, v, less, spent, used, price in zip(self.budgets, *line[1:], strict=True):
                at = {"budget": b}
                found.rows.append(Measurement(line.name, at, self.objective, *v.pair))
                found.rows.append(Measurement(line.name, at, f"less than {TARGETED}", *less.pair))
                found.rows.extend(ends_of(line.name, at, self.objective, v))
                found.rows.extend(ends_of(line.name, at, f"less than {TARGETED}", less))
                found.rows.append(Measurement(line.name, at, "spent", spent))
                found.rows.append(Measurement(line.name, at, "used, by scores", *used.pair))
                found.rows.extend(ends_of(line.name, at, "used, by scores", used))
                found.rows.append(Measurement(line.name, at, "confidence in the budget", sure(used, b)))
                found.rows.append(Measurement(line.name, at, "price", price))
        return found

    def headline(self) -> str:
        """State the result in a sentence: what targeting brings at the budget of the file."""
        return headline(self)

    @property
    def allowed(self) -> Allowance:
        """What the budget of the file allows."""
        return Allowance(self.spent, self.stated, self.rows, "cases of the log")

    def summary(self) -> str:
        """Return the result in a few sentences."""
        return shown.summary(self)

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""
        return sentences(self)

    def plot(self) -> Figure:
        """Draw the curve with its bands, and the differences beside it.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from evenhand.offline.pictures import draw  # matplotlib only when asked for
        from evenhand.report.plots import figure_of

        return figure_of(draw(self))

    def page(self, command: str = "") -> Page:
        """Return the report, which states the command that made it."""
        return shown.page(
            self,
            parts(self, list(self._lines()), list(self._uses())),
            notes=(*warnings(self.checks), *self.notes),
            command=command,
            settings=settings_of(self, setting((self.allowed,))),
        )

    def write(self, out: str | Path, command: str = "") -> list[Path]:
        """Write results.json, report.html, and if possible curve.png and curve.parquet, into a folder.

        Raises:
            InvalidInput: a file cannot be written.
        """
        out = folder(file("out", out))
        written = leave(out, self.results(), "curve", self.to_frame, self.page(command))
        if not has_matplotlib():
            return written
        from evenhand.report.plots import save

        return [save(self.plot().axes, out / "curve.png"), *written]

    def __str__(self) -> str:
        return shown.text(self, head(self, self._what, (self.allowed,)), self._reading())

    def __repr__(self) -> str:
        return faces.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        return shown.html(self)

    @property
    def _what(self) -> str:
        return f"{self.objective} per case against {self.spent} per case"

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of values, of differences, of prices, and of what is used if that is learned."""
        yield from self._lines()
        yield from self._uses()

    def _lines(self) -> Iterator[Table]:
        first, *others = self.lines
        at, most = self._few(), f"{self.spent} at most"
        yield self._table(f"{most}, ± se", {line.name: [told(line.value[i]) for i in at] for line in self.lines})
        if others:
            head = f"{first.name} beyond, ± se"
            yield self._table(head, {line.name: [told(line.less[i]) for i in at] for line in others})
        yield self._table(
            "one more unit is worth", {line.name: [f"{line.price[i]:.4f}" for i in at] for line in self.lines}
        )

    def _uses(self) -> Iterator[Table]:
        """What is used of a budget that plans keep to by predictions alone."""
        if self.learned:
            cells = {
                line.name: [use_cell(line.used[i], sure(line.used[i], self.budgets[i])) for i in self._few()]
                for line in self.lines
            }
            yield self._table(f"{self.spent} used, 95 %, confidence", cells)

    def _table(self, head: str, cells: Mapping[str, list[str]]) -> Table:
        return Table(
            [head, *(amount(self.budgets[i], 3) for i in self._few())], [[n, *row] for n, row in cells.items()]
        )

    def _few(self) -> list[int]:
        """The budgets of tables: about six of them, and the one that the file states."""
        count = len(self.budgets)
        even = {round(i) for i in np.linspace(0, count - 1, min(count, COLUMNS)).tolist()}
        return sorted(even | {i for i, b in enumerate(self.budgets) if b == self.stated})

    def _reading(self) -> Iterator[str]:
        yield "se: standard error for the population behind the log. Differences are by pairs of cases."
        if self.learned:
            yield f"Plans keep to the budget by predictions of {self.spent}, so that it holds on average alone."
            yield "confidence: that the use of the policy is within the budget in the population behind the log."
        one = f"{reached(self):.2f} se to either side, shifted where few cases weigh heavily"
        yield f"95 % at one budget: {one}, or by events."
        yield "95 % at all budgets of a line at once:"
        for line in self.lines:
            value, less = self.bands[line.name]
            told_value, told_less = (f"{reached(self, errors):.2f} se" for errors in (value, less))
            if line.name == TARGETED:
                yield f"  {line.name}: {told_value}"
                continue
            each = zip(line.less, line.value, strict=True)
            sure = sum(_differs(z, less) for z, own in each if abs(z.value) > _ROUNDED * abs(own.value))
            yield (
                f"  {line.name}: {told_value}; {told_less} for its differences, of which {sure} of "
                f"{len(self.budgets)} are beyond"
            )


def _differs(z: Estimate, errors: float) -> bool:
    """Whether an interval of so many standard errors leaves out 0."""
    low, high = z.within(errors)
    return low > 0.0 or high < 0.0
