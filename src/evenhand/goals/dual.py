"""Constraints on averages, kept by dual prices that rise while a constraint is exceeded.

`DualGradient` and `DualHedge` are mirror descent on the same loss; they differ in the mirror map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import nonnegative, one_of, positive
from evenhand.goals._shared import check_bound, row_prices
from evenhand.goals.base import Past
from evenhand.goals.steps import Step
from evenhand.planning.pace import Pace, PaceState
from evenhand.problem.rows import Rows


@dataclass
class DualState:
    """Prices, the present regime, its excess so far, the rounds that values decided, and books of spans of time."""

    price: Floats  # (R, d), at least 0
    excess: Floats  # (R, d) sum over the present regime of v - bound
    regime: Floats  # (R,)
    rounds: Floats  # (R,)
    pace: PaceState | None = None  # where bounds follow spans of time


@kernel
def _step(
    price: Floats,
    regime: Floats,
    rounds: Floats,
    moves: tuple[Floats, bool, Floats],
    which: Bools,
    counted: Floats,
    forced: Floats,
    v: Floats,
) -> None:
    """Step on rows `which`, in place; `moves` are the sizes by regime, whether they fall, and the bound."""
    sizes, falls, bound = moves
    for r in range(len(price)):
        if forced[r] != 0.0:
            continue  # these prices did not choose what was played
        size = sizes[int(regime[r])]
        if falls:
            size /= math.sqrt(max(rounds[r], 1.0))
        for j in range(price.shape[1]):
            if which[j] and not np.isnan(v[r, j]):
                price[r, j] = max(
                    0.0, price[r, j] + size * (v[r, j] - counted[r] * bound[r if len(bound) > 1 else 0, j])
                )


@kernel
def _advance(
    price: Floats,
    excess: Floats,
    regime: Floats,
    ends: tuple[Floats, bool, Floats],
    counted: Floats,
    forced: Floats,
    v: Floats,
) -> None:
    """End regimes, in place; `ends` are the limits by regime, whether prices start again, and the bound."""
    limits, reset, bound = ends
    for r in range(len(price)):
        if forced[r] != 0.0:
            continue
        square = 0.0
        for j in range(price.shape[1]):
            if not np.isnan(v[r, j]):
                excess[r, j] += v[r, j] - counted[r] * bound[r if len(bound) > 1 else 0, j]
            square += max(excess[r, j], 0.0) * max(excess[r, j], 0.0)
        limit = limits[int(regime[r])]
        if square > limit * limit:
            regime[r] += 1.0
            excess[r] = 0.0
            if reset:
                price[r] = 0.0


class _DualGradientView(NamedTuple):
    prices: Floats
    excess: Floats
    regime: Floats
    rounds: Floats
    sizes: Floats
    falls: bool
    limits: Floats
    reset: bool
    bound: Floats
    readings: Ints
    rows: Any
    ahead: Bools
    any_known: bool

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        return row_prices(self.prices, 1.0, self.bound[0], self.readings)

    @kernel
    def on_decision(self, d: Decision) -> None:
        for r in range(len(self.rounds)):
            self.rounds[r] += d.counted[r] * (1.0 - d.forced[r])
        if self.any_known:
            v, moves = self.rows.post_known(d), (self.sizes, self.falls, self.bound)
            _step(self.prices, self.regime, self.rounds, moves, self.ahead, d.counted, d.forced, v)

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        v, moves = self.rows.post(d, y, z), (self.sizes, self.falls, self.bound)
        _step(self.prices, self.regime, self.rounds, moves, ~self.ahead, d.counted, d.forced, v)
        if len(self.limits) > 1:
            ends = self.limits, self.reset, self.bound
            _advance(self.prices, self.excess, self.regime, ends, d.counted, d.forced, v)

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        moves, nothing = (self.sizes, self.falls, self.bound), 0.0 * d.counted
        every = np.ones(v.shape[1], np.bool_)
        _step(self.prices, self.regime, self.rounds, moves, every, nothing, d.forced, v)
        if len(self.limits) > 1:
            ends = self.limits, self.reset, self.bound
            _advance(self.prices, self.excess, self.regime, ends, nothing, d.forced, v)


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class DualGradient:
    """Keep the average of rows v below a bound, with dual prices from projected gradient steps.

    Equation: q = -lam, o = lam.bound, lam <- (lam + size (v - bound))_+.
    Since lam >= sum of size (v - bound), the average of v over n rounds is at most bound + lam / (size n): exactly so,
    for a constant size, on observed outcomes, while a step on lower bounds lets v exceed it by the average half-width
    as well.
    Source: Chzhen et al. 2023, Boxes B and C. Their step uses the lower-confidence cost (`on="optimistic"`), which
    equals the observed cost where costs are known. Warm-up rounds do not change prices.

    Args:
        rows: the constrained rows, d of them.
        bound: per round, `(d)`; any margin is already taken off.
        step: the step size.
        on: "observed" steps on outcomes, at commit where they are known and else when they arrive; "optimistic" steps
            at commit on lower confidence bounds.
        optimism: "row" reads every row at its own lower bound, as the paper does; "net" nets rows before optimism,
            so that a row and its negative cancel exactly. They agree where costs are known.
        start_at: initial prices, by default 0.
        pace: of spans of time; the bound of a round is then in proportion to what they leave it (`Pace`).

    Raises:
        InvalidInput: bounds or initial prices of the wrong number or not finite, or a negative initial price.

    >>> from evenhand.goals.steps import Steady
    >>> rows = Rows.plain(["ride"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = DualGradient(rows=rows, bound=np.array([0.25]), step=Steady(0.1), start_at=(0.5,))
    >>> goal.price(goal.start(1))  # a ride costs 0.5, and every round gets the price of 0.25 rides
    (array([[[-0.5]]]), array([0.125]))
    """

    rows: Rows
    bound: Floats
    step: Step
    on: Literal["observed", "optimistic"] = "observed"
    optimism: Literal["row", "net"] = "row"
    start_at: tuple[float, ...] = field(default=())
    pace: Pace | None = None
    enters_forced: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_bound("DualGradient", self.bound, self.rows)
        if self.start_at and len(self.start_at) != len(self.rows):
            raise InvalidInput("DualGradient.start_at", f"{len(self.rows)} prices", len(self.start_at))
        if not all(p >= 0 and math.isfinite(p) for p in self.start_at):
            raise InvalidInput("DualGradient.start_at", "finite prices of at least 0", self.start_at)
        one_of("DualGradient.on", self.on, ("observed", "optimistic"))
        one_of("DualGradient.optimism", self.optimism, ("row", "net"))

    def start(self, n_replicas: int) -> DualState:
        d = len(self.rows)
        first = np.array(self.start_at or (0.0,) * d, float)
        return DualState(
            price=np.tile(first, (n_replicas, 1)),
            excess=np.zeros((n_replicas, d)),
            regime=np.zeros(n_replicas),
            rounds=np.zeros(n_replicas),
            pace=None if self.pace is None else self.pace.start(n_replicas),
        )

    def price(self, state: DualState) -> tuple[Floats, Floats]:
        """Minus the dual prices, `->(k,d),()`, with k = d readings only where optimism differs by row."""
        return row_prices(state.price, 1.0, self.bound, self.rows.readings(by_row=self.optimism == "row"))

    @property
    def on_estimates(self) -> bool:
        return self.on == "optimistic"

    def ends(self, state: DualState) -> Floats:
        return np.full(state.price.shape, -1.0)

    def on_decision(self, state: DualState, decision: Decision, estimate: Floats | None) -> None:
        """Step on the optimistic estimate if there is one, else on the known rows, `(d)`."""
        state.rounds += decision.counted * (1.0 - decision.forced)
        if self.pace is not None and state.pace is not None:
            self.pace.decide(state.pace, decision)
        known = self.rows.post_known(decision) if self.rows.any_known else None
        v = known if estimate is None else estimate
        if v is not None:
            self._step(state, self._is_entered_at_decision, decision, decision.counted, v)
        if known is not None:
            self._enter(state, decision, decision.counted, known, self.rows.is_known)

    def on_cancel(self, state: DualState, decision: Decision) -> None:
        """Take back what spans of time have used, and count the round as one that used nothing; prices stay."""
        if self.rows.any_known:
            self._enter(state, decision, 0.0 * decision.counted, -self.rows.post_known(decision), self.rows.is_known)
        nothing = np.zeros((len(decision.counted), len(self.rows)))
        self._enter(state, decision, decision.counted, nothing, ~self.rows.is_known)

    def pace_books(self, state: DualState) -> tuple[Pace, PaceState] | None:
        return None if self.pace is None or state.pace is None else (self.pace, state.pace)

    def go_on(self, state: DualState, past: Past) -> None:
        """Enter what spans of time have used, in their units; prices begin anew."""
        if self.pace is not None and state.pace is not None:
            periods = [(begins, decided, arrived, sums * self._unit) for begins, decided, arrived, sums in past.periods]
            self.pace.go_on(state.pace, periods, self.rows.is_known)

    def view(self, state: DualState) -> _DualGradientView | None:
        rows = self.rows.view()
        if rows is None or (self.on_estimates and self.rows.reads_learned) or self.pace is not None:
            return None
        return _DualGradientView(
            prices=state.price,
            excess=state.excess,
            regime=state.regime,
            rounds=state.rounds,
            sizes=self._sizes,
            falls=self.step.falls,
            limits=self._limits,
            reset=self.step.reset,
            bound=self._bound,
            readings=self.rows.readings(by_row=self.optimism == "row"),
            rows=rows,
            ahead=self._is_entered_at_decision,
            any_known=self.on_estimates or self.rows.any_known,  # then what is known is the estimate
        )

    def on_shares(self, state: DualState, decision: Decision, v: Floats) -> None:
        self._step(state, self._every, decision, 0.0 * decision.counted, v)
        self._advance(state, decision, 0.0 * decision.counted, v)

    def on_outcome(self, state: DualState, decision: Decision, counted: Floats, v: Floats) -> None:
        """Step on the observed rows that did not step at commit, and end the regime past its limit, `(),(d)`."""
        self._step(state, self._waits, decision, counted, v)
        self._advance(state, decision, counted, v)
        self._enter(state, decision, counted, np.where(np.isnan(v), counted[:, None] * self.bound, v), self._learned)

    def _step(self, state: DualState, which: Bools, decision: Decision, counted: Floats, v: Floats) -> None:
        moves = self._sizes, self.step.falls, self._bound_at(state, decision.time)
        _step(state.price, state.regime, state.rounds, moves, which, counted, decision.forced, v)

    def _advance(self, state: DualState, decision: Decision, counted: Floats, v: Floats) -> None:
        if len(self._limits) > 1:
            ends = self._limits, self.step.reset, self._bound_at(state, decision.time)
            _advance(state.price, state.excess, state.regime, ends, counted, decision.forced, v)

    def _bound_at(self, state: DualState, time: Floats) -> Floats:
        """The bound at the times of a round, one row if it is the same at all times, `()->(d)`."""
        if self.pace is None or state.pace is None:
            return self._bound
        return self._bound * self.pace.against_average(state.pace, time)

    def _enter(self, state: DualState, decision: Decision, counted: Floats, v: Floats, which: Bools) -> None:
        """Enter some rows into the books of spans of time, in units of these, `(),(d),(d)`."""
        if self.pace is not None and state.pace is not None:
            rounds = counted[:, None] * which
            self.pace.enter(state.pace, decision, rounds, np.where(which, v * self._unit, 0.0))

    @cached_property
    def _unit(self) -> Floats:
        """What spans of time have in one unit of the rows, `->(d)`; of no use where averages are bounded."""
        assert self.pace is not None
        return np.divide(self.pace.average, self.bound, out=np.ones(len(self.rows)), where=self.bound != 0.0)

    @cached_property
    def _bound(self) -> Floats:
        return self.bound[None].copy()

    @cached_property
    def _is_entered_at_decision(self) -> Bools:
        return ~self.rows.is_unsure if self.on == "optimistic" else self.rows.is_known

    @cached_property
    def _learned(self) -> Bools:
        return ~self.rows.is_known

    @cached_property
    def _every(self) -> Bools:
        return np.ones(len(self.rows), bool)

    @cached_property
    def _waits(self) -> Bools:
        return ~self._is_entered_at_decision

    @cached_property
    def _sizes(self) -> Floats:
        return np.array(self.step.sizes, float)

    @cached_property
    def _limits(self) -> Floats:
        return np.array(self.step.limits, float)


class _DualHedgeView(NamedTuple):
    weight: Floats
    max_price: float
    step: float
    bound: Floats
    readings: Ints
    rows: Any

    @kernel
    def price(self) -> tuple[Floats, Floats]:
        return row_prices(self.weight, self.max_price, self.bound, self.readings)

    @kernel
    def on_outcome(self, d: Decision, y: Floats, z: Floats) -> None:
        v = self.rows.post(d, y, z)
        _hedge(self.weight, self.step, self.bound, d.counted, d.forced, v)

    @kernel
    def on_shares(self, d: Decision, v: Floats) -> None:
        _hedge(self.weight, self.step, self.bound, 0.0 * d.counted, d.forced, v)


@dataclass
class HedgeState:
    """Weights of the rows and, last, of the slack; they sum to 1."""

    weight: Floats  # (R, d + 1)


@kernel
def _hedge(weight: Floats, step: float, bound: Floats, counted: Floats, forced: Floats, v: Floats) -> None:
    exponent = np.zeros(weight.shape[1])  # the slack's stays 0
    for r in range(len(weight)):
        if forced[r] != 0.0:
            continue
        for j in range(len(bound)):
            exponent[j] = 0.0 if np.isnan(v[r, j]) else step * (v[r, j] - counted[r] * bound[j])
        if not exponent.any():
            continue  # dividing by a sum that is only almost 1 would change the weights
        top, total = exponent.max(), 0.0
        for j in range(len(exponent)):
            weight[r, j] *= math.exp(exponent[j] - top)
            total += weight[r, j]
        for j in range(len(exponent)):
            weight[r, j] = max(weight[r, j] / total, 1e-300)  # a weight of 0 would never rise again


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class DualHedge:
    """Keep the average of rows v below a bound: dual prices by exponentiated gradient on a simplex with a slack.

    Equation: lam = max_price w_1..w_d, w on the simplex of d + 1 coordinates, w_j <- w_j exp(step (v_j - bound_j)) /
    sum, the last coordinate (the slack) having loss 0; so lam >= 0 and ||lam||_1 <= max_price always.
    Source: Han et al. 2022, Algorithm 1; Agrawal & Devanur 2016. Regret at most 1.5 max_price sqrt(T ln(d + 1))
    with step = sqrt(ln(d + 1) / T) on losses in [-1, 1]. As in the authors' code, the gradient is not multiplied by
    `max_price`.

    Args:
        rows: the constrained rows, d of them.
        bound: per round, `(d)`.
        max_price: Z, the largest sum of prices, above 0: the most reward that a unit of the rows can be worth.
        step: the step size in the exponent, at least 0.
        optimism: "row" or "net", as for `DualGradient`.

    Raises:
        InvalidInput: bounds of the wrong number or not finite, a max_price that is not positive, or a negative step.

    >>> rows = Rows.plain(["cost"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = DualHedge(rows=rows, bound=np.array([0.25]), max_price=4.0, step=0.1)
    >>> goal.price(goal.start(1))[0]  # uniform at first: half of max_price, the other half is slack
    array([[[-2.]]])
    """

    rows: Rows
    bound: Floats
    max_price: float
    step: float
    optimism: Literal["row", "net"] = "row"
    enters_forced: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_bound("DualHedge", self.bound, self.rows)
        positive("DualHedge.max_price", self.max_price)
        nonnegative("DualHedge.step", self.step)
        one_of("DualHedge.optimism", self.optimism, ("row", "net"))

    def start(self, n_replicas: int) -> HedgeState:
        d = len(self.rows)
        return HedgeState(np.full((n_replicas, d + 1), 1.0 / (d + 1)))

    def price(self, state: HedgeState) -> tuple[Floats, Floats]:
        return row_prices(state.weight, self.max_price, self.bound, self.rows.readings(by_row=self.optimism == "row"))

    def on_shares(self, state: HedgeState, decision: Decision, v: Floats) -> None:
        _hedge(state.weight, self.step, self.bound, 0.0 * decision.counted, decision.forced, v)

    def on_outcome(self, state: HedgeState, decision: Decision, counted: Floats, v: Floats) -> None:
        _hedge(state.weight, self.step, self.bound, counted, decision.forced, v)

    def view(self, state: HedgeState) -> _DualHedgeView | None:
        rows = self.rows.view()
        if rows is None:
            return None
        readings = self.rows.readings(by_row=self.optimism == "row")
        return _DualHedgeView(state.weight, float(self.max_price), float(self.step), self.bound, readings, rows)
