"""Value against budget: what targeting is worth, how sure that is, and what fairness costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.extras import data_frame
from evenhand.core.luck import check_seed
from evenhand.core.validate import file
from evenhand.offline.cross_fitting import Regressor, RidgeByErrors
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.fair import FairFrontier
from evenhand.offline.frontier import Frontier
from evenhand.offline.lines import (
    TARGETED,
    Limit,
    Line,
    fair,
    grid,
    limit_of,
    single,
    targeted,
    together,
    tolerances_of,
)
from evenhand.replay.log import Source
from evenhand.report.quantities import objective_name
from evenhand.report.results import Measurement, Results, folder
from evenhand.report.summary import table

if TYPE_CHECKING:
    import pandas as pd

POINTS = 20  # budgets of a curve by default
COLUMNS = 6  # budgets of a table


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values of policies against the budget; print it, or draw it with `plot`.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        spent: the outcome that the budget limits.
        budgets: per row, rising.
        lines: one per policy, `targeted` first.
        stated: the budget of the problem file, per row.
        rows: of the log that were used.
        folds, seed: of the cross-fitting.
        notes: remarks about the log.
    """

    log: str
    problem_file: str
    objective: str
    spent: str
    budgets: tuple[float, ...]
    lines: tuple[Line, ...]
    stated: float
    rows: int
    folds: int
    seed: int
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per policy and budget.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = ["policy", "budget", "value", "se", "low", "high", "less than targeted", "se less", "spent", "price"]
        return data_frame(
            [
                [line.name, b, *v, *v.interval, *less, spent, price]
                for line in self.lines
                for b, v, less, spent, price in zip(self.budgets, *line[1:], strict=True)
            ],
            columns,
        )

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        settings: dict[str, object] = {
            "log": self.log,
            "problem": self.problem_file,
            "rows": self.rows,
            "folds": self.folds,
            "seed": self.seed,
            "stated budget": self.stated,
        }
        found = Results("curve", settings, se_of="by the influence function, for the population behind the log")
        for line in self.lines:
            for b, v, less, spent, price in zip(self.budgets, *line[1:], strict=True):
                at = {"budget": b}
                found.rows.append(Measurement(line.name, at, self.objective, *v))
                found.rows.append(Measurement(line.name, at, f"less than {TARGETED}", *less))
                found.rows.append(Measurement(line.name, at, "spent", spent))
                found.rows.append(Measurement(line.name, at, "price", price))
        return found

    def plot(self, path: str | Path) -> Path:
        """Draw the curve with its bands, and the differences beside it.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from evenhand.offline.pictures import draw

        return draw(self, file("path", path))

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self._head()), *self._tables(), "\n".join(self._reading())])

    def _head(self) -> Iterator[str]:
        yield (
            f"{self.log}: {self.rows:,} rows; {self.objective} per row against {self.spent} per row; "
            f"{self.folds} folds, seed {self.seed}"
        )
        yield from (f"note: {note}" for note in self.notes)

    def _tables(self) -> Iterator[str]:
        first, *others = self.lines
        at, most = self._few(), f"{self.spent} at most"
        yield self._table(f"{most}, ± se", {line.name: [_told(*line.value[i]) for i in at] for line in self.lines})
        if others:
            head = f"{first.name} beyond, ± se"
            yield self._table(head, {line.name: [_told(*line.less[i]) for i in at] for line in others})
        yield self._table(
            "one more unit is worth", {line.name: [f"{line.price[i]:.4f}" for i in at] for line in self.lines}
        )

    def _table(self, head: str, cells: Mapping[str, list[str]]) -> str:
        return table([head, *(f"{self.budgets[i]:.3g}" for i in self._few())], [[n, *row] for n, row in cells.items()])

    def _few(self) -> list[int]:
        """The budgets of tables: about six of them, and the one that the file states."""
        count = len(self.budgets)
        even = {round(i) for i in np.linspace(0, count - 1, min(count, COLUMNS)).tolist()}
        return sorted(even | {i for i, b in enumerate(self.budgets) if b == self.stated})

    def _reading(self) -> Iterator[str]:
        yield "se: standard error for the population behind the log. Differences are by pairs of rows."
        sure = [
            (b, less)
            for line in self.lines[1:]
            for b, less in zip(self.budgets, line.less, strict=True)
            if abs(less.value) > 3.0 * less.se
        ]
        count = len(self.lines[1:]) * len(self.budgets)
        if count:
            yield f"{len(sure)} of {count} differences are beyond three standard errors."


def _told(value: float, se: float) -> str:
    return f"{round(value, 4) + 0.0:.4f} ± {se:.4f}"


@named("X8", source="evenhand's own; the path of Sverdrup, Wu, Athey & Wager 2024, with parity between groups")
def curve(
    log: Source | Evidence,
    problem: str | Path | None = None,
    *,
    budgets: Sequence[float] | int = POINTS,
    tolerances: Sequence[float] = (),
    folds: int = 5,
    seed: int = 0,
    model: Callable[[], Regressor] = RidgeByErrors,
    out: str | Path | None = None,
) -> Curve:
    """Estimate from a randomised log what policies are worth at every budget.

    Equation: V(B) = mean_i sum_a pi_B(a | x_i) g_ia, with doubly robust scores g and pi_B the best policy within budget
    B by predictions q of models that have not seen row i. Its influence function is psi_i = g_i(pi) - V - price
    (c_i(pi) - B), where the price accounts for the threshold that the log chose.

    Policies: `targeted` gives dear actions to those rows first where they are predicted to bring most per unit;
    `only ACTION` draws the rows that get one action at random; `fair` targets within tolerances of the average between
    the groups of the parities in the file, on what the budget limits. The others get the cheapest action.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns, and the problem.
        budgets: per row, rising; or how many, up to where money is worth nothing.
        tolerances: of fair lines, in place of those in the file.
        folds: the number of parts of the log; each is predicted by models of the others.
        seed: of how rows are dealt to the folds.
        model: makes a model of outcomes that is not fitted yet; estimators of scikit-learn are such.
        out: a folder for results.json and a picture.

    Raises:
        InvalidInput: a key, column or argument is wrong; or the problem has no budget on an outcome that is known.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = "".join(f"{x},{a},{int(x == a == 'yes')}\\n" for x in ("yes", "no") for a in ("yes", "no")) * 50
    >>> _ = (folder / "log.csv").write_text("likes,letter,visit\\n" + rows)
    >>> _ = (folder / "problem.toml").write_text('''
    ... maximize = "visit"
    ... horizon = 50
    ... features = { categorical = ["likes"] }
    ... action = { column = "letter", values = { no = "none", yes = "letter" } }
    ... propensity = { constant = 0.5 }
    ... outcomes = { visit = { range = [0, 1] }, post = { known = { letter = 1 } } }
    ... budget = [{ outcome = "post", rate = 0.25 }]
    ... ''')
    >>> found = curve(folder / "log.csv", folder / "problem.toml", budgets=(0.25, 0.5))
    >>> [(line.name, [round(v.value, 2) for v in line.value]) for line in found.lines]
    [('targeted', [0.25, 0.5]), ('only letter', [0.13, 0.25])]
    """
    evidence = evidence_of(log, problem)
    check_seed(seed)
    limit = limit_of(evidence)
    if out is not None:
        from evenhand.offline.pictures import draw  # matplotlib only when asked for, but before the work

        out = folder(file("out", out))
    fair_ones = list(tolerances_of(evidence, limit.outcome, tolerances))
    tables = evidence.tables(folds=folds, seed=seed, model=model)
    worth, cost = evidence.worth(tables), tables[limit.outcome].predicted
    frontier = Frontier.of(worth.predicted, cost)
    at = grid(budgets, frontier, limit.rate)
    policies = {TARGETED: targeted(frontier, at, worth, cost)}
    for i, action in enumerate(evidence.names):
        if (cost[:, i] > cost.min(1)).any():
            policies[f"only {action}"] = single(i, frontier, at, worth, cost)
    for by, tolerance in fair_ones:
        groups = FairFrontier.of(worth.predicted, cost, evidence.groups[by])
        policies[f"fair by {by}, {tolerance:g}"] = fair(groups, tolerance, at, worth, cost)
    found = Curve(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        spent=limit.outcome,
        budgets=at,
        lines=together(policies),
        stated=limit.rate,
        rows=evidence.rows,
        folds=folds,
        seed=seed,
        notes=(*evidence.left_out, *evidence.notes, *_ignored(evidence, limit, {by for by, _ in fair_ones})),
    )
    if out is not None:
        found.results().write(out)
        draw(found, out / "curve.png")
    return found


def _ignored(evidence: Evidence, limit: Limit, groupings: set[str]) -> Iterator[str]:
    """Say which constraints of the problem no line keeps."""
    for s in evidence.problem.stated:
        is_budget = s.spends and s.outcome == limit.outcome and s.by is None
        is_parity = not s.spends and s.outcome == limit.outcome and s.by in groupings and s.constraint.worst == "high"
        if not is_budget and not is_parity:
            yield f"no line keeps to: {s.constraint.label}"
