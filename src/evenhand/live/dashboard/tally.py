"""Counts and sums of a campaign's log that its status lacks, updated by new events only."""

from __future__ import annotations

import json
import threading
from base64 import b64decode, b64encode
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.signatures import has
from evenhand.core.types import Floats
from evenhand.live.dashboard.counts import LATEST, SHOWN, Clipped, Delays, Line, Recent, Silence, Span, Spans
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.streak import Streak
from evenhand.live.dashboard.tally_snapshots import BrokenTally, dump, restore
from evenhand.live.dashboard.uses import Moments, Uses
from evenhand.live.fold.cases import Declares, RangeEncoder
from evenhand.live.fold.fold import StaleFold
from evenhand.live.fold.phases import Phases, Switched, mark_in
from evenhand.live.log.events import Busy, Event, read
from evenhand.live.log.ids import Ids, Restored
from evenhand.live.log.life import LIFE, Life, OnExpiry, fate_of
from evenhand.live.log.packing import with_known
from evenhand.live.log.segments import unread
from evenhand.live.log.store import ReadOnlyStore
from evenhand.policy.policy import Policy

BINS = 20
EVERY = 4_000  # events from one tally that is kept to the next
RARE = 0.01  # probabilities below this are counted
_FEW = 100  # with fewer plays than this, it is not said how many had probability 1
_KEPT = 20_000  # decisions in memory that have no outcome; of older ones the log is asked


@dataclass
class _Open:
    """A decision that has no outcome."""

    at: int
    plays: list[int]
    known: Floats
    forced: bool
    fate: OnExpiry | None  # of what it reserves, once it expired
    now: Floats  # its present increments


_OBJECTS = (_Open, Streak, Clipped, Delays, Line, Recent, Silence, Span, Spans, Switched, Life, Event, Ids, Restored)
_CLASSES: dict[str, type] = {kind.__name__: kind for kind in _OBJECTS}
# All else is kept.
_OF_POLICY = {"_policy", "_phases", "_ranged", "_ranges", "_mark", "_own", "_begun", "uses"}
_DERIVED = _OF_POLICY | {"_campaign", "_lock", "_kept", "_end"}


