"""The books of units: what each got in the windows of its caps, and the action that it keeps."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput, StaleDecision
from evenhand.core.records import Context, Decision
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.problem import Problem
from evenhand.problem.unit import Cap

_ENTRIES = 64  # of a new state; a power of 2, as there are twice as many slots
_ROUNDING = 1e-9  # of a cap, by which sums of amounts may be off


@dataclass
class UnitState:
    """Entries of decisions in their order, each of which points to the one before of the same unit."""

    slots: Ints  # (R, 2E) the latest entry of a unit, by its number; -1 where there is none
    entries: Ints  # (R,) how many entries there are
    unit: Ints  # (R, E) whose entry it is
    before: Ints  # (R, E) the entry before of the same unit, -1 for none
    number: Ints  # (R, E) of the decision
    time: Floats  # (R, E) of the decision
    amounts: Floats  # (R, E, C) what it uses of each cap
    action: Ints  # (R, E) that is kept from then on, -1 for none; (R, 0) where none is ever kept
    kept: Ints  # (R, E) by how many later decisions
    chance: Floats  # (R, E) of that action when it was drawn, -1 where it is unknown
    gone: Floats  # (R,) the latest time of an entry that was dropped
    counts: Ints  # (R, 2+C) decisions; those that kept an action; and those with a cap that forbade an action


class PolicyLuck(Protocol):
    """The state of a policy, as far as luck depends on it."""

    seed: int
    replicas: Ints
    t: Floats


class Keep(NamedTuple):
    """The actions that units keep."""

    actions: Ints  # (R,) -1 for none
    chances: Floats  # (R,) with which they were drawn, NaN where it is unknown


@dataclass(frozen=True)
class CapUse:
    """A cap, with the decisions for which it forbade an action."""

    outcome: str
    at_most: float
    within: str
    reached: int


@dataclass(frozen=True)
class UnitUse:
    """What a policy knows of units: how many it remembers, how often caps were reached and actions kept."""

    name: str
    known: int  # within the longest window before the latest decision that counts there
    decisions: int
    caps: tuple[CapUse, ...]
    sticky: str  # for how long an action is kept, "" for not at all
    kept: int  # decisions that kept the action of an earlier one

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Names and texts, a line for the units, every cap, and kept actions."""
        caps = [
            (
                z.outcome,
                f"at most {z.at_most:g} in {z.within}: reached in {z.reached:,} of {self.decisions:,} decisions",
            )
            for z in self.caps
        ]
        kept = [("kept", f"for {self.sticky}: {self.kept:,} of {self.decisions:,} decisions kept an action")]
        return [(self.name, f"{self.known:,} known"), *caps, *(kept if self.sticky else [])]


class Windows(NamedTuple):
    """The windows of a unit."""

    places: list[int]  # of the capped outcomes, among the known ones
    within: list[float]
    at_most: list[float]  # with room for rounding
    sticky: float  # 0 where no action is kept
    longest: float


def _slot(s: UnitState, r: int, number: int) -> int:
    """Return the slot of a unit, or the empty one that it would have."""
    slots, unit = s.slots[r], s.unit[r]
    last = len(slots) - 1
    found = number & last
    while slots[found] >= 0 and unit[slots[found]] != number:
        found = (found + 1) & last
    return found


def _entries(s: UnitState, r: int, number: int) -> Iterator[int]:
    """Yield the entries of a unit, the latest first."""
    return _chain(s, r, int(s.slots[r, _slot(s, r, number)]))


def _chain(s: UnitState, r: int, entry: int) -> Iterator[int]:
    """Yield an entry and those before it of the same unit; none if it is -1."""
    while entry >= 0:
        yield entry
        entry = int(s.before[r, entry])


def _used(s: UnitState, r: int, number: int, now: float, windows: list[float], without: int) -> list[float]:
    """Return what a unit has had in windows that end now, not counting the decision of a number."""
    # A case that comes late may have had dropped entries in its windows, which then count as full.
    used = [math.inf if now - within < s.gone[r] else 0.0 for within in windows]
    for entry in _entries(s, r, number):
        age = now - s.time[r, entry]
        for c, within in enumerate(windows):
            used[c] += s.amounts[r, entry, c] if age < within and s.number[r, entry] != without else 0.0
    return used


