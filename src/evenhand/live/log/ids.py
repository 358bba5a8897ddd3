"""Ids of decisions: numbers of events, told apart from those of copies of the log that were lost.

A restore loses the events after a backup, and later events have their numbers again. So the log notes every restore,
with a random shift: the id of a decision is the number of its event plus the shift of the last restore before it, 0
before the first. An id whose event was lost is therefore never given out again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from evenhand.live.log.events import Event, Unknown, encode, next_event, read, time_text
from evenhand.live.log.proof import Head
from evenhand.live.log.store import Readable

# Shifts are whole millions, so that the end of an id shows the number, and ids have at most 15 digits, which
# spreadsheets and JavaScript keep. Of two lost copies of fewer events each, one in 10^9 would have the same one.
_MILLION, _LEAST, _MOST = 10**6, 10**6, 10**9 - 10**6
_FAR = 10**12  # events that no log has


class Lost(Unknown):
    """The decision is not in the log, which was restored from a backup made before it."""


class Restored(NamedTuple):
    """A restore, which an event of the log notes."""

    number: int  # of the event, which follows the last one of the backup
    at: int  # when, by the clock of who restored, in microseconds since 1970
    since: int  # the time of the last event of the backup, which the event has as well
    shift: int
    by: str
    why: str

    @staticmethod
    def of(event: Event) -> Restored:
        """Read an event `restored`."""
        body = read(event)
        return Restored(event.seq, body["time"], event.at, body["shift"], body["by"], body["why"])

    @property
    def gap(self) -> str:
        """The time since when decisions may be missing, in words."""
        return f"decisions after event {self.number - 1}, of {time_text(self.since)}, may be missing"

    def __str__(self) -> str:
        return f"event {self.number}: restored by {self.by} on {time_text(self.at)} ({self.why}): {self.gap}"


_BEGUN = Restored(1, 0, 0, 0, "", "")


def restore_event(last: Event, by: str, why: str, now: int) -> Event:
    """Make the event that notes a restore.

    Its time is that of the last event, so that a wrong clock of who restores lets nothing expire.

    Args:
        last: the last event of the backup.
        by, why: who restores it, and why.
        now: the time, in microseconds since 1970.
    """
    shift = _MILLION * (_LEAST + secrets.randbelow(_MOST - _LEAST))
    body = {"by": by, "why": why, "time": now, "shift": shift, "head": str(Head(last.seq, last.hash))}
    return next_event(last.seq, last.hash, last.at, "restored", encode(body))


@dataclass(frozen=True)
class Ids:
    """The ids of the decisions of a log.

    Args:
        restores: of the log, in order.
        used: of each budget at each of them, spent or held, where a fold says it.

    >>> ids = Ids((Restored(5, 2, 1, 7_000_000_000_000, "ada", "disk lost"),))
    >>> ids.of(4), ids.of(6), ids.number(4, last=6), ids.number(7_000_000_000_006, last=6)
    (4, 7000000000006, 4, 6)
    >>> ids.number(5, last=6)
    Traceback (most recent call last):
    evenhand.live.log.ids.Lost: decision 5 was lost in the restore of 1970-01-01 00:00:00 UTC: the log has nothing of \
what came after event 4, of 1970-01-01 00:00:00 UTC
    """

    restores: tuple[Restored, ...] = ()
    used: tuple[Mapping[str, float], ...] = ()

    @staticmethod
    def in_log(store: Readable, campaign: str) -> Ids:
        """Read the restores of a log."""
        return Ids(tuple(map(Restored.of, store.scan(campaign, kinds=("restored",)))))

    def apply(self, event: Event, used: Mapping[str, float] | None = None) -> Ids:
        """Return the ids after an event `restored`, which states the use of each budget at that time."""
        return Ids((*self.restores, Restored.of(event)), (*self.used, used or {}))

    def of(self, number: int) -> int:
        """Return the id of the decision of an event."""
        return number + next((z.shift for z in reversed(self.restores) if number >= z.number), 0)

    def number(self, decision: int, last: int) -> int:
        """Return the number of the event that has an id.

        Args:
            decision: the id, of an event that need not be in the log yet.
            last: the last event of the log.

        Raises:
            Lost: the log has no such event, and a copy that was lost may have given out the id.
        """
        if not self.restores:
            return decision
        end = last + _MILLION  # a little later number was given out by nobody yet
        for z in (*reversed(self.restores), _BEGUN):
            if z.number <= decision - z.shift < end:
                return decision - z.shift
            end = z.number
        each = pairwise((_BEGUN, *self.restores))
        lost = next((z for before, z in each if 0 <= decision - before.shift - z.number < _FAR), self.restores[-1])
        after = f"the log has nothing of what came after event {lost.number - 1}, of {time_text(lost.since)}"
        raise Lost(f"decision {decision} was lost in the restore of {time_text(lost.at)}: {after}")

    @property
    def note(self) -> str:
        """The note on a decision that is not in the log: it may be lost; empty where the log was never restored."""
        last = self.restores[-1] if self.restores else None
        return "" if last is None else f"; the log was restored on {time_text(last.at)}, and {last.gap}"
