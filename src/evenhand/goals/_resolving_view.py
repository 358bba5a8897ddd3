"""The kernels of a goal that solves again: entries into its books, moves of its prices, and its view between solves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals._directions import Directions
from evenhand.goals._resolving_state import ResolvingState, look
from evenhand.goals._shared import row_prices
from evenhand.numerics.precision import total
from evenhand.planning.history import HistoryView, grows, keep_one, view
from evenhand.problem.merged_rows import prices_of_rows

_PULL = 2.0  # last temperatures by which a price moves per largest consumption of one round that is off plan


@kernel
def pull_prices(mu: Floats, per_unit: Floats, gap: Floats) -> Floats:
    """Return prices moved by the deviation of use from the plan, without a change of sign; a price of 0 stays."""
    price = np.zeros_like(mu)
    for r in range(len(mu)):
        for i in range(mu.shape[1]):
            moved = mu[r, i] + per_unit[r, i] * gap[r, i]
            if mu[r, i] > 0.0:
                price[r, i] = max(moved, 0.0)
            elif mu[r, i] < 0.0:
                price[r, i] = min(moved, 0.0)
    return price


@kernel
def pull(
    weight: Floats, kept: Ints, tied: Floats, due: Bools, temperature: Floats, jump: Floats, per_unit: Floats
) -> None:
    """Prices per unit off plan, times the share of contexts that repeat or tie, `(S),(),(k),(),(),(k),(k)`."""
    for r in range(len(kept)):
        if due[r] and kept[r] > 0:
            repeats = 1.0 - kept[r] / total(weight[r, : kept[r]])
            for i in range(jump.shape[1]):
                share = max(repeats, tied[r, i])
                per_unit[r, i] = _PULL * share * temperature[r] / jump[r, i] / jump[r, i] if jump[r, i] > 0.0 else 0.0


@kernel
def enter_settled(
    counted: Floats,
    times: float,
    v: Floats,
    known: Bools,
    first: Ints,
    followed: Ints,
    directions: int,
    spent: Floats,
    rounds: Floats,
    seen: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Enter the rows that a decision alone settles, `times` times, `(),(d),(d),(k),(m)->(d),(d),(directions)`.

    Returns the rounds and sums that were entered, and the use in the directions, 0 in tangents.
    """
    entered, sums, used = np.empty(v.shape), np.empty(v.shape), np.zeros((len(v), directions))
    for r in range(len(v)):
        for j in range(v.shape[1]):
            entered[r, j] = times * (counted[r] * (1.0 if known[j] else 0.0))
            sums[r, j] = times * (v[r, j] if known[j] else 0.0)
            spent[r, j] += sums[r, j]
            rounds[r, j] += entered[r, j]
        for m in range(len(followed)):
            seen[r, m] += entered[r, followed[m]]
        for k in range(len(first)):
            used[r, k] = sums[r, first[k]]
    return entered, sums, used


