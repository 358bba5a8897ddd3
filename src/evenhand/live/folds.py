"""All folds of a log in one pass: each begins where its corrections do, as a copy of the one before it."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.core.records import Context
from evenhand.live.cases import context_of
from evenhand.live.events import Event
from evenhand.live.fold import Fold, Mark
from evenhand.live.folding import Folding
from evenhand.live.phases import Missing


@dataclass
class _Later:
    """A fold that is the main one from a mark on."""

    mark: Mark
    start: int  # the first event after which it differs from the one before it
    corrected: dict[int, Any]
    fold: Fold | None = None
    follows: bool = True  # whether it begins as a copy


@dataclass
class Folds:
    """Folds the log once, whatever was corrected.

    From mark i on the state is that of a fold in which corrections up to event `known_i` are in their places. It is
    that of mark i - 1 up to the first decision that the corrections between the two concern, where it is copied; where
    the mark is a switch that folds anew, it begins with the log. Each fold ends at the next mark, or where a policy
    adopts its state that is not known.

    Args:
        folding: with the policy that the campaign was opened with.
    """

    folding: Folding
    main: Fold | None = None
    _later: list[_Later] = field(default_factory=list)

    def __post_init__(self) -> None:
        folding = self.folding
        found = folding.survey(folding.store.scan(folding.name))
        switched = {event.seq: event for event in folding.store.scan(folding.name, kinds=("switched",))}
        self.last = found.last
        self.main = _trained(folding)
        before = 0
        for mark in found.marks:
            corrected = found.corrected(mark.known)
            refs = [e.ref for e in found.corrections if before < e.seq <= mark.known and e.ref is not None]
            later = _Later(mark, min(refs, default=mark.seq), corrected, follows=mark.seq not in switched)
            if not later.follows:
                later.start, later.fold = 0, _trained(replace(folding, base=switched[mark.seq]))
            if later.fold is not None:
                _at(later.fold, later)
            self._later.append(later)
            before = mark.known

    def context(self, body: dict[str, Any], at: int) -> Context | None:
        """Return the context of a decision, None if the policy is not known."""
        fold = self.main
        return None if fold is None else context_of(fold.encoder, fold.policy.problem.clock, body, at)

    def apply(self, event: Event, body: dict[str, Any], context: Context | None) -> None:
        """Apply an event to all folds that have begun; a decision comes with its body, and context in the main one."""
        self._begin(event.seq)
        if self._later and event.seq == self._later[0].mark.seq:
            self.main = self._later.pop(0).fold
        encoder = None if self.main is None else self.main.encoder  # of the context
        self.main = _applied(self.main, event, body, context)
        for later in self._later:
            same = later.fold is not None and later.fold.encoder is encoder
            later.fold = _applied(later.fold, event, body, context if same else None)

    def _begin(self, seq: int) -> None:
        """Copy the folds that differ from the one before them from this event on."""
        before = self.main
        for later in self._later:
            if later.follows and later.fold is None and later.start == seq and before is not None:
                later.fold = _at(_copied(before), later)
            before = later.fold if later.fold is not None or not later.follows else before


def _trained(folding: Folding) -> Fold | None:
    """The fold of no events, None if its policy is not known."""
    return None if folding.phases.of(folding.base) is None else folding.trained()


def _applied(fold: Fold | None, event: Event, body: dict[str, Any], context: Context | None) -> Fold | None:
    """The fold after an event, None if a policy that is not known adopts its state."""
    if fold is None:
        return None
    try:
        fold.apply(event, fold.made(body, context) if body and context is not None else None)
    except Missing:
        return None
    return fold


def _at(fold: Fold, later: _Later) -> Fold:
    """A fold on its way to a mark."""
    fold.known, fold.corrected = later.mark.known, later.corrected
    return fold


def _copied(fold: Fold) -> Fold:
    """A copy that changes apart; decisions that wait have receipts, and are not changed."""
    again = copy(fold)
    again.state, again.pending, again._due = deepcopy(fold.state), {}, list(fold._due)
    for ref, waiting in fold.pending.items():
        again.pending[ref] = copy(waiting)
    again.reach = again.first = 0
    return again
