"""What kernels see of a goal that solves again: its books and its contexts. Python plans."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals import _entries
from evenhand.goals._resolving_state import look
from evenhand.planning.history import HistoryView, grows, keep_one


class Settings(NamedTuple):
    """What a goal reads of its rows."""

    rows: Any
    is_known: Bools
    any_known: bool
    finite: Floats
    bounds: Floats
    first: Ints
    followed: Ints
    settled: Bools
    awaited: Bools
    last: float  # the last round
    drift: float


class ResolvingView(NamedTuple):
    """The books of `Resolving` without convex sets, spans of time and a reserve."""

    of: Settings
    spent: Floats
    counted: Floats
    seen: Floats
    plan: Floats
    gap: Floats
    since: Floats
    jump: Floats
    noise: Floats
    made: Floats
    looked: Floats
    arrived: Floats
    due: Floats
    news: Floats
    history: HistoryView

    @kernel
    def on_decision(self, d: Decision) -> None:
        of = self.of
        if of.any_known:
            v = of.rows.post_known(d)
            books = self.spent, self.counted, self.seen
            k = self.gap.shape[1]
            used = _entries.enter_settled(d.counted, 1.0, v, of.is_known, of.first, of.followed, k, *books)[2]
            _entries.compare(d.counted, used, of.settled, d.forced, self.plan, self.gap, self.since, self.jump)

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        for r in range(v.shape[0]):
            for j in range(v.shape[1]):
                self.spent[r, j] += v[r, j]

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        of = self.of
        v = of.rows.post(d.groups, d.shares, y, z)
        books = self.spent, self.counted, self.seen
        filled = _entries.enter_arrived(d.counted, v, of.is_known, of.finite, of.followed, *books)[0]
        used = _entries.directed(d.counted, v, filled, of.first, of.bounds, self.plan)
        for r in range(len(self.arrived)):
            self.arrived[r] += d.counted[r]
        _entries.compare(d.counted, used, of.awaited, d.forced, self.plan, self.gap, self.since, self.jump)

    @kernel
    def on_exposure(self, d: Decision, exposed: Bools) -> None:
        look(d.counted, d.plays, exposed, self.made, self.looked)

    @kernel
    def plans(self, c: Context, d: Decision, t: Floats) -> bool:
        """Whether the sample of contexts grows, or prices are solved again."""
        if grows(self.history, c):
            return True
        unmoved = np.zeros(len(t), np.bool_)
        known, off = (self.arrived, self.due, self.news), (self.since, self.noise, self.jump, self.gap)
        return _entries.is_due(d.counted, t, self.of.last, *known, unmoved, self.of.drift, *off)[2]

    @kernel
    def on_context(self, c: Context, d: Decision, t: Floats) -> None:
        keep_one(self.history, c, d.counted)
