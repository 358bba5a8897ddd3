"""Recomputes the decisions of a log, in stretches from one kept state to the next that processes share."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.progress import Work
from evenhand.core.records import Context, Decision
from evenhand.live.fold.cases import Teacher
from evenhand.live.fold.first_event import Terms
from evenhand.live.fold.fold import Fold, Survey
from evenhand.live.fold.loader import Keeper, Loader, fits, keeper
from evenhand.live.fold.one_pass import Folds
from evenhand.live.fold.phases import Phase, Phases, begins
from evenhand.live.fold.runs import AsOf
from evenhand.live.fold.snapshots import dump, largest_difference, last_correction
from evenhand.live.log.events import Conflict, Damaged, Event, is_erased, read
from evenhand.live.log.packing import chances, pack
from evenhand.live.log.segments import unread
from evenhand.live.log.store import Store
from evenhand.live.stores.opening import Place, connect_to_read
from evenhand.policy.state import PolicyState
from evenhand.run.parallel import Watch, check_jobs, run_chunks

_EXACT = ("a", "n", "f", "r", "late")  # plays and flags; the other entries of a decision are real numbers
_STEP = 256  # events from one look at Ctrl-C to the next


@dataclass(frozen=True)
class AuditInput:
    """The input of an audit: the log, and the policies that decided.

    Args:
        store: the store, or its URL, which processes can share; or both of the store and of its segments.
        campaign: its name.
        phases: the policies and the encoders of their cases.
        teacher: what the policy learned before the first decision.
        tolerance: the largest accepted difference of a real number, relative to 1 + its size.
    """

    store: str | Store | Place
    campaign: str
    phases: Sequence[Phase]
    teacher: Teacher | None
    tolerance: float

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # a process opens the store itself

    @cached_property
    def is_shared(self) -> bool:
        """Whether processes can share the store."""
        return isinstance(self.store.store if isinstance(self.store, Place) else self.store, str)

    @cached_property
    def place(self) -> Store:
        if isinstance(self.store, Place):
            return self.store.open()
        if isinstance(self.store, str) or not hasattr(self.store, "scan"):
            return connect_to_read(self.store)
        return self.store

    @cached_property
    def first(self) -> Event:
        found = next(iter(self.place.scan(self.campaign)), None)
        if found is None:
            raise Damaged(f"no event of campaign {self.campaign!r} can be read")
        return found

    def loader(self, base: Event) -> Loader:
        """Return an object that folds the log with the policy that an event begins."""
        phases = Phases(self.phases, _nothing)  # files that the log keeps are given by who trusts them
        return Loader(self.place, self.campaign, phases, Terms.of(self.first), self.teacher, base, trusts=False)


@dataclass
class Count:
    """Decisions and differences of a stretch of a log."""

    tolerance: float
    events: int = 0  # the last one that was seen
    decisions: int = 0
    unknown: int = 0
    differing: int = 0
    erased: int = 0
    between: int = 0
    sealed: int = 0  # that are in segments which are not read
    apart: tuple[int, ...] = ()  # seals that keep another state than the one that was folded
    largest: float = 0.0
    first: int | None = None

    def add(self, other: Count) -> None:
        """Add the next stretch."""
        self.events = max(self.events, other.events)
        for name in ("decisions", "unknown", "differing", "erased", "between"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        self.apart += other.apart
        self.first = other.first if self.first is None else self.first

    def leave_out(self, event: Event) -> None:
        """Count a decision that cannot be recomputed."""
        if event.kind == "decided":
            self.decisions += 1
            self.erased += is_erased(event)
            self.between += not is_erased(event)

    def compare(
        self, event: Event, body: dict[str, Any], fold: Fold | None, context: Context | None, at: AsOf
    ) -> Decision | None:
        """Recompute a decision and compare it with the stored one; it is returned if it is the same bit for bit."""
        self.decisions += 1
        if fold is None or context is None or body["by"] != fold.mark:
            self.unknown += 1
            return None
        state, decision, gap = at.state(fold, body), None, math.inf
        if state is not None:
            decision = fold.decide(context) if state is fold.state else fold.policy.decide(state, context)
            gap = self._gap(body, decision, state, late=fold.is_late(context))
            at.pass_on(fold, body, context, decision if gap == 0.0 else None)
        self.largest = max(self.largest, gap)
        if gap > self.tolerance:
            self.differing += 1
            self.first = event.seq if self.first is None else self.first
        return decision if gap == 0.0 else None

    def _gap(self, body: dict[str, Any], decision: Decision, state: PolicyState, *, late: bool) -> float:
        """Return the largest difference of a decision from the stored one."""
        again = pack(decision)
        again |= {"late": int(late) * again["n"]}
        again |= chances(state)
        return max(_gap(body.get(name, 0), value, exact=name in _EXACT) for name, value in again.items())


class _Stretch(NamedTuple):
    """Events of a log that one process recomputes."""

    begin: int  # the events of the snapshot with whose state it begins; 0 for the policy that was opened
    end: int  # the last event


class _Task(NamedTuple):
    given: AuditInput
    stretch: _Stretch
    found: Survey  # of the log since the state with which it begins
    start: Keeper | None  # that state: of the last erasure, or of the last seal if events before it are not read
    gap: int  # the last event that is in a segment which is not read
    keeps: bool  # whether the state at the end is returned


class _StretchResult(NamedTuple):
    found: Count
    state: bytes  # at the end; empty if nobody asked for it, or no policy is known there
    whole: bool = True  # False after Ctrl-C
    sound: bool = True  # False if the snapshot with which it begins is gone, or the log does not go on from it


def recompute(given: AuditInput, jobs: int = 1) -> Count:
    """Recompute every decision from the state before it, and compare it with the stored one.

    With several jobs the log is split at snapshots. A snapshot may be anything, so each has to be the state at which
    the stretch before it ends, by the tolerance; from the first that is not, one process continues alone. Where that
    fails, it begins with the log.

    Raises:
        Conflict: the policy learned from other data before the first decision.
        InvalidInput: several jobs, and a store that processes cannot share.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    check_jobs(jobs)
    if jobs > 1 and not given.is_shared:
        raise InvalidInput("store", "its URL, as several processes read it", type(given.store).__name__)
    if Terms.of(given.first).taught != (None if given.teacher is None else given.teacher.mark):
        expected = "learned from another log, or from none, before its first decision"
        raise Conflict(f"campaign {given.campaign!r} {expected}")
    missing = unread(given.place, given.campaign)
    gap = missing[-1].last if missing else 0
    start = _start(given, gap)
    found = _survey(given, start)
    starts = _starts(given, start, found, jobs) if jobs > 1 else []
    edges = [0, *(start.seq for start in starts), found.last]
    each = [_Stretch(a, b) for a, b in pairwise(edges)]
    tasks = [_Task(given, z, found, start, gap, keeps=z.end < found.last) for z in each]
    count = Count(given.tolerance, sealed=sum(z.decisions for z in missing))
    with Work(f"recomputing {given.campaign}", "event", found.last) as shown:
        done = _whole(tasks, shown, jobs)
        for i, split in enumerate(starts):
            if not (_follows(split, done[i].state, given.tolerance) and done[i + 1].sound):
                rest = tasks[i]._replace(stretch=_Stretch(each[i].begin, found.last), keeps=False)
                done[i:] = _whole([rest], shown, 1)
                if not done[i].sound:  # a decision at a state before it, or its snapshot is gone by now
                    done = _whole([rest._replace(stretch=_Stretch(0, found.last))], shown, 1)
                break
    for one in done:
        count.add(one.found)
    return count


