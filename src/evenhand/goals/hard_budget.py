"""Totals that are never exceeded: a candidate whose worst case does not fit is not playable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.errors import InvalidInput
from evenhand.goals.base import Estimate
from evenhand.numerics.kernel import kernel
from evenhand.problem import Problem
from evenhand.records import Decision
from evenhand.rows import Frame, Rows, constraint_rows
from evenhand.system import system
from evenhand.types import Bools, Floats


@dataclass
class HardState:
    """What is left, and a constant that reads out one row at a time."""

    left: Floats  # (R, d); what is held back for outcomes under way is already taken off
    held: Floats  # (R, d) held back: no more than that is ever given back, whatever is reported twice
    unit: Floats  # (R, d, d)


@kernel
def _worst(prices: Floats, offset: Floats, low: Floats, high: Floats) -> Floats:
    """The most that each candidate can consume, `(d,M),(d,A),(M),(M)->(A,d)`."""
    worst = np.empty((len(offset), offset.shape[2], offset.shape[1]))
    for r in range(len(offset)):
        for j in range(offset.shape[1]):
            most = 0.0
            for m in range(len(low)):
                if prices[r, j, m] != 0.0:
                    most += max(prices[r, j, m] * low[m], prices[r, j, m] * high[m])
            for a in range(offset.shape[2]):
                worst[r, a, j] = offset[r, j, a] + most
    return worst


@kernel
def _mask(worst: Floats, left: Floats, plays: int, slack: Floats, playable: Bools) -> None:
    for r in range(len(worst)):
        for a in range(worst.shape[1]):
            for j in range(worst.shape[2]):
                if plays * worst[r, a, j] > left[r, j] + slack[j]:
                    playable[r, a] = False


@system("X3", source="evenhand's own; the stopping rule of paper 5, Algorithm 1, made exact")
@dataclass(frozen=True, kw_only=True, eq=False)
class HardBudget:
    """Never let the sum of rows exceed its total, whatever the outcomes turn out to be.

    Equation: candidate a is playable only if P worst_j(a) <= left_j for every row j, worst_j(a) being the most that
    row j can be given the declared ranges; P plays then fit together. The worst case is held back when a decision is
    made and settled when its outcome arrives; an outcome that never arrives, or is not observed, stays held back.

    Args:
        rows: consumption, d rows.
        total: over the horizon, `(d)`.
        low, high: ranges of the learned outcomes, `(M)`.

    Raises:
        InvalidInput: totals of the wrong shape or not positive, or consumption without a declared finite range.

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

    def __post_init__(self) -> None:
        if self.total.shape != (len(self.rows),) or not (np.isfinite(self.total).all() and (self.total > 0).all()):
            raise InvalidInput("HardBudget.total", f"{len(self.rows)} finite numbers above 0", self.total)
        for name, row in zip(self.rows.names, self.rows.learned, strict=True):
            if not (np.isfinite(self.low[row != 0]).all() and np.isfinite(self.high[row != 0]).all()):
                raise InvalidInput(
                    f"HardBudget {name!r}", "an outcome with a finite declared range", "an unbounded one"
                )

    def start(self, replicas: int) -> HardState:
        """Everything is left."""
        left = np.tile(self.total, (replicas, 1))
        return HardState(left, np.zeros_like(left), np.tile(np.eye(len(self.rows)), (replicas, 1, 1)))

    def limit(self, state: HardState, frame: Frame, shares: Floats, plays: int, playable: Bools) -> None:
        """Switch off candidates whose worst case might not fit, in place, `(A)`."""
        _mask(self._consumption(state, frame, shares), state.left, plays, 1e-9 * self.total, playable)

    def acted(self, state: HardState, decision: Decision, estimate: Estimate) -> None:
        """Hold back the worst case of the plays."""
        worst = self._held(state, decision)
        state.left -= worst
        if self.rows.reads_learned:
            state.held += worst

    def learned(self, state: HardState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Settle: give back what was held and take what was used, `(),(d)`; known consumption needs no settling."""
        if self.rows.reads_learned:
            back = np.where(np.isnan(v), 0.0, np.minimum(self._held(state, decision), state.held))
            state.held -= back
            state.left += back - np.where(np.isnan(v), 0.0, v)

    def _consumption(self, state: HardState, frame: Frame, shares: Floats) -> Floats:
        prices, offset = self.rows.pull(frame, shares, state.unit)
        return _worst(prices, offset, self.low, self.high)

    def _held(self, state: HardState, decision: Decision) -> Floats:
        taken = (decision.plays >= 0) * decision.rounds[:, None]
        worst = self._consumption(state, decision, decision.shares)
        return np.asarray((worst * taken[:, :, None]).sum(1))


def hard_budget(problem: Problem) -> HardBudget:
    """The hard limit for all budgets of a problem.

    Raises:
        InvalidInput: the problem has no budget, or one on an outcome without a finite range.
    """
    if not problem.budgets:
        raise InvalidInput("subject_to", "at least one Budget to be kept hard", problem.subject_to)
    rows, bound = constraint_rows(problem, problem.budgets)
    return HardBudget(rows=rows, total=bound * problem.horizon, low=problem.low, high=problem.high)
