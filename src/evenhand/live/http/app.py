"""The app: one campaign, its verbs and its reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
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
from evenhand.live.dashboard.report import reported
from evenhand.live.dashboard.tally import Tally
from evenhand.live.events import Conflict, Unknown
from evenhand.live.http import asked
from evenhand.live.http.answers import Refused, entry, failed
from evenhand.live.http.bodies import parsed, received
from evenhand.live.http.commits import Commits
from evenhand.live.http.guard import Guard, Requests
from evenhand.live.http.metrics import metrics
from evenhand.live.http.schemas import SCHEMAS
from evenhand.policy.status import Status
from evenhand.version import __version__

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
_VERBS = {"/decide": asked.decide, "/observe": asked.observe, "/cancel": asked.cancel}
_STATIC = {
    "/static/page.css": "text/css",
    "/static/page.js": "text/javascript",
    "/static/icon.svg": "image/svg+xml",
}
_ROUTES = (
    *_VERBS,
    "/report",
    "/decisions/{number}",
    "/decisions/{number}/page",
    "/metrics",
    "/healthz",
    "/openapi.json",
    "/",
    *_STATIC,
)


def app(campaign: Campaign, *, token: str | None = None, hosts: Sequence[str] = ("127.0.0.1", "localhost")) -> FastAPI:
    """An app that decides for whoever asks over HTTP, for `serve` or any server of ASGI apps.

    Args:
        campaign: that decides; it may have other workers.
        token: that every request has to carry as `Authorization: Bearer TOKEN`; None lets everybody in who reaches it.
        hosts: names, without ports, that the server is called by.

    Raises:
        InvalidInput: a token or a name that no header can carry.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> made = app(Campaign.open("memory://", "shop", eh.uniform(shop, 1)), token="a long secret")
    >>> made.title
    'evenhand: shop'
    """
    if token is not None and not (isinstance(token, str) and token.strip() and token.isascii() and token.isprintable()):
        raise InvalidInput("token", "a text of visible ASCII characters", "another one")
    if isinstance(hosts, str) or not hosts or not all(isinstance(z, str) and z for z in hosts):
        raise InvalidInput("hosts", "names, such as ('localhost',)", shown(hosts))
    commits, requests, tally = Commits(campaign), Requests(_ROUTES), Tally(campaign)
    reader = ThreadPoolExecutor(1, "evenhand reports")  # one, as reports wait for the campaign, which has one lock

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        commits.close()

    # The usual page of documentation loads scripts from elsewhere.
    made = FastAPI(
        title=f"evenhand: {campaign.name}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
    )
    made.add_middleware(Guard, token=token, hosts=hosts, requests=requests)
    for kind in (Refused, EvenhandError):
        made.add_exception_handler(kind, _failed)
    made.add_exception_handler(HTTPException, _not_found)

    def stand() -> Status:
        status = campaign.status()  # first, as it lets what is overdue expire
        tally.update(status)
        return status

    async def reading(call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(reader.submit(call))

    async def report_(_: Request) -> Response:
        return JSONResponse(await reading(lambda: reported(campaign, stand(), tally)))

    async def metrics_(_: Request) -> Response:
        text = await reading(lambda: metrics(stand(), tally, requests))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def page_(_: Request) -> Response:
        return HTMLResponse(await reading(lambda: page(campaign, stand(), tally)))

    async def told(request: Request) -> dict[str, Any]:
        number = request.path_params["number"]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise Unknown(f"no decision {shown(number)} in campaign {campaign.name!r}")
        (found,) = await asyncio.wrap_future(commits.submit([asked.stored(int(number))]))
        if isinstance(found, EvenhandError):
            raise found
        return found

    async def decision(request: Request) -> Response:
        return JSONResponse(await told(request))

    async def decision_(request: Request) -> Response:
        found = await told(request)
        try:
            said = await reading(lambda: campaign.explain(found["id"]))
        except Conflict:  # another policy made it
            said = None
        return HTMLResponse(decision_page(campaign.name, campaign.policy.name, found, said))

    for path, made_of in _VERBS.items():
        schema = {"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMAS[path]}}}}
        made.add_api_route(path, _verb(commits, made_of), methods=["POST"], name=path[1:], openapi_extra=schema)
    number = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}
    pages: dict[str, Handler] = {
        "/report": report_,
        "/metrics": metrics_,
        "/decisions/{number}": decision,
        "/healthz": _healthy,
    }
    for path, handler in pages.items():
        extra: dict[str, Any] = {"parameters": [number]} if "{" in path else {}
        made.add_api_route(path, handler, methods=["GET"], name=path.split("/")[1], openapi_extra=extra)
    for path, handler in {
        "/": page_,
        "/decisions/{number}/page": decision_,
        **{path: _file(path) for path in _STATIC},
    }.items():
        made.add_api_route(path, handler, methods=["GET"], include_in_schema=False)
    return made


def _file(path: str) -> Handler:
    """Answers a file that belongs to the page."""
    text = files("evenhand.live.dashboard").joinpath(path[1:]).read_text("utf-8")

    async def handle(_: Request) -> Response:
        return Response(text, media_type=_STATIC[path])

    return handle


def _verb(commits: Commits, made_of: Callable[[object], asked.Verb]) -> Handler:
    """Answers a body, or a list of them in one transaction."""

    async def handle(request: Request) -> Response:
        body = parsed(await received(request))
        if not isinstance(body, list):
            (found,) = await asyncio.wrap_future(commits.submit([made_of(body)]))
            return failed(found) if isinstance(found, EvenhandError) else JSONResponse(found)
        verbs: list[asked.Verb | EvenhandError] = []
        for z in body:
            try:
                verbs.append(made_of(z))
            except EvenhandError as error:
                verbs.append(error)
        results = await asyncio.wrap_future(commits.submit([v for v in verbs if not isinstance(v, EvenhandError)]))
        rest = iter(results)
        return JSONResponse([entry(v if isinstance(v, EvenhandError) else next(rest)) for v in verbs])

    return handle


async def _healthy(_: Request) -> Response:
    return JSONResponse({"ok": True})


def _failed(_: Request, error: Exception) -> Response:
    return failed(error)


def _not_found(_: Request, error: Exception) -> Response:
    """No such page, or not with this method."""
    assert isinstance(error, HTTPException)
    return failed(Refused(error.status_code, error.detail.lower()), dict(error.headers or {}))
