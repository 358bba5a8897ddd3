"""The table of a value: columns that are declared once, from which texts, frames, JSON and pages follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evenhand.core import faces
from evenhand.core.extras import data_frame
from evenhand.core.faces import amount, few
from evenhand.core.validate import file
from evenhand.logs.checks import Checks, fault_of, refusal, scope, told as warnings
from evenhand.offline import results
from evenhand.offline.doubts import FEW
from evenhand.offline.estimators.base import PRINTED, Estimator, all_estimators, columns_of
from evenhand.offline.events import FEW_EVENTS, Share
from evenhand.offline.policies import Valued, tied
from evenhand.offline.results import (
    Counted,
    coverage,
    ends_of,
    head,
    in_band,
    interval,
    reached,
    reaches,
    results_of,
    settings_of,
    told,
    use_cell,
)
from evenhand.offline.scores import Bands, Estimate
from evenhand.offline.whom import ForWhom
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance
from evenhand.report.charts import Bar
from evenhand.report.intervals import Interval
from evenhand.report.leaving import leave
from evenhand.report.page import Page, Part
from evenhand.report.results import Measurement, Results
from evenhand.report.tables import Table, printed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CAVEAT = (
    "Those without an error follow the model to some part, and nothing says how wrong that is. Where estimators are "
    "further apart than their errors explain, check the propensities and the overlap."
)


class Column(NamedTuple):
    """A number that every policy has, with its error and the ends of its interval if it has names for them."""

    names: tuple[str, ...]  # in data frames: of the number; or with its error; or with both and the two ends
    text: str  # in `results.json`
    of: Callable[[Valued], Estimate | float | None]  # None where it is not known

    def cells(self, p: Valued) -> list[float]:
        """Return the numbers of a policy by name."""
        found = self.of(p)
        if isinstance(found, Estimate):
            return [*found.pair, *found.interval][: len(self.names)]
        return [nan if found is None else found]


def columns(objective: str, estimators: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of a table of values, of which those of estimators have their names.

    >>> [column.names for column in columns("sale", ["ips", "switch"])][2:4]
    [('ips', 'se ips'), ('switch',)]
    """
    by = all_estimators()
    return (
        Column(("value", "se", "low", "high"), objective, lambda p: p.value),
        Column(
            ("beyond logged", "se beyond", "low beyond", "high beyond"),
            f"{objective} beyond what was logged",
            lambda p: p.beyond,
        ),
        *(_column(objective, name, by[name]) for name in estimators),
        Column(("effective cases",), "effective cases", lambda p: p.doubt.cases),
        Column(("never logged",), "part of its plays that was never logged", lambda p: p.doubt.missing),
        Column(
            ("effective events",), "effective events", lambda p: p.doubt.events if isfinite(p.doubt.events) else None
        ),
        Column(("least",), f"{objective}, least", lambda p: None if p.bounds is None else p.bounds[0]),
        Column(("most",), f"{objective}, most", lambda p: None if p.bounds is None else p.bounds[1]),
    )


def _column(objective: str, name: str, estimator: Estimator) -> Column:
    head = _head(estimator).lower()
    names = (head, f"se {head}") if estimator.unbiased else (head,)
    return Column(names, f"{objective} by {estimator.label}", lambda p: p.by[name])


def _head(estimator: Estimator) -> str:
    return estimator.label.removeprefix("the ")


def measurements(p: Valued, each: Sequence[Column]) -> list[Measurement]:
    """Return the rows of `results.json` of a policy: numbers with errors, the ends of intervals, and plain numbers."""
    pairs = [(column, column.cells(p)) for column in each if column.of(p) is not None]
    found = [Measurement(p.policy, {}, c.text, *cells[:2]) for c, cells in pairs if len(c.names) > 1]
    for c, _ in pairs:
        if len(c.names) > 2 and isinstance(estimate := c.of(p), Estimate):
            found.extend(ends_of(p.policy, {}, c.text, estimate))
    return found + [Measurement(p.policy, {}, c.text, *cells) for c, cells in pairs if len(c.names) == 1]


