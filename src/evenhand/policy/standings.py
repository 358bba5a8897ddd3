"""The constraints that spend nothing: a value beside its limit, and whether it will be missed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.policy.books import SoFar
from evenhand.policy.floors import Floors, Reached, floors, name, reached
from evenhand.problem.constraints import Stated, relative
from evenhand.problem.constraints.outlook import chance, missed, rest
from evenhand.problem.constraints.sums import average, group_averages
from evenhand.problem.feasible import sizes
from evenhand.problem.problem import Problem
from evenhand.problem.rows import select

_MISSED = 0.01  # times a limit: a plan that misses it by less is not mentioned, as solves are no more exact
Verdict = Literal["kept", "close", "behind", "out of reach", "missed"]


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
    spans: tuple[Reached, ...] = ()  # of time that have begun, if it is to hold in each; the value is the worst one's

    @property
    def kept(self) -> bool:
        """Whether the value is on the right side of its limit at present, or a credit is not overdrawn."""
        if self.credit is not None:
            return not missed(self.credit, 0.0, "low", size=self.size)
        return not missed(self.value, self.limit, self.worst, size=self.size)

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
        if needed is not None and best is not None and missed(best, needed, self.worst, size=self.size):
            return "out of reach"
        if self.kept:
            return "kept"
        if not missed(self.value, self.limit, self.worst, self.error, self.size) and not (self.over and self._unknown):
            return "close"
        return "missed" if self.over else "behind"

    @property
    def said(self) -> str:
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
    run: SoFar,
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
    filled, found, horizon = run.filled(), [], run.problem.horizon
    credit_left = iter(() if left is None else left.tolist())
    for s in run.problem.stated:
        c = s.constraint
        if not s.spends:
            mean, groups = _compared(s, filled)
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
    return dict(zip(apart(s.name for s in found), found, strict=True))


def _in_spans(problem: Problem, stated: Stated, spans: Floors, whole: Standing, waiting: bool) -> Standing:
    """The standing of a constraint per span; what waits may still belong to a span that is over."""
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
        spans=reached(problem, stated, spans),
    )


def _size(problem: Problem, stated: Stated, per: Floats | None, rounds: Floats) -> float:
    """The most that a play can add to the outcomes that a constraint reads, in units of what is measured."""
    read = stated.rows if stated.whole is None else select(problem, stated.whole.outcomes)
    size = float(sizes(problem, read).max(initial=0.0))
    return size if per is None or per[0, 0] <= 0.0 else size * float(rounds[0, 0] / per[0, 0])


def _end(stated: Stated, per: Floats | None, rounds: Floats, ahead: Mapping[str, float]) -> float | None:
    """Where the measure of a constraint of one row ends by a plan, if that misses its limit by a hundredth of it.

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


def _compared(stated: Stated, run: SoFar) -> tuple[float | None, dict[str, float | None]]:
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


def apart(labels: Iterable[str]) -> list[str]:
    """Return labels, numbered where several are the same."""
    labels = list(labels)
    return [f"{n} ({labels[: i + 1].count(n)})" if n in labels[:i] else n for i, n in enumerate(labels)]
