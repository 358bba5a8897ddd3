"""Seals: old events of a running campaign move out of its store, to a file that is checked before they go."""

from __future__ import annotations

import os
import re
import secrets
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import partial
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from evenhand.core.errors import InvalidInput
from evenhand.core.files import replacement
from evenhand.core.signatures import has, value_text
from evenhand.core.texts import count
from evenhand.core.validate import on_disk
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.tally import Tally
from evenhand.live.fold.changes import check_line
from evenhand.live.fold.fold import StaleFold
from evenhand.live.fold.phases import adopts_books
from evenhand.live.fold.snapshots import dump
from evenhand.live.log.events import Busy, Damaged, Event, encode, is_erased, micros_of, read, time_text
from evenhand.live.log.segments import KEEPERS, Segment, segments
from evenhand.live.log.store import CleanableStore, ReadOnlyStore, SealTransaction, Store, Transaction
from evenhand.live.stores._segments import write_segment
from evenhand.live.stores.opening import connect_to_read
from evenhand.live.worker.worker import Worker

_DAY = 86_400 * 10**6  # microseconds
_LONGEST = 100  # bytes of the name of a campaign in that of a file
_TIMES = 5  # times that a segment is written, where erasures, corrections or switches come meanwhile


@dataclass(frozen=True, kw_only=True)
class Seal:
    """The result of a seal; `print` shows it as a sentence."""

    segment: Segment | None  # None if nothing was there to move
    first: Event  # the first event after the segments, which the store has
    stays: int = 0  # decisions in the segment that the store has as well, as they wait or something came about them

    def __str__(self) -> str:
        if self.segment is None:
            told = f"nothing to move: the first event that no segment has is {self.first.seq}"
            told += f", of {time_text(self.first.at)}; --before DATE or EVENT says up to where"
            return f"{told} (what a policy learned again at a switch moves together with the switch)"
        stays = f"; {count(self.stays, 'decision')} of them stay in the store as well" if self.stays else ""
        z = self.segment
        return f"events {z.first} to {z.last} moved to {z.file}, {count(z.decisions, 'decision')}{stays}"


class _Plan(NamedTuple):
    """The plan of a seal, made before its transaction."""

    path: Path
    first: int
    last: Event
    before: bytes  # the hash of the event before the first
    erased: int
    known: int  # corrections
    parts: dict[str, str]  # the state, the tally
    began: int  # the time of the first event
    events: int
    decisions: int


def seal(
    campaign: CampaignView, worker: Worker, folder: str | Path, before: date | int | None, by: str, why: str
) -> Seal:
    """Move old events to a segment; see `Campaign.seal`."""
    for field, value in (("by", by), ("why", why)):
        check_line(field, value)
    place = Path(folder)
    with on_disk("folder", "a folder in one that is there"):
        place.mkdir(mode=0o700, exist_ok=True)
    if has(worker.store, ReadOnlyStore) or not worker.one(lambda log: isinstance(log, SealTransaction)):
        raise InvalidInput("store", "one out of which events can be moved", type(worker.store).__name__)
    for _ in range(_TIMES):
        worker.relearn()
        try:
            plan = _prepare(campaign, worker, place, before)
        except StaleFold:  # somebody was erased meanwhile
            continue
        if isinstance(plan, Event):
            if worker.look(lambda fold: fold.sealed):
                _clean(worker)  # which the last seal may not have done
            return Seal(segment=None, first=plan)
        try:
            with _draft(worker.store, worker.name, plan) as draft:
                found = worker.one(partial(_append_seal, worker, plan, draft, {"by": by, "why": why}))
        except Damaged:
            if worker.look(lambda fold: fold.sealed) < plan.first:
                raise
            continue  # another process moved the events meanwhile
        if found is not None:
            return _finish(worker, found)
    raise Busy("decisions were erased, corrected or learned by another policy meanwhile: run the command again")


def _finish(worker: Worker, segment: Segment) -> Seal:
    """Clean the files of the store after a seal, and count the decisions that stay."""
    worker.keep()  # so that no process folds from the end of the segment
    _clean(worker)
    decided = worker.store.scan(worker.name, segment.first - 1, ("decided",))
    stays = sum(1 for _ in takewhile(lambda event: event.seq <= segment.last, decided))
    return Seal(segment=segment, first=next(worker.store.scan(worker.name, segment.last)), stays=stays)


def _clean(worker: Worker) -> None:
    """Let the files of the store give back the space of moved events.

    Raises:
        Busy: another program reads them.
    """
    try:
        if isinstance(worker.store, CleanableStore):
            worker.store.scrub()
    except Busy as error:
        raise Busy("the seal stands; the file gives its space back later: run `evenhand erase STORE`") from error


def _short(name: str) -> str:
    """Return a name as files have it, cut at a whole escape, with a digest, where file systems would refuse it."""
    found = quote(name, safe=" ")
    if len(found) <= _LONGEST:
        return found
    return f"{re.sub('%.?$', '', found[:_LONGEST])}-{sha256(name.encode()).hexdigest()[:8]}"


