"""Segments of a log: files with its old events, which a seal moved out of its store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from evenhand.core.errors import InvalidInput
from evenhand.live.log.events import Conflict, Event, Kind, time_text
from evenhand.live.log.store import Readable, Whole

KEEPERS: tuple[Kind, ...] = ("erased", "sealed")  # which keep a state
LINK = "before"  # the mark of the snapshot of a segment that has the number and the hash of the event before it


class Segment(NamedTuple):
    """The file to which a seal moved events, as the event `sealed` describes it."""

    number: int  # of the event
    at: int  # when, in microseconds since 1970
    first: int
    last: int
    began: int  # the time of the first one
    hash: bytes  # of the last one
    decisions: int
    file: str
    by: str
    why: str

    @staticmethod
    def of(event: Event) -> Segment:
        """Read an event `sealed`."""
        body = json.loads(event.body)
        hashed, texts = bytes.fromhex(body["hash"]), (body["file"], body["by"], body["why"])
        return Segment(
            event.seq, event.at, body["first"], body["last"], body["began"], hashed, body["decisions"], *texts
        )

    def __str__(self) -> str:
        return f"segment {self.file} (events {self.first} to {self.last}, sealed by {self.by} on {time_text(self.at)})"


def segments(store: Readable, campaign: str) -> list[Segment]:
    """Return the segments of a log, in order."""
    return [Segment.of(event) for event in store.scan(campaign, kinds=("sealed",))]


def is_segment(store: Readable, campaign: str) -> bool:
    """Return whether a file is not the store of a campaign, but one of its segments."""
    return store.snapshot(campaign, LINK) is not None


def refuse_segment(field: str, store: Readable) -> None:
    """Refuse a segment where the store of a campaign, or its backup, is expected.

    Raises:
        InvalidInput: it is one.
    """
    for name in store.campaigns():
        if is_segment(store, name):
            told = f"a segment of {name!r}, which is only read, and with its store (--segments FOLDER)"
            raise InvalidInput(field, "the log of a campaign", told)


def unread(store: Readable, campaign: str) -> list[Segment]:
    """Return the segments whose events a store does not give."""
    return [] if isinstance(store, Whole) and store.whole else segments(store, campaign)


def every(store: Readable, campaign: str) -> Iterator[Event]:
    """Iterate over all events of a log.

    Raises:
        Conflict: some of them are in segments that are not given; the error names the first.
    """
    for segment in unread(store, campaign)[:1]:
        told = f"the log of {campaign!r} begins in {segment}"
        raise Conflict(f"{told}: state the folder of its segments, such as --segments FOLDER")
    yield from store.scan(campaign)


def moved_error(store: Readable, campaign: str, number: int, named: str) -> Conflict:
    """Make the error for a decision that a seal moved out of the store.

    Args:
        store: of the log.
        campaign: its name.
        number: of the event of the decision.
        named: the decision, as who asks named it.
    """
    found = next(z for z in segments(store, campaign) if number <= z.last)
    return Conflict(f"{named} is in {found}: it is not decided again, and its outcome is neither entered nor corrected")