class Tally:
    """Counts, sums and the course of a campaign, in a memory that does not grow with the log.

    Each update reads only new events. Every 4,000 of them the tally is kept in the store, so that another process
    begins with it; it is the same, bit for bit, as one that reads the whole log. An erasure lets it begin anew, so that
    nothing in it is of a case that was erased.

    Decisions that a seal moved out of the store are in the tally that its event keeps, up to the end of the segment.
    They stay counted as they were, whatever policy decides later; of one with another objective or other outcomes, sums
    begin after the segments: `uncounted` says how many decisions these lack.

    Args:
        campaign: the campaign.
        last: the last event to read; None reads all that come.
    """

    uses: Uses  # by the present policy
    _ranged: RangeEncoder | None  # the present encoder
    _ranges: tuple[object, object]  # by which values count as out of range

    def __init__(self, campaign: CampaignView, last: int | None = None) -> None:
        self._campaign, self._lock, self._end = campaign, threading.Lock(), last
        self._policy: Policy | None = None
        self._phases = Phases(())
        self._last = self._kept = self._erased = 0
        self.latest = 0  # the time of the last event, in microseconds
        self._begin()

    life: Life
    changes: deque[Event]  # of the life, and restores, the newest first
    ids: Ids

    def update(self) -> None:
        """Read the new events; begin anew after an erasure, a seal, or a switch that changes how decisions count."""
        with self._lock:
            while True:
                with suppress(StaleFold):
                    if self._read():
                        return
                self._policy = None

    def _read(self) -> bool:
        """Read the new events; returns False at an erasure, as events that were read before may have erased data."""
        campaign = self._campaign
        policy = campaign.policy
        if self._policy is not policy:
            self._go_on(policy)
        last: Event | None = None
        for event in campaign.store.scan(campaign.name, self._last):
            if self._end is not None and event.seq > self._end:
                break
            if event.seq != self._last + 1:
                raise StaleFold("a seal moved events that were not read")
            if event.kind == "decided":
                self._decided(event)
            elif event.ref is not None and event.kind != "added":
                self._about(event, event.ref)
            elif event.kind == "erased" and event.seq > self._erased:
                return False
            else:
                self._rare(event)
            self._last, self.latest, last = event.seq, event.at, event
        if campaign.policy is not policy:  # another thread met a switch meanwhile
            self._policy = None
        elif last is not None and self._last - self._kept >= EVERY and self._may_keep:
            self._keep(last)
        return True

    def _rare(self, event: Event) -> None:
        """Note an event about no decision."""
        if event.kind in ("opened", "switched") and not (self._begun and event.seq <= self._begun[-1][0]):
            self._begun.append((event.seq, mark_in(event)))
        if event.kind in LIFE:
            self.life = self.life.apply(event)
            self.changes.appendleft(event)
        elif event.kind == "restored":
            self.ids = self.ids.apply(event)
            self.changes.appendleft(event)
        elif event.kind == "opened":
            self.life = Life.from_event(event)
        elif event.kind == "switched":
            self.switches.append(Switched.of(event))
            self.streak.restart()

    def probability(self, action: str | None) -> float | None:
        """Return the mean of an action's probabilities over its plays, None if none is known."""
        count = self._stated[action]
        return self._sums[action] / count if count else None

    def certain(self) -> float | None:
        """Return the share of the latest 1,000 plays that had probability 1, None for fewer than 100 plays."""
        return sum(self._certain) / len(self._certain) if len(self._certain) >= _FEW else None

    def sure(self) -> float | None:
        """Return the share of the latest 100 plays that had probability 1 with all actions offered, None of fewer."""
        return sum(self._sure) / _FEW if len(self._sure) == _FEW else None

    def spent(self, budget: str) -> list[float] | None:
        """Return the spending of a budget at the end of every span, None if it is not a sum of one outcome."""
        if budget not in self.uses.names:
            return None
        j = self.uses.names.index(budget)
        found: list[float] = np.cumsum([0.0, *(span.moved[j] for span in self.spans.all)])[1:].tolist()
        return found

    def objectives(self) -> list[float | None]:
        """Compute the objective at the averages so far, at the end of every span."""
        sums, found = self.uses.none(), []
        for span in self.spans.all:
            sums = sums + span.moved
            found.append(self.uses.objective(sums))
        return found

    def reference(self) -> tuple[float | None, int]:
        """Compute the objective of warm-up rounds, which no value decided, and count those with an outcome.

        There is none without such rounds, or without others to compare with them.
        """
        warm, whole = self.uses.rounds(self._forced), sum(self.uses.rounds(span.moved) for span in self.spans.all)
        return (self.uses.objective(self._forced) if 0.5 < warm < whole - 0.5 else None), round(warm)

    def moments(self) -> tuple[Moments, Moments] | None:
        """Return the moments of the objective's outcomes in random rounds, and in the others; None by group."""
        sums = self.uses.none()
        for span in self.spans.all:
            sums = sums + span.moved
        forced, whole = self.uses.moments(self._forced), self.uses.moments(sums)
        return None if forced is None or whole is None else (forced, whole.less(forced))

    def n_with_outcomes(self) -> int:
        """Count the decisions that averages are taken over: those with outcomes."""
        return round(sum(self.uses.rounds(span.moved) for span in self.spans.all))

    def _begin(self) -> None:
        terms = self._campaign.terms
        self.life = Life(patience=terms.patience, on_expiry=terms.on_expiry)
        self.changes, self.ids = deque(maxlen=SHOWN), Ids()

    def _go_on(self, policy: Policy) -> None:
        """Go on under another policy; begin anew where it counts decisions in another way."""
        encoder = self._campaign.encoder
        uses = Uses(policy.problem, policy.status(policy.start()).accounts)
        ranges = policy.problem.features, {**encoder.to_dict(), "file": None}
        self._own, self._kept = policy.fingerprint(), 0
        self._mark = f"tally {self._own}"
        begun = self._campaign.store.scan(self._campaign.name, kinds=("opened", "switched"))
        self._begun = [(e.seq, mark_in(e)) for e in begun]
        if self._policy is None or not uses.counts_like(self.uses) or ranges != self._ranges:
            self._restart(uses)
            self._ranges = ranges
            self._load()
        self._policy, self.uses, self._ranges = policy, uses, ranges
        self._ranged = encoder if isinstance(encoder, RangeEncoder) else None

    def _restart(self, uses: Uses) -> None:
        self.uses = uses
        self._last, self._waiting = 0, dict[int, _Open]()
        erasures = self._campaign.store.scan(self._campaign.name, kinds=("erased",))
        self._erased = max(
            (event.seq for event in erasures), default=0
        )  # all that is read from here on lacks what it took
        self._begin()
        self.counts, self.played = Counter[str](), Counter[str | None]()
        self.answered = Counter[str | None]()  # plays with their outcome
        self._sums, self._stated = Counter[str | None](), Counter[str | None]()
        self.credited = Counter[str]()  # decisions that stated a use of a budget below 0
        self.bins, self.rare, self.unstated = [0] * BINS, 0, 0
        self.switches: list[Switched] = []
        self.spans, self.delays, self.recent = Spans(), Delays(), Recent()
        self._forced, self.clipped, self.silence = self.uses.none(), Clipped(), Silence()
        self.streak = Streak()
        self._certain, self._sure = deque[bool](maxlen=LATEST), deque[bool](maxlen=_FEW)
        self.uncounted = 0

    @property
    def _may_keep(self) -> bool:
        return self._end is None and not isinstance(self._campaign.store, ReadOnlyStore)

    def part(self, last: Event) -> dict[str, str]:
        """Return this tally after its last event as a part of a seal, and the layout of its rows of increments."""
        return {"tally": b64encode(dump(self._state, last)).decode(), "layout": json.dumps(self.uses.layout)}

    @property
    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _DERIVED}

    def _load(self) -> None:
        """Go on from the latest tally of this log that is in the store, if there is one."""
        campaign = self._campaign
        before = None if self._end is None else self._end + 1
        while (saved := campaign.store.snapshot(campaign.name, self._mark, before)) is not None:
            before, blob = saved
            event = next(iter(campaign.store.scan(campaign.name, before - 1)), None)
            if event is not None and self._take(blob, event.seq, event.hash):
                return
        self._begin_at_segment()

    def _begin_at_segment(self) -> None:
        """Begin with the tally of the last seal, which is no cache, if there is one."""
        campaign = self._campaign
        each = unread(campaign.store, campaign.name)
        if not each:
            return
        event, last = next(iter(campaign.store.scan(campaign.name, each[-1].number - 1))), each[-1]
        saved = read(event)
        if "tally" in saved and self._take(b64decode(saved["tally"]), last.last, last.hash):
            self._convert(json.loads(saved["layout"]), sum(z.decisions for z in each))
            bodies = (json.loads(e.body) for e in campaign.store.scan(campaign.name, each[-1].number, ("erased",)))
            self.recent.erase({ref for body in bodies for ref in body["decisions"]})  # in segments, since the seal
            return
        for rare in campaign.store.scan(campaign.name, kinds=("opened", "switched", "restored", *LIFE)):
            if rare.seq <= last.last:
                self._rare(rare)
        self._last, self.uncounted = last.last, sum(z.decisions for z in each)

    def _convert(self, layout: Sequence[Any], decisions: int) -> None:
        """Convert the counts to the layout of the present policy; `decisions` are those that were counted."""
        width = len(self._campaign.policy.problem.actions) + 1
        for span in self.spans.all:
            appended = [0] * (width - len(span.plays))
            span.plays = np.concatenate([span.plays[:-1], np.array(appended, np.int64), span.plays[-1:]])
            span.moved = self.uses.convert(span.moved, layout)
        self._forced = self.uses.convert(self._forced, layout)
        for waiting in self._waiting.values():
            waiting.now = self.uses.convert(waiting.now, layout)
        if layout[1] != self.uses.layout[1]:
            self.uncounted = decisions

    def _take(self, blob: bytes, seq: int, hashed: bytes) -> bool:
        """Go on from a tally; returns whether it can be read."""
        try:
            found = restore(blob, seq, hashed, _CLASSES)
        except BrokenTally:
            return False
        if found.keys() != self._state.keys():
            return False
        vars(self).update(found | {"_erased": self._erased})
        self._kept = self._last
        return True

    def _keep(self, last: Event) -> None:
        store, name = self._campaign.store, self._campaign.name
        self._kept = self._last
        with suppress(Busy):  # it is kept later
            numbers = store.snapshots(name, self._mark)
            store.keep(name, self._mark, last.seq, dump(self._state, last), drop=numbers[:-1])

    def _decided(self, event: Event) -> None:
        body, actions = read(event), self._campaign.policy.problem.actions
        plays = np.zeros(len(actions) + 1, np.int64)
        for a, p in zip(body["a"], body["p"], strict=True):
            name = actions[a] if a >= 0 else None
            self.played[name] += 1
            plays[a] += 1
            if a < 0:
                continue
            if p is None:
                self.unstated += 1
                continue
            self._sums[name] += p
            self._stated[name] += 1
            self.bins[min(int(p * BINS), BINS - 1)] += 1
            self.rare += p < RARE
            self._certain.append(p >= 1.0)
            if "offered" not in body:
                self._sure.append(p >= 1.0)
        counts = bool(body["n"])
        if counts and len(body["a"]) == 1:
            free = body["p"][0] == 1.0 and not body["r"]
            self.streak.decided(event.seq, actions[body["a"][0]], body.get("offered"), certain=free)
        self.clipped.add(self._ranged.outside(body["case"]) if self._ranged and "case" in body else ())
        self.recent.decided(event, body, actions, self.ids)
        found = self.uses.none()
        if counts:
            self.counts["after_horizon"] += "late" in body
            one = self._open(event.at, body)
            self._waiting[event.seq], found = one, one.now
            self.silence.decided(event.at)
            self.credited.update(self.uses.credited(one.plays, one.known))
            if len(self._waiting) > _KEPT:
                del self._waiting[next(iter(self._waiting))]
        self.spans.add(Span(int(counts), int(body["r"]), plays, found.copy(), event.at))

    def _about(self, event: Event, ref: int) -> None:
        """Replace the increments of a decision after an event about it."""
        one = self._waiting.get(ref) or self._rebuild(event, ref)
        if event.kind in ("observed", "revised"):
            after = self.uses.arrived(one.plays, one.known, read(event)["y"])
        else:
            after = self.uses.none() if event.kind == "cancelled" else self._expired(event, one)
        moved = after - one.now
        if event.kind in ("observed", "revised") and len(one.plays) == 1:
            action = self._campaign.policy.problem.actions[one.plays[0]]
            for row, times in ((after, 1), *(((one.now, -1),) if event.kind == "revised" else ())):
                if (y := self.uses.outcomes(row)) is not None:
                    self.streak.arrived(action, y, times)
        self.counts[event.kind] += 1
        if one.fate is not None and event.kind != "revised":
            step = 1 if event.kind == "expired" else -1
            self.counts["overdue"] += step
            self.counts["held"] += step if one.fate == "hold" else 0  # it goes on to wait
        if event.kind == "expired":
            self.silence.expired(event.at, 1e6 * self.life.patience)
        elif event.kind != "cancelled":
            self.silence.came(event.at)
        if event.kind == "observed":
            self.answered.update(self._campaign.policy.problem.actions[a] for a in one.plays if a >= 0)
            self.counts["late"] += one.fate is not None
            self.counts["released"] += one.fate == "release"
            self.delays.add(max(event.at - one.at, 0) / 1e6)
        if one.forced:
            self._forced += moved
        plays = np.zeros(len(self._campaign.policy.problem.actions) + 1, np.int64)
        self.spans.add(Span(0, 0, plays, moved, event.at))
        self.recent.changed(event)
        one.now = after
        if event.kind != "expired":
            self._waiting.pop(ref, None)

    def _expired(self, event: Event, one: _Open) -> Floats:
        """Note the fate of an expired decision, and return its increments."""
        one.fate = fate_of(event, self._campaign.terms.on_expiry)
        campaign, ran = self._campaign, [mark for seq, mark in self._begun if seq < event.seq][-1]
        by = None if ran == self._own else self._phases.stated(campaign.store, campaign.name, ran).fallback
        return self.uses.expired(one.plays, one.known, one.fate, by)

    def _rebuild(self, event: Event, ref: int) -> _Open:
        """Rebuild the state of a decision before an event from the log."""
        campaign = self._campaign
        with campaign.store.write(campaign.name) as log:
            decided, about = log.get(ref), [e for e in log.about(ref) if e.seq < event.seq]
        if decided is None:
            raise StaleFold("a seal moved the decision meanwhile")
        one = self._open(decided.at, read(decided))
        for e in about:
            if e.kind == "expired":
                one.now = self._expired(e, one)
            elif e.kind in ("observed", "revised"):
                one.now = self.uses.arrived(one.plays, one.known, read(e)["y"])
        return one

    def _open(self, at: int, body: dict[str, Any]) -> _Open:
        campaign, present = self._campaign, self._campaign.policy.problem.declared
        plays, forced, encoder = body["a"], bool(body["f"]), campaign.encoder
        if body["by"] != self._own:
            declared = self._phases.stated(campaign.store, campaign.name, body["by"]).declared
            if declared is not None and not np.array_equal(declared, present[: len(declared)]):
                body = with_known(body, declared)
        if "k" in body:
            known = np.array(body["k"], float)
        elif "case" not in body or ("known" not in body and has(encoder, Declares) and encoder.declares):
            known, now = self.uses.plain(plays)
            return _Open(at, plays, known, forced, None, now)
        else:
            context = encoder.context(body["case"], body.get("offered"), body.get("known"))
            at_play = np.array(plays)
            known = np.where((at_play >= 0)[:, None], context.known[0, np.maximum(at_play, 0)], 0.0)
        return _Open(at, plays, known, forced, None, self.uses.decided(plays, known))
