"""The measures of a replay: one number per run of a system, summarised over shuffles and bootstrap resamples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.problem import Problem
from evenhand.replay import spans
from evenhand.report.quantities import objective_name
from evenhand.run.trace import Trace

SERVED = "rounds served"  # as a part of those that were due
ALL = 0.9995  # the part of them from which on it counts as all


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
    """The runs of one system on a log of so many rows: first the shuffles, then each resample in `orders` orders."""

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
    budgets = {s.outcome: s for s in problem.stated if s.spends and s.outcome is not None}
    for name in problem.names:
        if name != objective_name(problem) or name in budgets:
            yield Measure(f"{name} per round", run.whole.average(name)[-1], "high")
    for name, budget in budgets.items():
        total = budget.total
        yield Measure(f"{name} used", trace.total(name), "high", total)
        yield Measure(f"{name} of budget", trace.total(name) / total, "high", 1.0)
        yield Measure(f"{name} left", total - trace.total(name), "low")
    for s in spans.summed(problem):
        use = spans.used(trace, s)
        if use is not None and s.spans is not None:
            for i, (span, most) in enumerate(zip(spans.names(problem, s), spans.limits(s).tolist(), strict=True)):
                yield Measure(spans.measure(s, span), use[:, i], s.constraint.worst, most)
    for s in problem.stated:
        c = s.constraint
        if s not in budgets.values():
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
