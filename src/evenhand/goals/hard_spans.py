"""Allowances of spans of time that are never exceeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals._limits import HELD, USED, USED_REST
from evenhand.goals.hard_budget import HardBudget, HardState
from evenhand.problem.constraints import Constraint
from evenhand.problem.rows import Frame, Rows
from evenhand.problem.spans import Spans


@dataclass
class SpansState:
    """The amounts used and held back in every period."""

    taken: Floats  # (4, R, d, P): as in `HardState`, by the period of the decision
    credit: bool  # whether a decision that gives something back was ever committed
    now: Floats  # (R,) the time of the latest decision


@named("X10", source="evenhand's own; a budget as a list of spans of time, as in replenished knapsacks")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardSpans:
    """Never let the sum of a row over a span of time exceed the allowance of the span.

    Equation: plays a_1, ..., a_P at a time in period p fit if sum_i worst(a_i) <= min_s (allowance_s - used_s) over the
    spans s that contain p, with used_s = sum over the periods q of s of what decisions made in q used or may use.
    An outcome is charged to the period of its decision, so that a late one cannot exceed the allowance of another.

    Args:
        limit: the worst case of plays; its total is the least allowance, to which rounding is compared.
        spans: of time, with an allowance each.

    Raises:
        InvalidInput: a limit of several rows.
    """

    limit: HardBudget
    spans: Spans

    def __post_init__(self) -> None:
        if len(self.limit.rows) != 1:
            raise InvalidInput("HardSpans.limit", "one row", self.limit.rows.names)

    @property
    def rows(self) -> Rows:
        return self.limit.rows

    @cached_property
    def total(self) -> Floats:
        """The largest total that the spans allow, `->(d)`."""
        return np.array([self.spans.most])

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return self.limit.constraints

    @property
    def by_time(self) -> bool:
        return True

    def start(self, n_replicas: int) -> SpansState:
        taken = np.zeros((4, n_replicas, 1, self.spans.periods))
        return SpansState(taken, False, np.zeros(n_replicas))

    def room(self, state: SpansState, frame: Frame) -> tuple[Floats, Floats]:
        return self.limit.room(self._state_at(state, self._time(state, frame)), frame)

    def fits(self, state: SpansState, decision: Decision) -> Bools:
        return self.limit.fits(self._state_at(state, decision.time), decision)

    def over(self, state: SpansState) -> Bools:
        """No replica, as a later period may have an allowance of its own, `->()`."""
        return np.zeros(len(state.now), bool)

    def account(self, state: SpansState) -> tuple[Floats, Floats]:
        """The most that the spans still allow over all periods, and the amount held, `->(d),(d)`."""
        sums = state.taken.sum(3)
        return np.asarray(self.total - sums[USED] - sums[USED_REST]), np.asarray(sums[HELD])

    def used(self, state: SpansState) -> Floats:
        return np.asarray(state.taken[USED, :, 0] + state.taken[USED_REST, :, 0])

    def held(self, state: SpansState) -> Floats:
        return np.asarray(state.taken[HELD, :, 0])

    def period(self, state: SpansState) -> Ints:
        return self.spans.period(state.now)

    def left(self, state: SpansState, time: Floats) -> Floats:
        """The amount left at a time: the smallest over the spans that contain it, `()->()`."""
        return self.spans.left(self.used(state), self.spans.period(time))

    def on_decision(self, state: SpansState, decision: Decision, estimate: Floats | None) -> None:
        state.now = np.where(decision.counted > 0.0, decision.time, state.now)
        self._enter_period(state, decision, lambda here: self.limit.on_decision(here, decision, estimate))

    def on_outcome(self, state: SpansState, decision: Decision, counted: Floats, v: Floats) -> None:
        self._enter_period(state, decision, lambda here: self.limit.on_outcome(here, decision, counted, v))

    def on_return(self, state: SpansState, decision: Decision) -> None:
        self._enter_period(state, decision, lambda here: self.limit.on_return(here, decision))

    def on_reversal(self, state: SpansState, decision: Decision, counted: Floats, v: Floats) -> None:
        self._enter_period(state, decision, lambda here: self.limit.on_reversal(here, decision, counted, v))

    def on_part(self, state: SpansState, decision: Decision, waits: Bools, rest: Bools, v: Floats) -> None:
        self._enter_period(state, decision, lambda here: self.limit.on_part(here, decision, waits, rest, v))

    def on_cancel(self, state: SpansState, decision: Decision) -> None:
        self._enter_period(state, decision, lambda here: self.limit.on_cancel(here, decision))

    def _enter_period(self, state: SpansState, decision: Decision, enter: Callable[[HardState], None]) -> None:
        """Apply a function to the books of the period of a decision."""
        replicas, period = np.arange(len(state.now)), self.spans.period(decision.time)
        here = self._state(np.ascontiguousarray(np.moveaxis(state.taken[:, replicas, :, period], 0, 1)), state.credit)
        enter(here)
        state.taken[:, replicas, :, period] = np.moveaxis(here.taken, 1, 0)
        state.credit = here.credit

    def _state_at(self, state: SpansState, time: Floats) -> HardState:
        """The limit's state in which as much is left as at a time, `()`."""
        taken = np.zeros(state.taken.shape[:3])
        taken[USED, :, 0] = self.limit.total - self.left(state, time)
        return self._state(taken, state.credit)

    def _state(self, taken: Floats, credit: bool) -> HardState:
        return HardState(taken, credit, np.tile(self.limit.total, (taken.shape[1], 1)))

    @staticmethod
    def _time(state: SpansState, frame: Frame) -> Floats:
        return state.now if frame.time is None else frame.time
