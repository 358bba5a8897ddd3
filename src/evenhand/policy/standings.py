"""Standings of constraints that spend nothing: values beside limits, over a run, in spans, beside held-out rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import Compares, Credits
from evenhand.numerics.student import reach
from evenhand.policy.books import ARRIVED, CAME, DECIDED, FIRST, ByPeriod, ReplicaSums
from evenhand.problem.constraints import Statement, relative
from evenhand.problem.constraints.outlook import chance, is_missed, rest
from evenhand.problem.constraints.sums import average, group_averages
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select

_MISSED = 0.01  # times a limit: a plan that misses it by less is not mentioned, as solves are no more exact
Verdict = Literal["kept", "close", "behind", "out of reach", "missed"]


@dataclass(frozen=True, kw_only=True)
class SpanSum:
    """A span of time, with the sum over its decisions so far."""

    start: str
    end: str
    limit: float  # of the sum, or of what is measured on average
    value: float
    over: bool  # whether a later decision was made after it


class Floors(NamedTuple):
    """The spans of a floor, or of a constraint on averages, in R replicas."""

    asked: Floats  # (S,)
    value: Floats  # (S, R) sums, of groups the least sum divided by the share; or what is measured, NaN of 0 / 0
    error: Floats  # (S, R) standard errors of these, at most
    sign: float  # 1 where a value may not be above what is asked for, -1 where not below
    begun: Bools  # (S, R)
    over: Bools  # (S, R)

    def worst(self, which: Bools) -> tuple[Floats, Floats, Floats]:
        """The value, the limit and the error of the span furthest beyond its limit among some, `(S,R)->(R),(R),(R)`."""
        beyond = self.sign * (self.value - self.asked[:, None])
        at = np.where(which & ~np.isnan(beyond), beyond, -np.inf).argmax(0)
        replicas = np.arange(self.value.shape[1])
        return self.value[at, replicas], self.asked[at], self.error[at, replicas]


class _Sums(NamedTuple):
    """The sums of spans as points of a run (`problem.constraints.sums.Sums`)."""

    problem: Problem
    elapsed: Floats
    totals: Floats
    group_totals: Floats
    group_rounds: Floats


def floors(problem: Problem, stated: Statement, table: Floats) -> Floors | None:
    """Return the sums of every span, from a state's table by period, `(R,P,1+C,W)`; None of budgets and without spans.

    Outcomes that were not observed count at the average of their span, in every group its own.
    """
    if stated.spans is None or stated.spends:
        return None
    spans, size = stated.spans.on(ByPeriod(problem).edges), len(problem.names)
    so_far = np.concatenate([np.zeros_like(table[:, :1]), np.cumsum(table, 1)], 1)
    lines = np.moveaxis(so_far[:, spans.last + 1] - so_far[:, spans.first], 1, 0)  # (S, R, 1+C, W)
    came = lines[..., CAME : CAME + 1]
    seen = came - lines[..., -size:]
    sums = lines[..., FIRST : FIRST + size] * np.divide(came, seen, out=np.ones(seen.shape), where=seen > 0.0)
    rounds = lines[:, :, 0, ARRIVED]
    run = _Sums(problem, rounds, sums[:, :, 0], sums[:, :, 1:], np.zeros((*rounds.shape, len(problem.columns))))
    each = np.maximum(rounds, 1.0)
    period = np.arange(table.shape[1])
    latest = np.where(table[:, :, 0, DECIDED] > 0.0, period, -1).max(1)
    value, one = stated.constraint.measure(run), chance(stated, problem, np.ones(1))
    if stated.spans.floors:
        asked, value, error = -stated.spans.allowance, value * each, one * np.sqrt(each)
    else:
        asked, error = np.full(len(value), stated.limit), one / np.sqrt(each) * _each(stated.per(run), each)
    return Floors(
        asked=asked,
        value=value,
        error=error,
        sign=1.0 if stated.constraint.worst == "high" else -1.0,
        begun=spans.first[:, None] <= latest,
        over=spans.last[:, None] < latest,
    )


def span_sums(problem: Problem, stated: Statement, found: Floors) -> tuple[SpanSum, ...]:
    """Return the spans of a single replica that have begun, in the order of their ends."""
    spans, written = stated.spans, problem.clock.format
    if spans is None:
        return ()
    begun = np.flatnonzero(found.begun[:, 0])
    return tuple(
        SpanSum(
            start=written(float(spans.edges[spans.first[s]])),
            end=written(min(float(spans.ends[s]), problem.clock.last)),
            limit=float(found.asked[s]),
            value=float(found.value[s, 0]),
            over=bool(found.over[s, 0]),
        )
        for s in begun[np.lexsort((spans.first[begun], spans.last[begun]))]
    )


def name(stated: Statement) -> str:
    """Return the name of the quantity that spans require."""
    if stated.spans is not None and stated.spans.averages:
        return f"{stated.constraint.label} in the worst span"
    by = "" if stated.by is None else f", least by {stated.by}"
    return f"{stated.outcome} in the worst span{by}"


def _each(per: Floats | None, rounds: Floats) -> Floats:
    """The rounds per unit of a measure's divisor, 1 where that is rounds, infinite where there is none of it."""
    if per is None:
        return np.ones_like(rounds)
    return np.divide(rounds, per, out=np.full_like(rounds, np.inf), where=per > 0.0)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A constraint so far: the number that it bounds, and the bound."""

    name: str
    value: float  # NaN where both sums of a ratio are 0
    limit: float
    worst: Literal["low", "high"]  # "high" where the value may not be above the limit, "low" where not below
    average: float | None = None  # of everybody, where groups are compared
    groups: Mapping[str, float | None] = field(default_factory=dict)  # their averages, None of one without a case
    error: float = 0.0  # a standard error of the value, at most; infinite where none is known
    size: float = 0.0  # of the numbers that the value is made of
    needed: float | None = None  # average of the remaining rounds that keeps it, where one outcome of everybody decides
    best: float | None = None  # the best that these can bring
    end: float | None = None  # where the value ends by the plan, where that is on the wrong side of the limit
    over: bool = False  # whether all outcomes have come
    credit: float | None = None  # what is left of it, where it is a credit that is promised and the value only planned
    spans: tuple[SpanSum, ...] = ()  # of time that have begun, if it is to hold in each; the value is the worst one's

    @property
    def kept(self) -> bool:
        """Whether the value is on the right side of its limit at present, or a credit is not overdrawn."""
        if self.credit is not None:
            return not is_missed(self.credit, 0.0, "low", size=self.size)
        return not is_missed(self.value, self.limit, self.worst, size=self.size)

    @property
    def shown(self) -> str:
        """The value in digits; a ratio of nothing is shown as such."""
        return "0 / 0" if math.isnan(self.value) else amount(self.value)

    @property
    def side(self) -> str:
        return "at most" if self.worst == "high" else "at least"

    @property
    def verdict(self) -> Verdict:
        """The state of the constraint and its prospects.

        "close" is on the wrong side by less than three standard errors of so many independent rounds, "behind" by more;
        where no standard error is known, it is "close" until all outcomes have come.
        "out of reach" is what the best outcomes of all remaining rounds cannot mend, and "missed" if none is left. A
        credit is promised at any time: it is "kept" or "missed", whatever the value.
        """
        if self.credit is not None:
            return "kept" if self.kept else "missed"
        needed, best = self.needed, self.best
        if needed is not None and best is not None and is_missed(best, needed, self.worst, size=self.size):
            return "out of reach"
        if self.kept:
            return "kept"
        if not is_missed(self.value, self.limit, self.worst, self.error, self.size) and not (
            self.over and self._unknown
        ):
            return "close"
        return "missed" if self.over else "behind"

    @property
    def text(self) -> str:
        """The verdict in words, with the average that the remaining rounds need, or with what is left of a credit."""
        if self.credit is not None:
            left = amount(abs(self.credit))
            return f"kept, with a credit of {left}" if self.kept else f"missed: the credit is overdrawn by {left}"
        if self.verdict == "out of reach" and self.needed is not None:
            best = f"{'at least' if self.worst == 'high' else 'at most'} {amount(self.best or 0.0)}"
            return f"out of reach: the remaining rounds would need {amount(self.needed)}, and bring {best}"
        if math.isnan(self.value):
            return "kept, as nothing was counted yet"
        end = "" if self.end is None else f"; by the plan it ends near {self.end:.3g}"
        if self.verdict == "behind":
            need = "" if self.needed is None else f"; the remaining rounds need {self.side} {amount(self.needed)}"
            return f"missed so far{need}{end}"
        if self.verdict == "close":
            explained = "" if self._unknown else ", by no more than chance explains"
            return f"missed{explained}" if self.over else f"missed so far{explained}{end}"
        return self.verdict

    @property
    def _unknown(self) -> bool:
        return math.isinf(self.error)


def standings(
    run: ReplicaSums,
    waiting: bool,
    periods: Floats | None = None,
    left: Floats | None = None,
    ahead: Mapping[str, float] | None = None,
) -> dict[str, Standing]:
    """Return the constraints that spend nothing; `waiting` says whether outcomes are still to come.

    `left` has what is left of each constraint that states a credit, as of `credits_left`, `(k)`. `ahead` has the
    averages at which rows end by a plan, by name.

    `periods` is the replica's table by period, `(P,1+C,W)`, where there are spans of time: what is to hold per span is
    judged by the worst span that is over, and before one is over by the first one, which may still be kept.
    """
    filled, found, horizon = run.fill(), [], run.problem.horizon
    credit_left = iter(() if left is None else left.tolist())
    for s in run.problem.stated:
        c = s.constraint
        if not s.spends:
            mean, groups = _averages(s, filled)
            to_come, per = rest(s, filled), s.per(filled)
            error = chance(s, run.problem, run.elapsed[0], None if per is None else per[0])
            standing = Standing(
                name=c.label,
                value=float(c.measure(filled)[0, 0]),
                limit=s.limit,
                worst=c.worst,
                average=mean,
                groups=groups,
                error=error,
                size=_size(run.problem, s, per, run.elapsed),
                needed=None if to_come is None else to_come.needed,
                best=None if to_come is None else to_come.best,
                end=_end(s, per, run.elapsed, ahead or {}) if math.isfinite(error) else None,
                over=run.rounds >= horizon and not waiting,
            )
            credit = None if s.credit is None else _number(next(credit_left, math.nan))
            if s.credit is not None and credit is not None:
                standing = replace(standing, credit=credit, size=max(s.credit.slack, standing.size))
            spans = None if periods is None else floors(run.problem, s, periods[None])
            found.append(standing if spans is None else _in_spans(run.problem, s, spans, standing, waiting))
    return dict(zip(distinct_labels(s.name for s in found), found, strict=True))


def _in_spans(problem: Problem, stated: Statement, spans: Floors, whole: Standing, waiting: bool) -> Standing:
    """The standing of a constraint per span; waiting decisions may still belong to a span that is over."""
    past = bool(spans.over.any())
    value, limit, error = spans.worst(spans.over if past else spans.begun)
    return replace(
        whole,
        name=name(stated),
        value=float(value[0]),
        limit=float(limit[0]),
        error=float(error[0]) if past else math.inf,
        average=None,
        groups={},
        needed=None,
        best=None,
        end=None,
        over=(past and not waiting) or whole.over,
        spans=span_sums(problem, stated, spans),
    )


def _size(problem: Problem, stated: Statement, per: Floats | None, rounds: Floats) -> float:
    """The most that a play can add to the outcomes that a constraint reads, in units of what is measured."""
    read = stated.rows if stated.whole is None else select(problem, stated.whole.outcomes)
    size = float(sizes(problem, read).max(initial=0.0))
    return size if per is None or per[0, 0] <= 0.0 else size * float(rounds[0, 0] / per[0, 0])


def _end(stated: Statement, per: Floats | None, rounds: Floats, ahead: Mapping[str, float]) -> float | None:
    """The planned end of the measure of a constraint of one row, if that misses its limit by a hundredth of it.

    What it is measured per unit of is expected to go on as so far. Where rounds vary by an unknown amount, nothing is
    claimed.
    """
    if stated.whole is not None or len(stated.rows) != 1:
        return None
    beyond = ahead.get(stated.rows.names[0], math.nan) - float(stated.bound[0])
    beyond *= 1.0 if per is None else float(rounds[0, 0] / per[0, 0])
    if not beyond > _MISSED * abs(stated.limit):
        return None
    return stated.limit + (beyond if stated.constraint.worst == "high" else -beyond)


def _averages(stated: Statement, run: ReplicaSums) -> tuple[float | None, dict[str, float | None]]:
    """The averages of everybody and of each group, where a constraint compares groups."""
    outcome, by, ratio = stated.outcome, stated.by, relative(stated.constraint)
    if ratio is not None:
        return None, {name: _number(x[0, 0]) for name, x in ratio.groups(run).items()}
    if outcome is None or by is None:
        return None, {}
    names = [group for grouping, group in run.problem.columns if grouping == by]
    values = [_number(x) for x in group_averages(run, outcome, by)[0, 0]]
    return float(average(run, outcome)[0, 0]), dict(zip(names, values, strict=True))


def _number(x: float) -> float | None:
    return None if math.isnan(x) else float(x)


def distinct_labels(labels: Iterable[str]) -> list[str]:
    """Return labels, numbered where several are the same."""
    labels = list(labels)
    return [f"{n} ({labels[: i + 1].count(n)})" if n in labels[:i] else n for i, n in enumerate(labels)]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An outcome per round in held-out rounds, and in the others.

    The difference has a 95% interval. Of one replica it is Welch's, of two independent means; of several it is that of
    the paired differences of the replicas. Both need outcomes that are not too far from normal on average, so some
    tens of rounds held out. NaN stands for what is not known yet.
    """

    name: str
    rounds: float  # that were held out, and whose outcome was observed, per replica
    held_out: float
    others: float
    difference: float  # others - held out
    low: float
    high: float

    @property
    def text(self) -> str:
        """The comparison in words."""
        if math.isnan(self.difference):
            return "nothing to compare yet"
        between = "" if math.isnan(self.low) else f" ({amount(self.low)} to {amount(self.high)})"
        beside = f"{amount(self.held_out)} held out, {amount(self.others)} in other rounds"
        return f"{beside}; difference {amount(self.difference)}{between}"


