"""What decisions in spans of time brought, beside what the spans ask for: least sums, or averages within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.policy.books import ARRIVED, CAME, DECIDED, FIRST
from evenhand.policy.by_period import ByPeriod
from evenhand.problem.constraints import Stated
from evenhand.problem.constraints.outlook import chance
from evenhand.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Reached:
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
        """Of the span that is furthest beyond its limit among some: value, limit and error, `(S,R)->(R),(R),(R)`."""
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


def floors(problem: Problem, stated: Stated, table: Floats) -> Floors | None:
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


def reached(problem: Problem, stated: Stated, found: Floors) -> tuple[Reached, ...]:
    """Return the spans of a single replica that have begun, in the order of their ends."""
    spans, written = stated.spans, problem.clock.written
    if spans is None:
        return ()
    begun = np.flatnonzero(found.begun[:, 0])
    return tuple(
        Reached(
            start=written(float(spans.edges[spans.first[s]])),
            end=written(min(float(spans.ends[s]), problem.clock.last)),
            limit=float(found.asked[s]),
            value=float(found.value[s, 0]),
            over=bool(found.over[s, 0]),
        )
        for s in begun[np.lexsort((spans.first[begun], spans.last[begun]))]
    )


def name(stated: Stated) -> str:
    """Return the name of the quantity that spans require."""
    if stated.spans is not None and stated.spans.averages:
        return f"{stated.constraint.label} in the worst span"
    by = "" if stated.by is None else f", least by {stated.by}"
    return f"{stated.outcome} in the worst span{by}"


def _each(per: Floats | None, rounds: Floats) -> Floats:
    """The rounds per unit of what is measured per unit of, 1 for rounds, infinite where there is none of it."""
    if per is None:
        return np.ones_like(rounds)
    return np.divide(rounds, per, out=np.full_like(rounds, np.inf), where=per > 0.0)