def table_of(policies: Sequence[Valued], estimators: Sequence[str]) -> Table:
    """Return the table of what other estimators say."""
    each = [(name, all_estimators()[name]) for name in estimators]
    heads = [_head(one) + " ± se" * one.unbiased for _, one in each]
    rows = [
        [p.policy, *(told(p.by[n]) if one.unbiased else f"{p.by[n].value:.4f}" for n, one in each)] for p in policies
    ]
    return Table(["by other estimators", *heads], rows)


def reading(estimators: Sequence[str]) -> str:
    """Say what each estimator is, and how to read them beside each other."""
    return " ".join([*(all_estimators()[name].meaning for name in estimators), CAVEAT])


DIFFERENCES = (
    "Dots are differences to what was logged, by pairs of cases; lines are their 95 % intervals, for the population "
    "behind the log. Grey intervals include 0: such a difference is indistinguishable from chance. Blue ones "
    "are above 0, and orange ones below. Dashed lines are bounds of guesses, which may go beyond the picture. The "
    "largest of several estimates is too optimistic."
)
USES = "Bars are parts of the budget that a policy uses per case; at the line all of it is used."
KEPT = (
    "How much a policy has of what a constraint limits, its 95 % interval, and the confidence that it is kept. "
    "A policy that was tuned to meet a limit exactly has a confidence of a half."
)
REACH = "standard errors that hold for all policies at once (95 %)"
_MISSED = 0.05  # the confidence below which a constraint is said not to be kept


def differences(policies: Sequence[Valued]) -> list[Interval]:
    """Return the gain of every policy over the first one, the logged policy."""
    return [interval(p.policy, p.beyond, p.beyond_bounds) for p in policies[1:]]


def uses(policies: Sequence[Valued], limits: Mapping[str, float]) -> dict[str, list[float | None]]:
    """Return the fraction of each limit that every policy uses; limits of 0 are left out."""
    return {name: [p.used[name].value / limit for p in policies] for name, limit in limits.items() if limit}


def parts(
    policies: Sequence[Valued], limits: Mapping[str, float], objective: str, tables: Sequence[Table], text: str
) -> Iterator[Part]:
    """Yield the parts of a report: tables of values, of other estimators, which a text explains, and of constraints."""
    first, others, *kept = tables
    found = differences(policies)
    about = "; ".join(f"{z.name}: {z.said}" for z in found)
    yield Part(
        title=f"What policies bring beyond what was logged: {objective} per case",
        reading=DIFFERENCES,
        chart=charts.intervals(about, found),
        tables=(first,),
    )
    used = uses(policies, limits)
    if used:
        yield Part(
            title=f"Budgets used: {', '.join(f'{name} of {amount(limits[name])} per case' for name in used)}",
            reading=USES,
            chart=_used(policies, used),
            keys=tuple((name, hue) for hue, name in enumerate(used)) if len(used) > 1 else (),
        )
    yield Part(title="By other estimators", reading=text, tables=(others,))
    if kept:
        yield Part(title="Constraints", reading=KEPT, tables=tuple(kept))


def _used(policies: Sequence[Valued], used: Mapping[str, Sequence[float | None]]) -> str:
    bars = [
        Bar(p.policy, part, f"{part:.1%}", hue)
        for i, p in enumerate(policies)
        for hue, each in enumerate(used.values())
        if (part := each[i]) is not None
    ]
    return charts.bars("; ".join(f"{bar.name}: {bar.words}" for bar in bars), bars, limit=1.0)


