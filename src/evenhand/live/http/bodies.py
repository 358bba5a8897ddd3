"""Bodies of requests: JSON within limits, so that every body is cheap to read and unambiguous."""

from __future__ import annotations

import asyncio
import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from starlette.types import Receive, Scope

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.http.answers import Refused

BYTES = 1_000_000  # of a body
SECONDS = 30.0  # until the body is complete
_LATE = "evenhand: the body is late"  # says who cancelled the task
DEEPEST = 32
LONGEST = 1_000  # characters of a text
MOST = 1_000  # values of one entry, and entries of a list

_Place: TypeAlias = "tuple[_Place, str | int] | None"  # of a value, by that of the object or list that it is in

# Texts, also unterminated ones, and anything but brackets; possessive, so that no body causes backtracking.
_PLAIN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+(?:"|\Z)|[^\[\]{}"]++', re.DOTALL)
_STEPS = {ord(z): step for z, step in (("[", 1), ("{", 1), ("]", -1), ("}", -1))}


async def receive(scope: Scope, more: Receive) -> bytes:
    """Receive the body of a request.

    Args:
        scope: the request.
        more: what ASGI calls `receive`.

    Raises:
        Refused: the body is too long, which is noticed before it is complete, or takes too much time.
    """
    stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if stated.isdigit() and int(stated[:20]) > BYTES:
        raise Refused(413, f"the body is longer than {BYTES:,} bytes")
    task = asyncio.current_task()
    assert task is not None
    late = task.get_loop().call_later(SECONDS, task.cancel, _LATE)  # a quarter of what `asyncio.timeout` takes
    try:
        return await _whole(more)
    except asyncio.CancelledError as error:
        if error.args == (_LATE,) and task.uncancel() == 0:
            raise Refused(408, f"the body did not arrive within {SECONDS:g} seconds") from None
        raise
    finally:
        late.cancel()


async def _whole(more: Receive) -> bytes:
    """Receive all parts of a body."""
    parts, size = [], 0
    while True:
        message = await more()
        if message["type"] == "http.disconnect":  # nobody will read the response
            raise Refused(400, "the client left before the body arrived")
        part = message.get("body", b"")
        size += len(part)
        if size > BYTES:
            raise Refused(413, f"the body is longer than {BYTES:,} bytes")
        parts.append(part)
        if not message.get("more_body", False):
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
    # One for each name, and one more for each name or value that begins with a colon; `plain` counts exactly.
    most = body.count(b'":') - body.count(b'\\":')
    if body.lstrip()[:1] == b"{" and most > 3 * MOST:  # a list has its entries counted one by one
        raise InvalidInput("body", f"at most {MOST:,} fields", "more")
    try:
        found = _READER.decode(_text_of(body))
    except InvalidInput:
        raise
    except ValueError as error:  # also for broken UTF-8 and numbers with thousands of digits
        raise Refused(400, f"the body is not JSON: {str(error)[:100]}") from None
    if isinstance(found, list) and len(found) > MOST:
        raise InvalidInput("body", f"a list of at most {MOST:,} entries", f"{len(found):,}")
    return found


def deep(body: bytes) -> bool:
    """Return whether brackets outside texts are nested deeper than 32; checked before a parser recurses.

    >>> deep(b"[" * 33), deep(b"[]" * 33), deep(b'"' + b"[" * 33 + b'"')
    (True, False, False)
    """
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return False
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
    rest: list[tuple[_Place, object]] = [(None, value)]
    seen = 0
    while rest:
        place, value = rest.pop()
        inner: list[tuple[_Place, object]] = []
        if isinstance(value, dict):
            seen += len(value)
            for name, z in value.items():
                if len(name) > LONGEST or not name.isascii():
                    _text(_field(place) or "body", name, "names")
                if not _is_fine(z):
                    inner.append(((place, name), z))
        elif isinstance(value, list):
            seen += len(value)
            inner += [((place, i), z) for i, z in enumerate(value[: MOST + 1]) if not _is_fine(z)]
        else:
            _single(_field(place) or "body", value)
            continue
        if seen > MOST:
            raise InvalidInput("body", f"at most {MOST:,} fields", "more")
        rest += inner


def _is_fine(value: object) -> bool:
    """Return whether a value is what most are, of which nothing is refused."""
    kind = type(value)
    if kind is str:
        return len(value) <= LONGEST and value.isascii()  # type: ignore[arg-type, attr-defined]
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if kind is int:
        return -(2**63) <= value < 2**63  # type: ignore[operator]
    return value is None or kind is bool


def _field(place: _Place) -> str:
    """Return the name of a place in a body.

    >>> _field(((None, "outcomes"), 0))
    'outcomes[0]'
    """
    if place is None:
        return ""
    outer, name = _field(place[0]), place[1]
    return f"{outer}[{name}]" if isinstance(name, int) else f"{outer}.{name}" if outer else name


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
        raise InvalidInput(field.encode(errors="replace").decode(), f"{what} without unpaired surrogates", shown(text))


def _infinite(text: str) -> NoReturn:
    raise InvalidInput("body", "finite numbers", text)


def _text_of(body: bytes) -> str:
    text = body.decode()
    if text.startswith("\ufeff"):
        raise ValueError("Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)")
    return text


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


_READER = json.JSONDecoder(parse_constant=_infinite, object_pairs_hook=_object)
