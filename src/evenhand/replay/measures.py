"""The measures of a replay: a number per run of a system, over shuffles and resamples, in spans of time and by cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.numerics.student import reach
from evenhand.policy.books import ByPeriod
from evenhand.policy.standings import floors
from evenhand.problem.constraints import Statement, tightest
from evenhand.problem.problem import Problem
from evenhand.report.intervals import Interval, sign_of
from evenhand.report.quantities import objective_name
from evenhand.report.summary import number, table
from evenhand.run.trace import Trace

MOST = 31  # spans of a table, or of a picture: the days of a month
SERVED = "rounds served"  # as a part of those that were due
ALL = 0.9995  # the part of them from which on it counts as all


def span_statements(problem: Problem) -> list[Statement]:
    """Return the constraints that have spans of time; of budgets those on one outcome."""
    return [s for s in problem.stated if s.spans is not None and (s.outcome is not None or not s.spends)]


def names(problem: Problem, stated: Statement) -> list[str]:
    """Return the start and the end of every span in words."""
    if stated.spans is None:
        return []
    clock, spans = problem.clock, stated.spans
    ends = zip(spans.edges[spans.first].tolist(), np.minimum(spans.ends, clock.last).tolist(), strict=True)
    return [f"{clock.format(start)} to {clock.format(end)}" for start, end in ends]


def measure(stated: Statement, span: str) -> str:
    """Return the name of the measure of a span."""
    if averages(stated):
        return f"{stated.constraint.label} {span}"
    return f"{stated.outcome} {'used' if stated.spends else 'reached'} {span}{_least(stated)}"


def title(stated: Statement) -> str:
    """Return the measured quantity of each span, in words."""
    name = stated.label if averages(stated) else stated.rows.names[0] if stated.period else stated.outcome
    return f"{name} in each span{'' if averages(stated) else _least(stated)}"


def limits(stated: Statement) -> Floats:
    """Return the amount that each span allows, requires or bounds, `->(S)`."""
    if stated.spans is None:
        return np.zeros(0)
    allowance = stated.spans.allowance
    return np.full(len(allowance), stated.limit) if stated.spans.averages else np.abs(allowance)


def averages(stated: Statement) -> bool:
    """Return whether spans bound averages, and not sums."""
    return stated.spans is not None and stated.spans.averages


def _least(stated: Statement) -> str:
    """Return a note on measures that are the least of groups; sums are then per unit of the share."""
    return "" if stated.by is None else f", least by {stated.by}"


def span_uses(trace: Trace, stated: Statement) -> Floats | None:
    """Return the sum over the decisions of every span, `->(R,S)`; None for a system that does not follow spans.

    Where groups are compared, it is the least sum of a group, divided by its share; where averages are bounded, what
    the constraint measures in each span.
    """
    if trace.by_period is None or stated.spans is None:
        return None
    own = ByPeriod(trace.problem)
    if not np.isin(stated.spans.edges, own.edges).all():
        return None
    if stated.by is not None or stated.spans.averages:
        found = floors(trace.problem, stated, trace.by_period)
        return None if found is None else found.value.T
    outcome, _, group = trace.problem.row(str(stated.outcome))
    return own.used(trace.by_period, stated.spans, outcome, group)


def tables(problem: Problem, systems: Mapping[str, Mapping[str, tuple[float, float | None]]]) -> Iterator[str]:
    """Yield a table per constraint with spans: the use or the average of each system in every span.

    Args:
        problem: that states the budgets.
        systems: by name, the mean and the worst of every measure.
    """
    for s in span_statements(problem):
        assert s.spans is not None
        spans = names(problem, s)
        shown = {name: found for name, found in systems.items() if measure(s, spans[0]) in found}
        end, digits = "most" if s.constraint.worst == "high" else "least", 4 if averages(s) else 1
        head = [
            title(s),
            "limit" if averages(s) else "allowance" if s.spends else "floor",
            *(z for name in shown for z in (name, end)),
        ]
        lines = []
        for span, allowance in list(zip(spans, limits(s).tolist(), strict=True))[:MOST]:
            cells = [number(x, digits) for found in shown.values() for x in found[measure(s, span)]]
            lines.append([span, amount(allowance, 6), *cells])
        rest = len(spans) - len(lines)
        yield table(head, lines) + (f"\nand {rest} spans more, in results.json" if rest else "")


class Measure(NamedTuple):
    """A measure with one number per run, and its limit if it has one."""

    name: str
    values: Floats  # (R,)
    worst: Literal["low", "high"] | None = None  # the bad end
    limit: float | None = None


class Digest(NamedTuple):
    """The summary of a measure over the runs of a system."""

    mean: float  # over the shuffles of the log
    se: float | None  # standard error of this mean, for the population behind the log
    se_log: float | None  # standard error of this mean, for the mean over all orders of this one log
    spread: float | None  # standard deviation over the shuffles, that is, of a single replay of this one log
    worst: float | None  # over all runs


@dataclass(frozen=True, kw_only=True)
class Run:
    """The runs of one system on the rows of a log: first the shuffles, then each resample in `orders` orders."""

    trace: Trace
    rows: int
    shuffles: int
    orders: int = 1

    @property
    def name(self) -> str:
        return self.trace.policy

    @property
    def rounds(self) -> Floats:
        """The number of accepted rounds, `->(R)`."""
        return np.asarray(self.trace.elapsed[-1])

    def digest(self, m: Measure) -> Digest:
        """Summarise a measure over the shuffles, with standard errors of its mean.

        Equation: a replay's number is mu + p + o, with p from the people in the log and o from the order of its rows.
        The mean over n shuffles then has the variance var p + var o / n for the population, and var o / n for this log.
        Means over k orders of one bootstrap resample have the variance var p + var o / k, from which var p is found.
        """
        shuffled, resampled = m.values[: self.shuffles], m.values[self.shuffles :].reshape(-1, self.orders)
        worst = None if m.worst is None else float(m.values.min() if m.worst == "low" else m.values.max())
        n = len(shuffled)
        with np.errstate(invalid="ignore"):  # an infinite value, as of a cost without a sale
            spread = float(np.std(shuffled, ddof=1)) if n > 1 else None
        se_log = None if spread is None else spread / math.sqrt(n)
        return Digest(float(shuffled.mean()), _population(shuffled, resampled), se_log, spread, worst)

    @cached_property
    def due(self) -> Floats:
        """The number of rounds that each run had to serve, `->(R)`.

        They are those of the horizon, also where a run stopped because nothing fitted any more. A log that ends before
        has fewer: a run that came to its end served all there were, and one that stopped would have come to accept
        rows as often as until then.
        """
        trace, rounds = self.trace, self.rounds
        lasts = rounds * self.rows / np.maximum(trace.offered_steps, 1.0)
        stopped = np.maximum(np.minimum(lasts, float(trace.problem.horizon)), rounds)
        return np.maximum(np.where(np.isnan(trace.stopped), rounds, stopped), 1.0)

    @cached_property
    def whole(self) -> Trace:
        """The trace per round that was due: a round that was not served counts 0 of every outcome."""
        elapsed = self.trace.elapsed.copy()
        elapsed[-1] = self.due
        return replace(self.trace, elapsed=elapsed)

    def objective(self) -> Floats:
        """Return the objective at the averages over the rounds that were due, `->(R)`."""
        return np.asarray(self.whole.objective()[-1])

    def rates(self, outcome: str, by: str) -> dict[str, Floats]:
        """Compute the average of an outcome among the cases of each group, `->(R)` each."""
        trace, found = self.trace, {}
        index = trace.problem.names.index(outcome)
        for i, (grouping, group) in enumerate(trace.problem.columns):
            if grouping == by:
                cases = np.maximum(trace.group_rounds[-1, :, i], 1.0)
                found[group] = np.asarray(trace.group_totals[-1, :, i, index] / cases)
        return found

    def even_gap(self, outcome: str, by: str) -> float:
        """Compute the smallest group's sampling error under a lottery blind to groups, sqrt(v (1/share - 1) / T)."""
        trace = self.trace
        columns = [i for i, (grouping, _) in enumerate(trace.problem.columns) if grouping == by]
        share = trace.group_rounds[-1][:, columns].sum(0)
        rate, rounds = trace.average(outcome)[-1].mean(), self.rounds.mean()
        exact = trace.problem.declared[:, ~trace.problem.is_noisy]
        each = np.concatenate([trace.problem.amount_span[1], np.abs(exact).max(0)])
        most = float(each[trace.problem.names.index(outcome)])
        variance = max(rate * (most - rate), 0.0)  # of an outcome that is either 0 or `most`
        return float(np.sqrt(variance * (share.sum() / max(share.min(), 1.0) - 1.0) / rounds))


