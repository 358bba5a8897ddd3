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
def _worst(known: Floats, most: Floats, z: Floats, a: int, j: int) -> float:
    """The most that candidate a with known outcomes z can consume of row j, `(d,L),(A,d),(L)->()`."""
    total = float(most[a if len(most) > 1 else 0, j])
    for i in range(len(z)):
        total += known[j, i] * z[i]
    return total


@kernel
def _mask(known: Floats, most: Floats, z: Floats, left: Floats, plays: int, slack: Floats, playable: Bools) -> None:
    for r in range(len(left)):
        for a in range(z.shape[1]):
            for j in range(most.shape[1]):
                if plays * _worst(known, most, z[r if len(z) > 1 else 0, a], a, j) > left[r, j] + slack[j]:
                    playable[r, a] = False


@kernel
def _hold(known: Floats, most: Floats, z: Floats, plays: Ints, rounds: Floats, left: Floats, held: Floats) -> None:
    for r in range(len(left)):
        for p in range(plays.shape[1]):
            if rounds[r] > 0.0 and plays[r, p] >= 0:
                for j in range(most.shape[1]):
                    worst = _worst(known, most, z[r, p], plays[r, p], j)
                    left[r, j] -= worst
                    held[r, j] += worst


@kernel
def _settle(
    known: Floats, most: Floats, z: Floats, plays: Ints, rounds: Floats, v: Floats, left: Floats, held: Floats
) -> None:
    for r in range(len(left)):
        for j in range(most.shape[1]):
            worst = 0.0
            for p in range(plays.shape[1]):
                if rounds[r] > 0.0 and plays[r, p] >= 0:
                    worst += _worst(known, most, z[r, p], plays[r, p], j)
            if not np.isnan(v[r, j]):
                back = min(worst, held[r, j])
                held[r, j] -= back
                left[r, j] += back - v[r, j]


@named("X3", source="evenhand's own; the stopping rule of paper 5, Algorithm 1, made exact")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardBudget:
    """Never let the sum of rows exceed its total, whatever the outcomes turn out to be.

    Equation: candidate a is playable only if P worst_j(a) <= left_j for every row j, worst_j(a) being the most that
    row j can be given the declared ranges; P plays then fit together. The worst case is held back when a decision is
    made and settled when its outcome arrives; an outcome that never arrives, or is not observed, stays held back.

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

    def limit(self, state: HardState, frame: Frame, shares: Floats, plays: int, playable: Bools) -> None:
        """Switch off candidates whose worst case might not fit, in place, `(A)`."""
        _mask(self.rows.known, self._most, frame.known, state.left, plays, self._rounding, playable)

    def over(self, state: HardState) -> Bools:
        """Where no candidate can fit any more: each of them uses up to a fixed amount of a row, too much, `->()`."""
        fixed = ~self.rows.known.any(1)
        gone = (self._most > (state.left + self._rounding)[:, None]) & (state.held <= self._rounding)[:, None]
        return np.asarray(np.all(np.any(gone & fixed, axis=2), axis=1))

    def on_decision(self, state: HardState, decision: Decision, estimate: Estimate) -> None:
        """Hold back the worst case of the plays; of known consumption that is all there is to do."""
        held = state.held if self.rows.reads_learned else np.zeros_like(state.held)
        _hold(self.rows.known, self._most, decision.known, decision.plays, decision.rounds, state.left, held)

    def on_outcome(self, state: HardState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Settle: give back what was held and take what was used, `(),(d)`; known consumption needs no settling."""
        if self.rows.reads_learned:
            plays, counted = decision.plays, decision.rounds
            _settle(self.rows.known, self._most, decision.known, plays, counted, v, state.left, state.held)

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
