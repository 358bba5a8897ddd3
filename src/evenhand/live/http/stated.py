"""The known outcomes that clients may state, so that no request lifts a budget or spoils prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Accounts
from evenhand.live.coded import Coded
from evenhand.live.verbs import Verbs
from evenhand.policy.policy import Policy
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

_DEFAULT = (Outcome.low, Outcome.high)  # a known outcome with these ends has no declared range


def declared(problem: Problem, name: str) -> tuple[float, float] | None:
    """Return the range that a known outcome declares by `low` and `high`, None if it declares none.

    >>> import evenhand as eh
    >>> bill = eh.Outcome("cents", known={"letter": 80}, high=200)
    >>> shop = eh.Problem(actions=("none", "letter"), outcomes=(eh.Outcome("won"), bill), maximize="won", horizon=9)
    >>> declared(shop, "cents")
    (0.0, 200)
    """
    outcome = next(o for o in problem.outcomes if o.name == name)
    return None if outcome.widest == _DEFAULT else outcome.widest


def refuse(verbs: Verbs, case: Mapping[str, Any], known: Mapping[str, Any] | None, accepted: bool) -> None:
    """Refuse known outcomes that a client may not state: a credit would let others overspend a hard budget.

    A stated outcome lies in the range that it declares by `low` and `high`, or else between the least and the greatest
    of its declared values. Without a declared range it is refused unless the server accepts known outcomes. A column of
    the case that is a known outcome lies in the declared range, or else is at least 0; and at most the total of a hard
    budget of it, as more can never be paid, and the plans of some policies go by the largest cost.

    Args:
        verbs: the transaction.
        case: the case.
        known: the stated known outcomes.
        accepted: whether the server accepts known outcomes without a declared range.

    Raises:
        InvalidInput: names the outcome, and the action.
    """
    problem, encoder = verbs.worker.policy.problem, verbs.worker.encoder
    for name, values in (known or {}).items():
        if name not in problem.known:
            continue  # the encoder names it
        ends = declared(problem, name)
        if ends is None:
            if not accepted:
                expected = (
                    "nothing, as clients may not state it here: declare its range, or start the server with --known"
                )
                raise InvalidInput(f"known.{name}", expected, shown(values))
            column = problem.declared[:, problem.known.index(name)]
            ends = (float(column.min()), float(column.max()))
        each = values.items() if isinstance(values, dict) else [("", values)]
        for action, value in each:
            _within(f"known.{name}.{action}".rstrip("."), value, *ends)
    if isinstance(encoder, Coded):
        for name, by in encoder.spec.by_case.items():
            low, high = declared(problem, name) or (0.0, math.inf)
            high = max(min(high, _total(verbs.worker.policy, name)), low)
            for column_ in by.values():
                if column_ in case:
                    _within(column_, case[column_], low, high)


def _total(policy: Policy, outcome: str) -> float:
    """Return the least total of the budgets of an outcome that are never exceeded, infinite where there is none."""
    kept = [c for goal in policy.goals if isinstance(goal, Accounts) for c in goal.constraints]
    totals = [s.total for s in policy.problem.stated if s.outcome == outcome and any(s.constraint is c for c in kept)]
    return min(totals, default=math.inf)


def _within(field: str, value: object, low: float, high: float) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and not low <= value <= high:
        expected = f"at least {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}"
        raise InvalidInput(field, expected, shown(value))
