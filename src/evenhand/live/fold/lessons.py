"""Lessons for a policy that adopts the books at a switch: the decisions whose cases the log still has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.records import Decision
from evenhand.live.fold.backlog import Backlog
from evenhand.live.fold.cases import context_of
from evenhand.live.fold.fold import Fold, StaleFold
from evenhand.live.fold.phases import Phase, same_contexts
from evenhand.live.log.events import Conflict, Event, Kind, is_erased, read
from evenhand.live.log.packing import decode_closed, foreign, renew
from evenhand.live.log.store import Readable
from evenhand.policy.continuation import continue_state, learn
from evenhand.policy.state import PolicyState


@dataclass
class Lessons:
    """Teaches a new state of a policy, in the order in which the outcomes came.

    Args:
        phase: the policy, and the encoder of its cases.
        state: of the policy, new.
        latest: by decision, the outcome that replaces an earlier one.
    """

    phase: Phase
    state: PolicyState
    latest: Mapping[int, Any]
    count: int = 0  # decisions of which was learned
    seq: int = 0  # the last event
    _open: dict[int, Event] = field(default_factory=dict)  # decisions whose outcome is to come

    def read(self, events: Iterable[Event]) -> None:
        """Read the next events."""
        for event in events:
            self.seq = event.seq
            if event.kind == "decided" and not is_erased(event):
                self._open[event.seq] = event
            elif event.kind in ("observed", "cancelled") and event.ref in self._open:
                decided = self._open.pop(event.ref)
                if event.kind == "observed":
                    self._learn(decided, self.latest.get(event.ref, read(event)["y"]))

    def _learn(self, decided: Event, outcomes: Any) -> None:
        """Learn a decision, unless its case does not fit the new policy."""
        policy, body = self.phase.policy, read(decided)
        try:
            context = context_of(self.phase.encoder, policy.problem.clock, body, decided.at)
            learn(policy, self.state, context, decode_closed(body | {"c": []}, context, policy, self.state.t), outcomes)
        except EvenhandError:
            return
        self.count += 1


def lessons(store: Readable, campaign: str, seed: int, phase: Phase, seq: int, corrected: Mapping[int, Any]) -> Lessons:
    """Return what a policy learns from all events before one, in which a later outcome replaces an earlier one.

    Decisions that a segment has are left out, also where they are in the store as well or the segments are given.

    Args:
        store, campaign: of the log.
        seed: of the state.
        phase: the policy.
        seq: the event.
        corrected: by decision, outcomes that came afterwards and replace those before.
    """

    def before(*kinds: Kind) -> Iterator[Event]:
        return takewhile(lambda event: event.seq < seq, store.scan(campaign, kinds=kinds))

    latest = {e.ref: read(e)["y"] for e in before("revised") if e.ref is not None} | dict(corrected)
    found = Lessons(phase, phase.policy.start(seed=seed), latest)
    moved = max((json.loads(event.body)["last"] for event in before("sealed")), default=0)
    events = before("decided", "observed", "cancelled")
    found.read(event for event in events if event.kind != "decided" or event.seq > moved)
    return found


def go_on(fold: Fold, event: Event, phase: Phase, found: Lessons) -> tuple[PolicyState, Backlog]:
    """Return the state in which a policy goes on with the books of a fold, and the decisions that wait.

    Args:
        fold: the fold before the switch, which stays as it is.
        event: the switch.
        phase: the policy.
        found: what it learned before the switch; it is used up.

    Raises:
        Rewritten: an erasure or a seal took some of the decisions since.
        Conflict: the case of a decision that waits does not fit the policy.
        InvalidInput: the policy cannot go on with the books.
    """
    if found.count != read(event)["learned"]:
        raise StaleFold(f"decisions that policy {phase.policy.name!r} learned at event {event.seq} are gone")
    pending = Backlog()

    def waiting(state: PolicyState) -> list[Decision]:
        made = {ref: _renew(fold, ref, phase, state) for ref in fold.pending}
        for ref, decision in made.items():
            pending.add(ref, decision, fold.pending.due(ref), fold.pending.fate(ref), fold.pending.unit(ref))
        return list(made.values())

    alike = same_contexts(fold.phase, phase)
    return continue_state(phase.policy, fold.policy, fold.state, found.state, waiting, alike=alike), pending


def _renew(fold: Fold, ref: int, phase: Phase, state: PolicyState) -> Decision:
    """Make a decision that waits one of another policy, with the receipt that it has."""
    decided = next(iter(fold.about(ref)), None)
    if decided is None or is_erased(decided):  # it was settled since
        raise StaleFold(f"decision {ref}, which waited at a switch, is gone")
    body = read(decided)
    try:
        context = context_of(phase.encoder, phase.policy.problem.clock, body, decided.at)
        old = fold.pending.decision(ref, fold.policy.problem.actions)
        return renew(old, foreign(body, context, phase.policy, state))
    except InvalidInput as error:
        told = "waits for its outcome (observe or cancel it first), and its case does not fit the policy"
        raise Conflict(f"decision {fold.ids.of(ref)} {told}: {error}") from error
