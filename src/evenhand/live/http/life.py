"""Requests that pause, resume, end or change a campaign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from evenhand.live.changing import Ask
from evenhand.live.events import Kind
from evenhand.live.http.asked import Verb, fields
from evenhand.live.http.schemas import TEXT, Schema, one_or_each, one_or_many, operation
from evenhand.live.http.signed import BY, signed
from evenhand.live.life import FATES, SETTINGS, STATES
from evenhand.live.tokens import Token, Tokens
from evenhand.live.verbs import Verbs
from evenhand.problem.ended import AFTERS


def change(body: object, token: Token, kind: Kind, settings: tuple[str, ...] = ()) -> Verb:
    """Parse a request to change the life of the campaign.

    Raises:
        InvalidInput: a field is missing, unknown, or out of its range; or it names another one than that of the token.
    """
    asked = fields(signed(body, token), ("by", "why"), settings)
    ask = Ask(kind, asked["by"], asked["why"], *(asked.get(name) for name in settings))

    def verb(verbs: Verbs) -> dict[str, Any]:
        return {"new": verbs.change(ask), "life": verbs.worker.fold.life.to_dict()}

    return verb


MAKERS: dict[str, Callable[[object, Token], Verb]] = {
    "/pause": partial(change, kind="paused"),
    "/resume": partial(change, kind="resumed"),
    "/end": partial(change, kind="ended"),
    "/change": partial(change, kind="changed", settings=SETTINGS),
}

_NEW: dict[str, Schema] = {
    "patience": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e9},
    "on_expiry": {"type": "string", "enum": list(FATES)},
    "after": {"type": "string", "enum": list(AFTERS)},
    "retention": {
        "oneOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 36_500}, {"const": "off"}],
        "description": "days after which cases and keys are erased",
    },
}
_LIFE = {
    **_NEW,
    "rule": {"type": "integer", "description": "the event that stated the retention, 0 without one"},
    "state": {"enum": list(STATES.values())},
    "by": {"type": "string"},
    "why": {"type": "string"},
    "since": {"type": "integer", "description": "microseconds since 1970"},
}
_EXAMPLES = {"by": "anna", "why": "the letters are late"}
_ANSWER = {
    "type": "object",
    "properties": {"new": {"type": "boolean"}, "life": {"type": "object", "properties": _LIFE}},
    "required": ["new", "life"],
}


def operations(tokens: Tokens | None) -> dict[str, Schema]:
    """Describe the requests, by path.

    Args:
        tokens: those that the server accepts; names of a file take the place of `by`.
    """
    needed = ("why",) if tokens is not None and tokens.have_names else ("by", "why")
    body = {"by": BY, "why": TEXT}
    found = {path: one_or_many(needed, body) for path in MAKERS}
    found["/change"] = one_or_many(needed, {**body, **{name: _or_null(z) for name, z in _NEW.items()}}, some_of=_NEW)
    examples = {path: {name: _EXAMPLES[name] for name in needed} for path in MAKERS}
    examples["/change"]["on_expiry"] = "hold"
    return {path: operation(found[path], one_or_each(_ANSWER), examples[path]) for path in MAKERS}


def _or_null(schema: Schema) -> Schema:
    if "oneOf" in schema:
        return {**schema, "oneOf": [*schema["oneOf"], {"type": "null"}]}
    found = {**schema, "type": [schema["type"], "null"]}
    return {**found, "enum": [*schema["enum"], None]} if "enum" in schema else found
