"""Requests that pause, resume, end or change a campaign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from evenhand.live.changing import Ask
from evenhand.live.events import Kind
from evenhand.live.http.asked import Verb, fields
from evenhand.live.http.schemas import one_or_many
from evenhand.live.life import AFTERS, FATES, SETTINGS
from evenhand.live.verbs import Verbs


def change(body: object, kind: Kind, settings: tuple[str, ...] = ()) -> Verb:
    """Parse a request to change the life of the campaign.

    Raises:
        InvalidInput: a field is missing, unknown, or out of its range.
    """
    asked = fields(body, ("by", "why"), settings)
    ask = Ask(kind, asked["by"], asked["why"], *(asked.get(name) for name in settings))

    def verb(verbs: Verbs) -> dict[str, Any]:
        return {"new": verbs.change(ask), "life": verbs.worker.fold.life.to_dict()}

    return verb


MAKERS: dict[str, Callable[[object], Verb]] = {
    "/pause": partial(change, kind="paused"),
    "/resume": partial(change, kind="resumed"),
    "/end": partial(change, kind="ended"),
    "/change": partial(change, kind="changed", settings=SETTINGS),
}

_TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
_WHO = {"by": _TEXT, "why": _TEXT}
_NEW = {
    "patience": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e9},
    "on_expiry": {"enum": list(FATES)},
    "after": {"enum": list(AFTERS)},
}
SCHEMAS: dict[str, dict[str, Any]] = {
    path: one_or_many(("by", "why"), {**_WHO, **(_NEW if path == "/change" else {})}) for path in MAKERS
}
