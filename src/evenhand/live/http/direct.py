"""Verbs without what FastAPI does for a route, which takes as long as a decision."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from evenhand.live.http.answers import error_response
from evenhand.live.http.bodies import receive as body_of
from evenhand.live.http.guard import PLACE, TOKEN
from evenhand.live.http.places import Place
from evenhand.live.tokens import Token

Answer = Callable[[bytes, Token, Hashable], Awaitable[Any]]  # of a body, by the token and the client of the request
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))  # as in FastAPI


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