def compare_holdout(where: tuple[int, Compares] | None, goals: list[Any], replica: int) -> dict[str, Comparison]:
    """Compare the rounds of a replica, by the place of the books and the states of all goals; {} without books."""
    if where is None:
        return {}
    place, goal = where
    found = comparisons(goal.rows.names, goal.compared(goals[place])[replica : replica + 1])
    return {c.name: c for c in found}


def comparisons(names: tuple[str, ...], sums: Floats) -> tuple[Comparison, ...]:
    """Compare every outcome, by rounds, sums and sums of squares of both sides, `(2,d,3)->`.

    Equation: of one replica, d = m_1 - m_0 with variance v_0 / n_0 + v_1 / n_1 and Satterthwaite's degrees of freedom;
    of R replicas, the mean of d with variance s^2 / R and R - 1 degrees.

    >>> sums = np.array([[[[4.0, 1.0, 1.0]], [[100.0, 50.0, 50.0]]]])
    >>> one = comparisons(("sale",), sums)[0]
    >>> one.held_out, one.others, one.difference, round(one.low, 3), round(one.high, 3)
    (0.25, 0.5, 0.25, -0.528, 1.028)
    """
    n, total, squares = np.moveaxis(sums, 3, 0)
    with np.errstate(all="ignore"):
        mean = total / n
        noise = np.where(n > 1.0, np.maximum(squares - total * mean, 0.0) / (n - 1.0), np.nan) / n
    found = []
    for i, name in enumerate(names):
        usable = (n[:, :, i] > 0.0).all(1)
        m, v, count = mean[usable, :, i], noise[usable, :, i], n[usable, :, i]
        difference = m[:, 1] - m[:, 0]
        if not len(m):
            found.append(_interval(name, 0.0, (math.nan, math.nan), math.nan, math.nan))
            continue
        half = _of_one(v[0], count[0]) if len(m) == 1 else _of_several(difference)
        middle = float(difference.mean())
        rounds = float(n[:, 0, i].mean())
        found.append(_interval(name, rounds, tuple(m.mean(0).tolist()), middle, half))
    return tuple(found)


