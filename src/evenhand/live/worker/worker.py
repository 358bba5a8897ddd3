"""A worker: a fold that transactions keep in step with the log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any, ClassVar, TypeVar

from evenhand.core.errors import CannotSave, EvenhandError
from evenhand.core.signatures import has
from evenhand.live.fold.attribution import total
from evenhand.live.fold.cases import Encoder, Teacher
from evenhand.live.fold.corrections import Books, CorrectionFold, SwitchFold, is_due
from evenhand.live.fold.first_event import Terms
from evenhand.live.fold.fold import Earlier, Fold, NewDecision, StaleFold
from evenhand.live.fold.limits import refuse_ended_run, refuse_soft
from evenhand.live.fold.loader import Loader, Spare
from evenhand.live.fold.phases import MissingPolicy, Phase, Phases, begins
from evenhand.live.fold.runs import fold_runs
from evenhand.live.fold.switch import Switch, refuse_other, switch_conflict
from evenhand.live.log.events import Busy, Conflict, Event, Kind, encode
from evenhand.live.log.proof import Fence, Head, end_of
from evenhand.live.log.store import CloseableStore, ReadOnlyStore, Store, Transaction
from evenhand.live.log.versions import other_version
from evenhand.live.worker.clocks import refuse_leap, seconds_ahead
from evenhand.live.worker.transactions import Exclusive, GroupCommit, TransactionStart, buffered_transaction, each
from evenhand.policy.kernels.events import MOST_WAITED
from evenhand.policy.policy import Policy
from evenhand.policy.saving import refusals
from evenhand.version import __version__

T = TypeVar("T")
_EXPIRIES = 1000  # per transaction, since others wait for its lock; the next one continues


class Worker:
    """Runs requests in transactions and keeps its fold in step with the log."""

    every: ClassVar[int] = 10_000  # events from one snapshot to the next: some 0.6 seconds to fold
    near: ClassVar[int] = 200  # events from one copy in memory to the next: some 30 milliseconds to fold

    def __init__(
        self, store: Store, name: str, phases: Sequence[Phase], terms: Terms, teacher: Teacher | None = None
    ) -> None:
        """Fold the log with the given policies, the last of which decides at present.

        Raises:
            Conflict: the campaign runs under another policy, or an earlier one is not known.
        """
        self.store, self.name, self.terms, self._lock = store, name, terms, Exclusive(name)
        self._fence = Fence(name)
        base = begins(store, name)
        refuse_other(name, base[-1], phases[-1])
        self.folding = Loader(store, name, Phases(phases), terms, teacher, base[0])
        self._stale = False
        self._spare: Spare | None = None
        self._copied = 0  # the last event when a copy was made
        self._process = os.getpid()
        self._shared: GroupCommit[Callable[[Transaction], Any], Any] = GroupCommit(self.run)
        self._again: CorrectionFold | None = None
        self._learners = set[object]()  # threads in `relearn`; while there are any, requests leave corrections to them
        self._ask_at = 0  # the event from which on it is asked whether corrections should be learned
        self.fold = self._fold_log()
        last = next(iter(store.scan(name, self.fold.seq - 1)))
        self._fence.known = Head(last.seq, last.hash)
        self._kept = 0
        self.together = 0  # decisions that were made at the state of another one
        self.ahead, self._now = 0.0, 0  # at the last request: seconds by which the log was ahead of the clock, its time

    @property
    def policy(self) -> Policy:
        return self.fold.policy

    @property
    def encoder(self) -> Encoder:
        return self.fold.encoder

    @property
    def mark(self) -> str:
        return self.fold.mark

    def one(self, verb: Callable[[Transaction], T]) -> T:
        """Run one request in a transaction of its own."""
        (found,) = self.run([verb])
        if isinstance(found, EvenhandError):
            raise found
        return found

    def soon(self, verb: Callable[[Transaction], T]) -> T:
        """Run one request in the next transaction, which those of other threads share that wait for it as well."""
        self._lock.check()
        if self._process != os.getpid():
            self._process, self._shared = (
                os.getpid(),
                GroupCommit(self.run),
            )  # no thread of the other process waits here
        found: T = self._shared.one(verb)
        return found

    def run(self, verbs: Sequence[Callable[[Transaction], T]], keys: Iterable[str] = ()) -> list[T | EvenhandError]:
        """Run requests in one transaction; each has its result or its own error. `keys` are those that they ask for.

        If a request fails after it wrote, or the store or the commit fails, the whole transaction is rolled back and
        the error is raised.
        """
        with self._lock.hold():
            return self._run(verbs, keys)

    def look(self, at: Callable[[Fold], T]) -> T:
        """Apply a function to the fold after bringing it up to date with the log."""
        with self._lock.hold():
            self._run([])
            return at(self.fold)

    def enter(
        self,
        log: Transaction,
        kind: Kind,
        body: str,
        *,
        ref: int | None = None,
        key: str | None = None,
        own: str | None = None,
        made: NewDecision | Earlier | None = None,
    ) -> Event:
        """Apply a new event to the fold, then append it to the log; a refused event changes neither."""
        event = Event(log.last + 1, kind, ref, key, log.now, body, own=own)
        try:
            self.fold.apply(event, made)
        except EvenhandError:
            if kind == "decided":  # a plan can fail after the round was counted
                self.refold(log)
            raise
        log.append(kind, body, ref=ref, key=key, own=own)
        return event

    def refold(self, log: Transaction | None = None) -> None:
        """Fold the log anew, as a transaction sees it if there is one."""
        self.fold = self._fold_log(log)

    def switch(self, switch: Switch) -> None:
        """Append a switch to another policy, which adopts the state where it can; else the log is folded anew.

        To fold it no lock is held, so that this worker and others keep deciding.

        Raises:
            InvalidInput, Ended: as for `Switch.refuse`, `refuse_ended_run` and `refuse_soft`.
            Conflict: another worker switched the campaign first, or erased what would have to be folded.
        """
        anew = self._switch(switch, None)
        while anew is not None:
            anew.go_on()
            anew = self._switch(switch, anew)

    def _switch(self, switch: Switch, anew: SwitchFold | Books | None) -> SwitchFold | Books | None:
        """Switch in one transaction; returns the fold that has to be made before that can be done, if there is one."""

        def verb(log: Transaction) -> SwitchFold | Books | bool:
            if switch.is_done(self.fold.phase):
                return False
            if switch.expected != self.mark:
                raise switch_conflict(self.name, switch.expected, begins(self.store, self.name)[-1])
            switch.refuse(self.fold.phase)
            if not switch.settles(self.fold):  # what has ended still returns what it does not need
                refuse_ended_run(self.name, self.fold, switch.phase.policy, log.now)
            if self.fold.life.after == "go on":
                refuse_soft("policy", switch.phase.policy)
            adopted, body = switch.adopt(log, self.fold)
            if adopted is not None:
                self.fold = adopted
                log.append("switched", encode(body))
                return True
            if anew is None or anew.adopts != body["adopts"]:  # or it was erased from or sealed meanwhile
                return switch.refold(self.folding, self.fold, body, log.last)
            if not anew.is_near(log.last):
                return anew
            self.fold, self.folding = anew.close(log, body, self.fold)
            self._again = None
            return True

        with self._lock.hold():
            before = self.folding, self.fold
            self.folding.phases.give(switch.phase)
            try:
                (found,) = self._run([verb])
            except BaseException:
                self.folding, self.fold = before
                raise
            if isinstance(found, EvenhandError):
                raise found
            if isinstance(found, SwitchFold | Books):
                return found
            if found:
                with suppress(Busy, CannotSave):  # so that others need neither fold the log nor know the old policy
                    self._keep()
            return None

    def keep(self) -> int:
        """Store a snapshot of the current log; returns its size in bytes."""
        with self._lock.hold():
            self._run([])
            return self._keep()

    def keep_up(self) -> bool:
        """Do the upkeep that requests do; returns whether corrections are being learned, some at a time."""
        with self._lock.hold():
            self._ask_at, asks = 0, self._again is None  # what was dropped just now is tried again the next time
            self._run([])
            if asks and self._again is None:
                with suppress(MissingPolicy):  # as beside requests
                    self._ask(self._now)
            return self._again is not None

    def refuse_leap(self) -> None:
        """Refuse a clock that would let decisions expire long after the last event, and write nothing.

        Raises:
            Busy: see `evenhand.live.worker.clocks.refuse_leap`.
        """
        with self._lock.hold(), self.store.write(self.name) as log:
            refuse_leap(log, self.name, self.fold.life.patience, lambda: self.fold.pending.count_overdue(log.now))

    def close(self) -> None:
        """Close the store once no thread is in a transaction."""
        with self._lock.hold():
            if isinstance(self.store, CloseableStore):
                self.store.close()

    def relearn(self) -> bool:
        """Fold the log again with all corrections in their places; returns whether there were any.

        Raises:
            Missing: a policy that this needs is not known.
        """
        with self._lock.hold():
            self._run([])
            if not self.fold.reach:
                return False
            before, known = self.fold.marked, self.fold.seq
            if self._again is not None and self._again.known < known:
                self._again = None
            self._learners.add(own := object())
        try:
            while self._learns(known):
                pass
        finally:
            self._learners.discard(own)
        return self.fold.marked > before

    def _learns(self, known: int) -> bool:
        """Learn some more of the corrections up to an event, between requests of others; returns whether to go on."""
        with self._lock.hold():
            self._run([])  # a fold that is ahead of the log, as another request failed, is not a beginning
            if not self.fold.reach or self.fold.known >= known:
                return False
            again = self._again = self._again or CorrectionFold(self.folding, self.fold)
            self._go_on(again)
            if again.is_near(self.fold.seq):
                self._run([])  # writes the mark, which another request would lose if it failed
                if self.fold.reach and self.fold.known < known:
                    for event in begins(self.store, self.name):
                        self.folding.find(event)  # raises `MissingPolicy` where the mark could not be written for it
            return True

    def fold_before(self, seq: int) -> Fold:
        """Return the fold of all events before event `seq`."""

        def events(after: int) -> Iterable[Event]:
            return takewhile(lambda event: event.seq < seq, self.store.scan(self.name, after))

        return self.folding.of(events, seq)

    def _run(self, verbs: Sequence[Callable[[Transaction], T]], keys: Iterable[str] = ()) -> list[T | EvenhandError]:
        """Run requests as `run` does; the caller holds the lock."""
        whole = False
        self._lock.pass_on()
        try:
            with TransactionStart(self._lock, self.store, self.name) as log:
                self._fence.check(log, 0 if self._stale else self.fold.seq)
                self.ahead, self._now = seconds_ahead(log), log.now
                self._catch_up(log)
                together = buffered_transaction(log, keys, len(verbs))
                found = each(log if together is None else together, verbs, self)
                if together is not None:
                    together.write()
                end = end_of(log)
            self._fence.known, whole = end, True
        except MissingPolicy:  # before any verb; the fold is that of the events before
            whole = True
            raise
        finally:
            self._stale |= not whole  # the fold may be ahead of the log: the next request folds it again
        self._keep_at_times()
        self._copy(self.near)
        with suppress(Busy, MissingPolicy):  # it is tried again later; another worker may know all policies
            if self._again is not None:
                if not self._learners:
                    self._go_on(self._again)
            elif self.fold.seq >= self._ask_at:
                self._ask_at = self.fold.seq + 1 + self.fold.seq // 100
                self._ask()
        return found

    def _ask(self, now: int | None = None) -> None:
        """Begin to learn corrections if they are due."""
        if not has(self.store, ReadOnlyStore) and is_due(self.folding, self.fold, now):
            self._again = CorrectionFold(self.folding, self.fold)

    def _go_on(self, again: CorrectionFold) -> None:
        """Learn some more of the corrections, while no lock of the store is held."""
        try:
            near = again.is_near(self.fold.seq)
            again.turn(self.fold.seq)
            far = again.is_long or self.fold.began != self.folding.base.seq
            if far and not near and again.is_near(self.fold.seq):
                with suppress(CannotSave):
                    self.folding.keep(again.fold, ahead=True)  # so that others need not fold the log at the mark
        except StaleFold:  # another worker erased what it had not reached
            self._again = None
        except BaseException:
            self._again = None
            raise

    def _keep(self) -> int:
        self._kept = self.fold.seq
        return self.folding.keep(self.fold)

    def _copy(self, near: int) -> None:
        """Copy the fold of committed events in memory, from which the log is folded where a transaction fails.

        On a disk that is full each one fails, and others would wait for a fold of up to 10,000 events every time.

        Args:
            near: the least number of events since the last copy; two decisions that wait, and are copied, add one.
        """
        last, near = self._copied, near + len(self.fold.pending) // 2
        if last <= self.fold.seq < last + near and last >= self.fold.erased:
            return
        self._copied, self._spare = self.fold.seq, None
        if next(iter(refusals(self.fold.state)), None) is None:  # what cannot be saved may be no copy of its own
            with suppress(Busy):
                event = next(iter(self.store.scan(self.name, self.fold.seq - 1)))
                self._spare = Spare(self.fold.copy(), event.hash)

    def _latest_snapshot(self) -> int:
        return max(self.store.snapshots(self.name, self.folding.mark), default=0)

    def _keep_at_times(self) -> None:
        """Store a snapshot if many events came since the last one of any worker."""
        if self.fold.seq - self._kept < self.every:
            return
        with suppress(Busy, CannotSave):  # a snapshot is a cache
            self._kept = self._latest_snapshot()
            if self.fold.seq - self._kept >= self.every:
                self._keep()
        self._kept = max(self._kept, self.fold.seq - self.every // 2)  # after a failure it is tried again later

    def _catch_up(self, log: Transaction) -> None:
        """Apply the events of other workers, and expire overdue decisions."""
        if self._stale or self.fold.seq > log.last:
            self.fold, self._stale = self._fold_log(log), False
            self._copy(self.near // 10)
        try:
            rest = min(log.last - self.fold.seq, MOST_WAITED)
            fold_runs(self.fold, self._fence.follow(log.tail(self.fold.seq)), rest)
        except StaleFold:
            self.fold = self._fold_log(log)
        self._check()
        if self._again is not None and not self._again.is_of(self.fold):
            self._again = None
        if self._again is not None and self._again.is_near(log.last):
            again, self._again = self._again, None
            with suppress(
                MissingPolicy
            ):  # of a switch among the last events, before the mark is written: tried again later
                self.fold = again.close(log)
        for _ in range(_EXPIRIES):
            ref = self.fold.pending.overdue(log.now)
            if ref is None:
                break
            if self.fold.pending.unit(ref) is None:
                self.enter(log, "expired", self.fold.expiry(), ref=ref)
            else:
                self.enter(log, "observed", total(self.fold, log, ref), ref=ref)

    def _fold_log(self, log: Transaction | None = None) -> Fold:
        """Fold all events, or those that a transaction sees, starting from a snapshot if there is one."""
        self.folding = replace(self.folding, base=begins(self.store, self.name)[0])

        def events(after: int) -> Iterable[Event]:
            return self.store.scan(self.name, after) if log is None else log.tail(after)

        return self.folding.of(events, spare=self._spare)

    def _check(self) -> None:
        """Refuse to decide for a later version of evenhand."""
        if self.fold.version != __version__:
            raise Conflict(f"{self.name!r}: {other_version(self.fold.version)}")