def measures(problem: Problem, run: Run, blind: Run | None) -> Iterator[Measure]:
    """Yield all measures of a run; `problem` has all constraints, also those that the run's own policy ignores."""
    trace = run.trace
    yield Measure(objective_name(problem), run.objective(), "low")
    if blind is not None and blind is not run:  # the same cases in the same orders, so part of the noise cancels
        yield Measure(f"{objective_name(problem)} minus {blind.name}", run.objective() - blind.objective())
    budgets = tightest(problem.stated)
    for name in problem.names:
        if name != objective_name(problem) or name in budgets:
            yield Measure(f"{name} per round", run.whole.average(name)[-1], "high")
    for name, budget in budgets.items():
        total = budget.total
        yield Measure(f"{name} used", trace.total(name), "high", total)
        yield Measure(f"{name} of budget", trace.total(name) / total, "high", 1.0)
        yield Measure(f"{name} left", total - trace.total(name), "low")
    for s in span_statements(problem):
        use = span_uses(trace, s)
        if use is not None and s.spans is not None:
            for i, (span, most) in enumerate(zip(names(problem, s), limits(s).tolist(), strict=True)):
                yield Measure(measure(s, span), use[:, i], s.constraint.worst, most)
    for s in problem.stated:
        c = s.constraint
        if s.outcome is None or not s.spends:
            yield Measure(c.label, trace.measure(c)[-1], c.worst, s.limit)
        if s.outcome is not None and s.by is not None:
            for group, values in run.rates(s.outcome, s.by).items():
                yield Measure(f"{s.outcome} rate {s.by}={group}", values)
    yield Measure("rounds", run.rounds, "low")
    yield Measure(SERVED, run.rounds / run.due, "low")
    yield Measure("cases read", run.trace.offered_steps, "high")


