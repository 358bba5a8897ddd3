"""The routes of a campaign."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Container, Hashable, Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from evenhand.core.checked import shown
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live.campaigns.tokens import Token, Tokens
from evenhand.live.dashboard.report import to_json
from evenhand.live.http import bodies, changes
from evenhand.live.http.answers import entry, error_response
from evenhand.live.http.bodies import parse, receive, receive as body_of
from evenhand.live.http.changes import CLOCK, ERASE, SWITCH
from evenhand.live.http.fixed import HEALTHY, Handler, Operation, readiness_response
from evenhand.live.http.guard import PLACE, TOKEN, token_of
from evenhand.live.http.metrics import CONTENT
from evenhand.live.http.places import Place
from evenhand.live.http.quotas import Quotas
from evenhand.live.http.schemas import KEY, read_operation, verbs as verbs_of
from evenhand.live.http.service import Hall, Served
from evenhand.live.log.events import Unknown
from evenhand.live.worker.verbs import check_text, lookup

Answer = Callable[[bytes, Token, Hashable], Awaitable[Any]]  # of a body, by the token and the client of the request
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))  # as in Starlette


class Direct:
    """Middleware that answers verbs as their routes do, and leaves everything else to the app.

    Args:
        app: the app, with a route for each verb, which describes it; requests for it were accepted by a `Guard`.
        answers: what answers verbs, by place.
    """

    def __init__(self, app: ASGIApp, answers: Mapping[Place, Answer]) -> None:
        self._app, self._answers = app, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = scope["type"] == "http" and scope["method"] == "POST"
        answer = self._answers.get(scope[PLACE]) if asked else None
        if answer is None:
            await self._app(scope, receive, send)
            return
        try:
            found = await answer(await body_of(scope, receive), scope[TOKEN], scope.get("client"))
            body = _WRITER.encode(found).encode()
        except Exception as error:
            await error_response(error)(scope, receive, send)
            return
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


Maker = Callable[[object, Token], bodies.Verb]
_NUMBER = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}
_OF_KEY = {"name": "key", "in": "query", "required": True, "schema": KEY}
_PARAMETERS = {"/decisions/{number}": [_NUMBER], "/decisions": [_OF_KEY]}
_SINGLES = (SWITCH, ERASE, CLOCK)
GUARDED = tuple(single.route for single in _SINGLES if single.guarded)


def operations(
    hall: Hall, name: str, known: bool, tokens: Tokens | None, *, allowed: Container[str]
) -> list[Operation]:
    """Return what is answered about one campaign, as it is at present; access control is up to the caller.

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
        return JSONResponse(await served.reading(lambda: to_json(campaign, served.stand(), served.tally)))

    async def metrics_(_: Request) -> Response:
        return PlainTextResponse(await hall.metrics([name]), media_type=CONTENT)

    async def ready(_: Request) -> Response:
        return readiness_response(await served.readiness.reason(), served.readiness.standing())

    async def decision(request: Request) -> Response:
        return JSONResponse(await find_decision(served, request))

    described = {**verbs_of(campaign), **changes.operations(tokens)}
    posts = [Operation("POST", path, _handler(z), described[path]) for path, z in answers(hall, name, known).items()]
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


def answers(hall: Hall, name: str, known: bool) -> Mapping[str, Answer]:
    """Return what answers the verbs of one campaign, by path; the arguments are those of `operations`."""
    verbs: dict[str, Maker] = {
        "/decide": _by_anyone(partial(bodies.decide, accepted=known)),
        "/observe": _by_anyone(bodies.observe),
        "/cancel": _by_anyone(bodies.cancel),
        **changes.MAKERS,
    }
    quotas = {"/decide": hall.quotas}
    return {path: _answer(hall.each[name], made_of, quotas.get(path)) for path, made_of in verbs.items()}


async def find_decision(served: Served, request: Request) -> dict[str, Any]:
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
        raise Unknown(f"no decision {shown(number)} in campaign {campaign!r}")
    return int(number)


def _by_anyone(made_of: Callable[[object], bodies.Verb]) -> Maker:
    """Leave out who asks."""
    return lambda body, _: made_of(body)


def _answer(served: Served, made_of: Maker, quotas: Quotas | None) -> Answer:
    """Make what answers a body, or a list of bodies in one transaction, which the quota of a token may limit."""
    commits = served.commits

    async def answer(text: bytes, token: Token, client: Hashable) -> Any:
        body = parse(text)
        count = len(body) if isinstance(body, list) else 1
        if quotas is not None:
            quotas.charge(token, count)
        served.upkeep.count(count)
        if not isinstance(body, list):
            (found,) = await commits.ask([made_of(body, token)], client)
            if isinstance(found, EvenhandError):
                raise found
            return found
        verbs: list[bodies.Verb | EvenhandError] = []
        for z in body:
            try:
                verbs.append(made_of(z, token))
            except EvenhandError as error:
                verbs.append(error)
        rest = iter(await commits.ask([v for v in verbs if not isinstance(v, EvenhandError)], client))
        return [entry(v if isinstance(v, EvenhandError) else next(rest)) for v in verbs]

    return answer


def _handler(answer: Answer) -> Handler:
    """Make the handler of a route."""

    async def handle(request: Request) -> Response:
        body = await receive(request.scope, request.receive)
        return JSONResponse(await answer(body, token_of(request), request.client))

    return handle
