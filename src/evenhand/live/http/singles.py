"""Requests that are not verbs of a batch: one body each, which a call of its own answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.changing import check_said
from evenhand.live.http.answers import Refused
from evenhand.live.http.asked import named
from evenhand.live.http.bodies import parse, receive
from evenhand.live.http.guard import token_of
from evenhand.live.http.schemas import TEXT, Schema, operation
from evenhand.live.http.signed import BY, signed
from evenhand.live.tokens import Tokens

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


def add(made: APIRouter, campaign: Campaign, run: Run, single: Single, *, tokens: Tokens | None, allowed: bool) -> None:
    """Add the route of a request to those of a campaign.

    Args:
        made: the routes.
        campaign: the campaign.
        run: runs a call in another thread.
        single: the request.
        tokens: those that the server accepts; names of a file take the place of `by`.
        allowed: whether callers may do what is guarded.
    """

    async def handle(request: Request) -> Response:
        if single.guarded and not allowed:
            raise Refused(403, f"only a server with a token {single.guarded}: set EVENHAND_TOKEN, or state --tokens")
        asked = read(signed(parse(await receive(request.scope, request.receive)), token_of(request)), single.fields)
        return JSONResponse(await run(lambda: single.call(campaign, asked)))

    described = operation(_schema(single, tokens), single.answer, dict(single.example))
    made.add_api_route(single.route, handle, methods=["POST"], name=single.route[1:], openapi_extra=described)


def read(body: object, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Read a body by its fields.

    Raises:
        InvalidInput: a field is missing, unknown, or not what it should be.

    >>> read({"why": "so"}, {"why": Field(said, TEXT)})
    {'why': 'so'}
    """
    needed = tuple(name for name, of in fields.items() if of.needed)
    asked = named(body, needed, tuple(name for name in fields if name not in needed))
    return {name: fields[name].read(name, value) for name, value in asked.items()}


def text(name: str, value: object) -> str:
    """Read a text of any length that a body may have."""
    if not isinstance(value, str):
        raise InvalidInput(name, "a text", shown(value))
    return value


def said(name: str, value: object) -> str:
    """Read a name or a reason, which a log can show on one line."""
    check_said(name, value)
    return str(value)


def signature(*, needed: bool) -> dict[str, Field]:
    """Return the fields that say who asks, and why."""
    return {"by": Field(said, BY, needed), "why": Field(said, TEXT, needed)}


def _schema(single: Single, tokens: Tokens | None) -> Schema:
    told = ("by",) if tokens is not None and tokens.have_names else ()
    return {
        "type": "object",
        "properties": {name: of.schema for name, of in single.fields.items()},
        "required": [name for name, of in single.fields.items() if of.needed and name not in told],
        "additionalProperties": False,
        **single.more,
    }
