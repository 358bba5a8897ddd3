"""What kernels see of a policy in a state, if the compiled loop can run it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.views import view_of
from evenhand.policy import checks
from evenhand.policy.compiled import Facts
from evenhand.policy.in_turn import Unlimited, in_turn
from evenhand.policy.marks import marked
from evenhand.policy.policy import Policy
from evenhand.policy.restated import Declared, Estimated, Told
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem


def views(policy: Policy, state: PolicyState) -> tuple[Any, ...] | None:
    """A view for each field of `Compiled`; None where a part has none, or the compiled loop lacks what they need."""
    parts, problem, count = policy._assembly, policy.problem, len(state.t)
    can = parts.can
    if type(policy) is not Policy:
        return None
    special = can.mixes or can.follows or can.hears or can.timed or can.nets or can.compares
    if special or len(can.limits) > 1 or not _plain(problem):
        return None
    if parts.zeros._some or state.periods is not None or list(marked(state.model, "ahead")):
        return None
    if policy.model.draws(len(problem.actions)):
        return None
    goals = [view_of(goal, own) for goal, own in zip(policy.goals, state.goals, strict=True)]
    choice, model = view_of(policy.choice, state.choice), view_of(policy.model, state.model)
    rows = parts.questions.rows.view()
    if rows is None or choice is None or model is None or any(goal is None for goal in goals):
        return None
    limits = goals[can.limits[0][0]] if can.limits else Unlimited(count)
    priced = in_turn([goals[i] for i, _ in can.priced], count)
    restated = _restated(policy, state, goals)
    if restated is None:
        return None
    return _facts(policy, state), rows, model, priced, limits, in_turn(goals, count), restated, choice


class Entry(NamedTuple):
    """A view for each part that is told of decisions and outcomes, whoever made the decisions."""

    facts: Any
    model: Any
    limits: Any
    goals: Any
    restated: Any


def entry_views(policy: Policy, state: PolicyState) -> Entry | None:
    """The views by which kernels enter decisions that are made and outcomes; None where a part has none."""
    parts, problem = policy._assembly, policy.problem
    can = parts.can
    hears = can.hears is not None and view_of(policy.choice, state.choice) is None  # one with a view hears nothing
    special = can.follows or hears or can.compares or len(can.limits) > 1 or not _plain(problem)
    if type(policy) is not Policy or special or problem.clock.since is not None:
        return None
    if parts.zeros._some or state.periods is not None:
        return None
    goals = [view_of(goal, own) for goal, own in zip(policy.goals, state.goals, strict=True)]
    model = view_of(policy.model, state.model)
    if model is None or any(goal is None for goal in goals):
        return None
    limits = goals[can.limits[0][0]] if can.limits else Unlimited(len(state.t))
    restated = _restated(policy, state, goals)
    if restated is None:
        return None
    return Entry(_facts(policy, state), model, limits, in_turn(goals, len(state.t)), restated)


def _restated(policy: Policy, state: PolicyState, views: list[Any]) -> Any:
    """The view of goals with rows by estimated shares, None where one of them cannot be told of shares."""
    restating = policy._assembly.restating
    if not restating.goals:
        return Declared(len(state.t))
    found = in_turn([], len(state.t))
    last, rows = 0, restating._insides
    for i, goal in restating.goals:
        if not hasattr(views[i], "on_shares"):
            return None
        first, last = last, last + len(goal.rows)
        found = Told(found, views[i], first, last)
    shares, own = policy.problem.shares, rows.view()
    masks = rows.is_known, restating._always, rows.column
    return None if own is None else Estimated(state.inside, shares, own, *masks, found)


def _plain(problem: Problem) -> bool:
    """Whether a problem has nothing that only the ordinary loop knows."""
    timed = problem.until is not None or problem.edges is not None
    return not (timed or problem.noisy or problem.measures or problem.factors or problem.withdrawn)


def _facts(policy: Policy, state: PolicyState) -> Facts:
    problem, read = policy.problem, np.ascontiguousarray
    return Facts(
        seed=np.uint64(state.seed),
        replicas=state.replicas,
        t=state.t,
        seen=state.seen,
        books=state.books,
        last_round=problem.last_round,
        shares=read(problem.shares[None]),
        estimates_shares=bool(np.isnan(problem.shares).any()),
        bounds=read(problem.bounds),
        reach=read(policy._assembly.questions._reach),
        sure=read(problem.sure),
        certain=read(problem.certain),
        span=read(problem.span),
        free=read(problem.free),
        n_noisy=len(problem.noisy),
        n_groups=len(problem.columns),
        draws=policy.choice.draws(len(problem.actions)),
        everywhere=checks.EVERYWHERE,
        unnumbered=np.full(3, -1),
    )
