"""The routes of a campaign."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Container
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.live.campaigns.tokens import Token, Tokens
from evenhand.live.dashboard.report import to_json
from evenhand.live.http import bodies, changes
from evenhand.live.http.answers import HEALTHY, Handler, Operation, entry, readiness_response
from evenhand.live.http.bodies import parse, receive
from evenhand.live.http.changes import ERASE, SWITCH
from evenhand.live.http.guard import token_of
from evenhand.live.http.metrics import CONTENT
from evenhand.live.http.quotas import Quotas
from evenhand.live.http.schemas import KEY, read_operation, verbs as verbs_of
from evenhand.live.http.service import CampaignService, Hall
from evenhand.live.log.events import Unknown
from evenhand.live.worker.requests import check_text, lookup

_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))  # as in Starlette
Maker = Callable[[object, Token], bodies.Verb]
_NUMBER = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}
_OF_KEY = {"name": "key", "in": "query", "required": True, "schema": KEY}
_PARAMETERS = {"/decisions/{number}": [_NUMBER], "/decisions": [_OF_KEY]}
_SINGLES = (SWITCH, ERASE)
GUARDED = tuple(single.route for single in _SINGLES if single.guarded)


def operations(
    hall: Hall, name: str, known: bool, tokens: Tokens | None, *, allowed: Container[str]
) -> list[Operation]:
    """Return the operations of one campaign, as it is at present; access control is up to the caller.

    Args:
        hall: the campaigns of the server.
        name: of the campaign.
        known: whether clients may state known outcomes that declare no range.
        tokens: those of which requests carry one, None if they need none.
        allowed: those of the guarded routes that clients may ask for.
    """
    served = hall.each[name]
    campaign = served.campaign

    async def report_(_: Request) -> Response:
        return JSONResponse(await served.read(lambda: to_json(campaign, served.stand(), served.tally)))

    async def metrics_(_: Request) -> Response:
        return PlainTextResponse(await hall.metrics([name]), media_type=CONTENT)

    async def ready(_: Request) -> Response:
        return readiness_response(await served.readiness.reason(), served.readiness.state())

    async def decision(request: Request) -> Response:
        return JSONResponse(await find_decision(served, request))

    described = {**verbs_of(campaign), **changes.operations(tokens)}
    makers: dict[str, Maker] = {
        "/decide": _by_anyone(partial(bodies.decide, accepted=known)),
        "/observe": _by_anyone(bodies.observe),
        "/cancel": _by_anyone(bodies.cancel),
        **changes.MAKERS,
    }
    quotas = {"/decide": hall.quotas}
    posts = [
        Operation("POST", path, _handler(served, made_of, quotas.get(path)), described[path])
        for path, made_of in makers.items()
    ]
    # In threads of their own, as reports do not wait for a long fold.
    run, is_allowed = asyncio.to_thread, [single.route in allowed for single in _SINGLES]
    posts += [
        changes.operation_of(campaign, run, single, tokens=tokens, allowed=z)
        for single, z in zip(_SINGLES, is_allowed, strict=True)
    ]
    reads: dict[str, Handler] = {
        "/report": report_,
        "/metrics": metrics_,
        "/decisions/{number}": decision,
        "/decisions": decision,
        "/healthz": HEALTHY,
        "/readyz": ready,
    }
    kinds = {"/metrics": "text/plain"}
    gets = (
        Operation("GET", path, handler, read_operation(_PARAMETERS.get(path, ()), kinds.get(path, "application/json")))
        for path, handler in reads.items()
    )
    return [*posts, *gets]


async def find_decision(served: CampaignService, request: Request) -> dict[str, Any]:
    """Look up the decision that a request is about.

    Raises:
        EvenhandError: there is none, or the store cannot be read.
    """
    which = _which(request, served.campaign.name)
    (found,) = await served.commits.ask([lambda verbs: lookup(verbs, which)], request.client)
    if isinstance(found, EvenhandError):
        raise found
    return found


def _which(request: Request, campaign: str) -> int | str:
    """Parse the decision that is asked for: its number, or its key."""
    if "number" not in request.path_params:
        keys = request.query_params.getlist("key")
        if len(keys) != 1 or len(request.query_params) != 1:
            raise InvalidInput("key", "the key of one decision, as /decisions?key=KEY", f"{len(keys)} of them")
        check_text("key", keys[0])
        return keys[0]
    number: str = request.path_params["number"]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Unknown(f"no decision {value_text(number)} in campaign {campaign!r}")
    return int(number)


def _by_anyone(made_of: Callable[[object], bodies.Verb]) -> Maker:
    """Make a handler that ignores who asks."""
    return lambda body, _: made_of(body)


def _handler(served: CampaignService, made_of: Maker, quotas: Quotas | None) -> Handler:
    """Make the handler of a body, or of a list of bodies in one transaction, which the quota of a token may limit."""
    commits = served.commits

    async def handle(request: Request) -> Response:
        body, token = parse(await receive(request.scope, request.receive)), token_of(request)
        count = len(body) if isinstance(body, list) else 1
        if quotas is not None:
            quotas.charge(token, count)
        served.upkeep.count(count)
        if not isinstance(body, list):
            (found,) = await commits.ask([made_of(body, token)], request.client)
            if isinstance(found, EvenhandError):
                raise found
            return _json(found)
        verbs: list[bodies.Verb | EvenhandError] = []
        for z in body:
            try:
                verbs.append(made_of(z, token))
            except EvenhandError as error:
                verbs.append(error)
        rest = iter(await commits.ask([v for v in verbs if not isinstance(v, EvenhandError)], request.client))
        return _json([entry(v if isinstance(v, EvenhandError) else next(rest)) for v in verbs])

    return handle


def _json(found: object) -> Response:
    """Make a response as `JSONResponse` does, which makes a writer for each."""
    return Response(_WRITER.encode(found).encode(), media_type="application/json")
