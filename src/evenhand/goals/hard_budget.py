"""Totals that are never exceeded: a candidate whose worst case does not fit is not playable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.goals.base import Estimate
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Frame, Rows


@dataclass
class HardState:
    """What is left."""

    left: Floats  # (R, d); what is held back for outcomes under way is already taken off
    held: Floats  # (R, d) held back: no more than that is ever given back, whatever is reported twice


@kernel
def _worst(known: Floats, most: Floats, sure: Bools, z: Floats) -> Floats:
    """The most that each candidate can use of each row, `(d,L),(A,d),(L),(A,L)->(A,d)`.

    A known outcome that may not come about is taken for what it is if it uses something, and for 0 if it gives back.
    """
    worst = np.empty((z.shape[0], z.shape[1], most.shape[1]))
    for r in range(z.shape[0]):
        for a in range(z.shape[1]):
            for j in range(most.shape[1]):
                total = most[a if len(most) > 1 else 0, j]
                for i in range(z.shape[2]):
                    used = known[j, i] * z[r, a, i]
                    total += used if sure[i] or used > 0.0 else 0.0
                worst[r, a, j] = total
    return worst


@kernel
def _used(worst: Floats, plays: Ints, counted: Floats) -> Floats:
    """The most that the plays can use together, `(P,d),(P),()->(d)`."""
    total = np.zeros((len(plays), worst.shape[2]))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] > 0.0 and plays[r, p] >= 0:
                total[r] += worst[r, p]
    return total


@kernel
def _settle(worst: Floats, counted: Floats, waits: Bools, v: Floats, left: Floats, held: Floats) -> None:
    """Give back what was held for rows that wait, and take what was used, `(d),(),(d),(d),(d),(d)`."""
    for r in range(len(left)):
        for j in range(len(waits)):
            if waits[j] and counted[r] > 0.0 and not np.isnan(v[r, j]):
                back = min(worst[r, j], held[r, j])
                held[r, j] -= back
                left[r, j] += back - v[r, j]


@named("X3", source="evenhand's own; the stopping rule of paper 5, Algorithm 1, made exact")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardBudget:
    """Never let the sum of rows exceed its total, whatever the outcomes turn out to be.

    Equation: plays a_1, ..., a_P fit if sum_p worst_j(a_p) <= left_j for every row j, worst_j(a) being the most that
    row j can be given the declared ranges. The choice takes candidates in its own order while they fit. The worst case
    is held back when a decision is committed and settled when its outcome arrives; an outcome that never arrives, or is
    not observed, stays held back.

    Args:
        rows: consumption, d rows that concern everybody.
        total: over the horizon, `(d)`.
        low, high: ranges of the learned outcomes, `(M)`.
        free: candidates under which a learned outcome is always 0, `(A,M)`, where candidates are always the same.

    Raises:
        InvalidInput: rows of single groups, totals of the wrong shape or not positive, or consumption without a
            declared finite range.

    >>> rows = Rows.plain(["ride"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = HardBudget(rows=rows, total=np.array([5.0]), low=np.zeros(1), high=np.ones(1))
    >>> goal.start(2).left
    array([[5.],
           [5.]])
    """

    rows: Rows
    total: Floats
    low: Floats
    high: Floats
    free: Bools | None = None

    def __post_init__(self) -> None:
        if not self.rows.plain_only:
            raise InvalidInput("HardBudget.rows", "rows that concern everybody", self.rows.names)
        if self.total.shape != (len(self.rows),) or not (np.isfinite(self.total).all() and (self.total > 0).all()):
            raise InvalidInput("HardBudget.total", f"{len(self.rows)} finite numbers above 0", self.total)
        for name, row in zip(self.rows.names, self.rows.learned, strict=True):
            if not (np.isfinite(self.low[row != 0]).all() and np.isfinite(self.high[row != 0]).all()):
                raise InvalidInput(
                    f"HardBudget {name!r}", "an outcome with a finite declared range", "an unbounded one"
                )

    def start(self, n_replicas: int) -> HardState:
        """Everything is left."""
        left = np.tile(self.total, (n_replicas, 1))
        return HardState(left, np.zeros_like(left))

    def room(self, state: HardState, frame: Frame) -> tuple[Floats, Floats]:
        """The most that each candidate can use of each row, and what is left, `->(A,d),(d)`."""
        return _worst(self.rows.known, self._most, self.rows.sure, frame.known), state.left + self._rounding

    def fits(self, state: HardState, decision: Decision) -> Bools:
        """Whether all plays of a decision still fit together, `->()`."""
        return np.asarray((self._used(decision) <= state.left + self._rounding).all(1))

    def over(self, state: HardState) -> Bools:
        """Where no candidate can fit any more: each of them uses up to a fixed amount of a row, too much, `->()`."""
        fixed = ~self.rows.known.any(1)
        gone = (self._most > (state.left + self._rounding)[:, None]) & (state.held <= self._rounding)[:, None]
        return np.asarray(np.all(np.any(gone & fixed, axis=2), axis=1))

    def on_decision(self, state: HardState, decision: Decision, estimate: Estimate) -> None:
        """Hold back the worst case of the plays; of what is known for sure that is all there is to do."""
        used = self._used(decision)
        state.left -= used
        if self._waits.any():
            state.held += used * self._waits

    def on_outcome(self, state: HardState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Settle, `(),(d)`: give back what was held and take what was used. What is known for sure needs none."""
        if self._waits.any():
            _settle(self._used(decision), counted, self._waits, v, state.left, state.held)

    def on_cancel(self, state: HardState, decision: Decision) -> None:
        """Give back what was taken for a decision that is not carried out."""
        used = self._used(decision)
        back = np.where(self._waits, np.minimum(used, state.held), used)
        state.left += back
        state.held -= back * self._waits

    def _used(self, decision: Decision) -> Floats:
        """The most that the plays of a decision can use together, `->(d)`."""
        most = self._most
        if len(most) == 1:
            worst = _worst(self.rows.known, most, self.rows.sure, decision.known)
            return _used(worst, decision.plays, decision.counted)
        known = _worst(self.rows.known, np.zeros((1, len(self.rows))), self.rows.sure, decision.known)
        return _used(known + most[decision.plays], decision.plays, decision.counted)

    @cached_property
    def _waits(self) -> Bools:
        """Rows that are settled when outcomes arrive, `->(d)`."""
        return ~self.rows.is_known

    @cached_property
    def _most(self) -> Floats:
        """The most that learned outcomes can add to each row, for all candidates alike or for each, `->(A,d)`."""
        w = self.rows.learned
        ends = np.where(w > 0, w * np.where(w > 0, self.high, 0.0), w * np.where(w < 0, self.low, 0.0))
        if self.free is None or not self.free.any():
            return np.asarray(ends.sum(1)[None])
        return np.asarray((ends * ~self.free[:, None, :]).sum(2))

    @cached_property
    def _rounding(self) -> Floats:
        return 1e-9 * self.total


def hard_limits(problem: Problem, hard: bool) -> tuple[HardBudget, ...]:
    """The hard limit on everything that is spent and is to be kept hard; () where there is no such thing.

    Args:
        problem: each of its constraints may say itself whether it is hard.
        hard: of the constraints that leave it to the recipe.

    Raises:
        InvalidInput: one to be kept hard is on an outcome without a finite range.

    >>> from evenhand.environments import Court
    >>> hard_limits(Court().problem, hard=False)
    ()
    >>> hard_limits(Court().problem, hard=True)[0].total
    array([ 500., 2000.])
    """
    kept = [c for c in problem.spending if (hard if c.hard is None else c.hard)]
    if not kept:
        return ()
    rows, _ = constraint_rows(problem, kept)
    total = np.concatenate([np.full(len(c.rows(problem)), c.total_over(problem.horizon)) for c in kept])
    return (HardBudget(rows=rows, total=total, low=problem.low, high=problem.high, free=problem.free),)


def hard_budget(problem: Problem) -> HardBudget:
    """The hard limit of a problem that spends something.

    Raises:
        InvalidInput: nothing is spent, or nothing that may be kept hard.
    """
    limits = hard_limits(problem, True)
    if not limits:
        raise InvalidInput("subject_to", "at least one Budget to be kept hard", problem.subject_to)
    return limits[0]
