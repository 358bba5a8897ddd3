"""A fold of the whole log for a switch to a policy that cannot adopt the state, made while no lock is held."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from evenhand.core.errors import CannotSave
from evenhand.live.events import Busy, Event, encode
from evenhand.live.fold import Fold, Rewritten
from evenhand.live.folding import COMING, Folding
from evenhand.live.stores.base import Transaction

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

    def close(self, log: Transaction, body: dict[str, Any]) -> tuple[Fold, Folding]:
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
