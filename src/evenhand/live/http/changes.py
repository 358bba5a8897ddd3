"""Requests that change a campaign: changes of its life, switches of its policy, and erasures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import value_text
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.files import horizon_difference
from evenhand.live.campaigns.problem_files import encoding
from evenhand.live.campaigns.tokens import Token, Tokens
from evenhand.live.fold.cases import alike
from evenhand.live.fold.changes import Ask, check_line
from evenhand.live.fold.column_encoder import Text, policy_of_campaign
from evenhand.live.fold.limits import exhausted_budgets
from evenhand.live.fold.phases import BOOKS, mark_in, switches
from evenhand.live.http.answers import Operation, Refusal
from evenhand.live.http.bodies import Verb, check_fields, fields, parse, receive
from evenhand.live.http.guard import token_of
from evenhand.live.http.schemas import BY, KEY, TEXT, Schema, one_or_each, one_or_many, operation, with_signer
from evenhand.live.log.events import Kind, Unknown, read
from evenhand.live.log.life import FATES, SETTINGS, STATES
from evenhand.live.worker.erasure import Erasure, UnknownUnits, refuse_several, time_of
from evenhand.live.worker.requests import Verbs, check_text
from evenhand.problem.end import AFTERS
from evenhand.problem.unit import unit_number

Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Field(NamedTuple):
    """A field of a body."""

    read: Callable[[str, object], Any]  # returns what a value means, or raises `InvalidInput`, which names the field
    schema: Schema
    needed: bool = True


@dataclass(frozen=True, kw_only=True)
class Single:
    """A request with one body.

    Args:
        route: its path.
        fields: those of its body.
        call: answers a body whose fields were read.
        answer: the schema of the answer.
        example: a body.
        more: what the schema of a body says beside its fields.
        guarded: what only those may do who show who they are, in words that go on "only a server with a token"; empty
            where whoever reaches the server may do it.
    """

    route: str
    fields: Mapping[str, Field]
    call: Callable[[Campaign, Mapping[str, Any]], dict[str, Any]]
    answer: Schema
    example: Mapping[str, Any]
    more: Schema = field(default_factory=dict)
    guarded: str = ""


def operation_of(campaign: Campaign, run: Run, single: Single, *, tokens: Tokens | None, allowed: bool) -> Operation:
    """Return the operation of a request, with its description.

    Args:
        campaign: the campaign.
        run: runs a call in another thread.
        single: the request.
        tokens: those that the server accepts; names of a file take the place of `by`.
        allowed: whether callers may do what is guarded.
    """

    async def handle(request: Request) -> Response:
        if single.guarded and not allowed:
            ways = "set EVENHAND_TOKEN, or state --tokens; an app of your own states `switches` or `erases`"
            raise Refusal(403, f"only a server with a token {single.guarded}: {ways}")
        asked = body_of(
            with_signer(parse(await receive(request.scope, request.receive)), token_of(request)), single.fields
        )
        return JSONResponse(await run(lambda: single.call(campaign, asked)))

    described = operation(_schema(single, tokens), single.answer, dict(single.example))
    return Operation("POST", single.route, handle, described)


def body_of(body: object, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Read a body by its fields.

    Raises:
        InvalidInput: a field is missing, unknown, or not what it should be.

    >>> body_of({"why": "so"}, {"why": Field(line, TEXT)})
    {'why': 'so'}
    """
    needed = tuple(name for name, of in fields.items() if of.needed)
    asked = check_fields(body, needed, tuple(name for name in fields if name not in needed))
    return {name: fields[name].read(name, value) for name, value in asked.items()}


def text(name: str, value: object) -> str:
    """Read a text of any length that a body may have."""
    if not isinstance(value, str):
        raise InvalidInput(name, "a text", value_text(value))
    return value


def line(name: str, value: object) -> str:
    """Read a name or a reason, which a log can show on one line."""
    check_line(name, value)
    return str(value)


