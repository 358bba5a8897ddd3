"""POST /erase: cases and keys out of the log and the files of the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.live.campaign import Campaign
from evenhand.live.erasing import Erasure, time_of
from evenhand.live.events import Unknown
from evenhand.live.http.schemas import KEY
from evenhand.live.http.singles import Field, Single, signature, text
from evenhand.live.verbs import Verbs, check_text

MOST = 1000  # keys of a request


def _keys(name: str, value: object) -> list[str]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST:
        raise InvalidInput(name, f"a list of 1 to {MOST:,} keys", shown(value))
    for i, key in enumerate(value):
        check_text(f"{name}[{i}]", key)
    return value


def _before(name: str, value: object) -> datetime:
    return time_of(text(name, value))


def erase(campaign: Campaign, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Erase decisions by their keys or before a date, or clean the files where neither is stated.

    A key without a decision may be one that an earlier try erased, whose answer got lost: nobody can tell, as the key
    is gone. So such keys are named in the answer, and the others are erased.
    """
    signed = {name: asked[name] for name in ("by", "why")}
    if "before" in asked:
        if "keys" in asked:
            raise InvalidInput("before", "none beside keys", asked["before"].isoformat())
        return _told(campaign.erase(before=asked["before"], **signed), [])
    keys = list(dict.fromkeys(asked.get("keys", ())))
    while True:
        is_there = dict(zip(keys, campaign.many([_finding(key) for key in keys]), strict=True))
        try:
            found = campaign.erase([key for key in keys if is_there[key]], **signed)
        except Unknown:  # another request erased one of them meanwhile
            continue
        return _told(found, [key for key in keys if not is_there[key]])


def _finding(key: str) -> Callable[[Verbs], bool]:
    return lambda verbs: verbs.has(key)


def _told(found: Erasure, unknown: list[str]) -> dict[str, Any]:
    return {
        "erased": len(found.decisions),
        "waiting": found.waiting,
        "unsealed": found.unsealed,
        "unknown": unknown,
        "segments": list(found.moved),
    }


_COUNT = {"type": "integer", "minimum": 0}
ERASE = Single(
    route="/erase",
    fields={
        "keys": Field(
            _keys,
            {
                "type": "array",
                "items": KEY,
                "minItems": 1,
                "maxItems": MOST,
                "description": "of decisions, all of which are erased, or none if one waits for its outcome",
            },
            needed=False,
        ),
        "before": Field(
            _before,
            {
                "type": "string",
                "anyOf": [{"format": "date"}, {"format": "date-time"}],
                "description": "all decisions before a date or time, in UTC if it has no zone",
            },
            needed=False,
        ),
        **signature(needed=True),
    },
    call=erase,
    answer={
        "type": "object",
        "properties": {
            "erased": {**_COUNT, "description": "decisions"},
            "waiting": {**_COUNT, "description": "decisions before the date that wait for outcomes, and were left"},
            "unsealed": {
                **_COUNT,
                "description": "decisions before the date that an earlier version wrote, and were left",
            },
            "unknown": {
                "type": "array",
                "items": KEY,
                "description": "keys without a decision, such as those that were erased before",
            },
            "segments": {
                "type": "array",
                "items": {"type": "string"},
                "description": "files with decisions before the date, which are erased by deleting these",
            },
        },
        "required": ["erased", "waiting", "unsealed", "unknown", "segments"],
    },
    example={"keys": ["order-17"], "by": "support", "why": "case 1204"},
    more={"not": {"required": ["keys", "before"]}},
    guarded="erases decisions",
)