def _source(s: UnitState, r: int, number: int, since: float) -> int:
    """Return the entry whose action a unit keeps, if it was later than a time; -1 for none."""
    for entry in _entries(s, r, number):
        if s.action[r, entry] >= 0:
            return entry if s.time[r, entry] > since else -1
    return -1


def _link(s: UnitState, r: int, entry: int, oldest: float) -> None:
    """Make an entry the latest of its unit, without those before it that are too old."""
    slot = _slot(s, r, int(s.unit[r, entry]))
    s.before[r, entry] = s.slots[r, slot]
    s.slots[r, slot] = last = entry
    for earlier in _entries(s, r, int(s.unit[r, entry])):
        last = earlier if s.time[r, earlier] > oldest else last
    for dropped in _chain(s, r, int(s.before[r, last])):
        s.gone[r] = max(s.gone[r], s.time[r, dropped])
    s.before[r, last] = -1


def _link_all(s: UnitState, r: int) -> None:
    """Link all entries in their order, into empty slots."""
    count = int(s.entries[r])
    order = np.argsort(s.unit[r, :count], kind="stable")
    same = s.unit[r, order[1:]] == s.unit[r, order[:-1]]
    s.before[r, order[1:][same]] = order[:-1][same]
    latest, slots = order[np.append(~same, True)[:count]], s.slots[r]
    slot = s.unit[r, latest] & (len(slots) - 1)
    while len(latest):
        free = slots[slot] < 0
        slots[slot[free]] = latest[free]
        beside = slots[slot] != latest
        latest, slot = latest[beside], (slot[beside] + 1) & (len(slots) - 1)


