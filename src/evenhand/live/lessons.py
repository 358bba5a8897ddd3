"""What a policy learns from the decisions of a log whose cases are still there, for a switch that adopts the books."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.live.cases import context_of
from evenhand.live.events import Event, Kind, is_erased, read
from evenhand.live.packing import closed
from evenhand.live.phases import Phase
from evenhand.live.stores.base import Readable
from evenhand.policy.continuation import learn
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
            learn(policy, self.state, context, closed(body | {"c": []}, context, policy, self.state.t), outcomes)
        except EvenhandError:
            return
        self.count += 1


def lessons(
    store: Readable, campaign: str, seed: int, phase: Phase, seq: int, corrected: Mapping[int, Any]
) -> Lessons:
    """Return what a policy learns from all events before one, in which a later outcome replaces an earlier one.

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
    found.read(before("decided", "observed", "cancelled"))
    return found
