"""Retention as a rule of the campaign: cases and keys are erased when they are so many days old."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.signatures import has
from evenhand.live.log.events import Busy, Event, is_erased, read, written
from evenhand.live.log.life import Life
from evenhand.live.log.store import OnlyRead, Transaction
from evenhand.live.worker.erasure import erase_some, scrub
from evenhand.live.worker.worker import Worker

DAY = 86_400 * 10**6  # microseconds
TURN = 200  # decisions of a transaction, since others wait for its lock
MANY = 2_000  # decisions that are due, which do not wait until a day is over
_LOOKS = DAY // 144  # from one look at what is due to the next
_AGAIN = DAY // 1440  # until the next try, where the store was busy
_MOST = 10_000  # decisions that a status counts
BY = "retention"


@dataclass(frozen=True)
class Run:
    """What the log says of the latest turn of a run.

    Args:
        at: when, in microseconds since 1970.
        until: decisions before this time were to be erased.
        start: the first decision that the next turn looks at.
        more: whether more was left of the run.
    """

    at: int
    until: int
    start: int
    more: bool


class Retention:
    """Carries out the rule of a campaign, a little at each call, and says how it stands.

    A run erases all that is due, in turns of 200 decisions. There is one a day, or as soon as 2,000 are due. All that a
    worker has to know is in the log, so a run that was killed is continued by whichever worker looks next.

    Args:
        worker: of the campaign.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker, self._look, self.trouble = worker, 0, ""
        self._reached = 0, 0  # the time of the latest run, and the last decision that was erased
        self._seen = 0  # the latest erasure that was read
        self._found: Run | None = None
        self._unclean = False  # whether the files of the store are still to be cleaned

    def go_on(self) -> bool:
        """Erase some of what is due, if a run is; returns whether there is more of it.

        Raises:
            CannotErase, CannotSave: no case can be taken out of the state of the policy, or it cannot be kept.
            Busy: the store cannot be written, or its files not be cleaned now; the next call tries again.
        """
        worker, life = self._worker, self._worker.fold.life
        if life.retention == "off" or has(worker.store, OnlyRead):
            return False
        now, life = worker.one(lambda log: (log.now, worker.fold.life))
        if life.retention == "off" or now < self._look:
            return False
        self._look = now + _LOOKS
        try:
            more = self._turn(now, life)
        except Busy:
            self._look = now + _AGAIN
            raise
        except EvenhandError as error:
            self.trouble = f"{type(error).__name__}: {error}"
            raise
        self._look = now if more else self._look
        self.trouble = ""
        return more

    def _turn(self, now: int, life: Life) -> bool:
        worker, last = self._worker, self._last()
        until = now - int(float(life.retention) * DAY)
        if last is not None and last.more:
            until = min(until, last.until)
        due = self._due(last, until)
        some = list(islice(due, TURN + 1))
        enough = last is None or last.more or until >= last.until + DAY
        if not enough and len(some) > TURN:
            enough = len(some) + sum(1 for _ in islice(due, MANY)) >= MANY
        if some and enough:
            refs, more = [event.seq for event in some[:TURN]], len(some) > TURN
            start = min([some[-1].seq if more else refs[-1] + 1, *self._left(last, until, refs[-1])])
            note = {"by": BY, "why": f"event {life.rule}: {life.lasting}", "until": until, "from": start, "more": more}
            erase_some(worker, partial(_still, worker, refs), note)
            self._unclean, self._reached = True, (until, refs[-1])
            if more:
                return True
        if self._unclean:
            scrub(worker)
            self._unclean = False
        return False

    def _last(self) -> Run | None:
        """Return what the log says of the latest turn, None if nothing was erased by a rule."""
        for event in self._worker.store.scan(self._worker.name, self._seen, ("erased",)):
            body, self._seen = read(event._replace(own=None)), event.seq
            if "until" in body:
                self._found = Run(event.at, body["until"], body["from"], body["more"])
        return self._found

    def _old(self, last: Run | None, until: int) -> Iterator[Event]:
        """Yield the decisions before a time that have cases, as far as the last run did not see them.

        What a segment has is erased there, if at all, also where the store has it as well.
        """
        worker, start = self._worker, 0 if last is None else last.start
        start = max(start, worker.fold.sealed + 1)
        back = max((event.seq for event in worker.store.scan(worker.name, kinds=("clock",))), default=0)
        for event in worker.store.scan(worker.name, start - 1, kinds=("decided",)):
            if event.at >= until and event.seq > back:  # times go back at an event `clock` alone
                return
            if event.at < until and event.seal != b"" and not is_erased(event):
                yield event

    def _due(self, last: Run | None, until: int) -> Iterator[Event]:
        """Yield those that do not wait for their outcomes, after those that this worker erased in the same run."""
        if last is not None and last.more and self._reached[0] == until:
            last = replace(last, start=max(last.start, self._reached[1]))
        return (event for event in self._old(last, until) if event.seq not in self._worker.fold.pending)

    def _left(self, last: Run | None, until: int, end: int) -> Iterator[int]:
        """Yield the first decision up to another one that waits, which a later run looks at."""
        old = takewhile(lambda event: event.seq < end, self._old(last, until))
        return islice((event.seq for event in old if event.seq in self._worker.fold.pending), 1)

    def status(self) -> dict[str, Any] | None:
        """Return for JSON how the rule stands, None without one.

        `due` and `waiting` count decisions that are older than the rule says, at most 10,000; those that wait stay
        until their outcomes come. `late` is since how many days the oldest one is due.
        """
        worker = self._worker
        now, life = worker.one(lambda log: (log.now, worker.fold.life))
        if life.retention == "off":
            return None
        last, until = self._last(), now - int(float(life.retention) * DAY)
        old = list(islice(self._old(last, until), _MOST))
        due = [event for event in old if event.seq not in worker.fold.pending]
        stated = next(iter(worker.store.scan(worker.name, life.rule - 1)))
        then = now if last is None or last.more else max(last.until + DAY + now - until, now)
        return {
            "days": life.retention,
            "rule": life.rule,
            "last": None if last is None else written(last.at),
            "next": written(then),
            "due": len(due),
            "waiting": len(old) - len(due),
            "late": (now - max(min(event.at for event in due) + now - until, stated.at)) / DAY if due else 0.0,
            "trouble": self.trouble,
        }


def _still(worker: Worker, refs: list[int], log: Transaction) -> list[Event]:
    """Return those decisions that have cases, do not wait and are in no segment, as a transaction sees them."""
    events = (log.get(ref) for ref in refs if ref > worker.fold.sealed)
    return [e for e in events if e is not None and not is_erased(e) and e.seq not in worker.fold.pending]