@dataclass(frozen=True, eq=False)
class UnitBooks:
    """Limits what units get, and keeps their actions; it does nothing in a problem without units."""

    problem: Problem

    def start(self, n_replicas: int) -> UnitState | None:
        """Return books without entries; None without units."""
        return None if self._windows is None else self._empty(n_replicas, _ENTRIES)

    def allow(self, state: UnitState | None, context: Context, t: Floats, without: int = -1) -> Context:
        """Return a context without the actions that would exceed a cap, as before the decision `without`.

        Raises:
            InvalidInput: a context without the number of its unit.
        """
        w = self._windows
        if state is None or w is None or not w.places:
            return context
        found = None
        for r, (number, now) in enumerate(self._of_case(context, t)):
            used = _used(state, r, number, now, w.within, without)
            for a, uses in enumerate(context.known[min(r, len(context.known) - 1)][:, w.places].tolist()):
                if any(u > 0.0 and u + z > most for u, z, most in zip(uses, used, w.at_most, strict=True)):
                    found = np.repeat(context.offered, len(t) // len(context.offered), 0) if found is None else found
                    found[r, a] = False
        return context if found is None else context._replace(offered=found)

    def uses(self, state: UnitState | None, context: Context, d: Decision, r: int) -> Iterator[tuple[Cap, float]]:
        """Yield every cap with what the unit of a decision has had in its window, without this decision."""
        w, unit = self._windows, self.problem.unit
        if state is not None and w is not None and unit is not None:
            number, now = list(self._of_case(context, d.time))[r]
            yield from zip(unit.caps, _used(state, r, number, now, w.within, int(d.id[0])), strict=True)

    def length(self, window: float) -> str:
        """The length of a window of time in words."""
        problem = self.problem
        of = "rounds" if problem.until is None else "units of time"
        return f"{amount(window)} {of if problem.clock.since is None else 'days'}"

    def use(self, state: UnitState | None, replica: int) -> UnitUse | None:
        """Count the units that are known, and the decisions that caps and kept actions decided; None without units."""
        w, unit = self._windows, self.problem.unit
        if state is None or w is None or unit is None:
            return None
        times = state.time[replica, : state.entries[replica]]
        latest = state.slots[replica][state.slots[replica] >= 0]
        known = int((times[latest] > times.max(initial=-math.inf) - w.longest).sum())
        decisions, kept, *reached = state.counts[replica].tolist()
        caps = (CapUse(c.outcome, c.at_most, self.length(c.within), n) for c, n in zip(unit.caps, reached, strict=True))
        sticky = "" if unit.sticky is None else self.length(unit.sticky)
        return UnitUse(unit.name, known, decisions, tuple(caps), sticky, kept)

    def keep(self, state: UnitState | None, context: Context, playable: Bools, t: Floats) -> Keep | None:
        """Return the actions that units keep and that may be played, to which `playable` is restricted in place.

        None if no unit keeps any.
        """
        w = self._windows
        if state is None or w is None or w.sticky == 0.0:
            return None
        found = None
        for r, (number, now) in enumerate(self._of_case(context, t)):
            entry = _source(state, r, number, now - w.sticky)
            if entry >= 0 and playable[r, state.action[r, entry]]:
                found = Keep(np.full(len(t), -1), np.ones(len(t))) if found is None else found
                found.actions[r] = state.action[r, entry]
                found.chances[r] = state.chance[r, entry] if state.chance[r, entry] >= 0.0 else np.nan
                playable[r] = False
                playable[r, found.actions[r]] = True
        return found

    def side(self, state: PolicyLuck, context: Context, luck: Floats) -> Floats:
        """Let the unit decide whether a round is held out, so that all of its rounds are on one side, `(i)->(i)`."""
        if self._windows is None:
            return luck
        found = luck.copy()
        for r, (number, _) in enumerate(self._of_case(context, state.t)):
            digest = hashlib.blake2b(f"{state.seed} {state.replicas[r]} {number}".encode(), digest_size=8).digest()
            found[r, 0] = (int.from_bytes(digest, "little") >> 11) * 2.0**-53
        return found

    def is_kept(self, state: UnitState | None, context: Context, decision: Decision, replica: int) -> bool:
        """Return whether a committed decision has the action that its unit got before."""
        w = self._windows
        if state is None or w is None or w.sticky == 0.0:
            return False
        number, _ = list(self._of_case(context, decision.time))[replica]
        source = replica, _source(state, replica, number, float(decision.time[replica]) - w.sticky)
        if source[1] < 0:
            return False
        same = state.action[source] == decision.plays[replica, 0]
        return bool(same and state.number[source] != decision.id[0])

    def refuse(self, state: UnitState | None, context: Context, decision: Decision) -> None:
        """Refuse a decision whose play is no longer offered, as its unit got others since.

        Raises:
            StaleDecision: there is one.
        """
        if state is None:
            return
        offered = context.offered
        for r, play in enumerate(decision.plays[:, 0].tolist()):
            if play >= 0 and decision.counted[r] > 0.0 and not offered[min(r, len(offered) - 1), play]:
                raise StaleDecision("a cap of the unit forbids the play, as others were committed since: decide again")

    def commit(self, state: UnitState | None, context: Context, decision: Decision, t: Floats) -> None:
        """Enter a decision; `t` has the number of its round, `()`."""
        w, d = self._windows, decision
        if state is None or w is None:
            return
        if (state.entries == state.unit.shape[1]).any():
            self._make_room(state, t if context.time is None else context.time)
        for r, (number, now) in enumerate(self._of_case(context, t)):
            play = int(d.plays[r, 0])
            if d.counted[r] == 0.0 or play < 0:
                continue
            state.counts[r, 0] += 1
            masked = ~context.offered[min(r, len(context.offered) - 1)]
            if w.places and masked.any():
                amounts = context.known[min(r, len(context.known) - 1)][:, w.places][masked]
                beyond = amounts + _used(state, r, number, now, w.within, -1) > w.at_most
                state.counts[r, 2:] += ((amounts > 0.0) & beyond).any(0)
            keeps = w.sticky > 0.0
            if keeps:
                source = _source(state, r, number, now - w.sticky)
                keeps = source < 0 or state.action[r, source] != play
                if not keeps:
                    state.kept[r, source] += 1
                    state.counts[r, 1] += 1
            amounts = np.maximum(d.known[r, 0, w.places], 0.0)  # a refund would end sooner than what it makes room for
            if not keeps and not (amounts > 0.0).any():
                continue
            entry = int(state.entries[r])
            state.entries[r] += 1
            state.unit[r, entry], state.time[r, entry], state.number[r, entry] = number, now, d.id[0]
            state.amounts[r, entry] = amounts
            if keeps:
                chance = float(d.propensities[r, 0])
                state.action[r, entry], state.chance[r, entry] = play, -1.0 if math.isnan(chance) else chance
            _link(state, r, entry, now - w.longest)

    def cancel(self, state: UnitState | None, decision: Decision) -> None:
        """Take back a decision: its unit used nothing, and keeps nothing unless later decisions kept it."""
        if state is None:
            return
        for r in np.flatnonzero(decision.counted > 0.0).tolist():
            numbers = state.number[r, : state.entries[r]]
            entry = int(np.searchsorted(numbers, decision.id[0]))
            if entry < len(numbers) and numbers[entry] == decision.id[0]:
                state.amounts[r, entry] = 0.0
                if state.action.shape[1] and not state.kept[r, entry]:
                    state.action[r, entry] = -1

    def _make_room(self, state: UnitState, now: Floats) -> None:
        """Drop the entries that no window contains; double the room if the others fill more than half of it, `()`."""
        assert self._windows is not None
        size = state.unit.shape[1]
        alive = (state.time > (now - self._windows.longest)[:, None]) & (np.arange(size) < state.entries[:, None])
        count = alive.sum(1)
        other = self._empty(len(alive), size if 2 * int(count.max()) <= size else 2 * size)
        other.entries[:], other.counts[:] = count, state.counts
        dropped = ~alive & (np.arange(size) < state.entries[:, None])
        other.gone[:] = np.maximum(state.gone, np.where(dropped, state.time, -np.inf).max(1))
        for name in ("unit", "number", "time", "amounts", "action", "kept", "chance"):
            old, new = getattr(state, name), getattr(other, name)
            for r in range(len(alive) if old.shape[1] else 0):
                new[r, : count[r]] = old[r, alive[r]]
        for r in range(len(alive)):
            _link_all(other, r)
        vars(state).update(vars(other))

    def _empty(self, n_replicas: int, size: int) -> UnitState:
        w = self._windows
        assert w is not None
        shape, keeps = (n_replicas, size), (n_replicas, size if w.sticky > 0.0 else 0)
        return UnitState(
            slots=np.full((n_replicas, 2 * size), -1, np.int32),
            entries=np.zeros(n_replicas, np.int64),
            unit=np.zeros(shape, np.int64),
            before=np.full(shape, -1, np.int32),
            number=np.full(shape, -1, np.int64),
            time=np.zeros(shape),
            amounts=np.zeros((*shape, len(w.places))),
            action=np.full(keeps, -1, np.int32),
            kept=np.zeros(keeps, np.int32),
            chance=np.ones(keeps),
            gone=np.full(n_replicas, -math.inf),
            counts=np.zeros((n_replicas, 2 + len(w.places)), np.int64),
        )

    def _of_case(self, context: Context, t: Floats) -> Iterator[tuple[int, float]]:
        """Yield the unit and the time of the case, by replica."""
        u, time = context.unit, t if context.time is None else context.time
        if not isinstance(u, np.ndarray) or u.dtype != np.int64 or u.shape not in ((1,), t.shape):
            expected = f"the numbers of units, whole numbers in an array of shape (1,) or ({len(t)},)"
            raise InvalidInput("context.unit", expected, u)
        return zip(*(z.tolist() * (len(t) // len(z)) for z in (u, time)), strict=True)

    @cached_property
    def _windows(self) -> Windows | None:
        unit = self.problem.unit
        if unit is None:
            return None
        places = [self.problem.known.index(cap.outcome) for cap in unit.caps]
        at_most = [cap.at_most * (1.0 + _ROUNDING) for cap in unit.caps]
        return Windows(places, [cap.within for cap in unit.caps], at_most, float(unit.sticky or 0.0), unit.window)
