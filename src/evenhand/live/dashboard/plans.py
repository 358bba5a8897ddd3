"""The plan of a budget: the amount to be spent by each time, if cases come as they are forecast."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.live.dashboard.axis import Axis
from evenhand.planning.pace import Pace
from evenhand.planning.profile import ProfileState
from evenhand.policy.status import Account, Status
from evenhand.problem.constraints import Statement
from evenhand.problem.problem import Problem

_POINTS = 240


class Plan(NamedTuple):
    """Times, or rounds if a problem has no end in time, and the amount to be spent by each."""

    times: Floats  # (n,)
    amounts: Floats  # (n,)

    def at(self, time: float) -> float:
        """Return the amount to be spent by a time."""
        return float(np.interp(time, self.times, self.amounts))

    @property
    def is_even(self) -> bool:
        """Whether the same is to be spent in every round."""
        return len(self.times) == 2


def plan_of(problem: Problem, stated: Statement, profile: ProfileState | None = None) -> Plan:
    """Return the plan of a constraint that spends, by the profile that a policy has learned of the forecast.

    Equation: with F the cases of the forecast, the rate at a time is min_s allowance_s / F(s) over the spans s that
    contain it, and the amount by then its sum over these cases. Without spans there is one of the whole run.
    """
    last, spans = problem.clock.last, stated.spans
    edges = np.array([0.0, last]) if spans is None else np.minimum(spans.edges, last)
    even = problem.until is None and spans is None
    times = edges if even else np.unique(np.concatenate([np.linspace(0.0, last, _POINTS + 1), edges]))
    pace = Pace(problem=problem, spans=(spans,))
    rate = pace.even(profile, (times[1:] + times[:-1]) / 2)[:, 0] * stated.total / problem.horizon
    cases = pace.expected(profile, times[None])[0]
    return Plan(times, np.cumsum([0.0, *(rate * np.diff(cases))]))


class PlanProgress(NamedTuple):
    """The spending of a budget, beside its plan."""

    plan: float  # by now
    share: float  # of it that is spent, NaN before the first round
    end: float | None  # what is spent at the end if it goes on like this; None after the end


def pace_of(account: Account, problem: Problem, planned: Plan, status: Status, axis: Axis) -> PlanProgress:
    """Compare an account with its plan at present."""
    plan = planned.at(axis.here if problem.until is not None else float(status.rounds))
    if status.rounds > problem.last_round or (problem.until is not None and axis.last > problem.clock.last):
        return PlanProgress(plan, account.spent / plan, None)
    share = account.pace if planned.is_even else (account.spent / plan if plan > 0.0 else math.nan)
    if math.isnan(share):
        return PlanProgress(plan, share, None)
    end = share * float(planned.amounts[-1])
    most = account.spent + account.held + account.left
    return PlanProgress(plan, share, min(end, most) if account.hard and not planned.is_even else end)
