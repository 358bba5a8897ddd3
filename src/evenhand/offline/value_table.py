"""The table of a value: columns that are declared once, from which texts, frames, JSON and pages follow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan
from typing import ClassVar

from evenhand.core.texts import amount, few
from evenhand.core.validate import whole
from evenhand.logs.checks import fault_of, refusal, scope
from evenhand.offline.cautions import FEW, Kept
from evenhand.offline.estimators.base import PRINTED, Estimator, all_estimators
from evenhand.offline.events import FEW_EVENTS, Share
from evenhand.offline.policies import LOGGED, Valued, tied
from evenhand.offline.results import LogResult, Total, coverage, in_band, interval, reaches, told, use_cell
from evenhand.offline.scores import Bands, Estimate, anytime
from evenhand.offline.targeting import ForWhom
from evenhand.report import allowances, charts
from evenhand.report.allowances import Allowance
from evenhand.report.page import Part
from evenhand.report.results import Column, Measurement, Records, cells_of, names_of
from evenhand.report.tables import Table, join_tables

CAVEAT = (
    "Those without an error follow the model to some part, and nothing says how wrong that is. Where estimators are "
    "further apart than their errors explain, check the propensities and the overlap."
)


def columns(objective: str, estimators: Sequence[str], baseline: str = LOGGED) -> tuple[Column[Valued], ...]:
    """Return the columns of a table of values, of which those of estimators have their names.

    >>> [column.names for column in columns("sale", ["ips", "switch"])][2:4]
    [('ips', 'se ips'), ('switch',)]
    """
    by = all_estimators()
    other = "logged" if baseline == LOGGED else baseline
    beyond = f"beyond {other}", "se beyond", "low beyond", "high beyond"
    return (
        Column(("value", "se", "low", "high"), objective, lambda p: p.value),
        Column(beyond, f"{objective} beyond {_base(baseline)}", lambda p: p.beyond),
        *(_column(objective, name, by[name]) for name in estimators),
        Column(("effective cases",), "effective cases", lambda p: p.doubt.cases),
        Column(("never logged",), "part of its plays that was never logged", lambda p: p.doubt.missing),
        Column(
            ("effective events",), "effective events", lambda p: p.doubt.events if isfinite(p.doubt.events) else None
        ),
        Column(("least",), f"{objective}, least", lambda p: None if p.bounds is None else p.bounds[0]),
        Column(("most",), f"{objective}, most", lambda p: None if p.bounds is None else p.bounds[1]),
    )


def _base(baseline: str) -> str:
    return "what was logged" if baseline == LOGGED else baseline


def _column(objective: str, name: str, estimator: Estimator) -> Column[Valued]:
    head = _head(estimator).lower()
    names = (head, f"se {head}") if estimator.unbiased else (head,)
    return Column(names, f"{objective} by {estimator.label}", lambda p: p.by[name])


def _used(name: str) -> Column[Valued]:
    return Column((f"{name} used", "", f"low {name} used", f"high {name} used"), f"{name} used", lambda p: p.used[name])


def _kept(k: Kept, several: bool) -> tuple[Column[Valued], Column[Valued]]:
    """Return the columns of a constraint; the limit is in the name of both where several have its label."""
    limit = f", {k.side} {k.limit:.6g}"
    row, sure = k.row + limit, f"confidence in {k.constraint}{limit * several}"
    return Column((), row, lambda _: k.used), Column((sure,), sure, lambda _: k.confidence)


def _head(estimator: Estimator) -> str:
    return estimator.label.removeprefix("the ")


def table_of(policies: Sequence[Valued], estimators: Sequence[str]) -> Table:
    """Return the table of the values by other estimators."""
    each = [(name, all_estimators()[name]) for name in estimators]
    heads = [_head(one) + " ± se" * one.unbiased for _, one in each]
    rows = [
        [p.policy, *(told(p.by[n]) if one.unbiased else f"{p.by[n].value:.4f}" for n, one in each)] for p in policies
    ]
    return Table(["by other estimators", *heads], rows)


def reading(estimators: Sequence[str]) -> str:
    """Explain each estimator, and how to read them beside each other."""
    return " ".join([*(all_estimators()[name].meaning for name in estimators), CAVEAT])


DIFFERENCES = (
    "Dots are differences to {base}, by pairs of cases; lines are their 95 % intervals, for the population "
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Value(LogResult):
    """Values of policies by a log; print it to see its tables.

    Args:
        log, problem_file, objective, rows, folds, seed, checks, notes, clusters: as of `LogResult`.
        policies: one per policy; the first is what was logged.
        bands: by how many standard errors intervals reach that hold for all policies at once.
        limits: the budgets per case, by outcome.
        whom: for whom the targeted policy is, if that was asked for.
        estimators: that have columns beside the value, by name.
        baseline: the policy beyond which the others are stated.
        anytime: the number of cases at which intervals that hold at any time are the narrowest; None without them.
    """

    name: ClassVar[str] = "value"
    kind: ClassVar[str] = "value"

    policies: tuple[Valued, ...]
    bands: Bands
    limits: Mapping[str, float]
    whom: ForWhom | None = None
    estimators: tuple[str, ...] = PRINTED
    anytime: int | None = None
    baseline: str = LOGGED

    def columns(self, p: Valued) -> tuple[Column[Valued], ...]:
        """Return the numbers of a policy, which has each constraint by the row that it keeps least surely."""
        labels = Counter(k.constraint for k in p.kept)
        kept = (column for k in p.kept for column in _kept(k, labels[k.constraint] > 1))
        always = () if self.anytime is None else self._always()
        own = columns(self.objective, self.estimators, self.baseline)
        return (*own, *self._totals(), *always, *map(_used, self.limits), *kept)

    def _totals(self) -> Iterator[Column[Valued]]:
        """Yield the columns of totals over the rows of the log."""
        if self.adds_up:
            name = f"{self.objective} in all"
            yield Column(("total", "", "low total", "high total"), name, lambda p: Total(p.value, self.rows))
            head, of = "total beyond", f"{name}, beyond {_base(self.baseline)}"
            yield Column((head, "", f"low {head}", f"high {head}"), of, lambda p: Total(p.beyond, self.rows))

    def _always(self) -> Iterator[Column[Valued]]:
        """Yield the ends of the intervals that hold at any time."""
        for what, of in (("", "value"), (f" beyond {_base(self.baseline)}", "beyond")):
            for i, side in enumerate(("low", "high")):
                head = f"{side}{' beyond' if what else ''} at any time"
                yield Column((head,), f"{self.objective}{what}: 95 % at any time, {side}", partial(self._end, of, i))

    def _end(self, of: str, side: int, p: Valued) -> float | None:
        end = self._within(p.value if of == "value" else p.beyond)[side]
        return None if math.isnan(end) else end

    def at_any_time(self, narrowest: int) -> Value:
        """Return the values with intervals that hold at every size of a log at once, while it grows.

        Args:
            narrowest: the number of cases at which they are the narrowest, chosen before the log is read.

        Raises:
            InvalidInput: the number is below 1.
        """
        whole("anytime", narrowest, 1)
        return replace(self, anytime=narrowest)

    def _within(self, estimate: Estimate) -> tuple[float, float]:
        count = self.rows if self.clusters is None else self.clusters.number
        return estimate.within(anytime(count, self.anytime or 1))

    def records(self) -> Records:
        """Return a row per policy."""
        rows = [[p.policy, *cells_of(self.columns(p), p), *self.cluster_count.values()] for p in self.policies]
        return Records(["policy", *names_of(self.columns(self.policies[0])), *self.cluster_count], rows)

    def measurements(self) -> Iterator[Measurement]:
        """Yield the numbers of every policy, and the reach of intervals that hold for all."""
        for p in self.policies:
            for column in self.columns(p):
                yield from column.measurements(p.policy, {}, p)
        for what, errors in zip(("", f" beyond {_base(self.baseline)}"), self.bands, strict=True):
            yield Measurement("all policies", {}, f"{self.objective}{what}: {REACH}", self.reached(errors))
        if self.whom is not None:
            yield from self.whom.measurements()

    def headline(self) -> str:
        """State the result in a sentence: which policy within the budgets is worth most, if one can be told.

        Policies that the log cannot judge are left out, and none is recommended from a log that fails a check.
        """
        if (refused := refusal(self.checks)) is not None:
            return refused
        judged, kept = self._judged, self._kept
        left = len(self.policies) - len(judged)
        out = f"; the log says too little of {left} more" if left else ""
        if not judged:
            return "No policy can be recommended, as the log says too little of each"
        if not kept:
            return f"{scope(self.checks)}No policy of the table keeps to {self._budgets}{out}"
        best = self._best
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

    @property
    def _judged(self) -> list[Valued]:
        """The policies that the log can judge."""
        return [p for p in self.policies if not p.doubt.any]

    @property
    def _kept(self) -> list[Valued]:
        """Those of them that are within the budgets."""
        return [p for p in self._judged if not any(self._over(p))]

    @property
    def _best(self) -> Valued:
        return max(self._kept, key=lambda p: p.value.value)

    def inputs(self) -> dict[str, object]:
        """Return the inputs of the numbers, by name, with the baseline if it is of choice."""
        return super().inputs() | ({} if self.baseline == LOGGED else {"baseline": self.baseline})

    def in_all(self) -> Iterator[str]:
        """State what the best policy brings over all rows, and how much that is beyond the baseline."""
        if not self.adds_up or refusal(self.checks) is not None or not self._kept:
            return
        best, of = self._best, coverage(len(self._judged))
        value = Total(best.value, self.rows).text(self.objective, of, self.bands.value)
        told = f"Over the {self.rows:,} cases of the log, {best.policy!r} brings {value}"
        if best.policy != self.baseline:
            beyond = Total(best.beyond, self.rows).text(self.objective, of, self.bands.less, signed=True)
            told += f", {beyond} beyond {_base(self.baseline)}"
        yield f"{told}."

    def heading(self) -> Iterator[str]:
        """Yield the lines above the tables, with the budgets, what is wrong, the notes, the result and its total."""
        yield from super().heading()
        yield from self.in_all()

    @staticmethod
    def _missed(p: Valued) -> Iterator[str]:
        """Say which constraints a policy is all but sure to miss."""
        for i, k in enumerate(k for k in p.kept if k.confidence < _MISSED):
            joined = ", nor to" if i else "; it does not keep to"
            yield f"{joined} {k.constraint} {k.side} {amount(k.limit)} ({amount(k.used.value)})"

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that follow the headline."""
        first, *others = self.policies
        yield from self.in_all()
        yield from allowances.sentences(self.allowed)
        yield f"What was logged brought {first.value.value:.4f} {self.objective} per case."
        judged = [p for p in others if not p.doubt.any and p.policy != self.baseline]
        if judged and fault_of(self.checks) is None:
            best = max(judged, key=lambda p: p.value.value)
            beyond = in_band("", best.beyond, self.bands.less, len(judged)).words(f" beyond {_base(self.baseline)}")
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

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page: differences, budgets, other estimators, constraints, and for whom it is."""
        first, *totals, others = self._values()
        kept = [*self._others()]
        always = () if self.anytime is None else (kept.pop(0),)
        yield Part(
            title=f"What policies bring beyond {_base(self.baseline)}: {self.objective} per case",
            reading=DIFFERENCES.format(base=_base(self.baseline)),
            chart=charts.intervals(
                [interval(p.policy, p.beyond, p.beyond_bounds) for p in self.policies if p.policy != self.baseline]
            ),
            tables=(first, *totals, *always),
        )
        used = {name: [p.used[name].value / z for p in self.policies] for name, z in self.limits.items() if z}
        if used:
            yield Part(
                title=f"Budgets used: {', '.join(f'{name} of {amount(self.limits[name])} per case' for name in used)}",
                reading=USES,
                chart=charts.fractions([p.policy for p in self.policies], used),
                keys=charts.keys(used),
            )
        yield Part(title="By other estimators", reading=reading(self.estimators), tables=(others,))
        if kept:
            yield Part(title="Constraints", reading=KEPT, tables=tuple(kept))
        if self.whom is not None:
            yield from self.whom.parts()

    def text(self) -> str:
        """Return the printed text: the tables, and for whom the targeted policy is."""
        whom = "" if self.whom is None else "\n\n" + join_tables([], self.whom.tables(), [self.whom.summary()])
        return super().text() + whom

    @property
    def about(self) -> str:
        """The contents of the tables, in a few words."""
        return f"{self.objective} per case"

    @property
    def cuped(self) -> float | None:
        """The part of the variance that predictions take off the difference of the first two actions for everybody.

        Beside averages of their own rows (SNIPS), which share none; None where clusters do, or no error is known.
        """
        both = [p for p in self.policies[1:3] if p.policy.startswith("all ")]
        if len(both) < 2 or self.clusters is not None or "snips" not in self.estimators:
            return None
        plain = sum(p.by["snips"].se ** 2 for p in both)
        saved = 1.0 - both[1].less[both[0].policy].se ** 2 / plain if plain else nan
        return saved if saved >= 0.0 else None

    @property
    def _budgets(self) -> str:
        return " and ".join(f"{amount(a.total, 6)} {a.what} in all ({amount(a.rate)} per case)" for a in self.allowed)

    @property
    def allowed(self) -> tuple[Allowance, ...]:
        """The allowances of the budgets, for all cases of the log."""
        return allowances.allowances(self.limits, self.rows, "cases of the log", units=self.units)

    def remarks(self) -> Iterator[str]:
        """Yield which policies use more than a budget, and by how much."""
        for p in self.policies:
            for name in self._over(p):
                yield f"{p.policy!r} uses {amount(p.used[name].value)} {name} per case of {amount(self.limits[name])}"
            for name, limit in self.limits.items():
                if name not in self._over(p) and p.used[name].value > limit * (1.0 + 1e-6):
                    use = f"{amount(p.used[name].value)} {name} per case of {amount(limit)}"
                    low, high = map(amount, p.used[name].within(3.0))
                    yield f"{p.policy!r} uses {use}, which three standard errors allow for: {low} to {high}"

    def _over(self, p: Valued) -> Iterator[str]:
        """Yield the budgets below a guess of the use, or below all of its interval of three standard errors."""
        for name, limit in self.limits.items():
            used = p.used[name]
            if (used.value if math.isnan(used.se) else used.within(3.0)[0]) > limit * (1.0 + 1e-9):
                yield name

    def tables(self) -> Iterator[Table]:
        """Yield the tables: of values, by other estimators, and of constraints if there are any."""
        yield from self._values()
        yield from self._others()

    def _values(self) -> Iterator[Table]:
        """Yield the tables of values per case, in all, and by other estimators."""
        first = self.baseline
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
        if self.adds_up:
            each = [(p, Total(p.value, self.rows).cells(), Total(p.beyond, self.rows).cells()) for p in self.policies]
            totals = [[p.policy, *own, *(("", "") if p.policy == first else more)] for p, own, more in each]
            head = f"{self.objective} in all, of {self.rows:,} cases"
            yield Table([head, "total", "95 %", f"beyond {first}", "95 %"], totals)
        if self.estimators:
            yield table_of(self.policies, self.estimators)

    def _others(self) -> Iterator[Table]:
        """Yield the tables of intervals that hold at any time, and of constraints."""
        if self.anytime is not None:
            each = [[p.policy, *(_ends(self._within(z)) for z in (p.value, p.beyond))] for p in self.policies]
            yield Table(["95 % at any time, as the log grows", self.objective, f"beyond {self.baseline}"], each)
        limits = [f"{k.constraint}, {k.side} {amount(k.limit)}" for k in self.policies[0].kept]
        if limits:
            rows = [[p.policy, *(use_cell(k.used, k.confidence) for k in p.kept)] for p in self.policies]
            yield Table(["constraints, 95 %, confidence", *limits], rows)

    def reading(self) -> Iterator[str]:
        """Yield the lines below the tables, which say how to read them."""
        yield "value   doubly robust: predictions by models that have not seen the case, and what they missed in it."
        yield f"beyond  the difference to {_base(self.baseline)}, by pairs of cases."
        if self.adds_up:
            yield "in all  the value per case times the cases: what as many cases of the population would bring."
        if (saved := self.cuped) is not None:
            one, other = (self.policies[i].policy for i in (2, 1))
            yield f"cuped   predictions take {saved:.0%} off the variance of {one!r} less {other!r}, as in an A/B test."
        value, less = (self.reached(errors) for errors in self.bands)
        events = isinstance(self.policies[0].value.events, Share)
        counted = (
            ", by its events"
            if events
            else f", {self.reached():.2f} se to either side, shifted where few cases weigh heavily"
        )
        yield f"95 %    for a policy alone{counted}. For all policies of the table at once, as in what is said of the"
        one, other = f"{self.reached():.2f}", _base(self.baseline)
        yield f"        best one, {value:.2f} se count in place of {one}, {less:.2f} in differences to {other}."
        if self.anytime is not None:
            yield "any time  intervals hold at all sizes of a growing log at once, however often one looks and whenever"
            yield f"        one stops; the narrowest at {self.anytime:,} cases, for policies that were chosen before."
        of = "cases" if self.clusters is None else f"clusters by {self.clusters.column!r}"
        yield f"cases   the effective number of {of} whose logged action agrees with the policy."
        if any(p.doubt.is_guess for p in self.policies):
            yield "guess   by models alone where the policy plays what was never logged, or by a handful of cases"
            yield "        that have all of it: no error is known."
        if any(p.bounds is not None for p in self.policies):
            yield "bounds  with what was never logged at the ends of its range."
        if self.policies[0].kept:
            yield "confidence  that the constraint is kept: that of the one-sided interval which ends at its limit."


def _ends(interval: tuple[float, float]) -> str:
    return "" if math.isnan(interval[0]) else "{:.4f} to {:.4f}".format(*interval)


def _interval(p: Valued) -> str:
    """The interval of a value, or the bounds of a guess."""
    if p.bounds is None:
        return reaches(p.value)
    return "{:.4f} to {:.4f}, bounds".format(*p.bounds)


def _range(p: Valued) -> str:
    """Say between which bounds a guess is."""
    return "" if p.bounds is None else ", and is worth between {:.4f} and {:.4f}".format(*p.bounds)
