"""The kernels' view of a policy in a state, if the compiled loop can run it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.core.views import view_of
from evenhand.policy import checks
from evenhand.policy.compiled import Facts
from evenhand.policy.in_turn import Unlimited, in_turn
from evenhand.policy.mixing import Gains, NoGains, WithoutPlan, WithPlan
from evenhand.policy.payable import Untold
from evenhand.policy.policy import Policy
from evenhand.policy.restated import Declared, Estimated, Told
from evenhand.policy.state import PolicyState
from evenhand.policy.zeros import NoZeros
from evenhand.problem.factors import stated_by_cases
from evenhand.problem.problem import Problem

_UNNUMBERED = np.full(3, -1)  # kernels do not number decisions


def views(policy: Policy, state: PolicyState) -> tuple[Any, ...] | None:
    """A view for each field of `Compiled`; None if a part has none, or the compiled loop lacks what they need."""
    parts, problem, count = policy._assembly, policy.problem, len(state.t)
    can = parts.can
    if type(policy) is not Policy:
        return None
    special = can.follows or can.hears or can.timed or can.compares
    if special or len(can.limits) > 1 or not _plain(problem):
        return None
    if state.periods is not None:
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
    restated, mixture = _restated(policy, state, goals), _mixture(policy, state, goals)
    if restated is None or mixture is None:
        return None
    told = parts.payable.view(state), parts.zeros.view(state.model, count)
    return _facts(policy, state), rows, model, priced, limits, in_turn(goals, count), restated, choice, mixture, *told


class Entry(NamedTuple):
    """A view for each part that is told about decisions and outcomes, whoever made the decisions."""

    facts: Any
    model: Any
    limits: Any
    goals: Any
    restated: Any
    ahead: Any
    zeros: Any


def entry_views(policy: Policy, state: PolicyState) -> Entry | None:
    """The views by which kernels enter decisions that are made and outcomes; None if a part has none."""
    parts, problem = policy._assembly, policy.problem
    can = parts.can
    special = can.follows or can.hears or can.compares or len(can.limits) > 1 or not _plain(problem)
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
    told = Untold(len(state.t)), NoZeros(len(state.t))  # Python tells the model, which nobody asks until then
    return Entry(_facts(policy, state), model, limits, in_turn(goals, len(state.t)), restated, *told)


def _restated(policy: Policy, state: PolicyState, views: list[Any]) -> Any:
    """The view of goals with rows by estimated shares, None if one of them cannot be told of shares."""
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


def _mixture(policy: Policy, state: PolicyState, views: list[Any]) -> Any:
    """The view of a plan and of the priced goals beside it, None if one of them lacks what a mixture needs."""
    can, count = policy._assembly.can, len(state.t)
    if can.mixes is None:
        return WithoutPlan(count)
    others: Any = NoGains(count)
    place = can.mixes[0]
    if not hasattr(views[place], "heat"):
        return None
    for i, goal in can.priced:
        if i != place:
            rows = goal.rows.view()
            if rows is None:
                return None
            others = Gains(others, views[i], rows, _reach(policy))
    return WithPlan(views[place], others)


def _reach(policy: Policy) -> Floats:
    return np.ascontiguousarray(policy._assembly.questions._reach)


def _plain(problem: Problem) -> bool:
    """Whether a problem has nothing that only the ordinary loop knows."""
    timed = problem.until is not None or problem.edges is not None
    states = stated_by_cases(problem.factors)
    return not (timed or problem.noisy or problem.measures or states or problem.withdrawn)


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
        reach=_reach(policy),
        sure=read(problem.sure),
        certain=read(problem.certain),
        span=read(problem.span_by_action),
        n_noisy=len(problem.noisy),
        n_groups=len(problem.columns),
        draws=policy.choice.draws(len(problem.actions)),
        netted_from=len(policy._assembly.can.priced) if policy._assembly.can.nets else 0,
        everywhere=checks.EVERYWHERE,
        unnumbered=_UNNUMBERED,
    )