def _population(shuffled: Floats, resampled: Floats) -> float | None:
    """Estimate the standard error for the population, `(n),(B,k)->()`; None without resamples."""
    if len(resampled) < 2:
        return None
    n, (b, k) = len(shuffled), resampled.shape
    squares = ((shuffled - shuffled.mean()) ** 2).sum() + ((resampled - resampled.mean(1, keepdims=True)) ** 2).sum()
    order = squares / max(n - 1 + b * (k - 1), 1)
    people = max(resampled.mean(1).var(ddof=1) - order / k, 0.0)
    return math.sqrt(people + order / n)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The runs of a recipe within a budget.

    Args:
        policy: the recipe.
        rate: the budget per round, None for that of the file.
        run: its runs.
        measures: by name, what it reached in every run.
    """

    policy: str
    rate: float | None
    run: Run
    measures: Mapping[str, Measure]

    @staticmethod
    def of(policy: str, rate: float | None, run: Run) -> Cell:
        """Measure the runs of a recipe."""
        return Cell(policy=policy, rate=rate, run=run, measures={m.name: m for m in _measures(run)})

    @property
    def name(self) -> str:
        return self.policy if self.rate is None else f"{self.policy} at {amount(self.rate, 6)}"

    def digest(self, name: str) -> Digest:
        """Summarise a measure over the runs."""
        return self.run.digest(self.measures[name])

    def beyond(self, other: Cell, name: str) -> Difference:
        """Compare a measure with that of another cell in pairs: run i of both read the same cases in the same order."""
        values = self.measures[name].values - other.measures[name].values
        resamples = (len(values) - self.run.shuffles) // self.run.orders
        return Difference.of(self.run.digest(Measure(name, values)), resamples)


class Difference(NamedTuple):
    """A paired difference of runs, with a 95 % interval for the population behind the log."""

    mean: float
    se: float | None = None
    low: float | None = None
    high: float | None = None

    @staticmethod
    def of(d: Digest, resamples: int) -> Difference:
        """Make the interval by the t distribution of as many degrees of freedom as resamples, less one.

        >>> round(Difference.of(Digest(1.0, 0.5, None, None, None), 40).high, 4)
        2.0113
        """
        if d.se is None:
            return Difference(d.mean)
        half = reach(d.se, resamples - 1)
        return Difference(d.mean, d.se, d.mean - half, d.mean + half)

    @property
    def sign(self) -> int:
        """The sign of a difference if its interval leaves out 0, else 0."""
        return sign_of(self.low, self.high)

    def as_interval(self, name: str) -> Interval:
        """Give the difference a name, as pictures show it."""
        return Interval(name, self.mean, self.low, self.high)


def _measures(run: Run) -> Iterator[Measure]:
    trace, problem = run.trace, run.trace.problem
    name = objective_name(problem)
    yield Measure(name, run.objective(), "low")
    for outcome in problem.names:
        if outcome != name:
            yield Measure(f"{outcome} per round", run.whole.average(outcome)[-1], "high")
    for outcome, s in tightest(problem.stated).items():
        if math.isfinite(s.total):
            yield Measure(f"{outcome} of budget", trace.total(outcome) / s.total, "high", 1.0)
    for s in problem.stated:
        if not s.spends:
            yield Measure(s.constraint.label, trace.measure(s.constraint)[-1], s.constraint.worst, s.limit)
    yield Measure(SERVED, run.rounds / run.due, "low")