def _whole(tasks: list[_Task], shown: Work, jobs: int) -> list[_StretchResult]:
    """Run all tasks, or raise `KeyboardInterrupt`, as a part of an audit is of no use."""
    done = run_chunks(_run, tasks, shown, jobs)
    if not all(one.whole for one in done):
        raise KeyboardInterrupt
    return done


def _run(task: _Task, watch: Watch) -> _StretchResult:
    """Recompute a stretch; one that begins with a snapshot, which may be anything, raises nothing."""
    try:
        return _recompute(task, watch)
    except Exception:
        if task.stretch.begin == 0:
            raise
        return _StretchResult(Count(task.given.tolerance), b"", sound=False)


def _recompute(task: _Task, watch: Watch) -> _StretchResult:
    given, (begin, end), start, gap = task.given, task.stretch, task.start, task.gap
    place, count, gone, left = given.place, Count(given.tolerance), 0, 0
    if begin:
        saved = next((fold for fold, _ in given.loader(_last(given)).snapshots(begin + 1)), None)
        if saved is None or saved.seq != begin:  # it was dropped meanwhile
            return _StretchResult(count, b"", sound=False)
        folds = after = Folds(given.loader(_last(given)), task.found, start, saved)
    elif start is None:
        folds = after = Folds(given.loader(given.first), task.found)
    elif gap:
        folds = after = Folds(given.loader(_last(given)), task.found, start)
        left = _last_correction(start, task.found)
    else:
        gone, left = _first_erased(place, given.campaign), start.at
        until = takewhile(lambda event: event.kind != "erased", place.scan(given.campaign))
        folds = Folds(given.loader(given.first), given.loader(given.first).survey(until))
        after = Folds(given.loader(begins(place, given.campaign)[0]), task.found, start)
    states = _states(place, given.campaign)
    events, at = takewhile(lambda event: event.seq <= end, place.scan(given.campaign, max(begin, gap))), AsOf(begin)
    while some := list(islice(events, _STEP)):
        for event in some:
            if left and event.seq >= gone:
                folds = after
                if event.seq <= left:
                    count.leave_out(event)
                    if start is not None and event.seq > start.at:
                        folds.apply(event, body := _body(event), folds.context(body, event.at) if body else None)
                    continue
            _one(event, folds, count, at)
            if event.seq in states and not states[event.seq].same(folds, given.tolerance):
                count.apart += (states[event.seq].number,)
        count.events = some[-1].seq
        if not watch(len(some)):
            return _StretchResult(count, b"", whole=False)
    return _StretchResult(count, dump(folds.main) if task.keeps and folds.main is not None else b"")


