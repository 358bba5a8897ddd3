"""Events of a campaign: the source of truth, from which all other state is folded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError

Kind = Literal["opened", "decided", "observed", "revised", "cancelled", "expired", "switched", "refolded"]
KINDS: tuple[Kind, ...] = (
    "opened",
    "decided",
    "observed",
    "revised",
    "cancelled",
    "expired",
    "switched",
    "refolded",
)
ABOUT: tuple[Kind, ...] = ("observed", "revised", "cancelled", "expired")  # a decision, which they name


class Event(NamedTuple):
    """One line of the log of a campaign."""

    seq: int  # 1, 2, ... within the campaign
    kind: Kind
    ref: int | None  # the `seq` of the decision that it is about
    key: str | None  # of a decision, chosen by the client
    at: int  # microseconds since 1970, by the clock of the store, never going back
    body: str  # JSON, kept as it was encode


class Conflict(EvenhandError):
    """A request contradicts an earlier one."""


class Unknown(EvenhandError, LookupError):
    """There is no such campaign or decision."""


class Busy(EvenhandError, OSError):
    """The store cannot be written at present; nothing is lost: repeat the request with the same key."""


def encode(body: dict[str, Any]) -> str:
    """Encode a body as JSON; equal bodies give equal texts.

    >>> encode({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return _WRITER.encode(body)


def _plain(value: object) -> object:
    """Convert a NumPy scalar, as in data frames, to a Python number, and a mapping to a dictionary."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


_WRITER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=True, default=_plain)


def read(event: Event) -> dict[str, Any]:
    """Decode the body of an event."""
    found: dict[str, Any] = json.loads(event.body)
    return found