def signature(*, needed: bool) -> dict[str, Field]:
    """Return the fields that say who asks, and why."""
    return {"by": Field(line, BY, needed), "why": Field(line, TEXT, needed)}


def _schema(single: Single, tokens: Tokens | None) -> Schema:
    told = ("by",) if tokens is not None and tokens.have_names else ()
    return {
        "type": "object",
        "properties": {name: of.schema for name, of in single.fields.items()},
        "required": [name for name, of in single.fields.items() if of.needed and name not in told],
        "additionalProperties": False,
        **single.more,
    }


def change(body: object, token: Token, kind: Kind, settings: tuple[str, ...] = ()) -> Verb:
    """Parse a request to change the life of the campaign.

    Raises:
        InvalidInput: a field is missing, unknown, or out of its range; or it names another one than that of the token.
    """
    asked = fields(with_signer(body, token), ("by", "why"), settings)
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
_LIFE_ANSWER = {
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
    return {path: operation(found[path], one_or_each(_LIFE_ANSWER), examples[path]) for path in MAKERS}


def _or_null(schema: Schema) -> Schema:
    if "oneOf" in schema:
        return {**schema, "oneOf": [*schema["oneOf"], {"type": "null"}]}
    found = {**schema, "type": [schema["type"], "null"]}
    return {**found, "enum": [*schema["enum"], None]} if "enum" in schema else found


MOST = 1000  # keys of a request


def _keys(name: str, value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST:
        raise InvalidInput(name, f"a list of 1 to {MOST:,} keys", value_text(value))
    for i, key in enumerate(value):
        check_text(f"{name}[{i}]", key)
    return value


def _units(name: str, value: object) -> list[str | int]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST:
        raise InvalidInput(name, f"a list of 1 to {MOST:,} names", value_text(value))
    for i, unit in enumerate(value):
        unit_number(f"{name}[{i}]", unit)
    return value


def _time(name: str, value: object) -> datetime:
    return time_of(text(name, value))


def erase(campaign: Campaign, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Erase decisions by their keys, their units or before a date, or clean the files where none of these is stated.

    A key without a decision may be one that an earlier try erased, whose answer got lost: nobody can tell, as the key
    is gone. So such keys are named in the answer, and the others are erased; the same goes for units.
    """
    signed = {name: asked[name] for name in ("by", "why")}
    refuse_several(*(asked.get(name) for name in _CHOSEN))
    if "before" in asked:
        return _erasure_answer(campaign.erase(before=asked["before"], **signed), [])
    if "units" in asked:
        return _erase_units(campaign, list(dict.fromkeys(map(str, asked["units"]))), signed)
    keys = list(dict.fromkeys(asked.get("keys", ())))
    while True:
        is_there = dict(zip(keys, campaign.many([_key_test(key) for key in keys]), strict=True))
        try:
            found = campaign.erase([key for key in keys if is_there[key]], **signed)
        except Unknown:  # another request erased one of them meanwhile
            continue
        return _erasure_answer(found, [key for key in keys if not is_there[key]])


def _erase_units(campaign: Campaign, units: list[str], signed: Mapping[str, Any]) -> dict[str, Any]:
    unknown = list[str]()
    while True:
        try:
            found = campaign.erase(units=[z for z in units if z not in unknown], **signed)
            return _erasure_answer(found, unknown)
        except UnknownUnits as error:
            unknown += error.units


def _key_test(key: str) -> Callable[[Verbs], bool]:
    return lambda verbs: verbs.has(key)


def _erasure_answer(found: Erasure, unknown: list[str]) -> dict[str, Any]:
    return {
        "erased": len(found.decisions),
        "waiting": found.waiting,
        "unknown": unknown,
        "segments": list(found.moved),
    }


_COUNT, _CHOSEN = {"type": "integer", "minimum": 0}, ("keys", "units", "before")
ERASE = Single(
    route="/erase",
    fields={
        "keys": Field(
            _keys,
            {
                "type": "array",
                "items": KEY,
                "minItems": 1,
                "maxItems": MOST,
                "description": "of decisions, all of which are erased, or none if one waits for its outcome",
            },
            needed=False,
        ),
        "units": Field(
            _units,
            {
                "type": "array",
                "items": {"type": ["string", "integer"], "minLength": 1},
                "minItems": 1,
                "maxItems": MOST,
                "description": "such as customers, all of whose decisions are erased, or none if one waits",
            },
            needed=False,
        ),
        "before": Field(
            _time,
            {
                "type": "string",
                "anyOf": [{"format": "date"}, {"format": "date-time"}],
                "description": "all decisions before a date or time, in UTC if it has no zone",
            },
            needed=False,
        ),
        **signature(needed=True),
    },
    call=erase,
    answer={
        "type": "object",
        "properties": {
            "erased": {**_COUNT, "description": "decisions"},
            "waiting": {**_COUNT, "description": "decisions before the date that wait for outcomes, and were left"},
            "unknown": {
                "type": "array",
                "items": {"type": "string"},
                "description": "keys or units without a decision, such as those that were erased before",
            },
            "segments": {
                "type": "array",
                "items": {"type": "string"},
                "description": "files with decisions before the date, which are erased by deleting these",
            },
        },
        "required": ["erased", "waiting", "unknown", "segments"],
    },
    example={"keys": ["order-17"], "by": "support", "why": "case 1204"},
    more={"allOf": [{"not": {"required": list(two)}} for two in combinations(_CHOSEN, 2)]},
    guarded="erases decisions",
)


_FIELDS = {
    "problem": Field(text, {"type": "string", "description": "the text of a problem file"}),
    **signature(needed=True),
    "expected": Field(text, {**TEXT, "description": "the `mark` of a report, from which this switches"}, needed=False),
}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_SWITCH_ANSWER = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "description": "of the event"},
        "at": {"type": "integer", "description": "microseconds since 1970"},
        "policy": {"type": "string"},
        "adopts": {
            "oneOf": [{"type": "boolean"}, {"const": BOOKS}],
            "description": "whether the policy adopted the state, or the books alone, and learned again",
        },
        "because": {**_TEXT_OR_NULL, "description": "why it could not"},
        "by": _TEXT_OR_NULL,
        "why": _TEXT_OR_NULL,
        "unlearned": {
            "type": ["integer", "null"],
            "description": "decisions with outcomes from which a policy that adopted the books could not learn",
        },
        "mark": {"type": "string"},
        "new": {
            "type": "boolean",
            "description": "whether this request switched; else the log had it, or nothing of it counts",
        },
        "note": {**_TEXT_OR_NULL, "description": "what the file states and the switch did not take"},
        "used_up": {
            "type": "array",
            "items": {"type": "string"},
            "description": "budgets that have no more than is spent and held",
        },
    },
}


def switch(campaign: Campaign, asked: Mapping[str, str]) -> dict[str, Any]:
    """Switch a campaign of a problem file to another one, and return what its log says about it.

    Said again, as where the answer got lost, it is answered by the same event.
    """
    kept = encoding(campaign.store, campaign.name)
    text = Text(kept["file"][0], asked["problem"])
    stated = policy_of_campaign(kept, text)
    *_, last = campaign.store.scan(campaign.name, kinds=("opened", "switched"))
    mark = stated.policy.fingerprint()
    is_new = last.kind == "opened" or mark_in(last) != mark or not alike(stated.coded, read(last)["encoding"])
    if is_new:
        more = {name: asked.get(name) for name in ("by", "why", "expected")}
        campaign.switch(stated.policy, stated.coded, **more)
    event = switches(campaign.store, campaign.name)[-1]._asdict()
    told = {"mark": mark, "new": is_new, "note": horizon_difference(text, campaign.life.after)}
    return {**event, **told, "used_up": exhausted_budgets(campaign.status())}


SWITCH = Single(
    route="/switch",
    fields=_FIELDS,
    call=switch,
    answer=_SWITCH_ANSWER,
    example={"problem": "[problem]..."},
    guarded="takes another problem file",
)
