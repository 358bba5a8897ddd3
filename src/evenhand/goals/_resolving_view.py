"""The kernels' view of a goal that solves again: its prices and its books, but no solve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals import _entries
from evenhand.goals._directions import Directions
from evenhand.goals._entries import pulled
from evenhand.goals._resolving_state import ResolvingState, look
from evenhand.goals._shared import row_prices
from evenhand.planning.history import HistoryView, grows, keep_one, view
from evenhand.problem.merged_rows import prices_of_rows


class _Facts(NamedTuple):
    """What a goal knows of its rows and directions before any round."""

    first: Ints
    multiple: Floats
    upper: Ints
    lower: Ints
    finite: Floats
    bounds: Floats
    followed: Ints
    settled: Bools
    awaited: Bools
    is_known: Bools
    any_known: bool
    readings: Ints


class ResolvingView(NamedTuple):
    """The arrays of a state, and facts of the goal. A round in which a solve is due is left to Python."""

    mu: Floats
    per_unit: Floats
    plan: Floats
    noise: Floats
    mixed_at: Floats
    spent: Floats
    counted: Floats
    seen: Floats
    made: Floats
    looked: Floats
    gap: Floats
    since: Floats
    jump: Floats
    arrived: Floats
    due: Floats
    news: Floats
    history: HistoryView
    rows: Any
    facts: _Facts
    drift: float
    last_round: float

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        of = self.facts
        price = prices_of_rows(pulled(self.mu, self.per_unit, self.gap), of.multiple, of.upper, of.lower)
        return row_prices(price, 1.0, of.finite, of.readings)

    @kernel
    def heat(self) -> Floats:
        return self.mixed_at

    @kernel
    def defers(self, c: Context, d: Decision, t: Floats) -> bool:
        """Whether a solve is due once a decision is committed, or the sample of contexts has no room for its own."""
        if grows(self.history, c):
            return True
        now, ends_ten = t + d.counted, False
        for r in range(len(now)):
            ends_ten |= now[r] % 10.0 == 0.0
        gap, since, jump = self.gap, self.since, self.jump
        if ends_ten and self.facts.any_known:  # consumption is checked with what the decision uses
            gap, since, jump, nothing = gap.copy(), since.copy(), jump.copy(), np.zeros_like
            books = nothing(self.spent), nothing(self.counted), nothing(self.seen)
            _settle(self.rows, self.facts, d, self.plan, books, (gap, since, jump))
        unmoved, off = np.zeros(len(now), np.bool_), (since, self.noise, jump, gap)
        known = self.arrived, self.due, self.news
        return _entries.is_due(d.counted, now, self.last_round, *known, unmoved, self.drift, *off)[2]

    @kernel
    def plans(self, c: Context, d: Decision, t: Floats) -> bool:
        """Whether the sample of contexts grows, or prices are solved again, after a decision that was counted."""
        if grows(self.history, c):
            return True
        unmoved, off = np.zeros(len(t), np.bool_), (self.since, self.noise, self.jump, self.gap)
        known = self.arrived, self.due, self.news
        return _entries.is_due(d.counted, t, self.last_round, *known, unmoved, self.drift, *off)[2]

    @kernel
    def on_decision(self, d: Decision) -> None:
        if self.facts.any_known:
            books = self.spent, self.counted, self.seen
            _settle(self.rows, self.facts, d, self.plan, books, (self.gap, self.since, self.jump))

    @kernel
    def on_context(self, c: Context, d: Decision, t: Floats) -> None:
        keep_one(self.history, c, d.counted)

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        for r in range(len(v)):
            for j in range(v.shape[1]):
                self.spent[r, j] += v[r, j]

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        of, v = self.facts, self.rows.post(d, y, z)
        books = self.spent, self.counted, self.seen
        filled, _, _ = _entries.enter_arrived(d.counted, v, of.is_known, of.finite, of.followed, *books)
        used = _entries.directed(d.counted, v, filled, of.first, of.bounds, self.plan)
        for r in range(len(v)):
            self.arrived[r] += d.counted[r]
        _entries.compare(d.counted, used, of.awaited, d.forced, self.plan, self.gap, self.since, self.jump)

    @kernel
    def on_exposure(self, d: Decision, exposed: Bools) -> None:
        shown = exposed if len(exposed) > 0 else np.ones((1, 1), np.bool_)
        look(d.counted, d.plays, shown, self.made, self.looked)


@kernel
def _settle(rows: Any, of: _Facts, d: Decision, plan: Floats, books: tuple[Any, ...], off: tuple[Any, ...]) -> None:
    """Enter the rows that a decision alone settles, and compare their use with the plan."""
    v, k = rows.post_known(d), plan.shape[1]
    _, _, used = _entries.enter_settled(d.counted, 1.0, v, of.is_known, of.first, of.followed, k, *books)
    _entries.compare(d.counted, used, of.settled, d.forced, plan, *off)


def resolving_view(
    state: ResolvingState, of: Directions, contexts: int, drift: float, last_round: float
) -> ResolvingView | None:
    """Return the view of a state without spans of time, reserves, tangents and cases that share arms."""
    s, rows, merged = state, of.rows.view(), of.merged
    if rows is None:
        return None
    facts = _Facts(
        merged.first,
        merged.multiple,
        merged.upper,
        merged.lower,
        of.finite,
        of.bounds,
        of.followed,
        of.settled,
        of.awaited,
        of.rows.is_known,
        of.rows.any_known,
        of.rows.readings(by_row=False),
    )
    plan, books = (s.mu, s.pull, s.plan, s.noise, s.heat), (s.spent, s.counted, s.seen, s.made, s.looked)
    off = s.gap, s.since, s.jump, s.arrived, s.due, s.news
    return ResolvingView(*plan, *books, *off, view(s.history, contexts), rows, facts, drift, last_round)
