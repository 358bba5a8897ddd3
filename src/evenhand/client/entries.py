"""Entries of lists that are sent in one request, and the server's answer to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Integral
from typing import Any

from evenhand.client.requests import RETRIED, NoAnswer, RequestRefused
from evenhand.core.errors import InvalidInput

Outcomes = Mapping[str, float | None]
Refusal = RequestRefused | NoAnswer


@dataclass(frozen=True)
class Deciding:
    """An entry of `Client.decide_many`.

    Args:
        case, key, offered, known: as for `Client.decide`.
        frozen: whether it may be decided at the state before the entries in a row that are frozen, which takes less
            time.

    >>> Deciding({"age": 33}, "order-17", offered=["letter"]).body()
    {'key': 'order-17', 'case': {'age': 33}, 'offered': ['letter']}
    """

    case: Mapping[str, Any]
    key: str
    offered: Sequence[str] | None = None
    known: Mapping[str, Mapping[str, float] | float] | None = None
    frozen: bool = False

    def body(self) -> dict[str, Any]:
        """Return the body of the request."""
        if not isinstance(self.case, Mapping):
            raise InvalidInput("case", "values by the names of features, before the key", repr(self.case))
        more = {"offered": self.offered, "known": self.known, "frozen": self.frozen or None}
        return {"key": self.key, "case": dict(self.case), **fields_with_values(more)}


@dataclass(frozen=True)
class Observing:
    """An entry of `Client.observe_many`.

    Args:
        decision, outcomes, revise: as for `Client.observe`.

    >>> Observing("order-17", {"answer": 1}).body()
    {'key': 'order-17', 'outcomes': {'answer': 1}, 'revise': False}
    """

    decision: int | str
    outcomes: Outcomes | Sequence[Outcomes | None]
    revise: bool = False

    def body(self) -> dict[str, Any]:
        """Return the body of the request."""
        named = decision_field(self.decision)
        if isinstance(self.outcomes, str) or not isinstance(self.outcomes, Mapping | Sequence):
            raise InvalidInput("outcomes", "numbers by name, after the decision", repr(self.outcomes))
        return {**named, "outcomes": self.outcomes, "revise": self.revise}


def refusal(answer: Mapping[str, Any]) -> Refusal | None:
    """Return the error that the server answers to an entry; None if it answers the entry.

    >>> refusal({"new": True})
    >>> refusal({"error": "age: expected a value, got nothing", "status": 422, "field": "age"}).field
    'age'
    """
    if "error" not in answer:
        return None
    text, status = str(answer["error"]), int(answer["status"])
    if status in RETRIED:
        return NoAnswer(f"status {status}, {text}")
    return RequestRefused(status, text, answer.get("field"), lost=answer.get("state") == "lost")


def bodies(entries: Sequence[Any], kind: type[Deciding] | type[Observing]) -> list[dict[str, Any]]:
    """Return the bodies of entries of a list, all of one kind.

    Raises:
        InvalidInput: an entry is of another kind, such as a case.
    """
    for i, entry in enumerate(entries):
        if not isinstance(entry, kind):
            raise InvalidInput(f"entries[{i}]", f"entries of the class {kind.__name__}", repr(entry))
    return [entry.body() for entry in entries]


def decision_field(decision: int | str) -> dict[str, int | str]:
    """Return the field of a body that names a decision, by its number or its key.

    Raises:
        InvalidInput: neither, such as outcomes that stand before it.
    """
    if isinstance(decision, bool) or not isinstance(decision, str | Integral):
        raise InvalidInput("decision", "its number or its key, before the outcomes", repr(decision))
    return {"key" if isinstance(decision, str) else "id": decision}


def fields_with_values(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body that have a value."""
    return {name: value for name, value in asked.items() if value is not None}


def event_fields(unit: str | int, outcomes: Mapping[str, float], key: str, at: datetime | None) -> dict[str, Any]:
    """Return the body of a request about an event of a unit.

    >>> event_fields("no. 7", {"sale": 1}, "order 88", datetime(2026, 1, 5, 8))["at"]
    1767600000000000
    """
    if not isinstance(outcomes, Mapping):
        raise InvalidInput("outcomes", "numbers by name, after the unit", repr(outcomes))
    time = None if at is None else int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e6)
    return fields_with_values({"unit": unit, "outcomes": dict(outcomes), "key": key, "at": time})
