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
def _charge(used: float, sure: bool) -> float:
    """What a known outcome uses at worst: one that may not come about gives nothing back."""
    return used if sure or used > 0.0 else 0.0


@kernel
def _worst(known: Floats, most: Floats, sure: Bools, z: Floats) -> Floats:
    """The most that each candidate can use of each row, `(d,L),(A,d),(L),(A,L)->(A,d)`."""
    worst = np.empty((z.shape[0], z.shape[1], most.shape[1]))
    for r in range(z.shape[0]):
        for a in range(z.shape[1]):
            for j in range(most.shape[1]):
                total = most[a if len(most) > 1 else 0, j]
                for i in range(z.shape[2]):
                    total += _charge(known[j, i] * z[r, a, i], sure[i])
                worst[r, a, j] = total
    return worst


@kernel
def _add_up(known: Floats, most: Floats, sure: Bools, z: Floats, plays: Ints, r: int, used: Floats) -> None:
    """The most that the plays of replica r can use together, `->(d)`."""
    used[:] = 0.0
    for p in range(plays.shape[1]):
        if plays[r, p] < 0:
            continue
        row = plays[r, p] if len(most) > 1 else 0
        for j in range(len(used)):
            one = most[row, j]
            for i in range(z.shape[2]):
                one += _charge(known[j, i] * z[r, p, i], sure[i])
            used[j] += one


@kernel
def _fit(
    known: Floats, most: Floats, sure: Bools, z: Floats, plays: Ints, counted: Floats, left: Floats, rounding: Floats
) -> Bools:
    """Whether all plays that count fit together, `(d,L),(A,d),(L),(P,L),(P),(),(d),(d)->()`."""
    fits, used = np.ones(len(plays), np.bool_), np.empty(left.shape[1])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(known, most, sure, z, plays, r, used)
            for j in range(len(used)):
                if used[j] > left[r, j] + rounding[j]:
                    fits[r] = False
    return fits


@kernel
def _hold(
    known: Floats,
    most: Floats,
    sure: Bools,
    z: Floats,
    plays: Ints,
    counted: Floats,
    waits: Bools,
    left: Floats,
    held: Floats,
) -> None:
    """Take the worst case of the plays, and hold it back for rows that wait."""
    used = np.empty(left.shape[1])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(known, most, sure, z, plays, r, used)
            for j in range(len(used)):
                left[r, j] -= used[j]
                if waits[j]:
                    held[r, j] += used[j]


@kernel
def _settle(
    known: Floats,
    most: Floats,
    sure: Bools,
    z: Floats,
    plays: Ints,
    counted: Floats,
    waits: Bools,
    v: Floats,
    left: Floats,
    held: Floats,
) -> None:
    """Give back what was held for rows that wait, and take what was used."""
    used = np.empty(left.shape[1])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(known, most, sure, z, plays, r, used)
            for j in range(len(used)):
                if waits[j] and not np.isnan(v[r, j]):
                    back = min(used[j], held[r, j])
                    held[r, j] -= back
                    left[r, j] += back - v[r, j]


@kernel
def _give_back(
    known: Floats,
    most: Floats,
    sure: Bools,
    z: Floats,
    plays: Ints,
    counted: Floats,
    waits: Bools,
    left: Floats,
    held: Floats,
) -> None:
    """Undo `_hold`, at most by what is held."""
    used = np.empty(left.shape[1])
    for r in range(len(plays)):
        if counted[r] > 0.0:
            _add_up(known, most, sure, z, plays, r, used)
            for j in range(len(used)):
                if waits[j]:
                    used[j] = min(used[j], held[r, j])
                    held[r, j] -= used[j]
                left[r, j] += used[j]


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
        known, most, sure = self._reads
        return _fit(known, most, sure, decision.known, decision.plays, decision.counted, state.left, self._rounding)

    def over(self, state: HardState) -> Bools:
        """Where no candidate can fit any more: each of them uses up to a fixed amount of a row, too much, `->()`."""
        fixed = ~self.rows.known.any(1)
        gone = (self._most > (state.left + self._rounding)[:, None]) & (state.held <= self._rounding)[:, None]
        return np.asarray(np.all(np.any(gone & fixed, axis=2), axis=1))

    def on_decision(self, state: HardState, decision: Decision, estimate: Estimate) -> None:
        """Hold back the worst case of the plays; of what is known for sure that is all there is to do."""
        known, most, sure = self._reads
        counted = decision.counted
        _hold(known, most, sure, decision.known, decision.plays, counted, self._waits, state.left, state.held)

    def on_outcome(self, state: HardState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Settle, `(),(d)`: give back what was held and take what was used. What is known for sure needs none."""
        if self._any_waits:
            known, most, sure = self._reads
            _settle(known, most, sure, decision.known, decision.plays, counted, self._waits, v, state.left, state.held)

    def on_cancel(self, state: HardState, decision: Decision) -> None:
        """Give back what was taken for a decision that is not carried out."""
        known, most, sure = self._reads
        counted = decision.counted
        _give_back(known, most, sure, decision.known, decision.plays, counted, self._waits, state.left, state.held)

    @cached_property
    def _reads(self) -> tuple[Floats, Floats, Bools]:
        """What the kernels need of the rows: weights, worst cases, and which known outcomes are sure."""
        return self.rows.known, self._most, self.rows.sure

    @cached_property
    def _waits(self) -> Bools:
        """Rows that are settled when outcomes arrive, `->(d)`."""
        return ~self.rows.is_known

    @cached_property
    def _any_waits(self) -> bool:
        return bool(self._waits.any())

    @cached_property
    def _most(self) -> Floats:
        """The most that learned outcomes can add to each row, for all candidates alike or for each, `->(A,d)`.

        It is at least 0, as a play that is not exposed adds nothing.
        """
        w = self.rows.learned
        ends = np.where(w > 0, w * np.where(w > 0, self.high, 0.0), w * np.where(w < 0, self.low, 0.0))
        if self.free is None or not self.free.any():
            return np.asarray(np.maximum(ends.sum(1)[None], 0.0))
        return np.asarray(np.maximum((ends * ~self.free[:, None, :]).sum(2), 0.0))

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
