"""Value against budget: what targeting is worth, how sure that is, and what fairness costs; as tables and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core import faces
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame, has_matplotlib
from evenhand.core.faces import amount
from evenhand.core.luck import check_seed
from evenhand.core.validate import file, folder, writable
from evenhand.logs.checks import Checks, told as warnings
from evenhand.logs.log import Source
from evenhand.logs.problem_file import Stated
from evenhand.offline import results
from evenhand.offline.curve_page import headline, parts, sentences
from evenhand.offline.doubts import Doubt, doubter, doubts, idle, support, sure
from evenhand.offline.evidence import Evidence, evidence_of
from evenhand.offline.fold_plans import Crossed, best, even
from evenhand.offline.lines import (
    TARGETED,
    Limit,
    Line,
    beside,
    cheapest_of,
    doubtful,
    grid,
    limit_of,
    planned,
    single,
    singles,
    together,
    tolerances_of,
)
from evenhand.offline.outcome_models import Regressor, RidgeByErrors
from evenhand.offline.policies import limits
from evenhand.offline.results import Counted, ends_of, head, reached, results_of, settings_of, told, use_cell
from evenhand.offline.scores import Bands, Estimate
from evenhand.report.allowances import Allowance, setting
from evenhand.report.leaving import leave
from evenhand.report.page import Page
from evenhand.report.quantities import objective_name
from evenhand.report.results import Measurement, Results
from evenhand.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = 6  # budgets of a table
_ROUNDED = 1e-12  # of a value: what the same values may differ by
REACH = "standard errors that hold at all budgets at once (95 %)"
POINTS = 20  # budgets of a curve by default


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
        return results.summary(self)

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
        return results.page(
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
        return results.text(self, head(self, self._what, (self.allowed,)), self._reading())

    def __repr__(self) -> str:
        return faces.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        return results.html(self)

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


@named("X8", source="evenhand's own; the path of Sverdrup, Wu, Athey & Wager 2024, with parity between groups")
def curve(
    log: Source | Evidence,
    problem: Stated | None = None,
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
    B in each fold for itself, by predictions q of models of the other folds. Its influence function is
    psi_i = g_i(pi) - V - price (c_i(pi) - B), where the price accounts for the threshold that the fold chose. The
    variance of V is var(psi) / N + max(sum_jk d_jk d_kj, 0), where d_jk is what fold j loses if its plan is made
    without fold k. For an objective f that is not a weighted sum, V is f of averages z, g_i(pi) is f'(z) . g_i, and
    pi_B is the best mixture of plans at prices of outcomes.

    Policies: `targeted` gives dear actions to those rows first where they are predicted to bring most per unit;
    `only ACTION` draws the rows that get one action at random; `fair` targets within tolerances of the average between
    the groups of the parities in the file, on what the budget limits. The others get the cheapest action. A budget on
    an outcome that is learned is kept by predictions, and what is used is estimated by scores, with an error.

    Args:
        log: a CSV or Parquet file, a data frame, or what `Evidence.read` returns.
        problem: a TOML file that states the meaning of the columns and the problem, or a mapping as `tomllib` reads it.
        budgets: per case, rising; or how many, up to where more money is worth nothing.
        tolerances: of fair lines, in place of those in the file.
        folds: the number of parts of the log, at least 3; each is predicted and planned by models of the others.
        seed: of how rows are dealt to the folds.
        model: makes a model of outcomes that is not fitted yet; estimators of scikit-learn are such.
        out: a folder for results.json, report.html, and if they can be written, curve.parquet and a picture.

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
    >>> found = curve(folder / "log.csv", folder / "problem.toml", budgets=(0.25, 0.75))
    >>> [(line.name, [round(v.value, 2) for v in line.value]) for line in found.lines]
    [('targeted', [0.25, 0.5]), ('only letter', [0.13, 0.38])]
    """
    evidence = evidence_of(log, problem)
    check_seed(seed)
    limit = limit_of(evidence)
    if limit is None:
        raise InvalidInput(f"{evidence.problem_file}: budget", "a budget of all groups together", "none")
    out = None if out is None else writable(file("out", out))
    fair_ones = list(tolerances_of(evidence, limit.outcome, tolerances))
    crossed = Crossed(evidence, folds, seed, model)
    plan = next(crossed.own(best([limit.rate]), limit.outcome)).probabilities(len(evidence.names))
    doubted = doubts(evidence, {TARGETED: plan} | singles(evidence))
    checks = _checks(crossed, limit, doubted)
    at = grid(budgets, crossed.least(limit.outcome), crossed.enough(limit.outcome), limit.rate)
    policies = {TARGETED: planned(crossed, best(at), limit.outcome)}
    dealt, cost = crossed.dealt, crossed.cost_dealt(limit.outcome)
    start = cheapest_of(dealt, cost)
    for i, action in enumerate(evidence.names):
        if (cost.predicted[:, i] > cost.predicted.min(1)).any():
            policies[f"only {action}"] = single(i, start, dealt, at, cost)
    for by, tolerance in fair_ones:
        name = f"fair by {by}, {amount(tolerance, 6)}"
        policies[name] = planned(crossed, even(at, evidence.groups[by], tolerance), limit.outcome)
    clusters = crossed.clusters_dealt
    order = crossed.rows.order
    events = [z for name, z in crossed.occurrences_dealt.items() if name in evidence.problem.objective.outcomes]
    ask = doubter(evidence.propensities[order], len(at) * len(policies), clusters, events)
    policies = {name: doubtful(crossed, each, ask, limit) for name, each in policies.items()}
    lines, bands = together(policies, at, seed, clusters.names)
    found = Curve(
        log=evidence.log,
        problem_file=evidence.problem_file,
        objective=objective_name(evidence.problem),
        spent=limit.outcome,
        budgets=at,
        lines=lines,
        bands=bands,
        stated=limit.rate,
        doubt=doubted[TARGETED],
        learned=limit.learned,
        rows=evidence.rows,
        clusters=Counted.of(evidence.cluster),
        folds=folds,
        seed=seed,
        checks=checks,
        notes=(
            *evidence.left_out,
            *evidence.notes,
            *beside(evidence),
            *_ignored(evidence, limit, {by for by, _ in fair_ones}),
        ),
    )
    if out is not None:
        found.write(out)
    return found


def _checks(crossed: Crossed, limit: Limit, found: Mapping[str, Doubt]) -> Checks:
    """Check the log, and the policies at the budget of the problem."""
    evidence, aim, clusters = crossed.evidence, crossed.dealt, crossed.clusters_dealt
    return {
        **evidence.checks,
        "support": support(found),
        "budget": idle(aim.worth, crossed.tables_dealt, limits(evidence), clusters) if aim.linear else None,
    }


def _ignored(evidence: Evidence, limit: Limit, groupings: set[str]) -> Iterator[str]:
    """Say which constraints of the problem no line keeps."""
    for s in evidence.problem.stated:
        is_budget = s.spends and s.outcome == limit.outcome and s.by is None
        is_parity = not s.spends and s.outcome == limit.outcome and s.by in groupings and s.constraint.worst == "high"
        if not is_budget and not is_parity:
            yield f"no line keeps to: {s.constraint.label}"
