"""JSON schemas of request bodies for `/openapi.json`; `asked` does the checks, with messages that name fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.live.http.bodies import MOST

_NUMBER = {"type": "integer", "minimum": 1}
KEY = {"type": "string", "minLength": 1, "maxLength": 200}
_CASE = {"type": "object", "description": "Features and groups by name."}
_OUTCOMES = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}


def one_or_many(needed: Sequence[str], properties: dict[str, Any], of_decision: bool = False) -> dict[str, Any]:
    """Return the schema of a body, or of a list of such."""
    one = {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}
    if of_decision:
        one["oneOf"] = [{"required": ["id"]}, {"required": ["key"]}]
    return {"oneOf": [one, {"type": "array", "items": one, "maxItems": MOST}]}


SCHEMAS: dict[str, dict[str, Any]] = {
    "/decide": one_or_many(
        ("key",),
        {
            "key": KEY,
            "case": _CASE,
            "features": _CASE,
            "groups": _CASE,
            "offered": {"type": "array", "items": {"type": "string"}},
            "known": {"type": "object"},
        },
    ),
    "/observe": one_or_many(
        ("outcomes",),
        {
            "id": _NUMBER,
            "key": KEY,
            "outcomes": {"oneOf": [_OUTCOMES, {"type": "array", "items": {"oneOf": [_OUTCOMES, {"type": "null"}]}}]},
            "revise": {"type": "boolean"},
        },
        of_decision=True,
    ),
    "/cancel": one_or_many((), {"id": _NUMBER, "key": KEY}, of_decision=True),
}
