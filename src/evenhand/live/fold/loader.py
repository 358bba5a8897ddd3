"""Folds the log of a campaign, starting from a snapshot if there is one."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from evenhand.live.fold.backlog import Backlog
from evenhand.live.fold.cases import Teacher
from evenhand.live.fold.first_event import Terms
from evenhand.live.fold.fold import Fold, Mark, StaleFold, Survey
from evenhand.live.fold.lessons import go_on, lessons
from evenhand.live.fold.phases import Phase, Phases, mark_in, missing_policy
from evenhand.live.fold.runs import fold_runs
from evenhand.live.fold.snapshots import BrokenSnapshot, began, dump, restore
from evenhand.live.log.events import Conflict, Event, is_erased, read
from evenhand.live.log.segments import KEEPERS
from evenhand.live.log.store import Readable, Store
from evenhand.policy.state import PolicyState

Events = Callable[[int], Iterable[Event]]  # the events after a number, in order
MOST = 16  # snapshots that are kept
COMING = 2**62  # in place of the number of a switch that folds anew, while it is not in the log


class Spare(NamedTuple):
    """A copy of a fold in memory."""

    fold: Fold
    hash: bytes  # of its last event, by which another log is told


class Keeper(NamedTuple):
    """An event that keeps a state: an erasure the state after it, a seal the state at the end of its segment."""

    at: int  # the events of the state
    event: Event


def keeper(store: Readable, campaign: str, before: int | None = None) -> Keeper | None:
    """Return the event of a log that keeps the latest state of fewer events than a number, None if there is none."""
    found = list[Keeper]()
    for event in store.scan(campaign, kinds=KEEPERS):
        body = json.loads(event.body) if event.kind == "sealed" else {}
        if not is_erased(event) and body.get("state", True):
            found.append(Keeper(body.get("last", event.seq), event))
    return max((z for z in found if before is None or z.at < before), key=lambda z: z.at, default=None)


@dataclass(frozen=True)
class Loader:
    """Folds the log of a campaign with the policy that an event begins, and with those that adopt its state later.

    Args:
        store: the store with the log and the snapshots.
        name: the campaign's name.
        phases: the policies.
        terms: the campaign's terms.
        teacher: trains the policy before the first decision.
        base: the event, `opened` or the last `switched` that does not adopt.
        trusts: whether a policy that goes on with the books takes what it learned from a snapshot.
    """

    store: Store
    name: str
    phases: Phases
    terms: Terms
    teacher: Teacher | None
    base: Event
    trusts: bool = True

    @property
    def mark(self) -> str:
        """The fingerprint of the policy that begins with `base`, under which snapshots are kept."""
        return mark_in(self.base)

    def find(self, event: Event) -> Phase:
        """Return the policy that begins with an event.

        Raises:
            Missing: it is not known.
        """
        found = self.phases.of(event)
        if found is None:
            raise missing_policy(self.name, event)
        return found

    def of(self, events: Events, before: int | None = None, spare: Spare | None = None) -> Fold:
        """Fold the first events of the log.

        The fold starts from the latest snapshot that is still valid: after a mark, only those are that have none of the
        decisions that it corrects, or its corrections in their places.

        Args:
            events: returns the events after a number.
            before: use only snapshots of fewer events.
            spare: a fold in memory, of which a copy is used first.
        """
        tried, keeper = False, None
        while True:
            last, keeper = keeper, self._keeper(None)
            try:
                return self._of(events, before, spare)
            except StaleFold as error:  # an erasure or a seal came meanwhile
                if tried and keeper == last:  # or it came later, and took what is needed
                    raise Conflict(f"{self.name!r}: {error}") from error
                tried = True

    def _of(self, events: Events, before: int | None, spare: Spare | None) -> Fold:
        for fold, ahead in chain(self._copy_of_spare(events, spare), self.snapshots(before)):
            if next(iter(events(fold.seq - 1)), None) is None:  # it is ahead of the log
                continue
            found = self.survey(events(fold.seq), fold.seq)
            if fits(fold, ahead, found.marks):
                return _apply(fold, events, found)
        fold = self.latest(before)
        if before is not None and fold.known >= before:
            told = (
                f"the state after event {fold.seq}, with which the log begins, has corrections up to event {fold.known}"
            )
            raise Conflict(f"{self.name!r}: {told}: none before event {before} can be found again")
        return _apply(fold, events, self.survey(events(fold.seq), fold.seq))

    def snapshots(self, before: int | None) -> Iterator[tuple[Fold, bool]]:
        """Yield the folds of snapshots of fewer events than a number, the latest first, and whether each is ahead.

        Those of policies that are not known are left out, and those before the state that an event keeps.
        """
        last = self._keeper(before)
        least = 0 if last is None else last.at
        while (kept := self.store.snapshot(self.name, self.mark, before)) is not None and kept[0] >= least:
            before = kept[0]
            try:
                begin = self._begin(began(kept[1]))
                if begin is None or self.phases.of(begin) is None:
                    continue
                fold = self.fresh(begin)
                yield fold, restore(fold, kept[1])
            except BrokenSnapshot:  # a damaged snapshot is ignored: it is a cache
                continue

    def _copy_of_spare(self, events: Events, spare: Spare | None) -> Iterator[tuple[Fold, bool]]:
        """Yield a copy of a fold in memory, if it is of this log and no event keeps a state after it."""
        if spare is None or spare.fold.base != self.base.seq:
            return
        first, last = next(iter(events(spare.fold.seq - 1)), None), self._keeper(None)
        if first is None or (first.seq, first.hash) != (spare.fold.seq, spare.hash):
            return
        if last is None or last.at <= spare.fold.seq:
            yield spare.fold.copy(), False

    def _begin(self, seq: int) -> Event | None:
        """Return the event with which the policy of a snapshot began, None if it is of another log."""
        if seq in (self.base.seq, COMING):
            return self.base
        event = next(iter(self.store.scan(self.name, seq - 1)), None) if seq > self.base.seq else None
        return event if event is not None and event.seq == seq and event.kind == "switched" else None

    def survey(self, events: Iterable[Event], last: int = 0) -> Survey:
        """Return the marks and corrections among events."""
        found = Survey(self.terms.on_expiry, last)
        for event in events:
            found.add(event)
        return found

    def latest(self, before: int | None = None) -> Fold:
        """Return the fold of the latest state before an event that the log keeps, or else the one of no events.

        Raises:
            Conflict: the state cannot be read here, as its policy is not known.
        """
        last = self._keeper(before)
        if last is None:
            return self.first_fold()
        try:
            blob = b64decode(read(last.event)["state"])
            begin = self._begin(began(blob))
            if begin is None:
                raise BrokenSnapshot("it is of another policy")
            fold = self.fresh(begin)
            restore(fold, blob, any_version=True)
        except BrokenSnapshot as error:
            told = f"the state that event {last.event.seq} keeps cannot be read: {error}"
            raise Conflict(f"{self.name!r}: {told}") from error
        return fold

    def at(self, last: int) -> Fold:
        """Return the state after an event on the way to the end of the log: with the corrections that are there."""

        def events(after: int) -> Iterable[Event]:
            return self.store.scan(self.name, after)

        for fold, ahead in self.snapshots(last + 1):
            found = self.survey(events(fold.seq), fold.seq)
            if fits(fold, ahead, found.marks):
                break
        else:
            fold = self.latest(last + 1)
            found = self.survey(events(fold.seq), fold.seq)
        found.last = last
        return _apply(fold, events, found)

    def _keeper(self, before: int | None) -> Keeper | None:
        return keeper(self.store, self.name, before)

    def first_fold(self) -> Fold:
        """Return a fold of no events whose policy the teacher has trained."""
        fold = self.fresh()
        if self.teacher is not None:
            self.teacher.teach(fold.policy, fold.encoder, fold.state)
        return fold

    def fresh(self, begin: Event | None = None) -> Fold:
        """Return a fold of no events, untrained, with the policy that begins with an event, by default `base`."""
        terms, begin = self.terms, begin or self.base
        return Fold(
            phase=self.find(begin),
            began=begin.seq,
            base=self.base.seq,
            find=self.find,
            seed=terms.seed,
            on_expiry=terms.on_expiry,
            about=partial(self.store.about, self.name),
            stated=partial(self.phases.stated, self.store, self.name),
            fallback=partial(self.phases.fallback, self.store, self.name),
            go_on=self._go_on,
        )

    def _go_on(self, fold: Fold, event: Event, phase: Phase) -> tuple[PolicyState, Backlog]:
        """Return the state in which a policy goes on with the books: from the snapshot of the switch if there is one.

        So that workers that read of the switch need not learn again within their transactions.
        """
        found = self.store.snapshot(self.name, self.mark, event.seq + 1) if self.trusts else None
        if found is not None and found[0] == event.seq:
            kept = self.fresh(event)
            with suppress(BrokenSnapshot):
                if not restore(kept, found[1]) and kept.known == fold.known:
                    return kept.state, kept.pending
        later = fold.corrected if fold.known > event.seq else {}
        learned = lessons(self.store, self.name, self.terms.seed, phase, event.seq, later)
        return go_on(fold, event, phase, learned)

    def keep(self, fold: Fold, *, ahead: bool = False) -> int:
        """Store a snapshot of a fold; returns its size in bytes; `ahead` if its mark is still to be written.

        Raises:
            CannotSave: a part of the state cannot be written as arrays.
            Busy: the store cannot be written.
        """
        blob, numbers = dump(fold, ahead=ahead), self.store.snapshots(self.name, self.mark)
        self.store.keep(self.name, self.mark, fold.seq, blob, drop=surplus(numbers))
        return len(blob)


def fits(fold: Fold, ahead: bool, marks: Sequence[Mark]) -> bool:
    """Return whether a snapshot is a state on the way to the end of a log, by the marks after it."""
    if ahead and not (marks and marks[0].known == fold.known):
        return False
    return all(mark.start > fold.seq for mark in marks if mark.known > fold.known)


def _apply(fold: Fold, events: Events, found: Survey) -> Fold:
    """Apply all events of a survey to a fold; events written meanwhile are left to the next call."""
    if found.marks:
        fold.known = max(fold.known, found.marks[-1].known)
    fold.corrected = found.corrected(fold.known, fold.erased)
    fold_runs(fold, (event for event in events(fold.seq) if event.seq <= found.last), found.last - fold.seq)
    return fold


def surplus(numbers: Sequence[int]) -> Sequence[int]:
    """Choose the snapshots to drop, so that many recent ones and some older ones remain.

    >>> surplus(range(10)), list(surplus(range(16)))
    ((), [1, 3, 5, 7])
    """
    return () if len(numbers) < MOST else numbers[: MOST // 2][1::2]
