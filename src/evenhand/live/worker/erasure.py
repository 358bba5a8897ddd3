"""Erasures by request and by a rule: keys and cases are taken out of a log, whose hashes, sums and outcomes stay."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.signatures import has, value_text
from evenhand.live.fold.cases import context_of
from evenhand.live.fold.changes import check_line
from evenhand.live.fold.fold import DAY
from evenhand.live.fold.snapshots import dump
from evenhand.live.log.events import Busy, Conflict, Event, Unknown, encode, is_erased, micros_of, read, time_text
from evenhand.live.log.life import Life
from evenhand.live.log.segments import segments
from evenhand.live.log.store import (
    CleanableStore,
    DigestRemoval,
    DigestTransaction,
    ErasureTransaction,
    ReadOnlyStore,
    Transaction,
)
from evenhand.live.stores._segments import Segments, clean_segments
from evenhand.live.worker.requests import ASKEW, check_text
from evenhand.live.worker.worker import Worker
from evenhand.policy.corrections import forget
from evenhand.problem.unit import unit_number

MOST = 2000  # keys, or units, or decisions of a transaction, since others wait for its lock
TURN = 200  # decisions of a transaction where a date or a rule says which, since others wait for its lock
_TIMES = 5  # times that corrections are learned which came meanwhile, before an erasure does not wait for them
MANY = 2_000  # decisions that are due by a rule, which do not wait until a day is over
_LOOKS = DAY // 144  # from one look at what is due by a rule to the next
_RETRY = DAY // 1440  # until the next try, where the store was busy
_COUNTED = 10_000  # decisions that a status of a rule counts at most


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """The result of an erasure; `print` shows it as a sentence."""

    decisions: tuple[int, ...]  # the ids of those that were erased
    waiting: int = 0  # decisions before the date that still wait for their outcomes, and were left
    moved: tuple[str, ...] = ()  # segments with older decisions, which are erased with these files

    def __str__(self) -> str:
        found = [f"{len(self.decisions):,} erased"]
        if self.waiting:
            found.append(f"{self.waiting:,} left, as they wait for their outcomes")
        if self.moved:
            found.append(f"those in {', '.join(self.moved)} are erased by deleting these files")
        return "; ".join(found)


class UnknownUnits(Unknown):
    """Units that have no decision in the log.

    Args:
        message: of the error.
        units: their names.
    """

    def __init__(self, message: str, units: Collection[str]) -> None:
        super().__init__(message)
        self.units = units


def erase(
    worker: Worker,
    keys: Collection[str],
    units: Collection[str | int],
    before: date | None,
    note: dict[str, str],
    folder: Path | None = None,
) -> Erasure:
    """Erase decisions and clean the files of the store, and segments in a folder; see `Campaign.erase`."""
    for field, value in note.items():
        if value != "":
            check_line(field, value)
    refuse_several(keys, units, before)
    found = Erasure(decisions=())
    if before is not None:
        found = _by_date(worker, before, note)
    elif keys:
        found = _by_key(worker, keys, note, folder)
    elif units:
        found = _by_unit(worker, units, note, folder)
    scrub(worker)
    if folder is not None:  # what an earlier try had not reached as well
        clean_segments(worker.store, worker.name, folder)
    return found


def refuse_several(keys: Collection[str] | None, units: Collection[str | int] | None, before: date | None) -> None:
    """Refuse an erasure of which two are stated.

    Raises:
        InvalidInput: a date beside keys or units, or units beside keys.
    """
    if before is not None and (keys or units):
        raise InvalidInput("before", "none beside keys or units", before.isoformat())
    if keys and units:
        raise InvalidInput("units", "none beside keys", value_text(units))


def time_of(text: str) -> datetime:
    """Read the date or the time before which decisions are erased.

    Raises:
        InvalidInput: it is none.

    >>> time_of("2026-01-31")
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        message = "a date such as 2026-01-31, or a time such as 2026-01-31T12:00"
        raise InvalidInput("before", message, value_text(text)) from None


def _by_key(worker: Worker, keys: Collection[str], note: dict[str, Any], folder: Path | None) -> Erasure:
    """Erase the decisions of some keys, all or none; see `Campaign.erase`."""
    if isinstance(keys, str) or not keys or len(set(keys)) > MOST:
        raise InvalidInput("keys", f"a list of 1 to {MOST:,} keys", value_text(keys))
    for key in keys:
        check_text("keys", key)

    def chosen(log: Transaction) -> list[Event]:
        found, moved = [], list[str]()
        for key in dict.fromkeys(keys):
            event = log.find(key)
            event = event if event is None or event.kind == "decided" else None
            old = log.moved([key]) if event is None and isinstance(log, DigestTransaction) else {}
            number = old.get(key, 0) if event is None else event.seq
            if 0 < number <= worker.fold.sealed:
                event = _in_segment(worker, number, key, folder)
                moved.append(key)
            if event is None:
                message = f"no decision with the key {value_text(key)} in campaign {worker.name!r}"
                raise Unknown(f"{message}{worker.fold.ids.note}")
            if event.seq in worker.fold.pending:
                message = "waits for its outcome: observe or cancel it first"
                raise Conflict(f"decision {worker.fold.ids.of(event.seq)}, of the key {value_text(key)}, {message}")
            found.append(event)
        if moved and isinstance(log, DigestRemoval):
            log.drop(moved)
        return sorted(found)

    return Erasure(decisions=erase_some(worker, chosen, note))


