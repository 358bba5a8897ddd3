"""Counts and sums of a campaign's log that its status lacks, updated by new events only."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.live.cases import Named
from evenhand.live.dashboard.recent import Delays, Recent
from evenhand.live.dashboard.spans import Span, Spans
from evenhand.live.dashboard.uses import Uses, plain_known
from evenhand.live.dashboard.watched import Watched
from evenhand.live.events import Event, read
from evenhand.policy.policy import Policy
from evenhand.policy.status import Status

BINS = 20
RARE = 0.01  # probabilities below this are counted
_KEPT = 20_000  # decisions in memory that have no outcome; of older ones the log is asked


@dataclass
class _Open:
    """A decision that has no outcome."""

    at: int
    plays: list[int]
    known: Floats
    forced: bool
    expired: bool
    now: Floats  # its present increments


class Tally:
    """Counts, sums and the course of a campaign, in a memory that does not grow with the log.

    Each update reads only new events.

    Args:
        campaign: the campaign.
    """

    def __init__(self, campaign: Watched) -> None:
        self._campaign, self._lock = campaign, threading.Lock()
        self._policy: Policy | None = None
        self._last = 0
        self.latest = 0  # the time of the last event, in microseconds

    def update(self, status: Status) -> None:
        """Read the new events, or all events after a switch of the policy, which changes how decisions count."""
        campaign = self._campaign
        with self._lock:
            if self._policy is not campaign.policy:
                self._restart(campaign.policy, status)
            for event in campaign.store.scan(campaign.name, self._last):
                if event.kind == "decided":
                    self._decided(event)
                elif event.ref is not None:
                    self._about(event, event.ref)
                self._last, self.latest = event.seq, event.at

    def probability(self, action: str | None) -> float | None:
        """Return the mean of an action's probabilities over its plays, None if none is known."""
        count = self._stated[action]
        return self._sums[action] / count if count else None

    def spent(self, budget: str) -> list[float] | None:
        """Return the spending of a budget at the end of every span, None if it is no sum of one outcome."""
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

    def _restart(self, policy: Policy, status: Status) -> None:
        problem = policy.problem
        self._policy, self._last, self._waiting = policy, 0, dict[int, _Open]()
        self.uses = Uses(problem, status.accounts, self._campaign.terms.on_expiry)
        self.counts, self.played = Counter[str](), Counter[str | None]()
        self._sums, self._stated = Counter[str | None](), Counter[str | None]()
        self.credited = Counter[str]()  # decisions that stated a use of a budget below 0
        self.bins, self.rare, self.unstated = [0] * BINS, 0, 0
        self.spans, self.delays, self.recent = Spans(), Delays(), Recent()
        self._forced = self.uses.none()

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
        counts = bool(body["n"])
        self.recent.decided(event, body, actions)
        found = self.uses.none()
        if counts:
            one = self._opened(event.at, body)
            self._waiting[event.seq], found = one, one.now
            self.credited.update(self.uses.credited(one.plays, one.known))
            if len(self._waiting) > _KEPT:
                del self._waiting[next(iter(self._waiting))]
        self.spans.add(Span(int(counts), int(body["r"]), plays, found.copy(), event.at))

    def _about(self, event: Event, ref: int) -> None:
        """Replace the increments of a decision after an event about it."""
        one = self._waiting.get(ref) or self._recalled(event, ref)
        if event.kind in ("observed", "revised"):
            after = self.uses.arrived(one.plays, one.known, read(event)["y"])
        else:
            after = self.uses.none() if event.kind == "cancelled" else self.uses.expired(one.plays, one.known)
        moved = after - one.now
        self.counts[event.kind] += 1
        self.counts["overdue"] += event.kind == "expired"
        self.counts["overdue"] -= one.expired and event.kind in ("observed", "cancelled")
        if event.kind == "observed":
            self.counts["late"] += one.expired
            self.delays.add((event.at - one.at) / 1e6)
        if one.forced:
            self._forced += moved
        plays = np.zeros(len(self._campaign.policy.problem.actions) + 1, np.int64)
        self.spans.add(Span(0, 0, plays, moved, event.at))
        self.recent.changed(event)
        one.now, one.expired = after, one.expired or event.kind == "expired"
        if event.kind != "expired":
            self._waiting.pop(ref, None)

    def _recalled(self, event: Event, ref: int) -> _Open:
        """Rebuild the state of a decision before an event from the log."""
        campaign = self._campaign
        with campaign.store.write(campaign.name) as log:
            decided, about = log.get(ref), [e for e in log.about(ref) if e.seq < event.seq]
        assert decided is not None  # the log names only decisions that it has
        one = self._opened(decided.at, read(decided))
        for e in about:
            if e.kind == "expired":
                one.expired, one.now = True, self.uses.expired(one.plays, one.known)
            elif e.kind in ("observed", "revised"):
                one.now = self.uses.arrived(one.plays, one.known, read(e)["y"])
        return one

    def _opened(self, at: int, body: dict[str, Any]) -> _Open:
        campaign, plays = self._campaign, body["a"]
        encoder = campaign.encoder
        if isinstance(encoder, Named) and "known" not in body:
            known = plain_known(campaign.policy.problem, plays)
        else:
            context = encoder.context(body["case"], body.get("offered"), body.get("known"))
            at_play = np.array(plays)
            known = np.where((at_play >= 0)[:, None], context.known[0, np.maximum(at_play, 0)], 0.0)
        return _Open(at, plays, known, bool(body["f"]), False, self.uses.decided(plays, known))
