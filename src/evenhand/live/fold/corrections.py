"""Refolds of the log: with corrections in their places, or for a policy that cannot adopt the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar

from evenhand.core.errors import CannotSave, InvalidInput
from evenhand.live.fold.fold import Fold, StaleFold, Survey
from evenhand.live.fold.lessons import Lessons, go_on, lessons
from evenhand.live.fold.loader import COMING, Loader, fits
from evenhand.live.fold.phases import BOOKS, Phase
from evenhand.live.log.events import Busy, Conflict, Damaged, Event, encode
from evenhand.live.log.store import Transaction
from evenhand.policy.books import ARRIVED

TURN = 250  # events folded at once: some 30 milliseconds
_SKIMMED = 20 * TURN  # events that are read at once, and not folded
_AGE, _SHARE = 8, 1.5  # see `is_due`
QUIET = 60 * 10**6  # microseconds without an event, after which a storm is over


def is_due(folding: Loader, fold: Fold, now: int | None = None) -> bool:
    """Return whether corrections should be learned, given that folding again from before the first costs n events.

    Corrections wait until n / 8 more events came, as they come in storms, and until 2n / 3 came since the last mark. So
    the folds of corrections cost at most 1.5 times the fold of the log, also in an audit.

    In a campaign where nothing happened for a minute a storm is over: they do not wait for the former. Where the latter
    never comes, times count in place of numbers of events.

    Args:
        folding: of the worker.
        fold: its present fold.
        now: the time of the store in microseconds; None if events come.
    """
    if not fold.reach:
        return False
    quiet = now is not None and now - _at(folding, fold.seq) >= QUIET
    if not quiet and fold.seq - fold.first < (fold.seq - fold.reach) // _AGE:
        return False
    numbers = folding.store.snapshots(folding.name, folding.mark)
    start = max((number for number in numbers if number < fold.reach), default=max(fold.erased, fold.sealed))
    if fold.seq - start <= _SHARE * (fold.seq - fold.marked):
        return True
    if not quiet:
        return False
    assert now is not None
    return now - _at(folding, start) <= _SHARE * (now - _at(folding, fold.marked))


def _at(folding: Loader, seq: int) -> int:
    """Return the time of an event, of the first one where there is none with a number."""
    return next(iter(folding.store.scan(folding.name, max(seq - 1, 0)))).at


class CorrectionFold:
    """Folds the log again from before the earliest corrected decision.

    Args:
        folding: of the worker.
        fold: its present fold.
    """

    def __init__(self, folding: Loader, fold: Fold) -> None:
        self._folding, self._survey = folding, Survey(folding.terms.on_expiry)
        self._base, self.known, self._reach = _base(fold), fold.seq, fold.reach
        self.fold, self._turns, self.is_long = folding.fresh(), self._go(), False
        self._last, self._most = fold.seq, TURN  # the events to fold in a turn

    def turn(self, last: int) -> None:
        """Fold some more committed events; `last` is the last one of the log, which is to be caught up with."""
        self._most, self._last = TURN + 2 * (last - self._last), last
        next(self._turns)

    def is_of(self, fold: Fold) -> bool:
        """Return whether a fold has the policies and corrections that this began with, and all events folded here.

        It has not where another worker was first, or the log is shorter than it was.
        """
        return self._base == _base(fold) and max(self.known, self.fold.seq) <= fold.seq

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may fold the rest, up to the last event."""
        return self.fold.known == self.known and last - self.fold.seq <= TURN

    def close(self, log: Transaction) -> Fold:
        """Fold the rest, and write the mark after which all workers use this fold."""
        self.fold.fold(log.tail(self.fold.seq))
        event = log.append("refolded", encode({"known": self.known, "from": self._reach}))
        self.fold.apply(event)
        return self.fold

    def _go(self) -> Iterator[None]:
        folding = self._folding
        self.fold = self._start()
        self.is_long = self.known - self.fold.seq > TURN
        for event in folding.store.scan(folding.name, self.fold.seq):
            if event.seq > self.known:
                break
            self._survey.add(event)
            if event.seq % _SKIMMED == 0:
                yield
        self.fold.known, self.fold.corrected = self.known, self._survey.corrected(self.known, self.fold.erased)
        while True:
            begun = self.fold.seq
            for event in folding.store.scan(folding.name, begun):
                if event.seq > self._last:  # it may be the mark of another worker, which the next request meets
                    break
                self.fold.apply(event)
                if self.fold.seq - begun == self._most:
                    break
            yield

    def _start(self) -> Fold:
        """Return the fold of the latest snapshot before the first decision that was corrected, or else the first."""
        folding = self._folding
        for fold, ahead in folding.snapshots(self._reach):
            marks = folding.survey(folding.store.scan(folding.name, fold.seq, ("switched", "refolded"))).marks
            if fits(fold, ahead, marks):
                return fold
        return folding.latest()


