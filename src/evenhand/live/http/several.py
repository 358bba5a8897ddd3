"""The routes of a server that are about all of its campaigns, and the way to those of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from evenhand.live.dashboard.index import index
from evenhand.live.http.answers import Refused, error_response
from evenhand.live.http.fixed import (
    HEALTHY,
    Handler,
    Lifespan,
    add_pages,
    add_probes,
    bare,
    not_found,
    readiness_response,
)
from evenhand.live.http.guard import token_in, token_of
from evenhand.live.http.metrics import CONTENT
from evenhand.live.http.places import INSIDE, below
from evenhand.live.http.schemas import read_operation
from evenhand.live.http.served import Hall


def several(hall: Hall, lifespan: Lifespan) -> FastAPI:
    """Make the app that is about all campaigns of a server, without its guard."""
    made = bare("evenhand", lifespan)  # its document is for tokens of any campaign, and names none

    async def elsewhere(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException) or error.status_code != 404:
            return not_found(request, error)
        told = (
            f"not found: this server has several campaigns, each below /campaigns/NAME/; {_list(_own(hall, request))}"
        )
        return error_response(Refused(404, told))

    made.add_exception_handler(HTTPException, elsewhere)

    async def page_(request: Request) -> Response:
        found = []
        for name in _own(hall, request):
            served = hall.each[name]
            status = await served.reading(served.stand)
            found.append((_inside(name), name, status, served.tally.life.state))
        return HTMLResponse(index(found))

    async def metrics_(request: Request) -> Response:
        text = await hall.metrics(_own(hall, request))
        return PlainTextResponse(text, media_type=CONTENT)

    async def ready(_: Request) -> Response:
        reasons = await asyncio.gather(*(served.readiness.reason() for served in hall.each.values()))
        wrong = [f"{name}: {reason}" for name, reason in zip(hall.each, reasons, strict=True) if reason is not None]
        states = {name: z["state"] for name, served in hall.each.items() if (z := served.readiness.standing())}
        return readiness_response("; ".join(wrong) or None, {"states": states} if states else {})

    reads: dict[str, Handler] = {"/metrics": metrics_, "/healthz": HEALTHY, "/readyz": ready}
    for path, handler in reads.items():
        answer = PlainTextResponse if path == "/metrics" else JSONResponse
        extra = read_operation()
        made.add_api_route(path, handler, methods=["GET"], name=path[1:], response_class=answer, openapi_extra=extra)
    add_list(made, hall)
    add_probes(made.router, ready)
    add_pages(made, {"/": page_})
    return made


def add_list(made: FastAPI, hall: Hall, in_schema: bool = True) -> None:
    """Add the list of the campaigns that a token is for."""

    async def campaigns(request: Request) -> Response:
        return JSONResponse([{"name": name, "path": _inside(name)} for name in _own(hall, request)])

    made.add_api_route(
        "/campaigns",
        campaigns,
        methods=["GET"],
        name="campaigns",
        include_in_schema=in_schema,
        openapi_extra=read_operation(),
    )


class Inside:
    """Middleware that takes what is below `/campaigns/NAME/` to the app of the campaign.

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
            await error_response(Refused(404, f"no such campaign; {_list(names)}"))(scope, receive, send)
        elif not mark:  # links of its page are relative to the address with a slash
            await RedirectResponse(f"{quote(name, safe='')}/")(scope, receive, send)
        else:
            root = scope.get("root_path", "")
            await answer({**scope, "root_path": f"{root}{INSIDE}{name}"}, receive, send)


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
