"""Events of a campaign: the only truth, of which everything else is a fold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError

Kind = Literal["opened", "decided", "observed", "revised", "cancelled", "expired", "switched"]
KINDS: tuple[Kind, ...] = ("opened", "decided", "observed", "revised", "cancelled", "expired", "switched")
ABOUT: tuple[Kind, ...] = ("observed", "revised", "cancelled", "expired")  # a decision, which they name


class Event(NamedTuple):
    """One line of the log of a campaign."""

    seq: int  # 1, 2, ... within the campaign
    kind: Kind
    ref: int | None  # the `seq` of the decision that it is about
    key: str | None  # of a decision, by whoever asked for it
    at: int  # microseconds since 1970, by the clock of the store, never going back
    body: str  # JSON, kept as it was written


class Conflict(EvenhandError):
    """What is said contradicts what was said before."""


class Unknown(EvenhandError, LookupError):
    """There is no such campaign or decision."""


class Busy(EvenhandError, OSError):
    """The store cannot be written at present; nothing is lost: say the same again, with the same key."""


def written(body: dict[str, Any]) -> str:
    """The JSON of a body, in which equal bodies are equal texts.

    >>> written({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return _WRITER.encode(body)


def _plain(value: object) -> object:
    """A number of NumPy, as data frames have them, as one of Python; a mapping as a dictionary."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


_WRITER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=True, default=_plain)


def read(event: Event) -> dict[str, Any]:
    """The body of an event."""
    found: dict[str, Any] = json.loads(event.body)
    return found