def _one(event: Event, folds: Folds, count: Count, at: AsOf) -> None:
    """Compare an event if it is a decision, and apply it."""
    body, context, again = _body(event), None, None
    if body:
        try:
            context = folds.context(body, event.at)
        except InvalidInput as error:
            raise Damaged(f"event {event.seq}: {error}") from error
        again = count.compare(event, body, folds.main, context, at)
    folds.apply(event, body, context, again)


def _body(event: Event) -> dict[str, Any]:
    """The body of a decision; empty for other events."""
    if event.kind != "decided":
        return {}
    if is_erased(event):
        raise Damaged(f"event {event.seq} has lost its personal part, and no erasure names it")
    return read(event)


class _State(NamedTuple):
    """A state that a seal keeps, of the end of its segment."""

    number: int  # of the event of the seal
    blob: bytes

    def same(self, folds: Folds, tolerance: float) -> bool:
        """Return whether the log up to there folds to this state; True if its policy is not known."""
        fold = folds.known(last_correction(self.blob))
        return fold is None or largest_difference(self.blob, dump(fold)) <= tolerance


def _states(place: Store, campaign: str) -> dict[int, _State]:
    """Return the states that seals keep, by the last event in them."""
    found = ((event, json.loads(event.body)) for event in place.scan(campaign, kinds=("sealed",)))
    each = ((event, body["last"]) for event, body in found if body["state"] and not is_erased(event))
    return {last: _State(event.seq, b64decode(read(event)["state"])) for event, last in each}


def _start(given: AuditInput, gap: int) -> Keeper | None:
    """Return the state with which the recomputed part of a log begins, where that is not its first event."""
    *_, erasure = None, *given.place.scan(given.campaign, kinds=("erased",))
    if gap:
        return keeper(given.place, given.campaign)
    return None if erasure is None else Keeper(erasure.seq, erasure)


def _last_correction(start: Keeper, found: Survey) -> int:
    """Return the last event before which decisions had not all corrections that are in the state of a seal."""
    learned = last_correction(b64decode(read(start.event)["state"]))
    return max((mark.seq for mark in found.marks if mark.known <= learned), default=start.at)


def _survey(given: AuditInput, start: Keeper | None) -> Survey:
    """Survey a log, or its events after the state with which it begins."""
    after = 0 if start is None else start.at
    with Work(f"reading {given.campaign}", "event") as work:
        events = _count_events(given.place.scan(given.campaign, after), work)
        until = takewhile(lambda event: event.kind != "erased", events)  # a later one
        return given.loader(given.first).survey(until, after)


def _count_events(events: Iterable[Event], work: Work) -> Iterator[Event]:
    for event in events:
        yield event
        work.update()


def _last(given: AuditInput) -> Event:
    """Return the event since which the log is folded with adopting policies alone, whose snapshots are kept."""
    return begins(given.place, given.campaign)[0]


def _starts(given: AuditInput, start: Keeper | None, found: Survey, jobs: int) -> list[Fold]:
    """Return the states of snapshots at which a log can be split, so that no stretch is much shorter than the others.

    Where corrections are put in their places by a mark, the fold that does so begins before the mark: a log is not
    split between the two.
    """
    usable, last = list[Fold](), found.last
    for fold, ahead in given.loader(_last(given)).snapshots(None):
        later = [mark for mark in found.marks if mark.seq > fold.seq]
        since = 0 if start is None else _last_correction(start, found)
        whole = not ahead and fits(fold, ahead, later) and fold.seq > since
        if whole and min(fold.seq, last - fold.seq) >= found.last / (2 * jobs):
            usable.insert(0, fold)
            last = fold.seq
    return usable


def _follows(start: Fold, state: bytes, tolerance: float) -> bool:
    """Return whether the state at the end of a stretch is that of the snapshot with which the next one begins."""
    return bool(state) and largest_difference(dump(start), state) <= tolerance


def _first_erased(place: Store, campaign: str) -> int:
    """Return the first decision that was erased, 0 if there is none."""
    return min((ref for e in place.scan(campaign, kinds=("erased",)) for ref in read(e)["decisions"]), default=0)


def _nothing(event: Event) -> None:
    """Rebuild no policy."""


def _gap(stored: Any, again: Any, *, exact: bool) -> float:
    """Return the largest difference of two arrays, relative to 1 + their size; infinite if shapes or plays differ."""
    if stored == again:
        return 0.0
    a, b = (np.array(z, float) for z in (stored, again))  # None becomes NaN
    if exact or a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return math.inf
    return float(np.nanmax(np.abs(a - b) / (1.0 + np.abs(a))))
