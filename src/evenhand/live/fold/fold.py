"""The state of a campaign: a deterministic fold over its events."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evenhand.core.errors import EvenhandError, InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats
from evenhand.live.fold.backlog import Backlog
from evenhand.live.fold.cases import Encoder, context_of
from evenhand.live.fold.phases import Phase, Stated, adopts, adopts_books, mark_in
from evenhand.live.log.events import KINDS, Conflict, Damaged, Event, encode, is_erased, read
from evenhand.live.log.ids import Ids
from evenhand.live.log.life import Life, OnExpiry, fate_of
from evenhand.live.log.packing import decode_closed, foreign, unpack, with_known
from evenhand.policy.adoption import carries, widens
from evenhand.policy.after_horizon import decide_late
from evenhand.policy.corrections import Settled, expire, revise
from evenhand.policy.policy import Policy
from evenhand.policy.state import PolicyState
from evenhand.policy.status import Status
from evenhand.problem.end import is_over
from evenhand.problem.problem import Problem

DAY = 86_400 * 10**6  # microseconds


class StaleFold(EvenhandError):
    """The state differs from what was folded so far, so that the log has to be folded again."""


Find = Callable[[Event], Phase]  # raises `MissingPolicy`


class NewDecision(NamedTuple):
    """A decision just made, which need not be decoded from its event."""

    context: Context
    decision: Decision
    due: int  # microseconds
    unit: int | None  # its number, if the outcomes of the unit add up


class Earlier(NamedTuple):
    """The event that a correction replaces, which need not be read from the store."""

    decided: Event
    settled: Event | None  # the last outcome before the correction, or its cancellation; None if there was none
    expired: Event | None  # its expiry, None if there was none
    outcomes: Sequence[Event]  # all before the correction

    @staticmethod
    def of(decided: Event, about: Iterable[Event]) -> Earlier:
        """Return the events that a correction replaces, from those about a decision in order."""
        found = list(about)
        last = {event.kind == "expired": event for event in found}
        outcomes = [event for event in found if event.kind in ("observed", "revised")]
        return Earlier(decided, last.get(False), last.get(True), outcomes)


class Mark(NamedTuple):
    """An event after which corrections replace what they correct."""

    seq: int
    known: int  # corrections up to this event
    start: int  # the first decision that they correct; 0 if the whole log is folded again


@dataclass
class Fold:
    """The state of a policy after the first `seq` events.

    Decisions are entered as they are stored. At a switch that adopts, the next policy adopts the state. At one that
    does not, the log is folded anew, with the decisions of all other policies before it as forced ones: the fold of
    that policy ignores the switches before.

    A correction is an outcome that was revised, or that arrived after its expiry was settled. The table of outcomes and
    hard limits take it in at once (`revise`), and so does the model what the earlier outcome lacks. Prices, plans and
    what the model had learned follow only after a mark (`refolded`, or a switch that folds anew), which states `known`:
    from there on the state is that of a fold that enters `corrected` outcomes, those of corrections up to event
    `known`, in place of the first ones. A fold without them raises `StaleFold` at the mark.

    An erasure keeps the state after it, with which folds begin from then on: `StaleFold` is raised there as well.
    Corrections of decisions before it are taken in at once, and by no mark.

    Args:
        phase: the policy that decides at present, and its encoder.
        began: the event with which it began.
        base: the event that began the policy with which the log is folded from its first event on.
        find: returns the policy that begins with an event.
        seed: the seed of all random numbers.
        on_expiry: with which the campaign was opened: the fate of the budget that an expired decision reserves, unless
            the event of its expiry states another. It stays reserved until an outcome arrives, is settled with the
            outcomes' `fallback`, or is released.
        about: returns a committed decision and the events about it.
        stated: returns the amounts of the policy of a fingerprint: decisions keep the known outcomes that it declared.
        fallback: returns the fallbacks of the policy that ran at an event, None if nothing tells them.
        go_on: returns the state with which a policy goes on with the books at an event, and what waits then.
        corrected: by decision, the outcome that replaces an earlier one, as of event `known`.
        known: the last event that `corrected` takes into account.
    """

    phase: Phase
    began: int
    base: int
    find: Find
    seed: int
    on_expiry: OnExpiry
    about: Callable[[int], Sequence[Event]]
    stated: Callable[[str], Stated]
    fallback: Callable[[int], Floats | None]
    go_on: Callable[[Fold, Event, Phase], tuple[PolicyState, Backlog]]
    corrected: Mapping[int, Any] = field(default_factory=dict)
    known: int = 0

    def __post_init__(self) -> None:
        self.state: PolicyState = self.policy.start(seed=self.seed)
        self.seq, self.runs = 0, ""  # `runs`: the fingerprint of the policy under which the campaign runs
        self.version, self.ids = "", Ids()  # of evenhand that decides, and of decisions
        self.life = Life(patience=math.inf, on_expiry=self.on_expiry)  # until it is opened
        self.marked = self.erased = 0  # the last mark, and the last erasure
        self.sealed = 0  # the last event that a segment has, which takes no corrections of what was settled there
        self.reach = self.first = 0  # since `known`: the earliest decision that was corrected, the first correction
        self.pending = Backlog()

    @property
    def policy(self) -> Policy:
        return self.phase.policy

    @property
    def encoder(self) -> Encoder:
        return self.phase.encoder

    @property
    def mark(self) -> str:
        """The fingerprint of the policy, which its decisions carry."""
        return self.phase.mark

    @property
    def _names(self) -> tuple[str, ...]:
        return self.policy.problem.actions

    def apply(self, event: Event, made: NewDecision | Earlier | None = None) -> None:
        """Apply the next event; `made` is its decision, or what it corrects, where the caller has that already.

        Raises:
            Rewritten: the log has to be folded again; or events before this one are in a segment.
            Missing: the policy that begins here is not known.
            Conflict: a later version of evenhand wrote an event of a kind that is not known here.
        """
        if event.kind not in KINDS:
            raise Conflict(f"event {event.seq} is of kind {event.kind!r}, which this version of evenhand does not know")
        if event.seq != self.seq + 1:
            raise StaleFold(f"event {event.seq} does not follow event {self.seq}")
        try:
            getattr(self, f"_{event.kind}")(event, made)
        except InvalidInput as error:
            if made is not None or event.hash == b"":  # a new one
                raise
            raise Damaged(f"event {event.seq}: {error}") from error
        self.seq = event.seq

    def fold(self, events: Iterable[Event]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def copy(self) -> Fold:
        """Return a copy, which shares all that never changes, such as decisions."""
        found = copy(self)
        found.state, found.pending = deepcopy(self.state), self.pending.copy()
        return found

    @property
    def is_whole(self) -> bool:
        """Whether the log has all that a fold from its first event on needs."""
        return not (self.erased or self.sealed)

    def is_late(self, context: Context) -> bool:
        """Return whether the next decision would be one after the horizon, or after the end of a run with dates."""
        return is_over(self.policy.problem, float(self.state.t[0]), time_of(context))

    def decide(self, context: Context) -> Decision:
        """Decide the next case, one after the horizon as the campaign states; the state stays as it is."""
        if self.life.after == "go on":
            return decide_late(self.policy, self.state, context)
        return self.policy.decide(self.state, context)

    def status(self) -> Status:
        """Return the status of the policy, and whether its campaign decides."""
        found = self.policy.status(self.state)
        return found if self.life.state == "running" else replace(found, life=self.life.summary)

    def expiry(self) -> str:
        """Return the body of an expiry at this moment, which has the fate of the amounts that the decision reserves."""
        now = self.life.on_expiry
        return "{}" if now == self.on_expiry else encode({"on_expiry": now})

    def _opened(self, event: Event, made: object) -> None:
        body = read(event)
        self.runs, self.version = body["first"], body["versions"]["evenhand"]
        self.life = Life.from_event(event)

    def _switched(self, event: Event, made: object) -> None:
        if event.seq > self.base:
            if not adopts(event):
                raise StaleFold(f"the log is folded anew from event {event.seq} on")
            self._adopt(event)
        elif event.seq == self.base:
            self.began = event.seq
            self._refolded(event, made)
        self.runs = mark_in(event)

    def _adopt(self, event: Event) -> None:
        """Let the next policy adopt the state, after settling decisions that it could not settle."""
        phase = self.find(event)
        if adopts_books(event):
            self.state, self.pending = self.go_on(self, event, phase)
            self.phase, self.began = phase, event.seq
            return
        if not carries(phase.policy, self.policy) and not widens(phase.policy, self.policy):
            # What expired waits only as its later outcome is known; when the campaign was switched, it was settled.
            # What is held is not settled, and its expiry may come with the switch: it is not in the store yet.
            for ref in [ref for ref in self.pending if self.pending.fate(ref) not in (None, "hold")]:
                self._settle(ref, self.fallback(next(e.seq for e in self.about(ref) if e.kind == "expired")))
        self.state = phase.policy.adopt(self.state, of=self.policy)
        self.phase, self.began = phase, event.seq

    def _refolded(self, event: Event, made: object) -> None:
        if event.seq < self.base:  # a mark of another policy
            return
        mark = mark_of(event)
        if mark.known > self.known:
            raise StaleFold(f"corrections up to event {mark.known} are applied from here on")
        self.marked = event.seq

    def _erased(self, event: Event, made: object) -> None:
        raise StaleFold(f"the erased data are not in the state from event {event.seq} on")

    def begin(self, seq: int) -> None:
        """Start again at an erasure, event `seq`, which stores this state."""
        self.seq = self.erased = seq
        self.reach = self.first = 0

    def _sealed(self, event: Event, made: object) -> None:
        self.sealed = json.loads(event.body)["last"]  # not the state, which is long

    def _upgraded(self, event: Event, made: object) -> None:
        self.version = read(event)["versions"]["evenhand"]

    def _lives(self, event: Event, made: object) -> None:
        self.life = self.life.apply(event)

    _paused = _resumed = _ended = _changed = _lives

    def _restored(self, event: Event, made: object) -> None:
        self.ids = self.ids.apply(event, {z.name: max(z.total - z.left, 0.0) for z in self.status().accounts.values()})

    def _clock(self, event: Event, made: object) -> None:
        """Limit all due times to that of the present decision, as those set by a wrong clock may be years ahead."""
        latest = max(read(event)["due"], event.at + int(1e6 * self.life.patience))
        self.pending.hasten(latest + window_of(self.policy.problem))

    def _decided(self, event: Event, made: NewDecision | None) -> None:
        if made is None:
            _refuse_erased(event)
        context, decision, due, unit = made or self._decode(read(event), event.at)
        self.policy.enter(self.state, context, decision)
        if decision.counted[0]:
            self.pending.add(event.seq, decision, due, unit=unit)

    def _decode(self, body: dict[str, Any], at: int) -> NewDecision:
        """Decode a decision from the body of its event."""
        return self.next_decision(body, context_of(self.encoder, self.policy.problem.clock, body, at))

    def next_decision(self, body: dict[str, Any], context: Context) -> NewDecision:
        """Decode the next decision from the body of its event and the context of its case."""
        if body["by"] == self.mark:
            decision = unpack(body, context, self.policy, self.state.t)
        else:
            decision = foreign(with_known(body, self.stated(body["by"]).declared), context, self.policy, self.state)
        return NewDecision(context, decision, body["due"], body.get("unit"))

    def _added(self, event: Event, made: object) -> None:
        """Leave the state as it is: what adds to the outcome of a decision counts when the window is over."""

    def _observed(self, event: Event, made: Earlier | None) -> None:
        ref = event.ref
        assert ref is not None  # by the schema
        if ref not in self.pending:
            self._correct(event, ref, made)
            return
        outcome = self.corrected.get(ref, read(event)["y"])
        self.policy.observe(self.state, self.pending.decision(ref, self._names), outcome)
        self.pending.drop(ref)

    def _revised(self, event: Event, made: Earlier | None) -> None:
        assert event.ref is not None
        if event.seq > self.known or event.ref <= self.erased:
            self._correct(event, event.ref, made)

    def _correct(self, event: Event, ref: int, made: Earlier | None) -> None:
        """Replace the outcome of a decision that was settled, where that depends on no other event."""
        decided, settled, expired, outcomes = made or self._earlier(event, ref)
        _refuse_erased(decided)
        body = read(decided)
        own = body["by"] == self.mark
        if not own:  # what another one carried says nothing here
            body = with_known(body, self.stated(body["by"]).declared) | {"c": []}
        context = context_of(self.encoder, self.policy.problem.clock, body, decided.at)
        decision = decode_closed(body, context, self.policy, self.state.t)
        before: Settled
        fallback = None
        if settled is not None:
            before = read(settled)["y"]
        else:
            assert expired is not None  # it does not wait, and has no outcome
            fallback = None if expired.seq > self.base else self.fallback(expired.seq)  # who adopts has the same
            before = "expired" if fate_of(expired, self.on_expiry) == "fallback" else "cancelled"
        outcome = read(event)["y"]
        if event.seq <= self.known:  # which was settled at a switch, though this is known
            outcome = self.corrected.get(ref, outcome)
        first = max(sum(e.seq <= self.known for e in outcomes) - 1, 0)  # a mark put the last one in place of the others
        taught = [read(e)["y"] for e in outcomes[first:]] if own else None
        revise(self.policy, self.state, decision, before, outcome, taught, fallback)
        if event.seq > self.known and ref > self.erased:
            self.reach, self.first = min(self.reach or ref, ref), self.first or event.seq

    def _earlier(self, event: Event, ref: int) -> Earlier:
        found = [e for e in self.about(ref) if e.seq < event.seq]
        if not found:
            raise StaleFold(f"decision {ref} was moved to a segment")
        return Earlier.of(found[0], found[1:])

    def _cancelled(self, event: Event, made: object) -> None:
        assert event.ref is not None
        self.policy.cancel(self.state, self.pending.pop(event.ref, self._names))

    def _expired(self, event: Event, made: object) -> None:
        ref = event.ref
        assert ref is not None
        fate = fate_of(event, self.on_expiry)
        self.pending.expire(ref, fate)
        if fate != "hold" and ref not in self.corrected:
            self._settle(ref, None if self.runs == self.mark else self.stated(self.runs).fallback)

    def _settle(self, ref: int, fallback: Floats | None) -> None:
        """Settle a decision that expired, unless the reserved amounts stay held, by fallbacks of its time."""
        fate = self.pending.fate(ref)
        if fate == "fallback":
            expire(self.policy, self.state, self.pending.pop(ref, self._names), fallback)
        elif fate == "release":
            self.policy.cancel(self.state, self.pending.pop(ref, self._names))


def window_of(problem: Problem) -> int:
    """Return for how long the outcomes of a decision add up, in microseconds."""
    days = None if problem.unit is None else problem.unit.attribution
    return int((days or 0.0) * DAY)


def time_of(context: Context) -> float | None:
    """Return the time of a case, None if the run has no dates."""
    return None if context.time is None else float(context.time[0])


def _refuse_erased(decided: Event) -> None:
    """Raise `StaleFold` if a decision was erased, as no state before the erasure can be computed again.

    Raises:
        Rewritten: the decision was erased.
    """
    if is_erased(decided):
        raise StaleFold(f"decision {decided.seq} was erased: no state between it and the erasure can be computed again")


def mark_of(event: Event) -> Mark:
    """Read a mark, which may be a switch that folds anew."""
    body = read(event)
    return Mark(event.seq, body["known"], 0 if event.kind == "switched" else body["from"])


@dataclass
class Survey:
    """The marks and corrections among some events, without their states.

    Args:
        on_expiry: as for `Fold`; an outcome after an expiry under "hold" is not a correction.
    """

    on_expiry: OnExpiry
    last: int = 0
    marks: list[Mark] = field(default_factory=list)
    corrections: list[Event] = field(default_factory=list)
    _expired: set[int] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Process the next event."""
        self.last, ref = event.seq, event.ref
        if event.kind == "refolded" or (event.kind == "switched" and not adopts(event)):
            self.marks.append(mark_of(event))
        elif event.kind == "expired" and ref is not None:
            if fate_of(event, self.on_expiry) != "hold":
                self._expired.add(ref)
        elif event.kind == "revised" or (event.kind == "observed" and ref in self._expired):
            self.corrections.append(event)

    def corrected(self, known: int, erased: int) -> dict[int, Any]:
        """Return the corrected outcomes up to an event, for the decisions after an erasure."""
        found = ((e.ref, e) for e in self.corrections if e.seq <= known and e.ref is not None)
        return {ref: read(e)["y"] for ref, e in found if ref > erased}
