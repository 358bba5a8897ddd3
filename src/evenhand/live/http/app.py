"""The application of one campaign, or of several, with its pages and its description."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import value_text
from evenhand.live.campaigns.campaign import Campaign
from evenhand.live.campaigns.tokens import Tokens
from evenhand.live.dashboard.decision import decision_page
from evenhand.live.dashboard.page import index, page
from evenhand.live.dashboard.reference import reference
from evenhand.live.http.answers import HEALTHY, Handler, Operation, Refusal, error_response, readiness_response
from evenhand.live.http.guard import PLACE, Guard, token_in, token_of
from evenhand.live.http.metrics import CONTENT
from evenhand.live.http.places import INSIDE, OPEN, STATIC, Place, Places, below
from evenhand.live.http.routes import GUARDED, find_decision, operations
from evenhand.live.http.schemas import Schema, description, read_operation
from evenhand.live.http.service import Hall
from evenhand.live.log.events import Conflict

ErrorHandler = Callable[[Request, Exception], Response | Awaitable[Response]]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


class UnexpectedErrors:
    """Middleware that answers unexpected errors without revealing code; the log has the details.

    Args:
        app: the app that may fail.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await error_response(error)(scope, receive, send)


def not_found(_: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    return error_response(Refusal(error.status_code, error.detail.lower()), dict(error.headers or {}))


def application(
    title: str,
    operations: Callable[[], Sequence[Operation]],
    pages: Mapping[str, Handler],
    *,
    missing: ErrorHandler = not_found,
    lifespan: Lifespan | None = None,
    unless: Sequence[str] | None = None,
) -> Starlette:
    """Make an app, whose errors are JSON; its description, and the page of it, are made when they are asked for.

    Args:
        title: of the description.
        operations: returns what it answers; names and ranges in it may change, routes do not.
        pages: what is in no description, by path.
        missing: answers requests for unknown paths and methods.
        lifespan: what begins and ends with the app.
        unless: the paths that need no token; None if none does.
    """

    def described() -> Schema:
        return description(title, [(z.method, z.path, z.described) for z in operations()], unless)

    async def openapi(request: Request) -> Response:
        below = request.scope.get("root_path", "")  # where paths of the description begin, unless at the host's root
        return JSONResponse(described() | ({"servers": [{"url": quote(below)}]} if below else {}))

    async def docs(request: Request) -> Response:
        return HTMLResponse(reference(described(), str(request.base_url)))

    own = {**pages, "/docs": docs, "/openapi.json": openapi, **{path: _file(path) for path in STATIC}}
    routes = [Route(z.path, z.handler, methods=[z.method]) for z in operations()]
    made = Starlette(
        routes=[*routes, *(Route(path, handler) for path, handler in own.items())],
        middleware=[Middleware(UnexpectedErrors)],
        exception_handlers={HTTPException: missing},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False
    add_errors(made)
    return made


def _file(path: str) -> Handler:
    """Make the handler that serves a static file of the page."""
    text = files("evenhand.live.dashboard").joinpath(path[1:]).read_text("utf-8")

    async def handle(_: Request) -> Response:
        return Response(text, media_type=STATIC[path])

    return handle


def add_errors(made: Starlette) -> None:
    """Make an app answer errors of campaigns as JSON, with the same statuses as `evenhand serve`."""
    for kind in (Refusal, EvenhandError):
        made.add_exception_handler(kind, lambda _, error: error_response(error))


def several(hall: Hall, tokens: Tokens | None, lifespan: Lifespan) -> Starlette:
    """Make the app about all campaigns of a server, without its guard; its description, for any token, names none."""

    async def elsewhere(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException) or error.status_code != 404:
            return not_found(request, error)
        told = (
            f"not found: this server has several campaigns, each below /campaigns/NAME/; {_list(_own(hall, request))}"
        )
        return error_response(Refusal(404, told))

    async def page_(request: Request) -> Response:
        found = []
        for name in _own(hall, request):
            served = hall.each[name]
            status = await served.read(served.stand)
            found.append((_inside(name), name, status, served.tally.life.state))
        return HTMLResponse(index(found))

    async def metrics_(request: Request) -> Response:
        text = await hall.metrics(_own(hall, request))
        return PlainTextResponse(text, media_type=CONTENT)

    async def ready(_: Request) -> Response:
        reasons = await asyncio.gather(*(served.readiness.reason() for served in hall.each.values()))
        wrong = [f"{name}: {reason}" for name, reason in zip(hall.each, reasons, strict=True) if reason is not None]
        states = {name: z["state"] for name, served in hall.each.items() if (z := served.readiness.state())}
        return readiness_response("; ".join(wrong) or None, {"states": states} if states else {})

    reads: dict[str, Handler] = {"/healthz": HEALTHY, "/readyz": ready, "/campaigns": list_handler(hall)}
    stated = [Operation("GET", path, handler, read_operation()) for path, handler in reads.items()]
    stated.append(Operation("GET", "/metrics", metrics_, read_operation(kind="text/plain")))
    unless = None if tokens is None else OPEN
    return application("evenhand", lambda: stated, {"/": page_}, missing=elsewhere, lifespan=lifespan, unless=unless)


def list_handler(hall: Hall) -> Handler:
    """Return the handler that lists the campaigns that a token is for."""

    async def campaigns(request: Request) -> Response:
        return JSONResponse([{"name": name, "path": _inside(name)} for name in _own(hall, request)])

    return campaigns


class Inside:
    """Middleware that hands requests below `/campaigns/NAME/` to the app of the campaign.

    Args:
        app: the app for everything else.
        each: the apps of the campaigns; they have no such middleware, so that no path leads from one into another.
    """

    def __init__(self, app: ASGIApp, each: Mapping[str, ASGIApp]) -> None:
        self._app, self._each = app, each

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = below(scope) if scope["type"] == "http" else ""
        if not path.startswith(INSIDE):
            await self._app(scope, receive, send)
            return
        name, mark, _ = path[len(INSIDE) :].partition("/")
        answer = self._each.get(name)
        if answer is None:
            names = [z for z in self._each if token_in(scope).is_for(z)]
            await error_response(Refusal(404, f"no such campaign; {_list(names)}"))(scope, receive, send)
        elif not mark:  # links of its page are relative to the address with a slash
            await RedirectResponse(f"{quote(name, safe='')}/")(scope, receive, send)
        else:
            root = scope.get("root_path", "")
            await answer({**scope, "root_path": f"{root}{INSIDE}{name}"}, receive, send)


class Shortcut:
    """Middleware that hands requests that change something straight to their handlers, past layers that take time.

    Args:
        app: the app, with the same handlers; requests for it were accepted by a `Guard`.
        handlers: by place.
    """

    def __init__(self, app: ASGIApp, handlers: Mapping[Place, Handler]) -> None:
        self._app, self._handlers = app, handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        asked = scope["type"] == "http" and scope["method"] == "POST"
        handler = self._handlers.get(scope[PLACE]) if asked else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await handler(Request(scope, receive))
        except Exception as error:
            response = error_response(error)
        await response(scope, receive, send)


def _guarded_routes(tokens: Tokens | None) -> Sequence[str]:
    """Return the guarded routes that clients may ask for."""
    return () if tokens is None else GUARDED


def _own(hall: Hall, request: Request) -> list[str]:
    """Return the campaigns that a token is for."""
    token = token_of(request)
    return [name for name in hall.each if token.is_for(name)]


def _list(names: Sequence[str]) -> str:
    """Say which names a client may take."""
    return f"NAME is one of {', '.join(map(repr, names))}" if names else "the token is for none of them"


def _inside(name: str) -> str:
    """Return the address of a campaign, relative to that of the server."""
    return f"{INSIDE[1:]}{quote(name, safe='')}/"


def one(hall: Hall, name: str, known: bool, tokens: Tokens | None, lifespan: Lifespan | None = None) -> Starlette:
    """Make the app of one campaign, without its guard.

    Args:
        hall: the campaigns of the server.
        name: of the campaign.
        known: whether clients may state known outcomes that declare no range.
        tokens: those of which requests carry one, None if they need none.
        lifespan: what begins and ends with the app where it is that of the server, None where it is below its name.
    """
    served = hall.each[name]
    campaign = served.campaign

    async def page_(_: Request) -> Response:
        return HTMLResponse(await served.read(lambda: page(campaign, served.stand(), served.tally)))

    async def decision_(request: Request) -> Response:
        found = await find_decision(served, request)
        try:
            why = await served.explain(lambda: campaign.why(found["id"]))
        except Conflict:  # another policy made it
            why = None
        return HTMLResponse(decision_page(name, found, why))

    pages: dict[str, Handler] = {"/": page_, "/decisions/{number}/page": decision_}
    if lifespan is not None:
        pages["/campaigns"] = list_handler(hall)
    allowed = _guarded_routes(tokens)
    return application(
        f"evenhand: {name}",
        lambda: operations(hall, name, known, tokens, allowed=allowed),
        pages,
        lifespan=lifespan,
        unless=None if tokens is None else () if lifespan is None else OPEN,
    )


def app(
    campaigns: Campaign | Sequence[Campaign],
    *,
    token: str | Tokens | None = None,
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    known: bool = False,
    backups: Path | None = None,
) -> Starlette:
    """Build the app that serves campaigns over HTTP, for `serve` or any ASGI server.

    One campaign has its routes at `/`, and at `/campaigns/NAME/` as well. Several have them at `/campaigns/NAME/` only.

    Args:
        campaigns: the campaign, or several with names that differ; they may have other workers.
        token: the token that every request must carry as `Authorization: Bearer TOKEN`, of at least 16 characters; or
            the tokens of which it must carry one; None accepts all requests.
        hosts: the names, without ports, by which clients call the server.
        known: whether clients may state known outcomes that declare no range, between the least and the greatest of
            their declared values. They spend the budgets by it.
        backups: the folder of the backups, whose age is a metric.

    Raises:
        InvalidInput: the token is too short, or it or a name cannot be in a header; or names of campaigns are the
            same, or cannot be in an address.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> made = app(Campaign.open("memory://", "shop", eh.uniform(shop, 1)), token="a long enough secret")
    >>> {"/", "/decide", "/docs"} <= {route.path for route in made.routes}
    True
    """
    tokens = token if token is None or isinstance(token, Tokens) else Tokens(single=token)
    if isinstance(hosts, str) or not hosts or not all(isinstance(z, str) and z for z in hosts):
        raise InvalidInput("hosts", "names, such as ('localhost',)", value_text(hosts))
    hall = Hall(_check_names(campaigns), backups)
    names = list(hall.each)
    each = {name: one(hall, name, known, tokens) for name in names}
    if len(names) == 1:
        made = one(hall, names[0], known, tokens, hall.lifespan)
    else:
        made = several(hall, tokens, hall.lifespan)
    made.add_middleware(Inside, each=each)
    stated = (
        (name, z) for name in names for z in operations(hall, name, known, tokens, allowed=_guarded_routes(tokens))
    )
    handlers = {Place(name, z.path): z.handler for name, z in stated if z.method == "POST"}
    made.add_middleware(Shortcut, handlers=handlers)
    made.add_middleware(Guard, tokens=tokens, hosts=hosts, places=Places(names), requests=hall.requests)
    return made


def _check_names(campaigns: Campaign | Sequence[Campaign]) -> Sequence[Campaign]:
    """Return the campaigns of a server, whose names were checked."""
    if isinstance(campaigns, Campaign):
        return [campaigns]
    check_names([campaign.name for campaign in campaigns])
    return campaigns


def check_names(names: Sequence[str]) -> None:
    """Refuse names of campaigns that one server cannot have.

    Raises:
        InvalidInput: there is none, two are the same, or one cannot be in an address.
    """
    if not names:
        raise InvalidInput("campaigns", "at least one", "none")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("campaigns", "names that differ", f"{value_text(name)} twice")
        if len(names) > 1 and ("/" in name or name in (".", "..")):
            raise InvalidInput("campaigns", "names without '/', as they are part of addresses", value_text(name))