def _prepare(campaign: CampaignView, worker: Worker, folder: Path, before: date | int | None) -> _Plan | Event:
    """Prepare a seal without a lock; returns the first event that would stay if nothing can be moved."""
    store, name = worker.store, worker.name
    first, erased, known = worker.look(lambda fold: (fold.sealed + 1, fold.erased, fold.known))
    end, last, began, events, decisions = _end(worker, first - 1, before), None, 0, 0, 0
    for event in takewhile(lambda event: event.seq <= end, store.scan(name, first - 1)):
        last, events, decisions = event, events + 1, decisions + (event.kind == "decided")
        began = began or event.at
    if last is None or not decisions:
        return next(store.scan(name, first - 1))
    tally = Tally(campaign, last.seq)
    tally.update()
    parts = tally.part(last)
    if erased <= last.seq:  # a later erasure keeps a later state, and none before it can be found
        parts["state"] = b64encode(dump(worker.folding.at(last.seq))).decode()
    before_it = ([b"", *(z.hash for z in segments(store, name))])[-1]
    path = folder / f"{_short(name)}-{first}-{last.seq}.segment"
    return _Plan(path, first, last, before_it, erased, known, parts, began, events, decisions)


def _end(worker: Worker, after: int, before: date | int | None) -> int:
    """Return the last event to move: decisions at one state go together, as an audit begins with a state.

    What a policy learned when it adopted the books moves with that switch alone, as it is learned again where the log
    is folded up to there.
    """
    last = after
    for event in _old(worker, after, before):
        last = event.seq
    if _is_needed(worker, last):
        return after
    then = next(worker.store.scan(worker.name, last), None)
    as_of: int = read(then).get("as_of", last) if then is not None and then.kind == "decided" else last
    return min(last, as_of)


def _is_needed(worker: Worker, last: int) -> bool:
    """Return whether a policy after an event adopted the books, and learned from events up to that one."""
    return any(map(adopts_books, worker.store.scan(worker.name, last, ("switched",))))


def _old(worker: Worker, after: int, before: date | int | None) -> Iterator[Event]:
    """Iterate over the events after a number that are before an event or a time, by default a day ago.

    Before an event `clock`, by which times go back, others may lie between them.
    """
    store, name, now = worker.store, worker.name, worker.one(lambda log: log.now)
    events = store.scan(name, after)
    if isinstance(before, int):
        return takewhile(lambda event: event.seq < before, events)
    back = max((event.seq for event in store.scan(name, kinds=("clock",))), default=0)  # where times go back
    if before is None:
        end = now - _DAY
    elif isinstance(before, date):
        at = before if isinstance(before, datetime) else datetime.combine(before, time())
        end = micros_of(at)
    else:
        raise InvalidInput("before", "a date, a time, or the number of an event", value_text(before))
    return (event for event in takewhile(lambda z: z.at < end or z.seq <= back, events) if event.at < end)


def _refuse_other(name: str, plan: _Plan) -> None:
    """Refuse to replace a file with other events, as one of a log that was lost; one with the same is of a try before.

    Raises:
        InvalidInput: there is one.
    """
    if plan.path.exists():
        with closing(connect_to_read(f"sqlite:///{plan.path}")) as there:
            found = next(there.scan(name, plan.last.seq - 1), None)
        if found is None or found.hash != plan.last.hash:
            raise InvalidInput("folder", f"one without another {plan.path.name}", f"{plan.path}, of another log")


@contextmanager
def _draft(store: Store, name: str, plan: _Plan) -> Iterator[Path]:
    """Yield a draft of the segment, which was checked; it is removed unless it was renamed.

    Raises:
        InvalidInput: the folder has another file of that name, or cannot be written to.
        Damaged, Busy: the file is not what the store has.
    """
    _refuse_other(name, plan)
    draft = plan.path.with_name(f".{plan.path.name}.{secrets.token_hex(4)}")
    with on_disk("folder", "one whose files can be written"), replacement(draft, 0o600) as part:
        events = takewhile(lambda event: event.seq <= plan.last.seq, store.scan(name, plan.first - 1))
        head = write_segment(part, name, plan.first - 1, plan.before, map(_stateless, events)).head
        if head is None or (head.seq, head.hash) != (plan.last.seq, plan.last.hash):
            raise Busy(f"{plan.path.name} is not what the store has: run the command again")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _name(draft: Path, path: Path) -> None:
    """Give a draft its name, for good once this returns."""
    with on_disk("folder", "one whose files can be written"):
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _stateless(event: Event) -> Event:
    """Leave the states that events keep in the store, where a later event may take them away."""
    return event._replace(own=None, salt=None) if event.kind in KEEPERS else event


def _append_seal(worker: Worker, plan: _Plan, draft: Path, note: dict[str, str], log: Transaction) -> Segment | None:
    """Append the event of a seal, and remove what it moved; None if the segment has to be written again.

    The segment gets its name while the lock is held, so that none that the log has is replaced by an earlier copy.
    """
    fold, last, store = worker.fold, plan.last, worker.store
    same = (fold.sealed + 1, fold.erased, fold.known) == (plan.first, plan.erased, plan.known)
    if not same or 0 < fold.reach <= last.seq or _is_needed(worker, last.seq):
        return None
    assert isinstance(log, SealTransaction)
    emptied = [event.seq for event in store.scan(worker.name, kinds=("sealed",)) if not is_erased(event)]
    _name(draft, plan.path)
    body = {**note, "first": plan.first, "last": last.seq, "hash": last.hash.hex()}
    body |= {"began": plan.began, "events": plan.events, "decisions": plan.decisions, "file": plan.path.name}
    body |= {"state": "state" in plan.parts, "before": emptied}
    event = worker.enter(log, "sealed", encode(body), own=encode(plan.parts))
    log.unload(last.seq, [ref for ref in fold.pending if ref <= last.seq], emptied)
    return Segment.of(event)