@kernel
def enter_arrived(
    counted: Floats,
    v: Floats,
    known: Bools,
    unseen: Floats,
    followed: Ints,
    spent: Floats,
    rounds: Floats,
    seen: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Enter the rows of outcomes that arrived, `(),(d),(d),(d),(m)->(d),(d),(d)`; NaN counts as `unseen`.

    Returns all rows, and the rounds and sums that were entered, which are 0 in rows that were settled at commit.
    """
    filled, waited, sums = np.empty(v.shape), np.empty(v.shape), np.empty(v.shape)
    for r in range(len(v)):
        for j in range(v.shape[1]):
            filled[r, j] = counted[r] * unseen[j] if np.isnan(v[r, j]) else v[r, j]
            waited[r, j] = counted[r] * (0.0 if known[j] else 1.0)
            sums[r, j] = 0.0 if known[j] else filled[r, j]
            spent[r, j] += sums[r, j]
            rounds[r, j] += waited[r, j]
        for m in range(len(followed)):
            j = followed[m]
            seen[r, m] += waited[r, j] * (0.0 if np.isnan(v[r, j]) else 1.0)
    return filled, waited, sums


@kernel
def use_in_directions(counted: Floats, v: Floats, filled: Floats, first: Ints, bounds: Floats, plan: Floats) -> Floats:
    """The use in the directions of rows, `(),(d),(d),(k),(d),(k)->(k)`; as planned where it is unbounded and unseen."""
    used = np.empty((len(v), len(first)))
    for r in range(len(v)):
        for k in range(len(first)):
            j = first[k]
            used[r, k] = counted[r] * plan[r, k] if np.isinf(bounds[j]) and np.isnan(v[r, j]) else filled[r, j]
    return used


@kernel
def compare(
    counted: Floats,
    used: Floats,
    which: Bools,
    forced: Floats,
    plan: Floats,
    gap: Floats,
    since: Floats,
    jump: Floats,
) -> None:
    """Compare the use in some directions and tangents with the plan, `(),(k),(k),(),(k)->(k),(k),(k)`.

    `jump` is the largest use in a round, of which a part is taken to be completed as planned.
    """
    for r in range(len(used)):
        for i in range(used.shape[1]):
            chosen = (1.0 - forced[r]) * (1.0 if which[i] else 0.0)
            gap[r, i] += used[r, i] * chosen - counted[r] * chosen * plan[r, i]
            since[r, i] += counted[r] * chosen
            if counted[r] > 0.0 and which[i]:
                jump[r, i] = max(jump[r, i], abs(used[r, i] + (1.0 - counted[r]) * plan[r, i]))


@kernel
def is_due(
    counted: Floats,
    t: Floats,
    last: float,
    arrived: Floats,
    due: Floats,
    news: Floats,
    changed: Bools,
    drift: float,
    since: Floats,
    noise: Floats,
    jump: Floats,
    gap: Floats,
) -> tuple[Bools, Bools, bool]:
    """Find the replicas in which prices have to be solved again, `(),(),(),(),(),(),(k),(k),(k),(k)->(),()`.

    Those in which that was planned, those in which it is due, also as consumption is off plan by more than `drift`
    standard deviations, and whether there are any.
    """
    planned, solve, some = np.zeros(len(t), np.bool_), np.zeros(len(t), np.bool_), False
    for r in range(len(t)):
        if counted[r] > 0.0 and t[r] != last:
            planned[r] = t[r] >= due[r] or arrived[r] + 1.0 >= news[r] or changed[r]
            solve[r] = planned[r]
            for i in range(gap.shape[1] if t[r] % 10.0 == 0.0 else 0):
                usual = np.sqrt(max(since[r, i], 0.0) * noise[r, i] + jump[r, i] * jump[r, i])
                solve[r] |= abs(gap[r, i]) > drift * usual
            some |= solve[r]
    return planned, solve, some


class _Facts(NamedTuple):
    """The constants of a goal's rows and directions."""

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
        price = prices_of_rows(pull_prices(self.mu, self.per_unit, self.gap), of.multiple, of.upper, of.lower)
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
        return is_due(d.counted, now, self.last_round, *known, unmoved, self.drift, *off)[2]

    @kernel
    def plans(self, c: Context, d: Decision, t: Floats) -> bool:
        """Whether the sample of contexts grows, or prices are solved again, after a decision that was counted."""
        if grows(self.history, c):
            return True
        unmoved, off = np.zeros(len(t), np.bool_), (self.since, self.noise, self.jump, self.gap)
        known = self.arrived, self.due, self.news
        return is_due(d.counted, t, self.last_round, *known, unmoved, self.drift, *off)[2]

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
        filled, _, _ = enter_arrived(d.counted, v, of.is_known, of.finite, of.followed, *books)
        used = use_in_directions(d.counted, v, filled, of.first, of.bounds, self.plan)
        for r in range(len(v)):
            self.arrived[r] += d.counted[r]
        compare(d.counted, used, of.awaited, d.forced, self.plan, self.gap, self.since, self.jump)

    @kernel
    def on_exposure(self, d: Decision, exposed: Bools) -> None:
        shown = exposed if len(exposed) > 0 else np.ones((1, 1), np.bool_)
        look(d.counted, d.plays, shown, self.made, self.looked)


@kernel
def _settle(rows: Any, of: _Facts, d: Decision, plan: Floats, books: tuple[Any, ...], off: tuple[Any, ...]) -> None:
    """Enter the rows that a decision alone settles, and compare their use with the plan."""
    v, k = rows.post_known(d), plan.shape[1]
    _, _, used = enter_settled(d.counted, 1.0, v, of.is_known, of.first, of.followed, k, *books)
    compare(d.counted, used, of.settled, d.forced, plan, *off)


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
