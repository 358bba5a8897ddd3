"""What every app here has: static files, a sign of life, and errors as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.core.errors import EvenhandError
from evenhand.live.dashboard.reference import reference
from evenhand.live.http.answers import Refused, error_response
from evenhand.live.http.places import STATIC
from evenhand.version import __version__

Handler = Callable[[Request], Awaitable[Response]]
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


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


def bare(title: str, lifespan: Lifespan | None) -> FastAPI:
    """Make an app without routes, whose errors are JSON."""
    # FastAPI's documentation pages load scripts from other sites.
    made = FastAPI(
        title=title, version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False
    )
    add_errors(made)
    made.add_exception_handler(HTTPException, not_found)
    made.add_middleware(Caught)
    return made


def add_errors(made: FastAPI) -> None:
    """Make an app answer errors of campaigns as JSON, with the same statuses as `evenhand serve`."""
    for kind in (Refused, EvenhandError):
        made.add_exception_handler(kind, lambda _, error: error_response(error))


def add_probes(made: APIRouter, ready: Handler) -> None:
    """Add HEAD to the probes, as some ask."""
    for path, handler in {"/healthz": HEALTHY, "/readyz": ready}.items():
        made.add_api_route(path, handler, methods=["HEAD"], include_in_schema=False)


def add_pages(made: FastAPI, pages: dict[str, Handler]) -> None:
    """Add pages, among them the one that documents the app, and the files that they load."""

    async def docs(request: Request) -> Response:
        return HTMLResponse(reference(made.openapi(), str(request.base_url)))

    for path, handler in {**pages, "/docs": docs, **{path: _file(path) for path in STATIC}}.items():
        made.add_api_route(path, handler, methods=["GET"], include_in_schema=False)


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


def not_found(_: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    return error_response(Refused(error.status_code, error.detail.lower()), dict(error.headers or {}))