def _by_unit(worker: Worker, units: Collection[str | int], note: dict[str, Any], folder: Path | None) -> Erasure:
    """Erase all decisions of some units, none if one of them waits; see `Campaign.erase`."""
    unit = worker.policy.problem.unit
    if unit is None:
        raise InvalidInput("units", "none, as the problem names no unit of its cases", value_text(units))
    if isinstance(units, str) or len(units) > MOST:
        raise InvalidInput("units", f"a list of at most {MOST:,} names", value_text(units))
    for z in units:
        unit_number("units", z)
    found, last = {str(z): list[Event]() for z in units}, 0

    def read_on(events: Iterable[Event]) -> None:
        nonlocal last
        for event in events:
            last = event.seq
            if event.kind == "decided" and not is_erased(event):
                found.get(str(read(event)["case"].get(unit.name, "")), []).append(event)

    def chosen(log: Transaction) -> list[Event]:
        if worker.fold.sealed and folder is None:
            place = segments(worker.store, worker.name)[0]
            raise Conflict(f"some decisions are in {place}: state the folder of the segments (--segments FOLDER)")
        read_on(log.tail(last))
        unknown = [z for z, events in found.items() if not events]
        if unknown:
            told = f"no decision of the {unit.name} {', '.join(map(value_text, unknown))} in campaign {worker.name!r}"
            raise UnknownUnits(told, unknown)
        left = sorted(z for events in found.values() for z in events if _has_case(log, z))
        for event in left:
            if event.seq in worker.fold.pending:
                told = f"of the {unit.name} {value_text(read(event)['case'][unit.name])}, waits for its outcome"
                raise Conflict(f"decision {worker.fold.ids.of(event.seq)}, {told}: observe or cancel it first")
        moved = [str(z.key) for z in left[:MOST] if z.seq <= worker.fold.sealed]
        if moved and isinstance(log, DigestRemoval):
            log.drop(moved)
        return left[:MOST]

    reading = worker.store if folder is None else Segments(worker.store, folder)
    try:
        read_on(reading.scan(worker.name))  # while no lock is held, as the log may be long
    finally:
        if isinstance(reading, Segments):
            reading.close_files()
    erased = some = erase_some(worker, chosen, note)
    while len(some) == MOST:
        some = erase_some(worker, chosen, note)
        erased += some
    return Erasure(decisions=erased)


def _has_case(log: Transaction, event: Event) -> bool:
    """Return whether a decision still has its case, in the store or in a segment."""
    now = log.get(event.seq)
    if now is not None:
        return not is_erased(now)
    return isinstance(log, DigestTransaction) and str(event.key) in log.moved([str(event.key)])


def _in_segment(worker: Worker, number: int, key: str, folder: Path | None) -> Event | None:
    """Return a decision that was moved to a segment, with its case; None if it was erased there.

    Raises:
        Conflict: the folder of the segments is not given.
        MissingFile, Damaged: the segment is not there, or is another file.
    """
    if folder is None:
        place = next(z for z in segments(worker.store, worker.name) if number <= z.last)
        message = "state the folder of the segments (--segments FOLDER), or delete that file with all others in it"
        raise Conflict(f"decision {worker.fold.ids.of(number)}, of the key {value_text(key)}, is in {place}: {message}")
    reading = Segments(worker.store, folder)
    try:
        event = next(iter(reading.about(worker.name, number)))
    finally:
        reading.close_files()
    return None if is_erased(event) else event


def _by_date(worker: Worker, before: date, note: dict[str, Any]) -> Erasure:
    """Erase the decisions before a date, some at a time; see `Campaign.erase`."""
    if not isinstance(before, date):
        raise InvalidInput("before", "a date", value_text(before))
    at = before if isinstance(before, datetime) else datetime.combine(before, time())
    end = micros_of(at)
    if end > worker.one(lambda log: log.now) + ASKEW:  # a mistyped date would erase all
        raise InvalidInput(
            "before", "a date or time in the past, as a later one would erase everything", before.isoformat()
        )
    each = segments(worker.store, worker.name)
    moved, sealed = tuple(z.file for z in each if z.began < end), each[-1].last if each else 0
    left = (event for event in worker.store.scan(worker.name, sealed, ("decided",)) if not is_erased(event))
    first = next(left, None)  # found while no lock is held, as many may have been erased before
    if first is None:
        return Erasure(decisions=(), moved=moved)
    after, waiting = first.seq - 1, 0

    def old(log: Transaction) -> Iterator[Event]:
        nonlocal after, waiting
        back = max((event.seq for event in worker.store.scan(worker.name, kinds=("clock",))), default=0)
        for event in log.tail(after):
            if event.at >= end and event.seq > back:  # times go back at an event `clock` alone
                return
            after = event.seq
            if event.seq <= worker.fold.sealed:  # moved meanwhile, though it stays in the store as well
                continue
            if event.at < end and event.kind == "decided" and not is_erased(event):
                if event.seq in worker.fold.pending:
                    waiting += 1
                else:
                    yield event

    found: tuple[int, ...] = ()
    while some := erase_some(worker, lambda log: list(islice(old(log), TURN)), note):
        found += some
    return Erasure(decisions=found, waiting=waiting, moved=moved)