@dataclass(frozen=True, kw_only=True)
class Value:
    """Values of policies by a log; print it to see its tables.

    Args:
        log, problem_file: names of the files.
        objective: what is maximised.
        policies: one per policy; the first is what was logged.
        bands: by how many standard errors intervals reach that hold for all policies at once.
        limits: the budgets per case, by outcome.
        rows: of the log that were used.
        clusters: how many clusters the rows have, and by which column; None where each row is one.
        folds, seed: of the cross-fitting.
        checks: what is wrong with the log or with what is asked of it, a sentence each; None if nothing was found.
        notes: remarks about the log.
        whom: for whom the targeted policy is, if that was asked for.
        estimators: that have columns beside the value, by name; see `with_estimators`.
    """

    log: str
    problem_file: str
    objective: str
    policies: tuple[Valued, ...]
    bands: Bands
    limits: Mapping[str, float]
    rows: int
    folds: int
    seed: int
    checks: Checks
    notes: tuple[str, ...]
    whom: ForWhom | None = None
    clusters: Counted | None = None
    estimators: tuple[str, ...] = PRINTED

    def with_estimators(self, names: Iterable[str]) -> Value:
        """Return the same with columns of more estimators; `evenhand systems --kind estimator` lists them.

        Raises:
            InvalidInput: an unknown name.
        """
        return replace(self, estimators=columns_of(names))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per policy.

        Raises:
            MissingExtra: pandas is not installed.
        """
        each = columns(self.objective, self.estimators)
        names = ["policy", *(name for column in each for name in column.names)]
        names += [f"{end}{name} used" for name in self.limits for end in ("", "low ", "high ")]
        names += [f"confidence in {k.constraint}" for k in self.policies[0].kept]
        counted = [] if self.clusters is None else [self.clusters.number]
        names += ["clusters"] * len(counted)
        rows = [
            [
                p.policy,
                *(z for column in each for z in column.cells(p)),
                *(z for name in self.limits for z in (p.used[name].value, *p.used[name].interval)),
                *(k.confidence for k in p.kept),
                *counted,
            ]
            for p in self.policies
        ]
        return data_frame(rows, names)

    def results(self) -> Results:
        """Collect the rows of `results.json`."""
        found = results_of("value", self, allowances.setting(self._allowed))
        each = columns(self.objective, self.estimators)
        for p in self.policies:
            found.rows.extend(measurements(p, each))
            for name, used in p.used.items():
                found.rows.append(Measurement(p.policy, {}, f"{name} used", *used.pair))
                found.rows.extend(ends_of(p.policy, {}, f"{name} used", used))
            for k in p.kept:
                row = f"{k.row}, {k.side} {k.limit:.6g}"
                found.rows.append(Measurement(p.policy, {}, row, *k.used.pair))
                found.rows.extend(ends_of(p.policy, {}, row, k.used))
                found.rows.append(Measurement(p.policy, {}, f"confidence in {k.constraint}", k.confidence))
        for what, errors in zip(("", " beyond what was logged"), self.bands, strict=True):
            reach = reached(self, errors)
            found.rows.append(Measurement("all policies", {}, f"{self.objective}{what}: {REACH}", reach))
        found.rows.extend([] if self.whom is None else self.whom.measurements())
        return found

    def headline(self) -> str:
        """State the result in a sentence: which policy within the budgets is worth most, if one can be told.

        Policies that the log cannot judge are left out, and none is recommended from a log that fails a check.
        """
        if (refused := refusal(self.checks)) is not None:
            return refused
        judged = [p for p in self.policies if not p.doubt.any]
        kept = [p for p in judged if not any(self._over(p))]
        left = len(self.policies) - len(judged)
        out = f"; the log says too little of {left} more" if left else ""
        if not judged:
            return "No policy can be recommended, as the log says too little of each"
        if not kept:
            return f"{scope(self.checks)}No policy of the table keeps to {self._budgets}{out}"
        best = max(kept, key=lambda p: p.value.value)
        low, high = best.value.within(self.bands.value)
        where = f"Within {self._budgets}, " if self.limits else ""
        value = f"{best.value.value:.4f} {self.objective} per case ({coverage(len(judged))}: {low:.4f} to {high:.4f})"
        near = tied(best, kept)
        if near:
            told = f"the highest value of {len(kept)} policies, but cannot be told apart from {few(map(repr, near))}"
            result = f"{where}{best.policy!r} has {told}: {value}"
        elif len(kept) > 1:
            result = f"{where}{best.policy!r} is worth the most of {len(kept)} policies: {value}"
        else:
            result = f"{where}{best.policy!r} is worth {value}"
        return f"{scope(self.checks)}{result}{''.join(self._missed(best))}{out}"

    @staticmethod
    def _missed(p: Valued) -> Iterator[str]:
        """Say which constraints a policy is all but sure to miss."""
        for i, k in enumerate(k for k in p.kept if k.confidence < _MISSED):
            joined = ", nor to" if i else "; it does not keep to"
            yield f"{joined} {k.constraint} {k.side} {amount(k.limit)} ({amount(k.used.value)})"

    def summary(self) -> str:
        """Return the result in a few sentences."""
        return results.summary(self)

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""
        first, *others = self.policies
        yield from allowances.sentences(self._allowed)
        yield f"What was logged brought {first.value.value:.4f} {self.objective} per case."
        judged = [p for p in others if not p.doubt.any]
        if judged and fault_of(self.checks) is None:
            best = max(judged, key=lambda p: p.value.value)
            beyond = in_band("", best.beyond, self.bands.less, len(judged)).words(" beyond what was logged")
            dear = f", but it uses more than {self._budgets}" if any(self._over(best)) else ""
            yield f"Of the others, {best.policy!r} has the highest value, {beyond}{dear}."
        for p in others:
            if p.doubt.missing:
                never = f"{p.doubt.missing:.1%} of its cases what was never logged there"
                yield f"{p.policy!r} plays in {never}{_range(p)}."
        unsure = [p.policy for p in others if p.doubt.cases < FEW]
        rare = [p.policy for p in others if p.doubt.events < FEW_EVENTS and not p.doubt.missing]
        if self.whom is not None:
            yield self.whom.summary()
        if unsure:
            yield f"Too few cases agree with {few(map(repr, unsure))} to trust the intervals."
        if rare:
            named = few(map(repr, rare))
            yield f"Fewer than {FEW_EVENTS:.0f} cases say what {named} would bring: no interval is known."

    def plot(self) -> Figure:
        """Draw the differences to what was logged with their intervals, and the budgets that were used.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        from evenhand.report.forest import Panel, Uses, draw  # matplotlib only when asked for
        from evenhand.report.plots import figure_of

        names = [p.policy for p in self.policies]
        title = f"{self.objective} per case beyond what was logged"
        below = "bars: 95 %, by pairs of cases" + "; dotted: bounds" * any(p.bounds is not None for p in self.policies)
        panel = Panel(title, below, [None, *differences(self.policies)])
        used = uses(self.policies, self.limits)
        below = "part of the budget"
        return figure_of(draw(names, [panel], Uses("used", below, used) if used else None, self.headline()))

    def page(self, command: str = "") -> Page:
        """Return the report, which states the command that made it."""
        own = parts(self.policies, self.limits, self.objective, list(self.tables()), reading(self.estimators))
        return results.page(
            self,
            (*own, *([] if self.whom is None else self.whom.parts())),
            notes=(*warnings(self.checks), *self.notes, *self._remarks()),
            command=command,
            settings=settings_of(self, allowances.setting(self._allowed)),
        )

    def write(self, out: str | Path, command: str = "") -> list[Path]:
        """Write results.json, report.html, and value.parquet if pandas and pyarrow are installed, into a folder.

        Raises:
            InvalidInput: a file cannot be written.
        """
        return leave(file("out", out), self.results(), "value", self.to_frame, self.page(command))

    def __str__(self) -> str:
        whom = "" if self.whom is None else "\n\n" + printed([], self.whom.tables(), [self.whom.summary()])
        return results.text(self, self._head(), self._reading()) + whom

    def __repr__(self) -> str:
        return faces.first(str(self), rest=": `print` shows all")

    def _repr_html_(self) -> str:
        return results.html(self)

    @property
    def _budgets(self) -> str:
        return " and ".join(
            f"{amount(a.total, 6)} {a.outcome} in all ({amount(a.rate)} per case)" for a in self._allowed
        )

    @property
    def _allowed(self) -> tuple[Allowance, ...]:
        return allowances.allowances(self.limits, self.rows, "cases of the log")

    def _head(self) -> Iterator[str]:
        yield from head(self, f"{self.objective} per case", self._allowed)
        yield from (f"note: {remark}" for remark in self._remarks())

    def _remarks(self) -> Iterator[str]:
        for p in self.policies:
            for name in self._over(p):
                yield f"{p.policy!r} uses {amount(p.used[name].value)} {name} per case of {amount(self.limits[name])}"
            for name, limit in self.limits.items():
                if name not in self._over(p) and p.used[name].value > limit * (1.0 + 1e-9):
                    use = f"{amount(p.used[name].value)} {name} per case of {amount(limit)}"
                    low, high = map(amount, p.used[name].within(3.0))
                    yield f"{p.policy!r} uses {use}, which three standard errors allow for: {low} to {high}"

    def _over(self, p: Valued) -> Iterator[str]:
        """Yield the budgets below a guess of what is used, or below all of its interval of three standard errors."""
        for name, limit in self.limits.items():
            used = p.used[name]
            if (used.value if math.isnan(used.se) else used.within(3.0)[0]) > limit * (1.0 + 1e-9):
                yield name

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of values, by other estimators, and of constraints if there are any."""
        first = self.policies[0].policy
        rows = [
            [
                p.policy,
                told(p.value),
                _interval(p),
                "" if p.policy == first else told(p.beyond),
                f"{p.doubt.cases:,.0f}",
                *(f"{p.used[name].value:.4f}" for name in self.limits),
            ]
            for p in self.policies
        ]
        used = (f"{name} used" for name in self.limits)
        yield Table([f"{self.objective} per case", "value ± se", "95 %", f"beyond {first}", "cases", *used], rows)
        yield table_of(self.policies, self.estimators)
        limits = [f"{k.constraint}, {k.side} {amount(k.limit)}" for k in self.policies[0].kept]
        if limits:
            rows = [[p.policy, *(use_cell(k.used, k.confidence) for k in p.kept)] for p in self.policies]
            yield Table(["constraints, 95 %, confidence", *limits], rows)

    def _reading(self) -> Iterator[str]:
        yield "value   doubly robust: predictions by models that have not seen the case, and what they missed in it."
        yield "beyond  the difference to what was logged, by pairs of cases."
        value, less = (reached(self, errors) for errors in self.bands)
        events = isinstance(self.policies[0].value.events, Share)
        counted = (
            ", by its events"
            if events
            else f", {reached(self):.2f} se to either side, shifted where few cases weigh heavily"
        )
        yield f"95 %    for a policy alone{counted}. For all policies of the table at once, as in what is said of the"
        one = f"{reached(self):.2f}"
        yield f"        best one, {value:.2f} se count in place of {one}, {less:.2f} in differences to what was logged."
        of = "cases" if self.clusters is None else f"clusters by {self.clusters.column!r}"
        yield f"cases   the effective number of {of} whose logged action agrees with the policy."
        if any(p.doubt.is_guess for p in self.policies):
            yield "guess   by models alone where the policy plays what was never logged, or by a handful of cases"
            yield "        that have all of it: no error is known."
        if any(p.bounds is not None for p in self.policies):
            yield "bounds  with what was never logged at the ends of its range."
        if self.policies[0].kept:
            yield "confidence  that the constraint is kept: that of the one-sided interval which ends at its limit."


def _interval(p: Valued) -> str:
    """The interval of a value, or the bounds of a guess."""
    if p.bounds is None:
        return reaches(p.value)
    return "{:.4f} to {:.4f}, bounds".format(*p.bounds)


def _range(p: Valued) -> str:
    """Say between which bounds a guess is."""
    return "" if p.bounds is None else ", and is worth between {:.4f} and {:.4f}".format(*p.bounds)
