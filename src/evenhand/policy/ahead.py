"""Decisions ahead of time: many at a state that is frozen but for rounds and budgets, by machine code if it pays.

The model, prices and plans stay as they were. The number of the round, which draws the luck, the frequencies of groups,
hard limits and what the choice follows take every decision in turn, as `Policy.enter` lets them. So no budget is
exceeded, and no two decisions draw the same luck.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.policy import entries
from evenhand.policy.kernels.decisions import Choices, Deciding
from evenhand.policy.kernels.events import Entering, Steps
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState, Waiting

_PART = 20


def most(policy: Policy, state: PolicyState) -> int:
    """Return how many rounds may be decided at one state of one replica: a twentieth of those so far, or left.

    The loss of objective is then that of prices which are at most a twentieth older than they could be.
    """
    rounds = float(state.t[0])
    return max(int(min(rounds, policy.problem.horizon - rounds)) // _PART, 0)


def frozen(policy: Policy, state: PolicyState) -> PolicyState:
    """Return a state to decide at, while the given one stays as it is: the two share the model, prices and plans.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"), eh.Outcome("post", known={"yes": 1})),
    ...                   maximize="won", subject_to=(eh.Budget("post", total=2),), horizon=9)
    >>> policy = eh.resolving(shop)
    >>> state, context, found = policy.start(), policy.encode({}, offered=["yes"]), []
    >>> at = frozen(policy, state)
    >>> for _ in range(4):
    ...     decision = policy.decide(at, context)
    ...     pass_on(policy, at, context, decision)
    ...     found.append(decision.action)
    >>> found, state.t
    (['yes', 'yes', None, None], array([0.]))
    """
    limits = {i for i, _ in policy._assembly.can.limits}
    goals = [deepcopy(own) if i in limits else own for i, own in enumerate(state.goals)]
    found = replace(
        state,
        t=state.t.copy(),
        seen=state.seen.copy(),
        model=policy._assembly.delay.expecting(state),
        goals=goals,
        choice=deepcopy(state.choice),
        waiting=Waiting(),  # which the model of this state counts already
    )
    found.owner, found.recent.compared = state.owner, state.recent.compared
    return found


def pass_on(policy: Policy, state: PolicyState, context: Context, decision: Decision) -> None:
    """Let a frozen state advance to the next decision: count the round, and hold back what the plays may use."""
    can = policy._assembly.can
    state.t += decision.counted
    if context.groups.shape[2]:
        entries.believe(context.groups, context.offered, decision.counted, state.seen)
    limits = {i for i, _ in can.limits}
    for i, goal in can.ahead:
        if i in limits:
            goal.on_decision(state.goals[i], decision, None)
    if can.follows is not None:
        can.follows.on_decision(state.choice, decision)


class Chosen(NamedTuple):
    """A decision that is still to be entered; its arrays may be parts of those of others."""

    context: Context
    decision: Decision
    chances: Floats | None  # of all candidates at the first place, None where they are unknown, (1, A)


def decide_all(
    policy: Policy, state: PolicyState, contexts: Context, time: Floats | None = None, coming: int = 0
) -> list[Chosen]:
    """Decide cases in order at one state of one replica, which stays as it is.

    Args:
        policy, state: as for `Policy.decide`.
        contexts: without times, `(N)` before every shape.
        time: of all cases, None where the problem has no dates.
        coming: about how many cases will come, these and later ones, by which machine code is loaded.

    Raises:
        InvalidInput: as for `Policy.decide`.
    """
    at, found, n = frozen(policy, state), list[Chosen](), len(contexts.features)
    kernels = Deciding(policy, at, contexts) if time is None else None
    choices: Choices | None = None
    while len(found) < n:
        j = len(found)
        context = _one(contexts, j, time)
        decision = policy.decide(at, context)
        found.append(Chosen(context, decision, at.recent.chances))
        pass_on(policy, at, context, decision)
        if choices is None and kernels is not None and at.recent.chances is not None:
            choices = Choices.like(decision, at.recent.chances, n)
            kernels = kernels if kernels.pays(choices, coming) else None
        if choices is not None and kernels is not None:
            reached = kernels.run(choices, j + 1, n)
            rows = range(j + 1, reached)
            made = (choices.decision(i, decision.names) for i in rows)
            found += [Chosen(_one(contexts, i, time), d, choices.chances[i]) for i, d in zip(rows, made, strict=True)]
    state.recent.compared = at.recent.compared
    return found


def _one(contexts: Context, j: int, time: Floats | None) -> Context:
    """The context of one of many cases."""
    own: Any = [z[j : j + 1] for z in contexts[:4]]
    return Context(own[0], own[1], own[2], own[3], time)


def compile_ahead(policy: Policy) -> bool:
    """Compile, or load, what decides many cases at one state and enters them; returns whether kernels can do both.

    It takes some 30 seconds where nothing is kept on disk.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("a", "b", "c"), withdrawn=("c",), outcomes=(eh.Outcome("gain"),), maximize="gain",
    ...                   horizon=9)
    >>> compile_ahead(eh.uniform(shop, 1))  # kernels know no withdrawn actions
    False
    """
    state, none = policy.start(), _decision()
    contexts = Context(_zeros(4), _zeros(4), _zeros(4, int), _zeros(3, bool))
    deciding = Deciding(policy, frozen(policy, state), Context(_zeros(3), _zeros(3), _zeros(3, int), _zeros(2, bool)))
    if not deciding.works:
        return False
    deciding.run(Choices(none, _zeros(3)), 0, 0)
    steps = Steps(_zeros(1, int), _zeros(1, int), none, contexts, _zeros(4), _zeros(3, bool))
    return Entering(policy, state).load(steps)


def _decision() -> Decision:
    """Decisions of no cases: kernels are compiled by the number of axes."""
    axes = 2, 3, 3, 2, 2, 2, 2, 4, 4, 4, 3, 5, 3, 3  # in the order of the fields
    kinds = int, int, *[float] * 7, int, *[float] * 4
    each: Any = (_zeros(n, kind) for n, kind in zip(axes, kinds, strict=True))
    return Decision(*each)


def _zeros(axes: int, kind: type = float) -> Any:
    return np.zeros((0,) * axes, kind)
