"""The ASGI app of one campaign: requests, reports and pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from evenhand.core.checked import shown
from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.dashboard.decision import decision_page
from evenhand.live.dashboard.page import page
from evenhand.live.dashboard.report import to_json
from evenhand.live.dashboard.tally import Tally
from evenhand.live.events import Conflict, Unknown
from evenhand.live.http import asked
from evenhand.live.http.answers import Refused, entry, error_response
from evenhand.live.http.bodies import parse, receive
from evenhand.live.http.commits import Commits
from evenhand.live.http.guard import Guard, token_of
from evenhand.live.http.metrics import metrics
from evenhand.live.http.places import STATIC, Places
from evenhand.live.http.quotas import Quotas
from evenhand.live.http.readiness import Readiness
from evenhand.live.http.requests import Requests
from evenhand.live.http.schemas import KEY, SCHEMAS
from evenhand.live.tokens import Tokens
from evenhand.live.verbs import check_text
from evenhand.policy.status import Status
from evenhand.version import __version__

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
Maker = Callable[[object], asked.Verb]
_VERBS = ("/decide", "/observe", "/cancel")


def app(
    campaign: Campaign,
    *,
    token: str | Tokens | None = None,
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    known: bool = False,
) -> FastAPI:
    """Build the app that serves a campaign over HTTP, for `serve` or any ASGI server.

    Args:
        campaign: the campaign; it may have other workers.
        token: the token that every request must carry as `Authorization: Bearer TOKEN`, of at least 16 characters; or
            the tokens of which it must carry one; None accepts all requests.
        hosts: the names, without ports, by which clients call the server.
        known: whether clients may state known outcomes that declare no range, between the least and the greatest of
            their declared values. They spend the budgets by it.

    Raises:
        InvalidInput: the token is too short, or the token or a name cannot be in a header.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> made = app(Campaign.open("memory://", "shop", eh.uniform(shop, 1)), token="a long enough secret")
    >>> made.title
    'evenhand: shop'
    """
    if isinstance(hosts, str) or not hosts or not all(isinstance(z, str) and z for z in hosts):
        raise InvalidInput("hosts", "names, such as ('localhost',)", shown(hosts))
    tokens = token if token is None or isinstance(token, Tokens) else Tokens(single=token)
    commits, requests, tally = Commits(campaign), Requests(), Tally(campaign)
    readiness, quotas = Readiness(campaign), Quotas()
    reader = ThreadPoolExecutor(1, "evenhand reports")  # one thread: reports wait for the campaign's lock anyway

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        commits.close()

    # FastAPI's documentation pages load scripts from other sites.
    made = FastAPI(
        title=f"evenhand: {campaign.name}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
    )
    made.add_middleware(Guard, tokens=tokens, hosts=hosts, places=Places([campaign.name]), requests=requests)
    for kind in (Refused, EvenhandError):
        made.add_exception_handler(kind, lambda _, error: error_response(error))
    made.add_exception_handler(HTTPException, _not_found)

    def stand() -> Status:
        status = campaign.status()  # first, since it expires overdue decisions
        tally.update(status)
        return status

    async def reading(call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(reader.submit(call))

    async def report_(_: Request) -> Response:
        return JSONResponse(await reading(lambda: to_json(campaign, stand(), tally)))

    async def metrics_(_: Request) -> Response:
        text = await reading(lambda: metrics(stand(), tally, requests))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def page_(_: Request) -> Response:
        return HTMLResponse(await reading(lambda: page(campaign, stand(), tally)))

    async def ready(_: Request) -> Response:
        reason = await readiness.reason()
        if reason is None:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "reason": reason}, 503, headers={"Retry-After": "1"})

    async def find_decision(request: Request) -> dict[str, Any]:
        if "number" not in request.path_params:
            keys = request.query_params.getlist("key")
            if len(keys) != 1 or len(request.query_params) != 1:
                raise InvalidInput("key", "the key of one decision, as /decisions?key=KEY", f"{len(keys)} of them")
            check_text("key", keys[0])
            which: int | str = keys[0]
        else:
            number = request.path_params["number"]
            if not (number.isascii() and number.isdigit() and len(number) < 19):
                raise Unknown(f"no decision {shown(number)} in campaign {campaign.name!r}")
            which = int(number)
        (found,) = await asyncio.wrap_future(commits.submit([asked.lookup(which)], request.client))
        if isinstance(found, EvenhandError):
            raise found
        return found

    async def decision(request: Request) -> Response:
        return JSONResponse(await find_decision(request))

    async def decision_(request: Request) -> Response:
        found = await find_decision(request)
        try:
            explained = await reading(lambda: campaign.explain(found["id"]))
        except Conflict:  # another policy made it
            explained = None
        return HTMLResponse(decision_page(campaign.name, campaign.policy.name, found, explained))

    makers: tuple[Callable[[object], asked.Verb], ...] = (
        partial(asked.decide, accepted=known),
        asked.observe,
        asked.cancel,
    )
    for path, made_of in zip(_VERBS, makers, strict=True):
        schema = {"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMAS[path]}}}}
        handle = _verb(commits, made_of, quotas if path == "/decide" else None)
        made.add_api_route(path, handle, methods=["POST"], name=path[1:], openapi_extra=schema)
    number = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}
    pages: dict[str, Handler] = {
        "/report": report_,
        "/metrics": metrics_,
        "/decisions/{number}": decision,
        "/decisions": decision,
        "/healthz": _healthy,
        "/readyz": ready,
    }
    of_key = {"name": "key", "in": "query", "required": True, "schema": KEY}
    for path, handler in pages.items():
        about = number if "{" in path else of_key if path == "/decisions" else None
        extra: dict[str, Any] = {} if about is None else {"parameters": [about]}
        name = path[1:].replace("/{number}", " by number")
        made.add_api_route(path, handler, methods=["GET"], name=name, openapi_extra=extra)
    for path, handler in {"/healthz": _healthy, "/readyz": ready}.items():  # as some probes ask
        made.add_api_route(path, handler, methods=["HEAD"], include_in_schema=False)
    for path, handler in {
        "/": page_,
        "/decisions/{number}/page": decision_,
        **{path: _file(path) for path in STATIC},
    }.items():
        made.add_api_route(path, handler, methods=["GET"], include_in_schema=False)
    return made


def _file(path: str) -> Handler:
    """Make the handler that serves a static file of the page."""
    text = files("evenhand.live.dashboard").joinpath(path[1:]).read_text("utf-8")

    async def handle(_: Request) -> Response:
        return Response(text, media_type=STATIC[path])

    return handle


def _verb(commits: Commits, made_of: Maker, quotas: Quotas | None) -> Handler:
    """Make the handler of a body, or of a list of bodies in one transaction, which the quota of a token may limit."""

    async def handle(request: Request) -> Response:
        body = parse(await receive(request))
        if quotas is not None:
            quotas.charge(token_of(request), len(body) if isinstance(body, list) else 1)
        if not isinstance(body, list):
            (found,) = await asyncio.wrap_future(commits.submit([made_of(body)], request.client))
            return error_response(found) if isinstance(found, EvenhandError) else JSONResponse(found)
        verbs: list[asked.Verb | EvenhandError] = []
        for z in body:
            try:
                verbs.append(made_of(z))
            except EvenhandError as error:
                verbs.append(error)
        accepted = [v for v in verbs if not isinstance(v, EvenhandError)]
        results = await asyncio.wrap_future(commits.submit(accepted, request.client))
        rest = iter(results)
        return JSONResponse([entry(v if isinstance(v, EvenhandError) else next(rest)) for v in verbs])

    return handle


async def _healthy(_: Request) -> Response:
    return JSONResponse({"ok": True})


def _not_found(_: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    return error_response(Refused(error.status_code, error.detail.lower()), dict(error.headers or {}))
