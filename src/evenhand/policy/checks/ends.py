"""A warning of decisions after the end of a run."""

from __future__ import annotations

import warnings

from evenhand.core.errors import EvenhandWarning
from evenhand.core.records import Context
from evenhand.policy import doubts
from evenhand.policy.state import PolicyState
from evenhand.problem.ended import past
from evenhand.problem.problem import Problem


def over(problem: Problem, state: PolicyState, context: Context) -> None:
    """Warn once of a state if the run is over for all its replicas, so that none plays anything."""
    if state.recent.over or not _is_over(problem, state, context):
        return
    state.recent.over = True
    text = f"{doubts.over(problem)}: nothing is played any longer (policy.late.decide_late goes on)"
    warnings.warn(text, EvenhandWarning, stacklevel=4)


def _is_over(problem: Problem, state: PolicyState, context: Context) -> bool:
    if problem.until is None:
        return bool(state.t[0] >= problem.horizon and (state.t >= problem.horizon).all())  # the first is fast to ask
    return context.time is not None and past(problem, float(context.time.min()))
