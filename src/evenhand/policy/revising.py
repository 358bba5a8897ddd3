"""Corrections of outcomes that are in the books: a reversal and a new entry, wherever sums do not depend on order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import Learns
from evenhand.policy import books, checks, entries, named
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.policy.wrong_outcome import wrong_outcome
from evenhand.problem.problem import Problem

Outcomes: TypeAlias = Mapping[str, float | None] | Sequence[Mapping[str, float | None] | None]
Settled: TypeAlias = Outcomes | Literal["expired", "cancelled"]


class _Entry(NamedTuple):
    """The outcomes of a decision, as books enter them."""

    learned: Floats  # (R, P, M)
    known: Floats  # (R, P, L)
    missing: Bools  # (R, P, M+L), or empty
    exposed: Bools  # (R, P), or empty


def revise(policy: Policy, state: PolicyState, decision: Decision, before: Settled, outcomes: Outcomes) -> None:
    """Replace the outcomes of a decision that was settled, in the table of outcomes and in hard limits.

    Equation: every sum moves by v(outcomes) - v(before), the rows of the new outcomes less those of the earlier ones.

    Prices, plans and the model, which depend on the order of all events, keep what they took from the earlier
    outcomes. The state has one replica.

    Args:
        policy, state: as for `Policy.observe`.
        decision: with its plays, time, groups and known outcomes; nothing else of it is read. It waits no more.
        before: the outcomes that are in the books; or "expired" if it was settled by `Policy.expire`, "cancelled" if
            by `Policy.cancel`.
        outcomes: those that replace them, as for `Policy.observe`.

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
    with policy._alone(state):
        parts, problem = policy._assembly, policy.problem
        new = _observed(problem, decision, outcomes)
        if isinstance(before, str):
            old = _expired(problem, decision) if before == "expired" else None
        else:
            old = _observed(problem, decision, before)
        can, d = parts.can, decision
        if old is None:
            books.commit(d.plays, d.counted, d.groups, d.known, problem.certain, 1.0, state.books)
            for i, limit in can.returning:
                limit.on_return(state.goals[i], d)
        else:
            amounts = _amounts(problem, d, old)
            books.arrive(d.plays, d.counted, d.groups, amounts, *old[1:], -1.0, state.books)
            for i, goal in can.reversing:
                goal.on_reversal(state.goals[i], d, d.counted, _rows(goal, d, old))
        books.arrive(d.plays, d.counted, d.groups, _amounts(problem, d, new), *new[1:], 1.0, state.books)
        for i, goal in can.reversing:
            goal.on_outcome(state.goals[i], d, d.counted, _rows(goal, d, new))
        parts.payable.tell(state)


def _amounts(problem: Problem, decision: Decision, entry: _Entry) -> Floats:
    return problem.amounts(decision.known, entry.learned)


def _rows(goal: Learns, decision: Decision, entry: _Entry) -> Floats:
    """The rows of an entry, NaN if they read what is missing, `->(d)`."""
    v = goal.rows.post(decision, decision.shares, entry.learned, entry.known)
    if not entry.missing.size:
        return v
    some = entry.missing.any(1, keepdims=True)
    return np.where((some & (goal.rows.weights != 0.0)).any(2), np.nan, v)


def _observed(problem: Problem, d: Decision, outcomes: Outcomes) -> _Entry:
    """The entry of outcomes, as `Settlement.learn` makes it.

    Raises:
        InvalidInput: outcomes that cannot be of this decision.
    """
    y, observed, exposed = named.outcomes(problem, d.plays.shape[1], outcomes)
    y = checks.outcomes(y, observed, exposed, d, problem)
    missing = np.zeros((*y.shape[:2], len(problem.names)), bool)
    of_problem = problem.sure, len(problem.noisy), problem.span_by_action
    said = d.plays, d.counted, d.time, d.groups, d.known, y, observed, exposed
    _, _, r, m, learned, known, _ = entries.at_arrival(*said, *of_problem, missing)
    if r >= 0:
        raise wrong_outcome(r, m, y, observed, exposed, d, d.plays, problem)
    return _Entry(learned, known, missing, exposed)


def _expired(problem: Problem, d: Decision) -> _Entry:
    """The entry of a decision without outcomes, as `Settlement.expire` makes it."""
    of_problem = problem.sure, len(problem.noisy), problem.fallback, problem.free
    _, learned, known, missing = entries.at_expiry(d.plays, d.counted, d.known, *of_problem)
    return _Entry(learned, known, missing, checks.EVERY_PLAY)
