"""Answers of an app: operations, responses as JSON, and the status of each error."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from evenhand.core.errors import CannotErase, CannotSave, EvenhandError, InvalidInput
from evenhand.live.log.events import Busy, Conflict, Damaged, Unknown
from evenhand.live.log.ids import Lost
from evenhand.live.log.life import Ended, Paused

LOG = logging.getLogger("evenhand.live.http")
BUSY = "the store cannot be written at present: send the request again, with the same key"
DAMAGED = "the store is damaged: asking again is of no use until it is restored"
# The request of an error may have been committed all the same.
FAILED = "an error of the server, recorded in its log; send the request again, with the same key"

_STATUSES: dict[type[EvenhandError], int] = {
    Conflict: 409,
    CannotErase: 409,  # the policy is not made for it
    CannotSave: 409,
    Unknown: 404,
    Paused: 503,
    Ended: 410,
}


Handler = Callable[[Request], Awaitable[Response]]


class Operation(NamedTuple):
    """An operation of an app, with its description."""

    method: str
    path: str
    handler: Handler
    described: dict[str, Any]  # in OpenAPI


class Refusal(Exception):
    """A request that is refused before it reaches the campaign.

    Args:
        status: the status of the response.
        text: the message to the client.
        headers: more headers of the response.
    """

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, text)
        self.status, self.text, self.headers = status, text, dict(headers or {})


def describe(error: Exception) -> dict[str, Any]:
    """Describe an error for a response: its text, its status, and the wrong field if there is one, or all of several.

    Messages of the database go to the log of the server and not into the response, since they name files.

    >>> describe(InvalidInput("key", "a text", "5"))
    {'error': 'key: expected a text, got 5', 'status': 422, 'field': 'key'}
    """
    if isinstance(error, Refusal):
        return {"error": error.text, "status": error.status}
    if isinstance(error, InvalidInput):
        found = {"error": str(error), "status": 422, "field": error.field}
        return found | ({"fields": [error.field, *(z.field for z in error.others)]} if error.others else {})
    if isinstance(error, Busy):
        LOG.warning("busy: %s", error)
        return {"error": BUSY, "status": 503}
    if isinstance(error, Damaged):
        LOG.error("damaged: %s", error)
        return {"error": DAMAGED, "status": 500}
    for kind, status in _STATUSES.items():
        if isinstance(error, kind):
            found = {"error": str(error), "status": status}
            return found | ({"state": "lost"} if isinstance(error, Lost) else {})
    LOG.error("a request failed", exc_info=error)
    return {"error": FAILED, "status": 500}


def error_response(error: Exception, headers: dict[str, str] | None = None) -> JSONResponse:
    """Make the response to a failed request."""
    body = describe(error)
    status: int = body.pop("status")
    more = (
        {"Retry-After": "30" if isinstance(error, Paused) else "1"}
        if status == 503
        else {"WWW-Authenticate": 'Basic realm="evenhand", charset="UTF-8"'}
        if status == 401
        else error.headers
        if isinstance(error, Refusal)
        else {}
    )
    return JSONResponse(body, status, headers={**more, **(headers or {})})


def entry(found: dict[str, Any] | EvenhandError) -> dict[str, Any]:
    """Return an entry of a list of results: the result, or the description of its error."""
    return describe(found) if isinstance(found, EvenhandError) else found


def readiness_response(reason: str | None, standing: Mapping[str, object]) -> Response:
    """Answer a probe: that the server is ready, or why it is not, with further facts."""
    if reason is None:
        return JSONResponse({"ready": True, **standing})
    return JSONResponse({"ready": False, "reason": reason}, 503, headers={"Retry-After": "1"})


async def _healthy(_: Request) -> Response:
    return JSONResponse({"ok": True})


HEALTHY: Handler = _healthy  # answers that the server runs
