"""POST /clock: a log goes by the clock again, after that was wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.live.campaign import Campaign
from evenhand.live.clocks import go_by_clock
from evenhand.live.events import read
from evenhand.live.http.singles import Single, signature

_TIME = {"type": "integer"}


def reset(campaign: Campaign, asked: Mapping[str, str]) -> dict[str, Any]:
    """Let a log go by the clock, and return where it was; nothing is written where it does so already."""
    event, is_new = go_by_clock(campaign.store, campaign.name, why=asked["why"], who=asked["by"])
    was = int(read(event)["from"]) if is_new else event.at
    return {"new": is_new, "number": event.seq, "at": event.at, "from": was}


CLOCK = Single(
    route="/clock",
    fields=signature(needed=True),
    call=reset,
    answer={
        "type": "object",
        "properties": {
            "new": {"type": "boolean", "description": "false if the log already follows the clock"},
            "number": {"type": "integer", "minimum": 1, "description": "of the event, or else of the last one"},
            "at": {**_TIME, "description": "of this event, in microseconds since 1970"},
            "from": {**_TIME, "description": "where the log was, in microseconds since 1970"},
        },
        "required": ["new", "number", "at", "from"],
    },
    example={"by": "anna", "why": "the clock was an hour ahead after the move"},
)
