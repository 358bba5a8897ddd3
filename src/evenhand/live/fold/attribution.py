"""Outcomes that add up over a window: the decision that an event of a unit counts for, and the sums at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.signatures import value_text
from evenhand.core.validate import number
from evenhand.live.fold.fold import Fold
from evenhand.live.log.events import encode, read
from evenhand.live.log.store import Transaction
from evenhand.problem.problem import Problem
from evenhand.problem.unit import Unit, unit_number


class Attribution(NamedTuple):
    """The decision for which an event of a unit counts."""

    decision: int | None  # its id; None if no decision of the unit was open, or a segment has it
    new: bool  # whether the event was not recorded before


def number_of(problem: Problem, unit: str | int) -> int:
    """Return the number of a unit whose events add up.

    Raises:
        InvalidInput: the problem states no window of attribution, or the unit is neither a text nor a whole number.
    """
    stated: Unit | None = problem.unit
    if stated is None or stated.attribution is None:
        raise InvalidInput("unit", "none, as the problem states no window (attribution=)", value_text(unit))
    return unit_number("unit", unit)


def refuse_amounts(problem: Problem, amounts: object) -> None:
    """Refuse amounts that no outcome of a decision can have, or take back.

    Raises:
        InvalidInput: the error names the outcome.
    """
    widest = {z.name: max(map(abs, z.widest)) for z in problem.outcomes if z.name in problem.observed}
    if not isinstance(amounts, Mapping) or not amounts:
        raise InvalidInput("outcomes", f"amounts of some of {list(widest)}", value_text(amounts))
    for name, amount in amounts.items():
        if name not in widest:
            raise InvalidInput("outcomes", f"one of {list(widest)}", f"{name!r}{suggestion(str(name), widest)}")
        expected = f"a number from {-widest[name]:g} to {widest[name]:g}, the range of the outcome"
        if abs(number(f"outcomes[{name!r}]", amount, expected)) > widest[name]:
            raise InvalidInput(f"outcomes[{name!r}]", expected, amount)


def decision_at(fold: Fold, log: Transaction, unit: int, at: int) -> int | None:
    """Return the latest decision of a unit that waits and whose window contains a time, None if there is none."""
    for ref in reversed(fold.pending.of_unit(unit)):
        event = log.get(ref)
        if event is not None and event.at <= at < read(event)["until"]:
            return ref
    return None


def total(fold: Fold, log: Transaction, ref: int) -> str:
    """Return the body of the outcome of a decision whose window is over: sums, which end at the ends of the ranges."""
    problem = fold.policy.problem
    each: list[dict[str, Any]] = [read(event)["y"] for event in log.about(ref) if event.kind == "added"]
    action = problem.actions[int(fold.pending.decision(ref, problem.actions).plays[0, 0])]
    found = dict[str, float]()
    for outcome in problem.outcomes:
        if outcome.name in problem.observed:
            low, high = outcome.ends(action)
            amount = math.fsum(amounts.get(outcome.name, 0.0) for amounts in each)  # the same in any order
            found[outcome.name] = float(min(max(amount, low), high))
    return encode({"y": found})
