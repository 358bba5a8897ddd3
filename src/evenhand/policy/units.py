"""The books of units: what each got in the windows of its caps, and the action that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.core.kernel import inlined, kernel
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem
from evenhand.problem.unit import Unit

_ENTRIES = 64  # of a new state; a power of 2, as there are twice as many slots
_ROUNDING = 1e-9  # of a cap, by which sums of amounts may be off


@dataclass
class UnitState:
    """Entries of decisions in their order, each of which points to the one before of the same unit."""

    slots: Ints  # (R, 2E) the latest entry of a unit, by its number; -1 where there is none
    count: Ints  # (R,) how many entries there are
    unit: Ints  # (R, E) whose entry it is
    before: Ints  # (R, E) the entry before of the same unit, -1 for none
    number: Ints  # (R, E) of the decision
    time: Floats  # (R, E) of the decision
    amounts: Floats  # (R, E, C) what it uses of each cap
    action: Ints  # (R, E) that is kept from then on, -1 for none; (R, 0) where none is ever kept
    chance: Floats  # (R, E) of that action when it was drawn, -1 where it is unknown


class Keep(NamedTuple):
    """The actions that units keep."""

    actions: Ints  # (R,) -1 for none
    chances: Floats  # (R,) with which they were drawn, NaN where it is unknown


@inlined
def _slot(slots: Ints, unit: Ints, r: int, number: int) -> int:
    """The slot of a unit, or the empty one that it would have, `(2E),(E),(),()->()`."""
    last = slots.shape[1] - 1
    s = int(number) & last
    while slots[r, s] >= 0 and unit[r, slots[r, s]] != number:
        s = (s + 1) & last
    return int(s)


@kernel
def _allow(
    slots: Ints,
    unit: Ints,
    before: Ints,
    times: Floats,
    amounts: Floats,
    number: Ints,
    time: Floats,
    within: Floats,
    at_most: Floats,
    uses: Floats,
    offered: Bools,
) -> Bools:
    """Candidates that exceed no cap, `(2E),(E),(E),(E),(E,C),(1|R),(R),(C),(C),(1|R,A,C),(1|R,A)->(A)`."""
    allowed = np.empty((len(slots), offered.shape[1]), np.bool_)
    for r in range(len(slots)):
        whose, use, may = number[min(r, len(number) - 1)], min(r, len(uses) - 1), min(r, len(offered) - 1)
        used = np.zeros(len(within))
        entry = slots[r, _slot(slots, unit, r, whose)]
        while entry >= 0:
            for c in range(len(within)):
                if times[r, entry] > time[r] - within[c]:
                    used[c] += amounts[r, entry, c]
            entry = before[r, entry]
        for a in range(offered.shape[1]):
            allowed[r, a] = offered[may, a]
            for c in range(len(within)):
                if uses[use, a, c] > 0.0 and used[c] + uses[use, a, c] > at_most[c] * (1.0 + _ROUNDING):
                    allowed[r, a] = False
    return allowed


@kernel
def _source(
    slots: Ints, unit: Ints, before: Ints, times: Floats, actions: Ints, number: Ints, time: Floats, sticky: float
) -> Ints:
    """The entry whose action each unit keeps, -1 for none, `(2E),(E),(E),(E),(E),(1|R),(R),()->()`."""
    found = np.full(len(slots), -1)
    for r in range(len(slots)):
        entry = slots[r, _slot(slots, unit, r, number[min(r, len(number) - 1)])]
        while entry >= 0 and actions[r, entry] < 0:
            entry = before[r, entry]
        if entry >= 0 and times[r, entry] > time[r] - sticky:
            found[r] = entry
    return found


@kernel
def _link(slots: Ints, unit: Ints, before: Ints, times: Floats, r: int, entry: int, oldest: float) -> None:
    """Make an entry the latest of its unit, without those before it that are too old, `(2E),(E),(E),(E),(),(),()`."""
    s = _slot(slots, unit, r, unit[r, entry])
    before[r, entry] = slots[r, s]
    slots[r, s] = entry
    last, here = entry, before[r, entry]
    while here >= 0:
        if times[r, here] > oldest:
            last = here
        here = before[r, here]
    before[r, last] = -1


@kernel
def _link_all(slots: Ints, unit: Ints, before: Ints, times: Floats, count: Ints) -> None:
    """Link all entries in their order, into empty slots, `(2E),(E),(E),(E),()`."""
    for r in range(len(slots)):
        for entry in range(count[r]):
            _link(slots, unit, before, times, r, entry, -np.inf)


@dataclass(frozen=True, eq=False)
class UnitBooks:
    """Limits and keeps the actions of units; without a unit, it does nothing."""

    problem: Problem

    @cached_property
    def unit(self) -> Unit | None:
        return self.problem.unit

    def start(self, n_replicas: int) -> UnitState | None:
        """Return books without entries; None without a unit."""
        if self.unit is None:
            return None
        return self._empty(n_replicas, _ENTRIES)

    def allow(self, state: UnitState | None, context: Context, t: Floats) -> Context:
        """Return a context without the actions that would exceed a cap.

        Raises:
            InvalidInput: a context without a unit.
        """
        if state is None or self.unit is None:
            return context
        offered = _allow(
            *(state.slots, state.unit, state.before, state.time, state.amounts, self._number(context, len(t))),
            *(self._time(context, t), self._within, self._at_most, self._uses(context.known), context.offered),
        )
        return context if (offered == context.offered).all() else context._replace(offered=offered)

    def keep(self, state: UnitState | None, context: Context, playable: Bools, t: Floats) -> Keep | None:
        """Return the actions that units keep and that may be played, to which `playable` is restricted in place."""
        entry = self._sources(state, context, t)
        if state is None or entry is None:
            return None
        rows = np.arange(len(t))
        actions = np.where(entry >= 0, state.action[rows, entry], -1)
        here = (actions >= 0) & playable[rows, actions]
        playable[here] = False
        playable[rows[here], actions[here]] = True
        chances = state.chance[rows, entry]
        return Keep(np.where(here, actions, -1), np.where(chances < 0.0, np.nan, chances))

    def is_kept(self, state: UnitState | None, context: Context, decision: Decision, replica: int) -> bool:
        """Return whether a committed decision has the action that its unit got before."""
        entry = self._sources(state, context, decision.time)
        if state is None or entry is None or entry[replica] < 0:
            return False
        source = replica, entry[replica]
        same = state.action[source] == decision.plays[replica, 0]
        return bool(same and state.number[source] != decision.id[0])

    def _sources(self, state: UnitState | None, context: Context, t: Floats) -> Ints | None:
        """The entries whose actions units keep, -1 for none; None where none ever keeps any, `()->()`."""
        if state is None or self.unit is None or self.unit.sticky is None:
            return None
        books = state.slots, state.unit, state.before, state.time, state.action
        return _source(*books, self._number(context, len(t)), self._time(context, t), float(self.unit.sticky))

    def refuse(self, state: UnitState | None, context: Context, decision: Decision) -> None:
        """Refuse a decision whose play is no longer offered, as its unit got others since."""
        if state is None:
            return
        rows, plays = np.arange(len(decision.plays)), decision.plays[:, 0]
        offered = context.offered[rows if len(context.offered) > 1 else 0, plays]
        if ((plays >= 0) & (decision.counted > 0.0) & ~offered).any():
            raise StaleDecision("a cap of the unit forbids the play, as others were committed since: decide again")

    def commit(self, state: UnitState | None, context: Context, decision: Decision, before: Floats) -> None:
        """Enter a decision; `before` has the number of its round, `()`."""
        if state is None or self.unit is None:
            return
        d = decision
        amounts, kept = d.known[:, 0][:, self._places], np.full(len(before), -1)
        entry = self._sources(state, context, before)
        if entry is not None:  # what was kept anew, and not what is kept already
            was = np.where(entry >= 0, state.action[np.arange(len(before)), entry], -1)
            kept = np.where(d.plays[:, 0] == was, -1, d.plays[:, 0])
        enters = (d.counted > 0.0) & (d.plays[:, 0] >= 0) & ((amounts > 0.0).any(1) | (kept >= 0))
        if not enters.any():
            return
        time, numbers = self._time(context, before), self._number(context, len(before))
        if (state.count[enters] == state.unit.shape[1]).any():
            self._make_room(state, time)
        for r in np.flatnonzero(enters).tolist():
            here = int(state.count[r])
            state.count[r] += 1
            state.unit[r, here], state.time[r, here] = numbers[min(r, len(numbers) - 1)], time[r]
            state.number[r, here], state.amounts[r, here] = d.id[0], amounts[r]
            if state.action.shape[1]:
                state.action[r, here], state.chance[r, here] = kept[r], np.nan_to_num(d.propensities[r, 0], nan=-1.0)
            _link(state.slots, state.unit, state.before, state.time, r, here, float(time[r]) - self.unit.window)

    def cancel(self, state: UnitState | None, decision: Decision) -> None:
        """Take back a decision: its unit used nothing, and keeps nothing."""
        if state is None:
            return
        for r in np.flatnonzero(decision.counted > 0.0).tolist():
            numbers = state.number[r, : state.count[r]]
            entry = int(np.searchsorted(numbers, decision.id[0]))
            if entry < len(numbers) and numbers[entry] == decision.id[0]:
                state.amounts[r, entry] = 0.0
                if state.action.shape[1]:
                    state.action[r, entry] = -1

    def _make_room(self, state: UnitState, now: Floats) -> None:
        """Drop the entries that no window contains; double the room if they are less than half of all."""
        assert self.unit is not None
        size = state.unit.shape[1]
        alive = state.time > (now - self.unit.window)[:, None]
        alive &= np.arange(size) < state.count[:, None]
        count = alive.sum(1)
        other = self._empty(len(now), size if 2 * int(count.max()) <= size else 2 * size)
        for r in range(len(now)):
            for name in ("unit", "number", "time", "amounts", "action", "chance"):
                old = getattr(state, name)
                if old.shape[1]:
                    getattr(other, name)[r, : count[r]] = old[r, alive[r]]
        other.count[:] = count
        _link_all(other.slots, other.unit, other.before, other.time, other.count)
        vars(state).update(vars(other))

    def _empty(self, n_replicas: int, size: int) -> UnitState:
        assert self.unit is not None
        shape, sticky = (n_replicas, size), (n_replicas, size if self.unit.sticky is not None else 0)
        return UnitState(
            slots=np.full((n_replicas, 2 * size), -1, np.int32),
            count=np.zeros(n_replicas, np.int64),
            unit=np.zeros(shape, np.int64),
            before=np.full(shape, -1, np.int32),
            number=np.full(shape, -1, np.int64),
            time=np.zeros(shape),
            amounts=np.zeros((*shape, len(self.unit.caps))),
            action=np.full(sticky, -1, np.int32),
            chance=np.ones(sticky),
        )

    @staticmethod
    def _time(context: Context, t: Floats) -> Floats:
        return t if context.time is None else context.time + np.zeros(len(t))

    def _number(self, context: Context, n_replicas: int) -> Ints:
        assert self.unit is not None
        u = context.unit
        if not isinstance(u, np.ndarray) or u.dtype != np.int64 or u.shape not in ((1,), (n_replicas,)):
            expected = f"the number of the {self.unit.name}, an array of whole numbers of shape (1,) or ({n_replicas},)"
            raise InvalidInput("context.unit", expected, None if u is None else u)
        return u

    def _uses(self, known: Floats) -> Floats:
        return np.ascontiguousarray(known[:, :, self._places])

    @cached_property
    def _places(self) -> Ints:
        """The places of capped outcomes among the known ones, `->(C)`."""
        caps = () if self.unit is None else self.unit.caps
        return np.array([self.problem.known.index(cap.outcome) for cap in caps], np.int64)

    @cached_property
    def _within(self) -> Floats:
        return np.array([cap.within for cap in self.unit.caps], float) if self.unit is not None else np.zeros(0)

    @cached_property
    def _at_most(self) -> Floats:
        return np.array([cap.at_most for cap in self.unit.caps], float) if self.unit is not None else np.zeros(0)
