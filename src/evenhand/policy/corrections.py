"""Corrections of earlier decisions in a state: other outcomes, and the erasure of single cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals.base import Learns
from evenhand.policy import books, checks, entries, outcome_names
from evenhand.policy.outcome_names import wrong_outcome
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

Outcomes: TypeAlias = Mapping[str, float | None] | Sequence[Mapping[str, float | None] | None]
Settled: TypeAlias = Outcomes | Literal["expired", "cancelled"]


class _Entry(NamedTuple):
    """The outcomes of a decision, as books enter them."""

    learned: Floats  # (R, P, M)
    known: Floats  # (R, P, L)
    missing: Bools  # (R, P, M+L), or empty
    exposed: Bools  # (R, P), or empty
    seen: Bools  # (R, P, M) of which the model learns


def revise(
    policy: Policy,
    state: PolicyState,
    decision: Decision,
    before: Settled,
    outcomes: Outcomes,
    taught: Sequence[Outcomes] | None = (),
    fallback: Floats | None = None,
) -> None:
    """Replace the outcomes of a decision that was settled, in the table of outcomes and in hard limits.

    Equation: every sum moves by v(outcomes) - v(before), the rows of the new outcomes less those of the earlier ones.

    The model learns what all earlier outcomes lack, such as a rating that comes after the bill. Prices and plans, which
    depend on the order of all events, keep what they took from the earlier outcomes, and so does the model. The state
    has one replica.

    Args:
        policy, state: as for `Policy.observe`.
        decision: with its plays, time, groups and known outcomes; prices and features if it is learned; nothing else of
            it is read. It waits no more.
        before: the outcomes that are in the books; or "expired" if it was settled by `Policy.expire`, "cancelled" if
            by `Policy.cancel`.
        outcomes: those that replace them, as for `Policy.observe`.
        taught: outcomes of this decision before those, of which the model learned; None if it learns nothing of it.
        fallback: by which it expired, `(M+B)`, by default those of the policy.

    Raises:
        InvalidInput: as for `Policy.observe`; nothing is changed then.

    >>> import evenhand as eh
    >>> problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("cents", high=9),), maximize="cents", horizon=50,
    ...                      subject_to=(eh.Budget("cents", total=100),))
    >>> policy = eh.uniform(problem, 1)
    >>> state = policy.start()
    >>> decision = policy.act(state, policy.encode({}))
    >>> policy.observe(state, decision, {"cents": 7})
    >>> revise(policy, state, decision, {"cents": 7}, {"cents": 2})
    >>> policy.status(state).accounts["cents"].spent, policy.status(state).averages["cents"]
    (2.0, 2.0)
    """
    with policy._guard_of(state):
        parts, problem = policy._assembly, policy.problem
        new = _observation(problem, decision, outcomes)
        if isinstance(before, str):
            old = _expiry(problem, decision, fallback) if before == "expired" else None
        else:
            old = _observation(problem, decision, before)
        can, d = parts.can, decision
        seen = np.asarray(new.seen if old is None else new.seen & ~old.seen)
        for earlier in taught or ():
            seen = seen & ~_observation(problem, decision, earlier).seen
        if old is None:
            books.commit(d.plays, d.counted, d.groups, d.known, problem.certain, 1.0, state.books)
            for i, limit in can.returning:
                limit.on_return(state.goals[i], d)
        else:
            amounts = _amounts(problem, d, old)
            books.arrive(d.plays, d.counted, d.groups, amounts, *old[1:4], -1.0, state.books)
            for i, goal in can.reversing:
                goal.on_reversal(state.goals[i], d, d.counted, _rows(goal, d, old))
        books.arrive(d.plays, d.counted, d.groups, _amounts(problem, d, new), *new[1:4], 1.0, state.books)
        for i, goal in can.reversing:
            goal.on_outcome(state.goals[i], d, d.counted, _rows(goal, d, new))
        parts.payable.tell(state)
        if taught is not None and seen.any():
            parts.settlement.zeros.tell(state.model, d.plays, seen)
            policy.model.update(state.model, d.features, new.learned, seen, d.prices)


def _amounts(problem: Problem, decision: Decision, entry: _Entry) -> Floats:
    return problem.amounts(decision.known, entry.learned)


def _rows(goal: Learns, decision: Decision, entry: _Entry) -> Floats:
    """The rows of an entry, NaN if they read a missing outcome, `->(d)`."""
    v = goal.rows.post(decision, decision.shares, entry.learned, entry.known)
    if not entry.missing.size:
        return v
    some = entry.missing.any(1, keepdims=True)
    return np.where((some & (goal.rows.weights != 0.0)).any(2), np.nan, v)


def _observation(problem: Problem, d: Decision, outcomes: Outcomes) -> _Entry:
    """The entry of outcomes, as `Settlement.learn` makes it.

    Raises:
        InvalidInput: outcomes that cannot be of this decision.
    """
    y, observed, exposed = outcome_names.outcomes(problem, d.plays.shape[1], outcomes)
    y = checks.outcomes(y, observed, exposed, d, problem)
    missing = np.zeros((*y.shape[:2], len(problem.names)), bool)
    of_problem = problem.sure, len(problem.noisy), problem.span_by_action
    said = d.plays, d.counted, d.time, d.groups, d.known, y, observed, exposed
    _, _, r, m, learned, known, seen = entries.at_arrival(*said, *of_problem, missing)
    if r >= 0:
        raise wrong_outcome(r, m, y, observed, exposed, d, d.plays, problem)
    return _Entry(learned, known, missing, exposed, seen)


def expire(policy: Policy, state: PolicyState, decision: Decision, fallback: Floats | None) -> None:
    """Settle a decision as `Policy.expire` does, by the fallbacks of another policy, `(M+B)`, unless they are None."""
    with policy._guard_of(state):
        policy._assembly.settlement.expire(state, decision, fallback)


def _expiry(problem: Problem, d: Decision, fallback: Floats | None) -> _Entry:
    """The entry of a decision without outcomes, as `Settlement.expire` makes it."""
    of_problem = problem.sure, len(problem.noisy), entries.fallbacks(problem.fallback, fallback), problem.free
    _, learned, known, missing = entries.at_expiry(d.plays, d.counted, d.known, *of_problem)
    return _Entry(learned, known, missing, checks.EVERY_PLAY, np.zeros(learned.shape, bool))


@runtime_checkable
class Remembers(Protocol):
    """A part of a state that stores single cases."""

    def forget(self, context: Context, plays: Ints) -> None:
        """Remove a case of one replica, and the observations of its plays, `(P)`.

        Raises:
            CannotErase: it cannot be taken out.
        """


def forget(policy: Policy, state: PolicyState, cases: Sequence[tuple[Context, Ints]]) -> None:
    """Remove single cases, with their plays, from a state of one replica.

    Raises:
        CannotErase: a part of the state cannot take them out; the state can then no longer be used.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> problem = eh.Problem(actions=("a", "b"), features=(eh.Numeric("age", 20, 60),), outcomes=(eh.Outcome("gain"),),
    ...                      maximize="gain", horizon=50)
    >>> policy = eh.resolving(problem, eh.PerAction.of(problem))
    >>> state = policy.start()
    >>> for age in (30, 40):
    ...     policy.observe(state, policy.act(state, policy.encode({"age": age})), {"gain": 1})
    >>> forget(policy, state, [(policy.encode({"age": 30}), np.array([0]))])
    """
    with policy._guard_of(state):
        for part in _parts(state):
            if isinstance(part, Remembers):
                for context, plays in cases:
                    part.forget(context, plays)


def _parts(z: Any) -> Iterator[Any]:
    """Yield the parts of a state, and the parts within them."""
    if dataclasses.is_dataclass(z):
        yield z
        for f in dataclasses.fields(z):
            yield from _parts(getattr(z, f.name))
    elif isinstance(z, list):
        for part in z:
            yield from _parts(part)
