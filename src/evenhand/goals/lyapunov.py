"""Constraints on averages, kept by prices that are the slope of a Lyapunov function of the violation so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import one_of, positive, whole
from evenhand.goals._shared import check_bound, row_prices
from evenhand.goals.base import Past
from evenhand.problem.rows import Rows


@dataclass
class LyapunovState:
    """The violation so far, and the books that give the pace of the remaining rounds."""

    violation: Floats  # (R, d) Q, at least 0
    used: Floats  # (R, d) sum of v
    rounds: Floats  # (R, d) that are entered, row by row


@kernel
def _enter(
    violation: Floats,
    used: Floats,
    rounds: Floats,
    bound: Floats,
    horizon: float,
    which: Bools,
    counted: Floats,
    v: Floats,
) -> None:
    for r in range(len(used)):
        for j in range(len(bound)):
            if which[j] and not np.isnan(v[r, j]):
                pace = (bound[j] * horizon - used[r, j]) / max(horizon - rounds[r, j], 1.0)
                violation[r, j] = max(0.0, violation[r, j] + v[r, j] - counted[r] * pace)
                used[r, j] += v[r, j]
                rounds[r, j] += counted[r]


@kernel
def _slope(violation: Floats, unit: Floats, worth: float, scale: float, most: float) -> Floats:
    """worth / u (exp(Q / (u scale)) - 1), at most worth / u times `most`, `(d),(d)->(d)`."""
    price = np.empty_like(violation)
    for r in range(len(violation)):
        for j in range(violation.shape[1]):
            price[r, j] = worth / unit[j] * math.expm1(min(violation[r, j] / (unit[j] * scale), math.log1p(most)))
    return price


@named("X17", source="Sarkar & Sinha 2026, arXiv 2602.05019; Sinha & Sarkar 2026, arXiv 2605.06190")
@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Lyapunov:
    """Keep the average of rows v below a bound, at prices that follow the use so far and need no forecast of cases.

    Equation: q = -lam, o = lam.bound, lam = Phi'(Q) = worth / u (exp(Q / (u scale)) - 1) for the Lyapunov function
    Phi(Q) = worth (scale exp(Q / (u scale)) - Q / u) and units u of the rows; Q <- (Q + v - pace)_+ with
    pace = (bound T - sum of v so far) / (T - n) after n rounds. A play is then worth its surrogate reward r - lam.v. As
    Phi grows exponentially, Q stays below u scale ln(1 + p u / worth) wherever a price of p makes rows keep their pace.
    Deviations: the sources measure Q against the bound and let it be exceeded; here it is measured against the pace of
    what is left, so that rounds which used little leave more to those that follow. Their weights of reward and
    violation depend on regret bounds of the oracle, ours on the units of rows alone.
    What is known enters when a decision is committed, everything else when it arrives, each with its rounds. Rounds of
    a warm-up count. Rows that were not observed move no price.

    Args:
        rows: the constrained rows, d of them.
        bound: per round, `(d)`.
        horizon: T.
        worth: the price of a unit at Q = u scale ln 2, above 0; the worth of a play, where rows vary by their units.
        scale: of Q in units, above 0; sqrt(T), where rows vary by their units.
        unit: u above 0, `(d)`, 1 by default. The books are in units of the rows themselves, so that a state can be
            loaded under another bound, with which this unit may change.
        optimism: "row" or "net", as for `DualGradient`.

    Raises:
        InvalidInput: bounds of the wrong number or not finite, or a number out of its range.

    >>> rows = Rows.plain(["ride"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = Lyapunov(rows=rows, bound=np.array([0.25]), horizon=4, worth=2.0, scale=2.0)
    >>> state = goal.start(1)
    >>> state.violation[:] = 0.75  # of a ride beyond the pace
    >>> goal.price(state)[0].round(3)  # 2 (exp(0.75 / 2) - 1)
    array([[[-0.91]]])
    """

    rows: Rows
    bound: Floats
    horizon: int
    worth: float
    scale: float
    unit: Floats | None = None
    optimism: Literal["row", "net"] = "row"
    enters_forced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bound("Lyapunov", self.bound, self.rows)
        whole("Lyapunov.horizon", self.horizon, 1)
        positive("Lyapunov.worth", self.worth)
        positive("Lyapunov.scale", self.scale)
        if self._unit.shape != self.bound.shape or not ((self._unit > 0.0) & (self._unit < math.inf)).all():
            raise InvalidInput("Lyapunov.unit", f"{len(self.rows)} finite numbers above 0", self.unit)
        one_of("Lyapunov.optimism", self.optimism, ("row", "net"))

    def start(self, n_replicas: int) -> LyapunovState:
        return LyapunovState(*np.zeros((3, n_replicas, len(self.rows))))

    def price(self, state: LyapunovState) -> tuple[Floats, Floats]:
        lam = _slope(state.violation, self._unit, self.worth, self.scale, float(self.horizon))
        return row_prices(lam, 1.0, self.bound, self.rows.readings(by_row=self.optimism == "row"))

    def on_decision(self, state: LyapunovState, decision: Decision, estimate: Floats | None) -> None:
        if self.rows.any_known:
            self._enter(state, self.rows.is_known, decision.counted, self.rows.post_known(decision))

    def on_shares(self, state: LyapunovState, decision: Decision, v: Floats) -> None:
        self._enter(state, self._every, 0.0 * decision.counted, v)

    def on_outcome(self, state: LyapunovState, decision: Decision, counted: Floats, v: Floats) -> None:
        self._enter(state, ~self.rows.is_known, counted, v)

    def go_on(self, state: LyapunovState, past: Past) -> None:
        """Enter the amounts used, whose pace the remaining rounds follow; the violation begins at 0."""
        state.used += past.sums
        state.rounds += np.where(self.rows.is_known, past.decided[:, None], past.arrived[:, None])

    def _enter(self, state: LyapunovState, which: Bools, counted: Floats, v: Floats) -> None:
        horizon = float(self.horizon)
        _enter(state.violation, state.used, state.rounds, self.bound, horizon, which, counted, v)

    @cached_property
    def _unit(self) -> Floats:
        return np.ones(len(self.rows)) if self.unit is None else self.unit

    @cached_property
    def _every(self) -> Bools:
        return np.ones(len(self.rows), bool)
