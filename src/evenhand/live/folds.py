"""All folds of a log in one pass: each begins where its corrections do, as a copy of the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.records import Context
from evenhand.live.cases import context_of
from evenhand.live.events import Event, read
from evenhand.live.fold import Fold, Mark, Survey
from evenhand.live.folding import Folding
from evenhand.live.opening import Terms
from evenhand.live.stores.base import Store


@dataclass
class _Later:
    """A fold that is the main one from a mark on."""

    mark: Mark
    start: int  # the first event after which it differs from the one before it
    folding: Folding | None  # None if the policy was not given
    corrected: dict[int, Any]
    fold: Fold | None = None
    follows: bool = True  # whether it begins as a copy


@dataclass
class Folds:
    """Folds the log once, whatever was corrected.

    From mark i on the state is that of a fold in which corrections up to event `known_i` are in their places. It is
    that of mark i - 1 up to the first decision that the corrections between the two concern, where it is copied. Each
    fold ends at the next mark.

    Args:
        known: the foldings, by the fingerprint of their policies.
        terms: of the campaign.
        store: with the log.
        campaign: its name.
    """

    known: Mapping[str, Folding]
    terms: Terms
    store: Store
    campaign: str
    main: Fold | None = None
    _later: list[_Later] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = Survey(self.terms.on_expiry)
        policies = {}
        for event in self.store.scan(self.campaign):
            found.add(event)
            if event.kind == "switched":
                policies[event.seq] = read(event)["mark"]
        self.last = found.last
        self._folding = self.known.get(self.terms.first)
        self.main = None if self._folding is None else self._folding.trained()
        before, folding = 0, self._folding
        for mark in found.marks:
            corrected = found.corrected(mark.known)
            refs = [e.ref for e in found.corrections if before < e.seq <= mark.known and e.ref is not None]
            start, follows = min(refs, default=mark.seq), mark.seq not in policies
            if not follows:
                folding, start = self.known.get(policies[mark.seq]), 0
            later = _Later(mark, start, folding, corrected, follows=follows)
            if not follows and folding is not None:
                later.fold = _at(folding.trained(), later)
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
        main = self.main
        for fold in (main, *(later.fold for later in self._later)):
            if fold is None:
                continue
            same = context is not None and main is not None and fold.encoder is main.encoder
            fold.apply(event, fold.made(body, context) if same and body and context is not None else None)

    def _begin(self, seq: int) -> None:
        """Copy the folds that differ from the one before them from this event on."""
        before = self.main
        for later in self._later:
            if later.follows and later.fold is None and later.start == seq and before is not None:
                later.fold = _at(_copied(before), later)
            before = later.fold if later.fold is not None or not later.follows else before


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
