"""Answers as JSON, and which error has which status."""

from __future__ import annotations

import logging
from typing import Any

from fastapi.responses import JSONResponse

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.live.events import Busy, Conflict, Unknown

LOG = logging.getLogger("evenhand.live.http")
BUSY = "the store cannot be written at present: say the same again, with the same key"
FAILED = "an error of the server, which its log has; say the same again, with the same key"  # it may be committed


class Refused(Exception):
    """A request that is refused before any verb runs.

    Args:
        status: of the response.
        text: for whoever asked.
    """

    def __init__(self, status: int, text: str) -> None:
        """Keep both."""
        super().__init__(status, text)
        self.status, self.text = status, text


def described(error: Exception) -> dict[str, Any]:
    """What is said of an error: its text, its status, and the field that is wrong where there is one.

    What the database said is in the log of the server, and not in the answer: it names files.

    >>> described(InvalidInput("key", "a text", "5"))
    {'error': 'key: expected a text, got 5', 'status': 422, 'field': 'key'}
    """
    if isinstance(error, Refused):
        return {"error": error.text, "status": error.status}
    if isinstance(error, InvalidInput):
        return {"error": str(error), "status": 422, "field": error.field}
    if isinstance(error, Busy):
        LOG.warning("busy: %s", error)
        return {"error": BUSY, "status": 503}
    for kind, status in ((Conflict, 409), (Unknown, 404)):
        if isinstance(error, kind):
            return {"error": str(error), "status": status}
    LOG.error("a request failed", exc_info=error)
    return {"error": FAILED, "status": 500}


def failed(error: Exception, headers: dict[str, str] | None = None) -> JSONResponse:
    """The response to a request that failed."""
    body = described(error)
    status: int = body.pop("status")
    more = (
        {"Retry-After": "1"}
        if status == 503
        else {"WWW-Authenticate": 'Basic realm="evenhand", charset="UTF-8"'}
        if status == 401
        else {}
    )
    return JSONResponse(body, status, headers={**more, **(headers or {})})


def entry(found: dict[str, Any] | EvenhandError) -> dict[str, Any]:
    """What a list of answers has in place of one."""
    return described(found) if isinstance(found, EvenhandError) else found
