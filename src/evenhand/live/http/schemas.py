"""Schemas of requests and replies, and links between them, for OpenAPI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import value_text
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.tokens import Token
from evenhand.live.fold.cases import NameEncoder
from evenhand.live.fold.column_encoder import ColumnEncoder
from evenhand.live.http.bodies import MOST
from evenhand.problem.features import Categorical, Numeric
from evenhand.problem.hashes import Hashed, is_hashed, reads
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem
from evenhand.version import __version__

Schema = dict[str, Any]
# Printable characters and spaces, as ECMA-262 has them.
TEXT = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^ *[^\p{C}\p{Z}](?:[^\p{C}\p{Z}]| )*$"}
KEY = {**TEXT, "pattern": r"^[^\u0000]+$"}
_A_TEXT = {"type": "string", "examples": ["some words"]}
_A_LEVEL = {"type": ["string", "integer"], "examples": ["any"]}  # of a feature whose levels are hashed
_KEY_OF_EXAMPLES = "order-17"
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
_TEXT_OR_NULL, _CHANCE_OR_NULL = {"type": ["string", "null"]}, {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "field": {"type": "string"},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "where several are wrong"},
        "status": {"type": "integer"},
        "state": {"const": "lost", "description": "the decision was made after a backup that was restored since"},
    },
    "required": ["error"],
}
_DECISION = {
    "type": "object",
    "properties": {
        "id": _NUMBER,
        "key": KEY,
        "action": _TEXT_OR_NULL,
        "probability": _CHANCE_OR_NULL,
        "actions": {"type": "array", "items": _TEXT_OR_NULL},
        "probabilities": {"type": "array", "items": _CHANCE_OR_NULL},
        "explanation": {"type": "string"},
        "deadline": {"type": "integer", "description": "microseconds since 1970, when the outcome is overdue"},
        "at": {"type": "integer", "description": "microseconds since 1970"},
        "repeated": {"type": "boolean", "description": "whether an earlier request made the decision"},
        "warnings": {"type": "array", "items": {"type": "string"}, "description": "probably not meant so"},
    },
}
_NEW = {"type": "object", "properties": {"new": {"type": "boolean"}}, "required": ["new"]}
_OF_UNIT = {"type": ["integer", "null"], "description": "of an event of a unit: the decision that it counts for"}
_OBSERVED = {**_NEW, "properties": {"new": {"type": "boolean"}, "id": _OF_UNIT}}
_ANSWERS = {"/decide": _DECISION, "/observe": _OBSERVED, "/cancel": _NEW}
_UNIT = {"type": ["string", "integer"], "minLength": 1, "examples": ["no. 7"]}
_AT = {"type": "integer", "minimum": 0, "maximum": 2**53, "description": "microseconds since 1970, not in the future"}


def verbs(campaign: Campaign) -> dict[str, Schema]:
    """Describe the verbs of a campaign, as its policy and encoding are at present, by path."""
    problem, case = campaign.policy.problem, _case(campaign)
    part = {name: z for name, z in case.items() if name != "required"}  # features and groups have a part each
    one = _outcomes(problem)
    plays = {"type": "array", "minItems": 1, "maxItems": problem.n_plays}
    bodies = {
        "/decide": one_or_many(
            ("key",),
            {
                "key": KEY,
                "case": case,
                "features": part,
                "groups": part,
                "offered": {"type": "array", "items": {"type": "string", "enum": list(problem.actions)}},
                "known": {"type": "object", "properties": {name: {} for name in problem.known}},
                "frozen": {"type": "boolean"},
            },
            some_of=("case", "features", "groups"),
        ),
        "/observe": one_or_many(
            ("outcomes",),
            {
                "id": _NUMBER,
                "key": KEY,
                "outcomes": {"oneOf": [one, {**plays, "items": {"oneOf": [one, {"type": "null"}]}, "contains": one}]},
                "revise": {"type": "boolean"},
            },
            of_decision=True,
        ),
        "/cancel": one_or_many((), {"id": _NUMBER, "key": KEY}, of_decision=True),
    }
    if problem.unit is not None and problem.unit.attribution is not None:
        body = bodies["/observe"]
        event = {"unit": _UNIT, "key": KEY, "outcomes": {"type": "object"}, "at": _AT}
        bodies["/observe"] = {"oneOf": [_object(("unit", "key", "outcomes"), event), *body["oneOf"]]}
    case_ = {name: _example(z) for name, z in case.get("properties", {}).items()}
    outcomes = {name: _example(z) for name, z in one["properties"].items()}
    examples: dict[str, Schema] = {
        "/decide": {"key": _KEY_OF_EXAMPLES, "case": case_},
        "/observe": {"key": _KEY_OF_EXAMPLES, "outcomes": outcomes},
        "/cancel": {"key": _KEY_OF_EXAMPLES},
    }
    return {path: operation(body, one_or_each(_ANSWERS[path]), examples[path]) for path, body in bodies.items()}


def description(
    title: str, operations: Iterable[tuple[str, str, Schema]], unless: Sequence[str] | None = None
) -> Schema:
    """Return the description of an app.

    Args:
        title: its title.
        operations: the method and path of each request, and what is described about it.
        unless: the paths that need no token; None if none does.
    """
    paths: Schema = {}
    for method, path, described in operations:
        name = name_of(path)
        stated = {"summary": name.title(), "operationId": name.replace(" ", "_"), **described}
        paths.setdefault(path, {})[method.lower()] = stated
    link(paths)
    found: Schema = {"openapi": "3.1.0", "info": {"title": title, "version": __version__}, "paths": paths}
    if unless is not None:
        found |= {
            "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}],
        }
        for path in unless:
            paths[path]["get"]["security"] = []
    return found


def name_of(path: str) -> str:
    """Return the name of the request for a path.

    >>> name_of("/decisions/{number}")
    'decisions by number'
    """
    return path[1:].replace("/{number}", " by number")


def operation(body: Schema, answer: Schema, example: Schema) -> Schema:
    """Return the description of a request, by the schemas of its body and of its answer, and a body."""
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": body, "example": example}}},
        "responses": {
            "200": {"description": "Answered", "content": _json(answer)},
            "default": _refusal(),
        },
    }


def read_operation(parameters: Sequence[Schema] = (), kind: str = "application/json") -> Schema:
    """Return the description of a request without a body, by its parameters and the type of its answer."""
    answer: Schema = {"description": "Answered", "content": {kind: {"schema": {}}}}
    found: Schema = {"responses": {"200": answer, "default": _refusal()}}
    return {**found, "parameters": list(parameters)} if parameters else found


def _refusal() -> Schema:
    return {"description": "Refused, or not possible at present", "content": _json(_ERROR)}


def one_or_each(answer: Schema) -> Schema:
    """Return the schema of an answer, or of a list of answers and errors."""
    return {"oneOf": [answer, {"type": "array", "items": {"anyOf": [answer, _ERROR]}}]}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def one_or_many(
    needed: Sequence[str], properties: Schema, of_decision: bool = False, some_of: Sequence[str] | Schema = ()
) -> Schema:
    """Return the schema of a body, or of a list: each entry that is no such body is answered by an error of its own."""
    one = _object(needed, properties)
    if of_decision:
        one["oneOf"] = [{"required": ["id"]}, {"required": ["key"]}]
    if some_of:
        something = {"not": {"type": "null"}}
        one["anyOf"] = [{"required": [name], "properties": {name: something}} for name in some_of]
    return {"oneOf": [one, {"type": "array", "items": {"anyOf": [one, {}]}, "maxItems": MOST}]}


def _object(needed: Sequence[str], properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}


def _case(campaign: Campaign) -> Schema:
    """Describe the cases that a campaign takes; those of an encoder of your own are any objects."""
    problem, encoder = campaign.policy.problem, campaign.encoder
    names: dict[str, Schema]
    if isinstance(encoder, NameEncoder):
        names = dict.fromkeys(reads(problem.features), _A_LEVEL) | {f.name: _feature(f) for f in problem.features}
        names = {name: names[name] for name in reads(problem.features)}
        names |= {g.name: _one_of(g.names) for g in problem.groups if g.of is None}
    elif isinstance(encoder, ColumnEncoder):
        spec, units = encoder.spec, encoder.units
        scales = {name: (scale.low, scale.high) for name, scale in units.numeric.items()}
        names = {name: _usual(*scales[name]) if name in scales else {"type": "number"} for name in spec.numeric}
        names |= {name: {"type": "string", "description": "a date, such as 2026-11-23"} for name in spec.dates}
        named = ((name, units.levels.get(name, ())) for name in spec.categorical)
        names |= {name: _usually_one_of(levels) if levels else _A_LEVEL for name, levels in named}
        names |= dict.fromkeys(spec.texts, _A_TEXT)
        names |= {name: {"type": "number"} for name in spec.known_columns}
        of = {g.name: g.names for g in problem.groups}
        names |= {g.column: _one_of(of[name]) for name, g in spec.groups.items() if name in of}
        marked = [name for name in names if spec.missing.get(name) in ("indicator", "level")]
        names |= {name: {"anyOf": [names[name], {"type": "null"}]} for name in marked}
    else:
        return {"type": "object"}
    if problem.unit is not None:
        names[problem.unit.name] = _UNIT
    return _object(list(names), names)


def _feature(feature: object) -> Schema:
    if isinstance(feature, Numeric):
        return _usual(feature.low, feature.high)
    if isinstance(feature, Hashed):
        return _A_TEXT
    if is_hashed(feature):
        return _A_LEVEL
    if isinstance(feature, Categorical):
        return _one_of(feature.levels) if feature.other is None else _usually_one_of(feature.levels)
    return {}


def _usual(low: float, high: float) -> Schema:
    words = f"usually from {low:g} to {high:g}; what is outside counts as the nearest end"
    return {"type": "number", "description": words, "examples": [low, high]}


def _one_of(names: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(names)}


def _usually_one_of(names: Sequence[str]) -> Schema:
    return {"type": "string", "examples": list(names)}


def _example(schema: Schema) -> object:
    """Return a value that a schema takes."""
    found: list[object] = schema.get("examples") or schema.get("enum") or [schema.get("minimum", 0)]
    return found[0]


def _outcome(problem: Problem, outcome: Outcome) -> Schema:
    low, high = outcome.widest
    found = {"type": ["number", "null"], "minimum": low, "maximum": high}
    if not outcome.ranges_by_action:
        return found
    ranges = [f"{a}: {low:g} to {high:g}" for a in problem.actions for low, high in [outcome.ends(a)]]
    return {**found, "description": f"its range by action, {'; '.join(ranges)}"}


def _outcomes(problem: Problem) -> Schema:
    """Describe the outcomes of a play: outside of its range one is refused."""
    by_name = {outcome.name: outcome for outcome in problem.outcomes}
    properties = {name: _outcome(problem, by_name[name]) for name in problem.observed}
    found = _object(list(properties), properties)
    return {**found, "not": {"properties": {name: {"type": "null"} for name in properties}}}  # one is observed


_FIRST = "/decide"
_ID, _KEY = "$response.body#/id", "$response.body#/key"
_NEXT: dict[str, tuple[str, str, Schema]] = {
    "observe": ("/observe", "post", {"requestBody": {"id": _ID}}),
    "cancel": ("/cancel", "post", {"requestBody": {"id": _ID}}),
    "decision": ("/decisions/{number}", "get", {"parameters": {"number": _ID}}),
    "by key": ("/decisions", "get", {"parameters": {"key": _KEY}}),
}


def link(paths: Schema) -> None:
    """Add the links of each campaign to the paths of a description."""
    for path, methods in paths.items():
        answer = methods.get("post", {}).get("responses", {}).get("200")
        links = _links(paths, path.removesuffix(_FIRST)) if path.endswith(_FIRST) else {}
        if answer is not None and links:
            answer["links"] = links


def _links(paths: Schema, prefix: str) -> Schema:
    """Return the links from a decision to later requests, none where the routes with a prefix are not of a campaign."""
    found: Schema = {}
    for name, (path, method, carried) in _NEXT.items():
        operation = paths.get(f"{prefix}{path}", {}).get(method)
        if operation is None:
            return {}
        found[name] = {"operationId": operation["operationId"], **carried}
        if "requestBody" in carried:  # besides the decision, what the example of the request has, such as outcomes
            rest = {key: z for key, z in _example_of(operation).items() if key != "key"}
            found[name]["requestBody"] = {**rest, **carried["requestBody"]}
    return found


def _example_of(operation: Schema) -> Schema:
    """Return the example of a request, empty where the description has none."""
    found: Schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example", {})
    return found


BY = {**TEXT, "description": "who asks; with a token of a file the name of that token, which may be left out"}


def with_signer(body: object, token: Token) -> object:
    """Return a body whose field `by` is the name of its token, where that says who asks.

    Raises:
        InvalidInput: the body names somebody else.

    >>> ops = Token(name="ops", sha256="0" * 64, roles=("change",))
    >>> with_signer({"why": "no letters left"}, ops)
    {'why': 'no letters left', 'by': 'ops'}
    """
    if token.is_shared or not isinstance(body, dict):
        return body
    if "by" in body and body["by"] != token.name:
        raise InvalidInput("by", f"{token.name!r}, the name of the token, or nothing", value_text(body["by"]))
    return {**body, "by": token.name}
