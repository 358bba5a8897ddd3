"""Events of a campaign: the source of truth, from which all other state is folded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from evenhand.core.errors import EvenhandError

Kind = Literal[
    "opened",
    "decided",
    "added",
    "observed",
    "revised",
    "cancelled",
    "expired",
    "switched",
    "refolded",
    "upgraded",
    "erased",
    "paused",
    "resumed",
    "ended",
    "changed",
    "clock",
    "leased",
    "restored",
    "sealed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SALT = 16  # bytes
AGAIN = "; send the request again, with the same key"  # the end of a message of Busy, where that helps
ABOUT: tuple[Kind, ...] = ("added", "observed", "revised", "cancelled", "expired")  # a decision, which they name


class Event(NamedTuple):
    """One line of the log of a campaign.

    Its personal part, which is the key of a decision and `own`, can be erased: the hash does not cover it, but `seal`,
    which is the hash of the personal part and of a salt.
    """

    seq: int  # 1, 2, ... within the campaign
    kind: Kind
    ref: int | None  # the `seq` of the decision that it is about
    key: str | None  # of a decision, chosen by the client
    at: int  # microseconds since 1970, by the clock of the store, never going back
    body: str  # JSON, kept as it was encoded
    hash: bytes = b""  # SHA-256 of the event and of the hash before it; empty where it was not appended yet
    own: str | None = None  # JSON that continues the body; None where there is none, or it was erased
    salt: bytes | None = None  # destroyed with what it hides
    seal: bytes = b""  # SHA-256 of the salt and the personal part; empty where there never was one


class Conflict(EvenhandError):
    """A request contradicts an earlier one."""


class Unknown(EvenhandError, LookupError):
    """The campaign or decision does not exist."""


class Busy(EvenhandError, OSError):
    """The store cannot be written at present. Nothing is lost: repeat the request with the same key."""


class Leap(Busy):
    """The clock is far ahead of the log: it has to be set right, or accepted."""


class Damaged(EvenhandError):
    """A log or its file was damaged or changed: retrying does not help, but restoring a backup does."""


def time_text(at: int) -> str:
    """Write a time of the log in words.

    >>> time_text(1_767_600_000_000_000)
    '2026-01-05 08:00:00 UTC'
    """
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def micros_of(time: datetime) -> int:
    """Return a time in microseconds since 1970, in UTC if it has no zone.

    >>> micros_of(datetime(2026, 1, 5, 8))
    1767600000000000
    """
    return int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1e6)


def encode(body: dict[str, Any]) -> str:
    """Encode a body as JSON; equal bodies give equal texts.

    >>> encode({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return "".join(_WRITE(body, 0))


def _plain(value: object) -> object:
    """Convert a NumPy scalar, as in data frames, to a Python number, and a mapping to a dictionary."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
# As `JSONEncoder.encode`, which makes this anew for every text; nothing is kept between two texts.
_WRITE: Callable[[object, int], Iterable[str]] = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, _plain, json.encoder.encode_basestring_ascii, None, ":", ",", True, False, False
)


def read(event: Event) -> dict[str, Any]:
    """Decode the body of an event, with its personal part if it has one.

    Raises:
        Damaged: the body is not JSON object.
    """
    found = _object(event.seq, event.body)
    if event.own is not None:
        found |= _object(event.seq, event.own)
    return found


def _object(seq: int, text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any]
        found, end = _SCAN(text, 0)  # `loads` looks for spaces around, which takes as long as to read an outcome
        if end != len(text):
            found = _parse(seq, text)
    except (TypeError, ValueError, RecursionError, StopIteration):
        found = _parse(seq, text)
    if type(found) is not dict:
        raise Damaged(f"event {seq}: its body is not a JSON object")
    return found


def _parse(seq: int, text: str) -> dict[str, Any]:
    """Read any text of JSON."""
    try:
        found: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise Damaged(f"event {seq}: its body is not JSON") from error
    return found


def is_erased(event: Event) -> bool:
    """Return whether the personal part of an event was erased."""
    return event.seal != b"" and event.own is None


def seal_of(salt: bytes, key: str | None, own: str) -> bytes:
    """Return the seal of a personal part, which reveals nothing about it once the salt is destroyed.

    >>> seal_of(b"salt", "a", "{}").hex()[:16]
    'd9d849f4edaf0472'
    """
    return hashlib.sha256(salt + f"{_key_text(key)}\n{own}".encode("utf-8", "surrogatepass")).digest()


def digest(event: Event, before: bytes) -> bytes:
    """Return the SHA-256 of an event and of the hash before it, which is empty for the first event.

    >>> digest(Event(1, "opened", None, None, 0, "{}"), b"").hex()[:16]
    'e4ab9c9de2596054'
    """
    stated = _key_text(event.key) if event.seal == b"" else f"= {event.seal.hex()}"
    text = f"{event.seq} {event.at} {event.kind} {event.ref} {stated}\n{event.body}"
    return hashlib.sha256(before + text.encode("utf-8", "surrogatepass")).digest()


def _key_text(key: str | None) -> str:
    return "-" if key is None else f"{len(key)} {key}"


def next_event(
    last: int,
    before: bytes,
    at: int,
    kind: Kind,
    body: str,
    ref: int | None = None,
    key: str | None = None,
    own: str | None = None,
) -> Event:
    """Make the event that follows event `last`, whose hash is `before`; a key and `own` are sealed with a new salt.

    Raises:
        Conflict: the kind is unknown; or an outcome is about no decision, or another event is about one; or another
            event than a decision, or what adds to its outcome, has a key.

    >>> next_event(0, b"", 0, "opened", "{}").hash == digest(Event(1, "opened", None, None, 0, "{}"), b"")
    True
    """
    if (
        kind not in KINDS
        or (key is not None and kind not in ("decided", "added"))
        or (kind in ABOUT) != (ref is not None)
    ):
        raise Conflict(f"an event of kind {kind!r} about {ref}, with key {key!r}")
    salt, seal = None, b""
    if key is not None or own is not None:
        salt, own = os.urandom(_SALT), own or "{}"
        seal = seal_of(salt, key, own)
    event = Event(last + 1, kind, ref, key, at, body, b"", own, salt, seal)
    return Event(*event[:6], digest(event, before), own, salt, seal)  # `_replace` takes longer than the hash
