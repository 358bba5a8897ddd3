"""Value against budget: what targeting is worth, how sure that is, and what fairness costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core import faces
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame
from evenhand.core.luck import check_seed
from evenhand.core.validate import file, folder
from evenhand.offline.aims import Aim
from evenhand.offline.bands import Bands
from evenhand.offline.checks import idle, support
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.curve_page import headline, parts, sentences
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.frontier import Frontier
from evenhand.offline.kept import sure
from evenhand.offline.lines import (
    TARGETED,
    Limit,
    Line,
    enough,
    fair,
    grid,
    limit_of,
    single,
    singles,
    targeted,
    together,
    tolerances_of,
    within,
)
from evenhand.offline.outcome_models import Regressor
from evenhand.offline.told import head, results_of, settings_of, told
from evenhand.replay.checks import Checks, told as warnings
from evenhand.replay.log import Source
from evenhand.report.leaving import leave
from evenhand.report.page import Page
from evenhand.report.quantities import objective_name
from evenhand.report.results import Measurement, Results
from evenhand.report.tables import Table, printed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POINTS = 20  # budgets of a curve by default
COLUMNS = 6  # budgets of a table
REACH = "standard errors that hold at all budgets at once (95 %)"


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values of policies against the budget; print it, draw it with `plot`, or `write` its report.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        spent: the outcome that the budget limits.
        budgets: per row, rising.
        lines: one per policy, `targeted` first.
        bands: by policy, the standard errors to either side that hold at all budgets at once.
        stated: the budget of the problem file, per row.
        learned: whether what the budget limits is learned, so that plans keep to it by predictions.
        rows: of the log that were used.
        folds, seed: of the cross-fitting.
        checks: what is wrong with the log or with what is asked of it, a sentence each; None where nothing was found.
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
    learned: bool
    rows: int
    folds: int
    seed: int
    checks: Checks
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per policy and budget.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = ["policy", "budget", "value", "se", "low", "high", "less than targeted", "se less"]
        columns += ["spent", "used", "se used", "confidence", "price"]
        columns += ["reach of all", "reach less of all"]  # standard errors that hold at all budgets at once
        return data_frame(
            [
                [line.name, b, *v, *v.interval, *less, spent, *used, sure(used, b), price, *self.bands[line.name]]
                for line in self.lines
                for b, v, less, spent, used, price in zip(self.budgets, *line[1:], strict=True)
            ],
            columns,
        )

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        found = results_of("curve", self, {"stated budget": self.stated})
        for line in self.lines:
            for what, errors in zip(("", f" less than {TARGETED}"), self.bands[line.name], strict=True):
                found.rows.append(Measurement(line.name, {}, f"{self.objective}{what}: {REACH}", errors))
            for b, v, less, spent, used, price in zip(self.budgets, *line[1:], strict=True):
                at = {"budget": b}
                found.rows.append(Measurement(line.name, at, self.objective, *v))
                found.rows.append(Measurement(line.name, at, f"less than {TARGETED}", *less))
                found.rows.append(Measurement(line.name, at, "spent", spent))
                found.rows.append(Measurement(line.name, at, "used, by scores", *used))
                found.rows.append(Measurement(line.name, at, "confidence in the budget", sure(used, b)))
                found.rows.append(Measurement(line.name, at, "price", price))
        return found

    def headline(self) -> str:
        """State the result in a sentence: what targeting brings at the budget of the file."""
        return headline(self)

    def summary(self) -> str:
        """Return the result in a few sentences."""
        return " ".join([f"{self.headline()}.", *sentences(self)])

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
        return Page(
            title=self.headline(),
            sentences=tuple(sentences(self)),
            notes=(*warnings(self.checks), *self.notes),
            parts=tuple(parts(self, list(self._tables()), list(self._uses()))),
            command=command,
            settings=settings_of(self, {"budget of the file, per row": self.stated}),
        )

    def write(self, out: str | Path, command: str = "") -> list[Path]:
        """Write results.json, curve.png, report.html, and curve.parquet where it can be, into a folder.

        Raises:
            InvalidInput: a file cannot be written.
            MissingExtra: matplotlib is not installed.
        """
        from evenhand.report.plots import save

        out = folder(file("out", out))
        picture = save(self.plot().axes, out / "curve.png")
        return [picture, *leave(out, self.results(), "curve", self.to_frame, self.page(command))]

    def __str__(self) -> str:
        return printed(head(self, self._what), [*self._tables(), *self._uses()], list(self._reading()))

    def _repr_html_(self) -> str:
        first = next(self._tables())
        return faces.table(self.headline(), first.rows, first.head)

    @property
    def _what(self) -> str:
        return f"{self.objective} per row against {self.spent} per row"

    def _tables(self) -> Iterator[Table]:
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
                line.name: [f"{told(line.used[i])}, {sure(line.used[i], self.budgets[i]):.1%}" for i in self._few()]
                for line in self.lines
            }
            yield self._table(f"{self.spent} used, ± se, confidence", cells)

    def _table(self, head: str, cells: Mapping[str, list[str]]) -> Table:
        return Table([head, *(f"{self.budgets[i]:.3g}" for i in self._few())], [[n, *row] for n, row in cells.items()])

    def _few(self) -> list[int]:
        """The budgets of tables: about six of them, and the one that the file states."""
        count = len(self.budgets)
        even = {round(i) for i in np.linspace(0, count - 1, min(count, COLUMNS)).tolist()}
        return sorted(even | {i for i, b in enumerate(self.budgets) if b == self.stated})

    def _reading(self) -> Iterator[str]:
        yield "se: standard error for the population behind the log. Differences are by pairs of rows."
        if self.learned:
            yield f"Plans keep to the budget by predictions of {self.spent}, so that it holds on average alone."
            yield "confidence: that the use of the policy is within the budget in the population behind the log."
        yield "95 % at one budget: 1.96 se to either side. At all budgets of a line at once, by multipliers:"
        for line in self.lines:
            value, less = self.bands[line.name]
            if line.name == TARGETED:
                yield f"  {line.name}: {value:.2f} se"
                continue
            sure = sum(abs(z.value) > less * z.se for z in line.less)
            yield (
                f"  {line.name}: {value:.2f} se; {less:.2f} se for its differences, of which {sure} of "
                f"{len(self.budgets)} are beyond"
            )


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
    (c_i(pi) - B), where the price accounts for the threshold that the log chose. For an objective f that is no weighted
    sum, V is f of averages z, g_i(pi) is f'(z) . g_i, and pi_B is the best mixture of plans at prices of outcomes.

    Policies: `targeted` gives dear actions to those rows first where they are predicted to bring most per unit;
    `only ACTION` draws the rows that get one action at random; `fair` targets within tolerances of the average between
    the groups of the parities in the file, on what the budget limits. The others get the cheapest action. A budget on
    an outcome that is learned is kept by predictions, and what is used is estimated by scores, with an error.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns, and the problem.
        budgets: per row, rising; or how many, up to where money is worth nothing.
        tolerances: of fair lines, in place of those in the file.
        folds: the number of parts of the log; each is predicted by models of the others.
        seed: of how rows are dealt to the folds.
        model: makes a model of outcomes that is not fitted yet; estimators of scikit-learn are such.
        out: a folder for results.json, curve.parquet, a picture and report.html.

    Raises:
        InvalidInput: a key, column or argument is wrong; or the problem has no budget.

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
    if limit is None:
        raise InvalidInput(f"{evidence.problem_file}: budget", "a budget of all groups together", "none")
    if out is not None:
        import evenhand.report.plots  # noqa: F401  refuses before the work if matplotlib is not installed

        out = folder(file("out", out))
    fair_ones = list(tolerances_of(evidence, limit.outcome, tolerances))
    tables = evidence.tables(folds=folds, seed=seed, model=model)
    aim, cost = Aim.of(evidence, tables), tables[limit.outcome]
    first = Frontier.of(aim.worth, cost.predicted)
    at = grid(budgets, first.least, enough(aim, cost.predicted, first), limit.rate)
    policies = {TARGETED: targeted(aim, at, cost, first)}
    for i, action in enumerate(evidence.names):
        if (cost.predicted[:, i] > cost.predicted.min(1)).any():
            policies[f"only {action}"] = single(i, aim, at, cost, first)
    for by, tolerance in fair_ones:
        policies[f"fair by {by}, {tolerance:g}"] = fair(aim, evidence.groups[by], tolerance, at, cost)
    plan = aim.best(within(cost.predicted, max(limit.rate, first.least)))
    lines, bands = together(policies, seed)
    found = Curve(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        spent=limit.outcome,
        budgets=at,
        lines=lines,
        bands=bands,
        stated=limit.rate,
        learned=limit.learned,
        rows=evidence.rows,
        folds=folds,
        seed=seed,
        checks={
            **evidence.checks,
            "support": support(evidence, {TARGETED: plan.probabilities(len(evidence.names))} | singles(evidence)),
            "budget": idle(aim.worth, tables, {limit.outcome: limit.rate}) if aim.linear else None,
        },
        notes=(*evidence.left_out, *evidence.notes, *_ignored(evidence, limit, {by for by, _ in fair_ones})),
    )
    if out is not None:
        found.write(out)
    return found


def _ignored(evidence: Evidence, limit: Limit, groupings: set[str]) -> Iterator[str]:
    """Say which constraints of the problem no line keeps."""
    for s in evidence.problem.stated:
        is_budget = s.spends and s.outcome == limit.outcome and s.by is None
        is_parity = not s.spends and s.outcome == limit.outcome and s.by in groupings and s.constraint.worst == "high"
        if not is_budget and not is_parity:
            yield f"no line keeps to: {s.constraint.label}"
