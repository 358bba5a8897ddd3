"""Decisions after the horizon, or after the end of a run that has dates, and the guard against overspending."""

from __future__ import annotations

from evenhand.core.records import Context, Decision
from evenhand.goals.base import Accounts
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState


def decide_late(policy: Policy, state: PolicyState, context: Context) -> Decision:
    """Return a decision as `Policy.decide` does, whether or not the horizon is over, and leave the state as it is.

    What is left of hard limits may be used, and is never exceeded. Goals that plan for the rest of the rounds take
    every round after the horizon for the last one. `Policy.enter` carries such a decision out.

    Raises:
        InvalidInput: as for `Policy.decide`.

    >>> import numpy as np
    >>> from evenhand import Budget, Outcome, Problem, resolving, PerAction
    >>> shop = Problem(
    ...     actions=("none", "call"), outcomes=(Outcome("answer"), Outcome("calls", known={"call": 1})),
    ...     maximize="answer", subject_to=(Budget("calls", total=2, hard=True),), horizon=1,
    ... )
    >>> policy = resolving(shop, PerAction.of(shop))
    >>> state, context, played = policy.start(), policy.encode({}, offered=["call"]), []
    >>> for _ in range(4):
    ...     decision = decide_late(policy, state, context)
    ...     policy.enter(state, context, decision)
    ...     played.append(int(decision.counted[0]))
    >>> played, policy.decide(state, context).counted
    ([1, 1, 0, 0], array([0.]))
    """
    with policy._guard_of(state):
        loop = policy._assembly.loop
        return loop.decide(state, loop.read(state, context), late=True)


def unguarded_constraints(policy: Policy) -> tuple[str, ...]:
    """Return the names of the constraints that spend something and that no hard limit of a policy keeps."""
    kept = [c for goal in policy.goals if isinstance(goal, Accounts) for c in goal.constraints]
    return tuple(
        s.rows.names[0] for s in policy.problem.stated if s.spends and not any(s.constraint is c for c in kept)
    )