def _base(fold: Fold) -> tuple[int, int, int]:
    """The event with which a fold of the log begins, and the corrections and erasures in it."""
    return fold.base, fold.known, fold.erased


NEAR = 250  # events that a transaction may fold: some 30 milliseconds
_MOST = 20  # times that the events of others are folded before the transaction folds the rest, however many it is


class SwitchFold:
    """Folds the log as if the campaign were switched at its end.

    Corrections up to event `known` are in their places. Later ones are taken in as they come, as after a switch.

    Args:
        folding: of the worker.
        body: of the event `switched` as it would be now; its policy is given.
        known: the last event of the log.
    """

    adopts: ClassVar[bool] = False  # what the event of the switch says

    def __init__(self, folding: Loader, body: dict[str, Any], known: int) -> None:
        event = Event(COMING, "switched", None, None, 0, encode(body))
        self._folding, self.known = replace(folding, base=event), known
        self.fold: Fold | None = None
        self._times = self._kept = 0

    def go_on(self) -> None:
        """Fold the committed events; events that arrive meanwhile are left for the next call.

        A snapshot is kept, so that workers that read of the switch need not fold the log within their transactions.
        """
        folding = self._folding
        self._times += 1
        with suppress(StaleFold):  # somebody was erased meanwhile: the switch will be refused
            if self.fold is None:
                self.fold = self._begin()
            self._read(folding.store.scan(folding.name, self.fold.seq))
            if self.fold.seq - self._kept > NEAR:
                with suppress(Busy, CannotSave):
                    folding.keep(self.fold, ahead=True)
                    self._kept = self.fold.seq

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may fold the rest, up to the last event."""
        return self.fold is not None and (last - self.fold.seq <= NEAR or self._times >= _MOST)

    def close(self, log: Transaction, body: dict[str, Any], fold: Fold) -> tuple[Fold, Loader]:
        """Fold the rest, append the event, and return the fold and the folding from there on."""
        assert self.fold is not None
        self._read(log.tail(self.fold.seq))
        event = log.append("switched", encode(body | {"known": self.known}))
        self.fold.base = event.seq
        self.fold.apply(event)
        return self.fold, replace(self._folding, base=event)

    def _read(self, events: Iterable[Event]) -> None:
        """Fold events.

        Raises:
            Conflict: the policy does not allow one, such as an outcome out of a narrower range.
        """
        assert self.fold is not None
        try:
            self.fold.fold(events)
        except Damaged as error:  # under the present policy it is not
            if not isinstance(error.__cause__, InvalidInput):
                raise
            raise Conflict(f"the policy does not allow what the log has: {error}") from error

    def _begin(self) -> Fold:
        folding, found = self._folding, self._folding.survey(())
        for event in folding.store.scan(folding.name):
            if event.seq > self.known:
                break
            found.add(event)
        fold = folding.first_fold()
        fold.known, fold.corrected = self.known, found.corrected(self.known, 0)
        return fold


class Books:
    """Lets a policy learn again for a switch that adopts the books, where nothing can be folded anew.

    Args:
        folding: of the worker.
        phase: the policy, and the encoder of its cases.
    """

    adopts: ClassVar[str] = BOOKS  # what the event of the switch says

    def __init__(self, folding: Loader, phase: Phase) -> None:
        self._folding, self._phase, self._times, self._seen = folding, phase, 0, 0
        self._lessons: Lessons | None = None

    def go_on(self) -> None:
        """Learn from the committed events; from the first one on if anything was revised, erased or sealed."""
        self._times += 1
        self._lessons = self._find_lessons()

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may learn from the rest, up to the last event."""
        return self._lessons is not None and (last - self._lessons.seq <= NEAR or self._times >= _MOST)

    def close(self, log: Transaction, body: dict[str, Any], fold: Fold) -> tuple[Fold, Loader]:
        """Learn from the rest, append the event, and return the fold after it; the given fold stays as it is.

        Raises:
            InvalidInput, Conflict: the policy cannot go on with the books, or with a decision that waits.
        """
        found, after = self._find_lessons(), copy(fold)
        arrived = int(fold.state.books[0, 0, ARRIVED])
        body |= {"learned": found.count, "unlearned": max(arrived - found.count, 0)}
        after.go_on = lambda here, event, phase: go_on(here, event, phase, found)
        after.apply(Event(log.last + 1, "switched", None, None, log.now, encode(body)))
        after.go_on = fold.go_on
        log.append("switched", encode(body))
        return after, self._folding

    def _find_lessons(self) -> Lessons:
        folding, found = self._folding, self._lessons
        changed = [e.seq for e in folding.store.scan(folding.name, self._seen, ("revised", "erased", "sealed"))]
        self._seen = max(changed, default=self._seen)
        if found is None or changed:
            return lessons(folding.store, folding.name, folding.terms.seed, self._phase, COMING, {})
        found.read(folding.store.scan(folding.name, found.seq, ("decided", "observed", "cancelled")))
        return found
