"""POST /switch: another problem file in mid-campaign."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.coded import Text, of_stored
from evenhand.live.files import last_encoding
from evenhand.live.http.answers import Refused
from evenhand.live.http.bodies import parse, receive
from evenhand.live.http.guard import token_of
from evenhand.live.http.schemas import TEXT, operation
from evenhand.live.http.signed import signed
from evenhand.live.switches import switches

ROUTE = "/switch"
Run = Callable[[Callable[[], Any]], Awaitable[Any]]
_OPTIONAL = ("by", "why", "expected")
_SCHEMA = {
    "type": "object",
    "properties": {
        "problem": {"type": "string", "description": "The text of a problem file."},
        "by": {**TEXT, "description": "who asks; with a token of a file, its name"},
        "why": TEXT,
        "expected": {**TEXT, "description": "The `mark` of a report, from which this switches."},
    },
    "required": ["problem"],
    "additionalProperties": False,
}


_TEXT_OR_NULL = {"type": ["string", "null"]}
_ANSWER = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "description": "of the event"},
        "at": {"type": "integer", "description": "microseconds since 1970"},
        "policy": {"type": "string"},
        "adopts": {"type": "boolean", "description": "whether the policy adopted the state"},
        "because": {**_TEXT_OR_NULL, "description": "why it could not"},
        "by": _TEXT_OR_NULL,
        "why": _TEXT_OR_NULL,
        "mark": {"type": "string"},
    },
}


def add(made: APIRouter, campaign: Campaign, run: Run, *, allowed: bool) -> None:
    """Add the route to those of a campaign.

    Args:
        made: the routes.
        campaign: the campaign.
        run: runs a call in another thread.
        allowed: whether callers show who they are.
    """

    async def handle(request: Request) -> Response:
        if not allowed:
            raise Refused(
                403, "only a server with a token takes another problem file: set EVENHAND_TOKEN, or state --tokens"
            )
        body = _read(signed(parse(await receive(request)), token_of(request)))
        return JSONResponse(await run(lambda: switch(campaign, body)))

    extra = operation(_SCHEMA, _ANSWER, {"problem": "[problem]..."})
    made.add_api_route(ROUTE, handle, methods=["POST"], name="switch", openapi_extra=extra)


def switch(campaign: Campaign, body: dict[str, str]) -> dict[str, Any]:
    """Switch a campaign of a problem file to another one, and return what its log says of it."""
    kept = last_encoding(campaign.store, campaign.name)
    assert kept is not None  # it is open
    stated = of_stored(kept, Text(kept["file"][0], body["problem"]))
    more = {name: body.get(name) for name in _OPTIONAL}
    campaign.switch(stated.policy, stated.coded, **more)
    return {**switches(campaign.store, campaign.name)[-1]._asdict(), "mark": stated.policy.fingerprint()}


def _read(body: object) -> dict[str, str]:
    """Check the fields of a body.

    Raises:
        InvalidInput: one is missing, unknown or no text.
    """
    if not isinstance(body, dict):
        raise InvalidInput("body", "an object", shown(body))
    known = ("problem", *_OPTIONAL)
    for name, value in body.items():
        if name not in known:
            raise InvalidInput(name[:60], f"one of the fields {', '.join(known)}", "an unknown one")
        if not isinstance(value, str):
            raise InvalidInput(name, "a text", shown(value))
    if "problem" not in body:
        raise InvalidInput("problem", "the text of a problem file", "nothing")
    return body
