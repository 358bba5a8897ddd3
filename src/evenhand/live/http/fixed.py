"""What every app here has: static files, a sign of life, and errors as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.resources import files
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.core.errors import EvenhandError
from evenhand.live.dashboard.reference import reference
from evenhand.live.http.answers import Refused, error_response
from evenhand.live.http.places import STATIC
from evenhand.live.http.schemas import Schema, description

Handler = Callable[[Request], Awaitable[Response]]
ErrorHandler = Callable[[Request, Exception], Response | Awaitable[Response]]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


class Operation(NamedTuple):
    """What an app answers, and describes."""

    method: str
    path: str
    handler: Handler
    described: Schema  # in OpenAPI


class Caught:
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
    return error_response(Refused(error.status_code, error.detail.lower()), dict(error.headers or {}))


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

    async def openapi(_: Request) -> Response:
        return JSONResponse(described())

    async def docs(request: Request) -> Response:
        return HTMLResponse(reference(described(), str(request.base_url)))

    own = {**pages, "/docs": docs, "/openapi.json": openapi, **{path: _file(path) for path in STATIC}}
    routes = [Route(z.path, z.handler, methods=[z.method]) for z in operations()]
    made = Starlette(
        routes=[*routes, *(Route(path, handler) for path, handler in own.items())],
        middleware=[Middleware(Caught)],
        exception_handlers={HTTPException: missing},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False
    add_errors(made)
    return made


def add_errors(made: Starlette) -> None:
    """Make an app answer errors of campaigns as JSON, with the same statuses as `evenhand serve`."""
    for kind in (Refused, EvenhandError):
        made.add_exception_handler(kind, lambda _, error: error_response(error))


def readiness_response(reason: str | None, standing: Mapping[str, object]) -> Response:
    """Answer a probe: that the server is ready, or why it is not, with further facts."""
    if reason is None:
        return JSONResponse({"ready": True, **standing})
    return JSONResponse({"ready": False, "reason": reason}, 503, headers={"Retry-After": "1"})


async def _healthy(_: Request) -> Response:
    return JSONResponse({"ok": True})


HEALTHY: Handler = _healthy  # answers that the server runs


def _file(path: str) -> Handler:
    """Make the handler that serves a static file of the page."""
    text = files("evenhand.live.dashboard").joinpath(path[1:]).read_text("utf-8")

    async def handle(_: Request) -> Response:
        return Response(text, media_type=STATIC[path])

    return handle
