"""The state of a campaign: a deterministic fold over its events."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from evenhand.core.errors import EvenhandError
from evenhand.core.records import Context, Decision
from evenhand.live.cases import Encoder, context_of
from evenhand.live.events import Event, read
from evenhand.live.packing import foreign, unpack
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState

OnExpiry = Literal["hold", "fallback", "release"]
_FEW = 1000  # stale deadlines that the heap may hold


class Rewritten(EvenhandError):
    """An event corrects an earlier one: the log has to be folded again from before a decision.

    Args:
        ref: the decision.
    """

    def __init__(self, ref: int) -> None:
        super().__init__(f"the outcome of decision {ref} changed what follows it")
        self.ref = ref


class Made(NamedTuple):
    """A decision just made, which need not be decoded from its event."""

    context: Context
    decision: Decision
    due: int  # microseconds


@dataclass
class Pending:
    """A decision that waits for its outcome."""

    decision: Decision
    due: int  # microseconds
    expired: bool = False


@dataclass
class Fold:
    """The state of a policy after the first `seq` events.

    Decisions are entered as they are stored. Those of another policy, before a switch, are entered as forced decisions.
    An outcome that was revised, or that arrived after its expiry was settled, replaces the earlier one: `Fold` then
    raises `Rewritten`, and a new fold takes the outcomes to use from `corrected`.

    Args:
        policy: the policy that currently decides.
        mark: its fingerprint, which its decisions carry.
        encoder: turns cases into contexts.
        seed: the seed of all random numbers.
        on_expiry: the fate of the budget that an expired decision reserves: it stays reserved until an outcome arrives,
            is settled with the outcomes' `fallback`, or is released.
        corrected: by decision, the outcome that replaces an earlier one, as of event `known`.
        known: the last event that `corrected` takes into account.
    """

    policy: Policy
    mark: str
    encoder: Encoder
    seed: int
    on_expiry: OnExpiry
    corrected: Mapping[int, Any] = field(default_factory=dict)
    known: int = 0

    def __post_init__(self) -> None:
        self.state: PolicyState = self.policy.start(seed=self.seed)
        self.seq, self.runs = 0, ""  # `runs`: the fingerprint of the policy under which the campaign runs
        self.version = ""  # of evenhand that decides
        self.since = 0  # the event of the snapshot that the fold started from: `corrected` covers later events
        self.pending: dict[int, Pending] = {}
        self._due: list[tuple[int, int]] = []  # a heap

    def apply(self, event: Event, made: Made | None = None) -> None:
        """Apply the next event; `made` is its decision if this process just made it.

        Raises:
            Rewritten: the log has to be folded again.
        """
        if event.seq != self.seq + 1:
            raise EvenhandError(f"event {event.seq} does not follow event {self.seq}")
        getattr(self, f"_{event.kind}")(event, made)
        self.seq = event.seq

    def fold(self, events: Iterable[Event]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def overdue(self, now: int) -> int | None:
        """Return a decision whose outcome is overdue and that has not expired, None if there is none."""
        while self._due:
            due, ref = self._due[0]
            if due > now:
                return None
            heapq.heappop(self._due)
            if ref in self.pending and not self.pending[ref].expired:
                return ref
        return None

    def wait(self, ref: int, pending: Pending) -> None:
        """Register a decision that waits for its outcome."""
        self.pending[ref] = pending
        if not pending.expired:
            heapq.heappush(self._due, (pending.due, ref))
        if len(self._due) > 2 * len(self.pending) + _FEW:  # most entries were settled before they were due
            self._due = [(p.due, ref) for ref, p in self.pending.items() if not p.expired]
            heapq.heapify(self._due)

    def _opened(self, event: Event, made: object) -> None:
        body = read(event)
        self.runs, self.version = body["first"], body.get("versions", {}).get("evenhand", "")

    def _switched(self, event: Event, made: object) -> None:
        self.runs = read(event)["mark"]

    def _upgraded(self, event: Event, made: object) -> None:
        self.version = read(event)["versions"]["evenhand"]

    def _decided(self, event: Event, made: Made | None) -> None:
        context, decision, due = made or self._decode(read(event), event.at)
        self.policy.enter(self.state, context, decision)
        if decision.counted[0]:
            self.wait(event.seq, Pending(decision, due))

    def _decode(self, body: dict[str, Any], at: int) -> Made:
        """Decode a decision from the body of its event."""
        context = context_of(self.encoder, self.policy.problem.clock, body, at)
        own, stored = body["by"] == self.mark, (body, context, self.policy)
        return Made(context, unpack(*stored, self.state.t) if own else foreign(*stored, self.state), body["due"])

    def _observed(self, event: Event, made: object) -> None:
        ref = event.ref
        assert ref is not None  # by the schema
        if ref not in self.pending:
            raise Rewritten(ref)
        outcome = self.corrected.get(ref, read(event)["y"])
        self.policy.observe(self.state, self.pending[ref].decision, outcome)
        del self.pending[ref]

    def _revised(self, event: Event, made: object) -> None:
        assert event.ref is not None
        if event.seq > self.known or event.ref <= self.since:
            raise Rewritten(event.ref)

    def _cancelled(self, event: Event, made: object) -> None:
        assert event.ref is not None
        self.policy.cancel(self.state, self.pending.pop(event.ref).decision)

    def _expired(self, event: Event, made: object) -> None:
        ref = event.ref
        assert ref is not None
        if self.on_expiry == "hold" or ref in self.corrected:
            self.pending[ref].expired = True
        elif self.on_expiry == "fallback":
            self.policy.expire(self.state, self.pending.pop(ref).decision)
        else:
            self.policy.cancel(self.state, self.pending.pop(ref).decision)


def corrections(events: Iterable[Event], last: int = 0) -> tuple[dict[int, Any], int]:
    """Collect, by decision, the final outcomes that were revised or arrived after an expiry.

    `events` are those of a log after number `last`; the second value returned is the number of the last event.
    """
    found: dict[int, Any] = {}
    expired: set[int] = set()
    for event in events:
        last = event.seq
        if event.ref is None:
            continue
        if event.kind == "expired":
            expired.add(event.ref)
        elif event.kind == "revised" or (event.kind == "observed" and event.ref in expired):
            found[event.ref] = read(event)["y"]
    return found, last
