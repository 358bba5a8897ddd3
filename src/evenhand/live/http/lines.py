"""Lines of the server's log: one for each request, as JSON or text, and other messages."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, NamedTuple

from evenhand.core.validate import one_of

Kind = Literal["json", "text"]
REQUESTS = logging.getLogger("evenhand.live.requests")
_CURRENT: ContextVar[str | None] = ContextVar("evenhand.request", default=None)
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,100}")
_LOGGERS = ("evenhand.live", "uvicorn")


class Line(NamedTuple):
    """The log line of a request, without anything about its case, and without its token."""

    request: str
    token: str | None  # the name of its token, None if it was refused
    method: str
    route: str
    status: int
    ms: float
    campaign: str | None


class Numbers:
    """Numbers requests: by the client's number if that is valid, or else by a number of this process.

    >>> numbers = Numbers()
    >>> numbers.of([b"order-17"]), numbers.of([b"a b"]) == numbers.of([]), len(numbers.of([b"x" * 101])) < 20
    ('order-17', False, True)
    """

    def __init__(self) -> None:
        self._process, self._count = secrets.token_hex(4), count(1)

    def of(self, stated: Sequence[bytes]) -> str:
        """Number a request; until it is answered, log lines state this number."""
        sane = len(stated) == 1 and _SANE.fullmatch(stated[0]) is not None
        found = stated[0].decode() if sane else f"{self._process}-{next(self._count)}"
        _CURRENT.set(found)
        return found


def write(line: Line) -> None:
    """Write the line of a request, if anybody reads it."""
    if REQUESTS.isEnabledFor(logging.INFO):
        text = f"{line.request} {line.token or '-'} {line.method} {line.route} {line.status} {line.ms:.1f} ms"
        REQUESTS.info("%s %s", text, line.campaign or "-", extra={"line": line})


class _Json(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, Any] = {"at": _moment(record), "level": record.levelname.lower()}
        line = getattr(record, "line", None)
        if line is None:
            found |= {"request": _CURRENT.get(), "text": record.getMessage()}
        else:
            found |= line._asdict() | {"ms": round(line.ms, 3)}
        if record.exc_info:
            found["trace"] = self.formatException(record.exc_info)
        return json.dumps(found)


class _Text(logging.Formatter):
    """A record as text, whose first line begins with the time."""

    def format(self, record: logging.LogRecord) -> str:
        if not hasattr(record, "line"):
            record = logging.makeLogRecord(record.__dict__)
            record.msg, record.args = f"{_CURRENT.get() or '-'} {record.levelname}: {record.getMessage()}", ()
        return f"{_moment(record)} {super().format(record)}"


@contextmanager
def to_stderr(kind: Kind | None) -> Iterator[None]:
    """Write all records of the server to stderr meanwhile, a line per request as well; None leaves logs as they are.

    Raises:
        InvalidInput: the kind is none of "json" and "text".
    """
    if kind is None:
        yield
        return
    one_of("log", kind, ("json", "text"))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if kind == "json" else _Text())
    each = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger.level, logger.propagate) for logger in each]
    for logger, level in zip(each, (logging.INFO, logging.WARNING), strict=True):
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (level, propagate) in zip(each, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


def is_written() -> bool:
    """Return whether records of the server are written, by `to_stderr` or by handlers of the program."""
    return any(logging.getLogger(name).handlers for name in _LOGGERS)


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
