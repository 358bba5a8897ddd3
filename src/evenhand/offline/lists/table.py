"""A list with an action for every case: as a table, in words, as a picture and as a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.files import RUN, quote_cell, replacement
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import file, on_disk
from evenhand.logs.arrow import pyarrow_for
from evenhand.logs.checks import Checks, fault_of, scope
from evenhand.logs.column_guesses import FORESEEN, LISTED
from evenhand.logs.columns import POINT, Names
from evenhand.logs.reading import Form
from evenhand.logs.units import MISSING
from evenhand.offline.lists.plan import Averages, HeldOut, ListTexts, Used, least
from evenhand.offline.targeting import Level, levels_of, table_of
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance
from evenhand.report.charts import Bar
from evenhand.report.page import Part
from evenhand.report.results import Measurement, Result, Results, warnings
from evenhand.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd

_FORM = Form()


class Beyond(NamedTuple):
    """What a list is predicted to bring beyond a policy."""

    policy: str
    total: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assignment(Result):
    """An action for every case of a list; print it, or write it as a CSV or Parquet file.

    Args:
        texts: by column, the cases as the list has them.
        actions: the names of the actions.
        chosen: `(N)` the number of the action of every case.
        probability: `(N)` with which it was drawn: 1 where only it could be.
        held_out: `(N)` whether a lottery drew it, so that the list can be evaluated afterwards.
        expected: by outcome, `(N)` what the log lets expect of the chosen action.
        objective: its name.
        budgets: what the list uses of each.
        demands: what it has of each other constraint, by group where that looks at groups.
        log: the name of the file that was learned from.
        checks: what is wrong with the log or the budget, a sentence each; None if nothing was found.
        holdout: the lottery of the cases that are held out, and what it costs; None without one.
        numeric: the features that are numbers or dates, in days, NaN if one is missing.
        categorical: the columns of the others.
        dates: which of the numbers are dates.
        form: how the file of the list is written.
        aim: what is maximised, in words: a unit, or the name of the objective.
        units: what outcomes are counted in, where the problem file says so.
        beyond: what the list brings beyond a baseline, if there is one.
    """

    texts: ListTexts
    actions: tuple[str, ...]
    chosen: Ints
    probability: Floats
    held_out: Bools
    expected: Mapping[str, Floats]
    objective: str
    budgets: tuple[Used, ...]
    demands: tuple[Averages, ...]
    log: str
    checks: Checks
    holdout: HeldOut | None = None
    numeric: Mapping[str, Floats] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    form: Form = _FORM
    aim: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    beyond: Beyond | None = None

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The share of each action, by level of every feature."""
        names = {c: self.texts.names(c).renamed(self.form.missing, MISSING) for c in self.categorical}
        played = self.chosen[:, None] == np.arange(len(self.actions))
        return tuple(levels_of({**self.numeric, **names}, played, self.dates))

    def headline(self) -> str:
        """State the result in a sentence: how many get what, and what that uses."""
        counts = np.bincount(self.chosen, minlength=len(self.actions)).tolist()
        told = ", ".join(f"{count:,} {name}" for name, count in zip(self.actions, counts, strict=True) if count)
        return "; ".join([f"Of {len(self.chosen):,} cases: {told}", *map(str, self.budgets)])

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""
        yield from allowances.sentences(self._allowed)
        mean = f"{self.expected[self.objective].mean():.4f} {self._aim}"
        if (fault := fault_of(self.checks)) is not None:
            yield f"The list is not to be relied on, as {fault}."
        told = f"{mean} per case is predicted: an overestimate, as the highest were chosen"
        yield f"{scope(self.checks)}By what {self.log} says, {told}."
        yield self.in_all()
        for used in self.budgets:
            yield f"One more unit of {used.outcome} is predicted to be worth {amount(used.price)} {self._aim}."
        if self.holdout is not None:
            told = str(self.holdout)
            yield (
                f"So that the list can be judged, there are {told}." if self.holdout.cases else f"{told.capitalize()}."
            )

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: actions, budgets, groups and levels."""
        first, *of_groups = self.tables()
        counts = np.bincount(self.chosen, minlength=len(self.actions)) / len(self.chosen)
        bars = [Bar(name, share, f"{share:.1%}") for name, share in zip(self.actions, counts.tolist(), strict=True)]
        yield Part(title="Who gets what", reading=ACTIONS, chart=charts.bars(bars), tables=(first,))
        for used in self.budgets:
            if used.total > 0.0:
                part = used.spent / used.total
                yield Part(
                    title=f"The budget: {used.outcome}, {amount(used.spent, 6)} of {amount(used.total, 6)}",
                    reading=PREDICTED if used.learned else BUDGET,
                    chart=charts.bars([Bar(used.outcome, part, f"{part:.2%}")], limit=1.0),
                )
        for demand, table in zip((d for d in self.demands if d.groups), of_groups, strict=True):
            bars = [Bar(name, value, f"{value:.4f}") for name, value in demand.averages.items()]
            yield Part(title=str(demand), reading=GROUPS, chart=charts.bars(bars), tables=(table,))
        if self.levels:
            yield Part(title="For whom", reading=WHO, tables=(table_of(self.levels, self.actions, "cases"),))

    def cautions(self) -> Iterator[str]:
        """Yield warnings about the log or the budget."""
        yield from warnings(self.checks)

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the list, by name."""
        return {"log": self.log, "cases": len(self.chosen)} | allowances.budget_setting(self._allowed)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers of the list in the form of `results.json`: rows of actions, budgets and limits."""
        rows, none = list[Measurement](), float("nan")
        for a, name in enumerate(self.actions):
            mine = self.chosen == a
            found = {"cases": float(mine.sum()), "share": float(mine.mean())}
            found |= {FORESEEN + n: float(z[mine].mean()) if mine.any() else none for n, z in self.expected.items()}
            rows += [Measurement(name, {}, metric, value) for metric, value in found.items()]
        found = {FORESEEN + n: float(z.sum()) for n, z in self.expected.items()}
        found |= {} if self.beyond is None else {f"beyond {self.beyond.policy}": self.beyond.total}
        for budget in self.budgets:
            told = {"used": budget.spent, "budget": budget.total, "worth of one more": budget.price}
            found |= {f"{budget.outcome}: {what}": value for what, value in told.items()}
        for demand in self.demands:
            found |= {f"{demand}: {group}" if group else str(demand): z for group, z in demand.averages.items()}
        if self.holdout is not None:
            found |= {"held out": float(self.holdout.cases), "less by the holdout": self.holdout.less}
        rows += [Measurement("all cases", {}, metric, value) for metric, value in found.items()]
        return Results("assign", self.inputs(), rows, se_of="none: predictions", checks=self.checks).to_dict()

    @property
    def _allowed(self) -> tuple[Allowance, ...]:
        count = len(self.chosen)
        return allowances.allowances(least(self.budgets, count), count, "cases of the list", units=self.units)

    @property
    def _aim(self) -> str:
        return self.aim or self.objective

    def in_all(self) -> str:
        """State what the list is predicted to bring in all, and beyond the baseline."""
        told = f"In all, {amount(float(self.expected[self.objective].sum()))} {self._aim} are predicted"
        if self.beyond is not None:
            sign = "+" * (self.beyond.total > 0.0)
            told += f", {sign}{amount(self.beyond.total)} beyond {self.beyond.policy}"
        hint = (
            "" if self.beyond is not None else "`--baseline NAME` says how much of it an action for all would bring; "
        )
        return f"{told}; {hint}`evenhand value` states an interval."

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per case.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns: dict[str, object] = dict(self.texts)
        columns |= {name: z.texts() if isinstance(z, Names) else z for name, z in self._results().items()}
        return data_frame(columns, list(columns))

    def write(self, path: str | Path, *, verbatim: bool = False) -> Path:
        """Write a CSV file with a row per case, in the order of the list; or a Parquet file, where its name ends so.

        A CSV file is written like the list: with the same separator, and the same decimal points or commas.
        Expectations have 6 significant digits, and probabilities 10, so that values of the list are the same to 1e-9.
        The text is UTF-8, with a byte-order mark unless the list is plain UTF-8 with commas, so that spreadsheets read
        its letters.

        Args:
            path: the file, which is replaced once it is complete. In Parquet, features that are numbers, chances
                and expectations are numbers, a missing one is null, and texts stay as they are.
            verbatim: whether texts stay as they are. By default those that a spreadsheet would run as a formula get an
                apostrophe in front: they begin with =, +, -, @, a tab or a carriage return, and are not plain numbers.

        Raises:
            InvalidInput: the file cannot be written.
            MissingExtra: pyarrow is needed for Parquet, and is not installed.
        """
        path = file("path", path)
        if path.suffix == SUFFIX:
            table = self._arrow()
            with on_disk("path", "a file that can be written"), replacement(path) as part:
                pyarrow_for("Parquet files").parquet.write_table(table, part)
            return path
        cut, each = self.form.separator or ",", {name: self.texts.names(name) for name in self.texts} | self._results()
        cells = [
            _texts(z, cut, verbatim=verbatim) if isinstance(z, Names) else _numbers(name, z, self.form.point, cut)
            for name, z in each.items()
        ]
        with on_disk("path", "a file that can be written"), replacement(path) as part, _new(part, self.form) as out:
            out.write(cut.join(_field(name if verbatim else quote_cell(name), cut) for name in each) + _END)
            for start in range(0, len(self.chosen), _ROWS):
                rows = slice(start, start + _ROWS)
                out.write(_END.join(map(cut.join, zip(*(column(rows) for column in cells), strict=True))) + _END)
        return path

    def _results(self) -> dict[str, Names | Floats | Bools]:
        """What was found for every case."""
        results = Names(self.chosen, self.actions), self.probability, self.held_out
        found: dict[str, Names | Floats | Bools] = dict(zip(LISTED, results, strict=True))
        return found | {FORESEEN + name: z for name, z in self.expected.items()}

    def _arrow(self) -> Any:
        """The table as Arrow has it, with the types of a list that has types."""
        pa = pyarrow_for("Parquet files")
        given = self.texts.table.arrow()
        if given is None:
            numbers = {name: z for name, z in self.numeric.items() if name not in self.dates}
            arrays = {n: _array(numbers[n] if n in numbers else self.texts.names(n)) for n in self.texts}
            given = pa.table(arrays)
        for name, z in self._results().items():
            given = given.append_column(name, _array(z))
        return given

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables: budgets, what is wrong, and the lottery."""
        count = len(self.chosen)
        yield f"{count:,} cases, by what {self.log} says of {self._aim}"
        yield from allowances.lines(self._allowed)
        yield from warnings(self.checks)
        for demand in self.demands:
            yield from () if demand.groups else (f"{demand}: {amount(z, 6)}" for z in demand.averages.values())
        for used in self.budgets:
            yield f"{used}; one more is predicted to be worth {amount(used.price)} {self._aim}"
        yield self.in_all()
        if self.holdout is not None:
            yield str(self.holdout)

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of actions, and one per parity."""
        rows = []
        for a, name in enumerate(self.actions):
            mine = self.chosen == a
            means = [f"{z[mine].mean():.4f}" if mine.any() else "-" for z in self.expected.values()]
            rows.append([name, f"{int(mine.sum()):,}", f"{mine.mean():.2%}", *means])
        yield Table(["action", "cases", "share", *(f"expected {name}" for name in self.expected)], rows)
        for demand in self.demands:
            if demand.groups:
                lines = [[name, f"{value:.4f}"] for name, value in demand.averages.items()]
                yield Table([str(demand), "average"], lines)


_ROWS = 16_384  # that are written at once
_END = "\r\n"  # of a row
Cells = Callable[[slice], list[str]]  # the fields of some rows of a column


def _texts(names: Names, cut: str, *, verbatim: bool) -> Cells:
    """Return the fields of texts, of which each is quoted once."""
    each = names.values if verbatim else [quote_cell(z) if z.startswith(RUN) else z for z in names.values]
    fields = np.array([_field(z, cut) for z in each], object)
    return lambda rows: fields[names.codes[rows]].tolist()


def _field(text: str, cut: str) -> str:
    """Write a text as a field of a CSV file."""
    if cut in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _numbers(name: str, z: Floats | Bools, decimal: str, cut: str) -> Cells:
    """Return the fields of a result, with as many digits as are read, and decimal commas where these are asked for."""
    if z.dtype == bool:
        return lambda rows: list(map(str, z[rows].tolist()))
    digits = 6 if name.startswith(FORESEEN) else 10  # what divides outcomes later is nearly exact
    written = f"%.{digits}g".__mod__

    def fields(rows: slice) -> list[str]:
        found = list(map(written, z[rows].tolist()))
        for i in np.flatnonzero((np.abs(z[rows]) >= 10.0**digits) & (np.abs(z[rows]) < 1e15)).tolist():
            found[i] = f"{z[rows][i]:.0f}"  # all digits before the point
        return found if decimal == POINT else [_field(t.replace(POINT, decimal), cut) for t in found]

    return fields


def _array(z: Names | Floats | Bools) -> Any:
    """Return a column of Arrow, in which NaN is no value."""
    pa = pyarrow_for("Parquet files")
    if isinstance(z, Names):
        return pa.DictionaryArray.from_arrays(pa.array(z.codes), pa.array(z.values, pa.string())).cast(pa.string())
    return pa.array(z, mask=np.isnan(z))


def _new(path: Path, form: Form) -> TextIO:
    return path.open("w", encoding=form.encoding or "utf-8", newline="")


ACTIONS = (
    "How many cases get each action, and what they are expected to bring per case by models of the log. Expectations "
    "are predictions for actions that were chosen for the highest predictions, so they are too high on average. Rows "
    "are of different cases: what an action adds is in none of them. Only outcomes can judge the list, afterwards."
)
BUDGET = "The bar is the part of the budget that the list uses, which is never more than all of it."
PREDICTED = (
    "The bar is the part of the budget that the list is predicted to use, which is never more than all of it. What it "
    "will use is learned, and may be more: if the budget binds, about as often as not."
)
GROUPS = "The average per case in each group, held-out cases included; for learned outcomes, as models predict."
WHO = "The share of each action among the cases with a level. Numbers are in bands of about equally many cases."


SUFFIX = ".parquet"
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")


def check(path: Path) -> None:
    """Refuse a file that could not be written, before the work: of a spreadsheet, or of Parquet without pyarrow.

    Raises:
        InvalidInput: the name is that of a workbook, which spreadsheets would refuse to open as CSV.
        MissingExtra: pyarrow is not installed.
    """
    if path.suffix.lower() in WORKBOOKS:
        raise InvalidInput("out", "a name that ends in .csv, which spreadsheets open, or in .parquet", path.name)
    if path.suffix == SUFFIX:
        pyarrow_for("Parquet files")
