"""The plan of a budget: what is to be spent by when, if cases come as they are forecast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem
from evenhand.problem.traffic import Traffic

_POINTS = 240


class Plan(NamedTuple):
    """Times, or rounds where a problem has no end in time, and the amount to be spent by then."""

    times: Floats  # (n,)
    amounts: Floats  # (n,)
    unit: str

    def at(self, time: float) -> float:
        """Return the amount to be spent by a time."""
        return float(np.interp(time, self.times, self.amounts))


def plan_of(problem: Problem, stated: Stated) -> Plan:
    """Return the plan of a constraint that spends.

    Equation: with F the cases of the forecast, the rate at a time is min_s allowance_s / F(s) over the spans s that
    contain it, and the amount by then its sum over these cases. Without spans there is one of the whole run.
    """
    last, spans = problem.clock.last, stated.spans
    if spans is None:
        edges, ends = np.array([0.0, last]), np.array([[0.0, last]])
        allowance, first, final = np.array([stated.total]), np.array([0]), np.array([0])
    else:
        edges, allowance, first, final = np.minimum(spans.edges, last), *spans[1:]
        ends = np.stack([edges[first], edges[final + 1]], 1)
    even = problem.until is None and spans is None
    times = edges if even else np.unique(np.concatenate([np.linspace(0.0, last, _POINTS + 1), edges]))
    cases = _cases(problem, ends)
    rates = allowance / np.maximum(cases[:, 1] - cases[:, 0], 1e-300)
    period = np.searchsorted(edges, (times[1:] + times[:-1]) / 2, "right")[:, None] - 1
    rate = np.where((first <= period) & (period <= final), rates, np.inf).min(1)
    came = np.diff(_cases(problem, times))
    steps = np.where(came > 0.0, np.where(came > 0.0, rate, 0.0) * came, 0.0)
    unit = "round" if problem.until is None else "day"
    return Plan(times, np.concatenate([[0.0], np.cumsum(steps)]), unit)


def _cases(problem: Problem, time: Floats) -> Floats:
    """Return the cases of the forecast up to some times, which are rounds without an end in time."""
    if problem.until is None:
        return time
    traffic = problem.traffic or Traffic(problem.horizon, per=problem.clock.last)
    return traffic.expected(problem.clock, time)
