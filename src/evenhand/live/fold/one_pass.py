"""All folds of a log in one pass: each begins where its corrections do, as a copy of the one before it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.live.fold.cases import context_of
from evenhand.live.fold.fold import Fold, Mark, NewDecision, Survey
from evenhand.live.fold.loader import Keeper, Loader
from evenhand.live.fold.phases import MissingPolicy
from evenhand.live.log.events import Event


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
    """Folds the log once, with any corrections.

    From mark i on the state is that of a fold in which corrections up to event `known_i` are in their places. It is
    that of mark i - 1 up to the first decision that the corrections between the two concern, where it is copied; where
    the mark is a switch that folds anew, it begins with the log. Each fold ends at the next mark, or where a policy
    adopts its state that is not known.

    Args:
        folding: with the policy that the campaign was opened with, or was switched to before the erasure.
        found: the marks and corrections of the log, or of what follows the erasure.
        start: the event with whose state they begin; None for the first event.
        main: the fold with which they begin later, after which no correction is put in its place that concerns an
            earlier decision; None if they begin there.
    """

    folding: Loader
    found: Survey
    start: Keeper | None = None
    main: Fold | None = None
    _later: list[_Later] = field(default_factory=list)

    def __post_init__(self) -> None:
        folding, found, begun = self.folding, self.found, self.main is None
        if self.main is None:
            self.main = _first_fold(folding, self.start)
        since = self.main.seq if self.main is not None else 0 if self.start is None else self.start.at
        erased, known = (since, 0) if self.main is None else (self.main.erased, self.main.known)
        switched = {event.seq: event for event in folding.store.scan(folding.name, kinds=("switched",))}
        before = max((mark.known for mark in found.marks if mark.seq <= since), default=known if begun else 0)
        if self.main is not None:
            self.main.corrected = found.corrected(known, erased)
        for mark in (mark for mark in found.marks if mark.seq > since and (mark.known > known or not begun)):
            corrected = found.corrected(mark.known, erased)
            refs = [e.ref for e in found.corrections if before < e.seq <= mark.known and e.ref and e.ref > erased]
            later = _Later(
                mark, max(min(refs, default=mark.seq), since + 1), corrected, follows=mark.seq not in switched
            )
            if not later.follows:
                later.start, later.fold = 0, _first_fold(replace(folding, base=switched[mark.seq]), None)
            if later.fold is not None:
                _at(later.fold, later)
            self._later.append(later)
            before = mark.known

    def context(self, body: dict[str, Any], at: int) -> Context | None:
        """Return the context of a decision, None if the policy is unknown."""
        fold = self.main
        return None if fold is None else context_of(fold.encoder, fold.policy.problem.clock, body, at)

    def apply(self, event: Event, body: dict[str, Any], context: Context | None, again: Decision | None = None) -> None:
        """Apply an event to all folds that have begun.

        Args:
            event: the event.
            body: of a decision.
            context: of a decision, in the main fold.
            again: the decision as the main fold makes it, if it has the bits of the stored one.
        """
        self._begin(event.seq)
        if self._later and event.seq == self._later[0].mark.seq:
            self.main = self._later.pop(0).fold
        encoder = None if self.main is None else self.main.encoder  # of the context
        self.main = _apply(self.main, event, body, context, again)
        for later in self._later:
            same = later.fold is not None and later.fold.encoder is encoder
            own = None if again is None else again._replace(id=np.full(3, -1))  # for a receipt of this fold
            later.fold = _apply(later.fold, event, body, context if same else None, own)

    def known(self, known: int) -> Fold | None:
        """Return the fold with the corrections up to an event, None if it has not begun."""
        each = (self.main, *(later.fold for later in self._later))
        return next((fold for fold in each if fold is not None and fold.known == known), None)

    def _begin(self, seq: int) -> None:
        """Copy the folds that differ from the one before them from this event on."""
        before = self.main
        for later in self._later:
            if later.follows and later.fold is None and later.start == seq and before is not None:
                later.fold = _at(_copy(before), later)
            before = later.fold if later.fold is not None or not later.follows else before


def _first_fold(folding: Loader, start: Keeper | None) -> Fold | None:
    """The fold of a state that the log keeps, or of no events; None if its policy is not known."""
    try:
        return folding.first_fold() if start is None else folding.latest(start.at + 1)
    except MissingPolicy:
        return None


def _apply(
    fold: Fold | None, event: Event, body: dict[str, Any], context: Context | None, again: Decision | None
) -> Fold | None:
    """The fold after an event, None if a policy that is not known adopts its state."""
    if fold is None:
        return None
    try:
        fold.apply(event, _decision(fold, body, context, again) if body and context is not None else None)
    except MissingPolicy:
        return None
    return fold


def _decision(fold: Fold, body: dict[str, Any], context: Context, again: Decision | None) -> NewDecision:
    """The decision of a body, which is not decoded where the policy of the fold made it again."""
    if again is None or body["by"] != fold.mark:
        return fold.next_decision(body, context)
    return NewDecision(context, again, body["due"], body.get("unit"))


def _at(fold: Fold, later: _Later) -> Fold:
    """A fold on its way to a mark."""
    fold.known, fold.corrected = later.mark.known, later.corrected
    return fold


def _copy(fold: Fold) -> Fold:
    """A copy that changes apart; decisions that wait have receipts, and are not changed."""
    again = fold.copy()
    again.reach = again.first = 0
    return again
