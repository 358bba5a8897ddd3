"""Bodies of requests: JSON within limits, so that every body is cheap to read and unambiguous."""

from __future__ import annotations

import asyncio
import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn

from fastapi import Request
from starlette.requests import ClientDisconnect

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.http.answers import Refused

BYTES = 1_000_000  # of a body
SECONDS = 30.0  # until the body is complete
DEEPEST = 32
LONGEST = 1_000  # characters of a text
MOST = 1_000  # values of one entry, and entries of a list

# Texts, also unterminated ones, and anything but brackets; possessive, so that no body causes backtracking.
_PLAIN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+(?:"|\Z)|[^\[\]{}"]++', re.DOTALL)
_STEPS = {ord(z): step for z, step in (("[", 1), ("{", 1), ("]", -1), ("}", -1))}


async def receive(request: Request) -> bytes:
    """Receive the body of a request.

    Raises:
        Refused: the body is too long, which is noticed before it is complete, or takes too much time.
    """
    stated = request.headers.get("content-length", "0")
    if stated.isdigit() and int(stated[:20]) > BYTES:
        raise Refused(413, f"the body is longer than {BYTES:,} bytes")
    parts, size = [], 0
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > BYTES:
                    raise Refused(413, f"the body is longer than {BYTES:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise Refused(408, f"the body was not there within {SECONDS:g} seconds") from None
    except ClientDisconnect:  # nobody will read the response
        raise Refused(400, "the client left before the body was there") from None
    return b"".join(parts)


def parse(body: bytes) -> Any:
    """Parse the JSON of a body: an object, or a list of at most 1,000 entries.

    Args:
        body: UTF-8.

    Raises:
        Refused: the body is not JSON.
        InvalidInput: it is nested too deep, is too long, or has a number that JSON or arrays cannot represent.

    >>> parse(b'{"id": 7}')
    {'id': 7}
    >>> parse(b'{"id": NaN}')
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: body: expected finite numbers, got NaN
    """
    if deep(body):
        raise InvalidInput("body", f"JSON that is nested at most {DEEPEST} deep", "a deeper one")
    try:
        found = json.loads(body.decode(), parse_constant=_infinite, object_pairs_hook=_object)
    except InvalidInput:
        raise
    except ValueError as error:  # also for broken UTF-8 and numbers with thousands of digits
        raise Refused(400, f"the body is no JSON: {str(error)[:100]}") from None
    if isinstance(found, list) and len(found) > MOST:
        raise InvalidInput("body", f"a list of at most {MOST:,} entries", f"{len(found):,}")
    return found


def deep(body: bytes) -> bool:
    """Return whether brackets outside of texts are nested deeper than 32; checked before a parser recurses.

    >>> deep(b"[" * 33), deep(b"[]" * 33), deep(b'"' + b"[" * 33 + b'"')
    (True, False, False)
    """
    brackets = _PLAIN.sub(b"", body)
    return max(accumulate(_STEPS.get(z, 0) for z in brackets), default=0) > DEEPEST


def plain(value: object) -> None:
    """Refuse an entry with too many values, too long texts, or numbers that are not finite or exceed 64 bits.

    Raises:
        InvalidInput: the entry is refused; the error names the field if there is one.

    >>> plain({"case": {"age": 1e999}})
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: case.age: expected a finite number, got inf
    """
    rest: list[tuple[str, object]] = [("", value)]
    seen = 0
    while rest:
        field, value = rest.pop()
        if isinstance(value, dict):
            for name in value:
                _text(field or "body", name, "names")
            inner = [(f"{field}.{name}" if field else name, z) for name, z in value.items()]
        elif isinstance(value, list):
            inner = [(f"{field}[{i}]", z) for i, z in enumerate(value[: MOST + 1])]
        else:
            _single(field or "body", value)
            continue
        seen += len(inner)
        if seen > MOST:
            raise InvalidInput("body", f"at most {MOST:,} fields", "more")
        rest += inner


def _single(field: str, value: object) -> None:
    if isinstance(value, str):
        _text(field, value, "a text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(field, "a finite number", str(value))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(field, "a number of at most 64 bits", shown(value))


def _text(field: str, text: str, what: str) -> None:
    if len(text) > LONGEST:
        raise InvalidInput(field[:LONGEST], f"{what} of at most {LONGEST:,} characters", f"{len(text):,}")
    if not text.isascii() and any("\ud800" <= z <= "\udfff" for z in text):  # UTF-8 cannot encode surrogates
        raise InvalidInput(field.encode(errors="replace").decode(), f"{what} without halves of characters", shown(text))


def _infinite(text: str) -> NoReturn:
    raise InvalidInput("body", "finite numbers", text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object and refuse repeated names: some readers take the first, some the last."""
    if len(pairs) > MOST:
        raise InvalidInput("body", f"at most {MOST:,} fields", f"an object of {len(pairs):,}")
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidInput(shown(twice), "a name that is stated once", "it twice")
    return found