def _interval(name: str, rounds: float, means: tuple[float, ...], middle: float, half: float) -> Comparison:
    low, high = middle - half, middle + half
    held, others = means
    return Comparison(name=name, rounds=rounds, held_out=held, others=others, difference=middle, low=low, high=high)


def _of_one(noise: Floats, count: Floats) -> float:
    whole = float(noise.sum())
    if not whole > 0.0:  # NaN, or outcomes without any variation
        return whole
    return reach(math.sqrt(whole), whole**2 / float((noise**2 / (count - 1.0)).sum()))


def _of_several(difference: Floats) -> float:
    n = len(difference)
    return reach(float(difference.std(ddof=1)) / math.sqrt(n), n - 1)


def credits_left(problem: Problem, goals: Sequence[tuple[int, object]], states: Sequence[Any]) -> Floats | None:
    """Return the remaining credit of every constraint that states one, in their order, `->(R,k)`; None without any.

    NaN stands for a credit that no goal keeps, as in a policy that was composed without it.
    """
    wanted = [s.credit for s in problem.stated if s.credit is not None]
    kept = {g.credit: g.left(states[i]) for i, g in goals if isinstance(g, Credits)}
    if not kept:
        return None
    none = np.full(len(next(iter(kept.values()))), np.nan)
    return np.stack([kept.get(credit, none) for credit in wanted], 1)