def scrub(worker: Worker) -> None:
    """Clean the files of the store of erased data.

    Raises:
        Busy: another process reads the store; what was erased is not in the log, but in pages that nothing reads.
    """
    if isinstance(worker.store, CleanableStore):
        worker.store.scrub()


def erase_some(worker: Worker, chosen: Callable[[Transaction], list[Event]], note: dict[str, Any]) -> tuple[int, ...]:
    """Erase the decisions that are chosen in a transaction; returns their numbers. `note` is for the event.

    Corrections are learned first, while others decide; so are those that came meanwhile.
    """

    def verb(log: Transaction, waits: bool) -> tuple[int, ...] | None:
        if not isinstance(log, ErasureTransaction):
            raise InvalidInput("store", "one that can erase", type(worker.store).__name__)
        if waits and worker.fold.reach:
            return None
        events = chosen(log)
        if events:
            _erase(worker, log, log, events, note)
        return tuple(worker.fold.ids.of(event.seq) for event in events)

    found, times = None, 0
    while found is None:
        worker.relearn()
        times += 1
        found = worker.one(partial(verb, waits=times < _TIMES))
    return found


def _erase(
    worker: Worker, log: Transaction, store: ErasureTransaction, events: list[Event], note: dict[str, Any]
) -> None:
    """Append the event of an erasure, which keeps the state after it, and take the personal parts of others away."""
    clock, encoder = worker.policy.problem.clock, worker.encoder
    bodies = [read(event) for event in events]
    contexts = [context_of(encoder, clock, body, event.at) for body, event in zip(bodies, events, strict=True)]
    plays = [np.array(body["a"], np.int64) for body in bodies]
    *_, last = None, *(e for e in worker.store.scan(worker.name, kinds=("erased",)))
    refs = [event.seq for event in events]
    worker.fold.begin(log.last + 1)
    forget(worker.policy, worker.fold.state, list(zip(contexts, plays, strict=True)))
    body = {**note, "decisions": refs, "before": None if last is None else last.seq}
    log.append("erased", encode(body), own=encode({"state": b64encode(dump(worker.fold)).decode()}))
    store.erase(refs if last is None else [*refs, last.seq])


BY = "retention"


@dataclass(frozen=True)
class Run:
    """The latest turn of a run, by the log.

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
        if life.retention == "off" or has(worker.store, ReadOnlyStore):
            return False
        now, life = worker.one(lambda log: (log.now, worker.fold.life))
        if life.retention == "off" or now < self._look:
            return False
        self._look = now + _LOOKS
        try:
            more = self._turn(now, life)
        except Busy:
            self._look = now + _RETRY
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
            note = {
                "by": BY,
                "why": f"event {life.rule}: {life.retention_text}",
                "until": until,
                "from": start,
                "more": more,
            }
            erase_some(worker, partial(_erasable, worker, refs), note)
            self._unclean, self._reached = True, (until, refs[-1])
            if more:
                return True
        if self._unclean:
            scrub(worker)
            self._unclean = False
        return False

    def _last(self) -> Run | None:
        """Return the latest turn by the log, None if nothing was erased by a rule."""
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
            if event.at < until and not is_erased(event):
                yield event

    def _due(self, last: Run | None, until: int) -> Iterator[Event]:
        """Yield the old decisions that do not wait, after those that this worker erased in the same run."""
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
        old = list(islice(self._old(last, until), _COUNTED))
        due = [event for event in old if event.seq not in worker.fold.pending]
        stated = next(iter(worker.store.scan(worker.name, life.rule - 1)))
        then = now if last is None or last.more else max(last.until + DAY + now - until, now)
        return {
            "days": life.retention,
            "rule": life.rule,
            "last": None if last is None else time_text(last.at),
            "next": time_text(then),
            "due": len(due),
            "waiting": len(old) - len(due),
            "late": (now - max(min(event.at for event in due) + now - until, stated.at)) / DAY if due else 0.0,
            "trouble": self.trouble,
        }


def _erasable(worker: Worker, refs: list[int], log: Transaction) -> list[Event]:
    """Return the given decisions that have cases, do not wait and are in no segment, as a transaction sees them."""
    events = (log.get(ref) for ref in refs if ref > worker.fold.sealed)
    return [e for e in events if e is not None and not is_erased(e) and e.seq not in worker.fold.pending]
