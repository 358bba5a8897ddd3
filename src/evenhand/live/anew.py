"""Folds for a switch to a policy that cannot adopt the state, made while no lock is held."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any

from evenhand.core.errors import CannotSave
from evenhand.live.events import Busy, Event, encode
from evenhand.live.fold import Fold, Rewritten
from evenhand.live.folding import COMING, Folding
from evenhand.live.lessons import Lessons, go_on, lessons
from evenhand.live.phases import Phase
from evenhand.live.stores.base import Transaction
from evenhand.policy.books import ARRIVED

NEAR = 250  # events that a transaction may fold: some 30 milliseconds
_MOST = 20  # times that the events of others are folded before the transaction folds the rest, however many it is


class Anew:
    """Folds the log as if the campaign were switched at its end.

    Corrections up to event `known` are in their places. Later ones are taken in as they come, as after a switch.

    Args:
        folding: of the worker.
        body: of the event `switched` as it would be now; its policy is given.
        known: the last event of the log.
    """

    def __init__(self, folding: Folding, body: dict[str, Any], known: int) -> None:
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
        with suppress(Rewritten):  # somebody was erased meanwhile: the switch will be refused
            if self.fold is None:
                self.fold = self._begun()
            self.fold.fold(folding.store.scan(folding.name, self.fold.seq))
            if self.fold.seq - self._kept > NEAR:
                with suppress(Busy, CannotSave):
                    folding.keep(self.fold, ahead=True)
                    self._kept = self.fold.seq

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may fold the rest, up to the last event."""
        return self.fold is not None and (last - self.fold.seq <= NEAR or self._times >= _MOST)

    def close(self, log: Transaction, body: dict[str, Any], fold: Fold) -> tuple[Fold, Folding]:
        """Fold the rest, append the event, and return the fold and the folding from there on."""
        assert self.fold is not None
        self.fold.fold(log.tail(self.fold.seq))
        event = log.append("switched", encode(body | {"known": self.known}))
        self.fold.base = event.seq
        self.fold.apply(event)
        return self.fold, replace(self._folding, base=event)

    def _begun(self) -> Fold:
        folding, found = self._folding, self._folding.survey(())
        for event in folding.store.scan(folding.name):
            if event.seq > self.known:
                break
            found.add(event)
        fold = folding.trained()
        fold.known, fold.corrected = self.known, found.corrected(self.known, 0)
        return fold


class Books:
    """Lets a policy learn again for a switch that adopts the books, where nothing can be folded anew.

    Args:
        folding: of the worker.
        phase: the policy, and the encoder of its cases.
    """

    def __init__(self, folding: Folding, phase: Phase) -> None:
        self._folding, self._phase, self._times, self._seen = folding, phase, 0, 0
        self._lessons: Lessons | None = None

    def go_on(self) -> None:
        """Learn from the committed events; from the first one on if an outcome was revised or a case erased."""
        self._times += 1
        self._lessons = self._learned()

    def is_near(self, last: int) -> bool:
        """Return whether a transaction may learn from the rest, up to the last event."""
        return self._lessons is not None and (last - self._lessons.seq <= NEAR or self._times >= _MOST)

    def close(self, log: Transaction, body: dict[str, Any], fold: Fold) -> tuple[Fold, Folding]:
        """Learn from the rest, append the event, and return the fold after it; the given fold stays as it is.

        Raises:
            InvalidInput, Conflict: the policy cannot go on with the books, or with a decision that waits.
        """
        found, after = self._learned(), copy(fold)
        arrived = int(fold.state.books[0, 0, ARRIVED])
        body |= {"learned": found.count, "unlearned": max(arrived - found.count, 0)}
        after.go_on = lambda here, event, phase: go_on(here, event, phase, found)
        after.apply(Event(log.last + 1, "switched", None, None, log.now, encode(body)))
        after.go_on = fold.go_on
        log.append("switched", encode(body))
        return after, self._folding

    def _learned(self) -> Lessons:
        folding, found = self._folding, self._lessons
        changed = [e.seq for e in folding.store.scan(folding.name, self._seen, ("revised", "erased"))]
        self._seen = max(changed, default=self._seen)
        if found is None or changed:
            return lessons(folding.store, folding.name, folding.terms.seed, self._phase, COMING, {})
        found.read(folding.store.scan(folding.name, found.seq, ("decided", "observed", "cancelled")))
        return found
