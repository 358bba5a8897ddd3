"""Constraints on averages, kept by dual prices that rise while a constraint is exceeded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from evenhand.errors import InvalidInput
from evenhand.goals.base import Estimate
from evenhand.numerics.kernel import kernel
from evenhand.records import Decision
from evenhand.rows import Rows
from evenhand.types import Floats


class Step(Protocol):
    """A sequence of step sizes, one per regime, and when a regime is left."""

    @property
    def sizes(self) -> tuple[float, ...]:
        """Step size of every regime."""

    @property
    def limits(self) -> tuple[float, ...]:
        """Excess (a norm of summed costs) at which each regime is left; the last one never is."""

    @property
    def reset(self) -> bool:
        """Whether a new regime starts from prices of 0."""


@dataclass(frozen=True)
class Steady:
    """One step size for ever.

    >>> Steady(0.02).sizes
    (0.02,)
    """

    size: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.size) and self.size >= 0):
            raise InvalidInput("Steady.size", "a finite number of at least 0", self.size)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The step size."""
        return (self.size,)

    @property
    def limits(self) -> tuple[float, ...]:
        """Never left."""
        return (math.inf,)

    @property
    def reset(self) -> bool:
        """Never reset."""
        return False


@dataclass(frozen=True)
class Doubling:
    """A step size that doubles each time the excess of a regime passes that regime's limit.

    Equation: size_k = first 2^k; regime k is left when ||(sum over the regime of [v - bound])_+|| > limit_k.
    Source: Chzhen et al. 2023, Box C. Its pseudo-code resets prices to 0; its published numbers carry them over.

    >>> Doubling(0.01, (5.0, 6.0)).sizes
    (0.01, 0.02, 0.04)
    """

    first: float
    excess: tuple[float, ...]
    reset: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.first) and self.first > 0):
            raise InvalidInput("Doubling.first", "a finite number above 0", self.first)
        if not all(e > 0 for e in self.excess):
            raise InvalidInput("Doubling.excess", "limits above 0", self.excess)

    @property
    def sizes(self) -> tuple[float, ...]:
        """One size more than there are limits."""
        return tuple(self.first * 2.0**k for k in range(len(self.excess) + 1))

    @property
    def limits(self) -> tuple[float, ...]:
        """The given limits; the last regime stays."""
        return (*self.excess, math.inf)


@dataclass
class DualState:
    """Prices, and where the present regime stands."""

    price: Floats  # (R, d), at least 0
    excess: Floats  # (R, d) sum over the present regime of v - bound
    regime: Floats  # (R,)


@kernel
def _step(price: Floats, regime: Floats, sizes: Floats, bound: Floats, rounds: Floats, v: Floats) -> None:
    for r in range(len(price)):
        size = sizes[int(regime[r])]
        for j in range(len(bound)):
            price[r, j] = max(0.0, price[r, j] + size * (v[r, j] - rounds[r] * bound[j]))


@kernel
def _advance(
    price: Floats, excess: Floats, regime: Floats, limits: Floats, reset: bool, bound: Floats, rounds: Floats, v: Floats
) -> None:
    for r in range(len(price)):
        square = 0.0
        for j in range(len(bound)):
            excess[r, j] += v[r, j] - rounds[r] * bound[j]
            square += max(excess[r, j], 0.0) ** 2
        if square > limits[int(regime[r])] ** 2:
            regime[r] += 1.0
            excess[r] = 0.0
            if reset:
                price[r] = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class DualGradient:
    """Keep the average of rows v below a bound: dual prices by projected gradient.

    Equation: q = -lam, o = lam.bound, lam <- (lam + size (v - bound))_+; entries in pieces add up.
    Source: Chzhen et al. 2023, Boxes B and C. Their step uses the lower-confidence cost (`on="optimistic"`), which is
    the observed one where costs are known. Rounds of a warm-up move nothing.

    Args:
        rows: the constrained rows, d of them.
        bound: per round, `(d)`; any margin is already taken off.
        step: the step size.
        on: step on the observed rows when outcomes arrive, or at once on an optimistic estimate.
        optimism: "row" reads every row at its own lower bound, as the paper does; "net" nets rows before optimism,
            so that a row and its negative cancel exactly. They agree where costs are known.
        start_at: initial prices, 0 where not given.

    Raises:
        InvalidInput: bounds or initial prices of the wrong number or not finite, or a negative initial price.

    >>> rows = Rows.plain(["ride"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = DualGradient(rows=rows, bound=np.array([0.25]), step=Steady(0.1))
    >>> state = goal.start(1)
    >>> goal.enter(state, np.ones(1), np.array([[1.0]]))
    >>> state.price
    array([[0.075]])
    """

    rows: Rows
    bound: Floats
    step: Step
    on: Literal["observed", "optimistic"] = "observed"
    optimism: Literal["row", "net"] = "row"
    start_at: tuple[float, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.bound.shape != (len(self.rows),) or not np.isfinite(self.bound).all():
            raise InvalidInput("DualGradient.bound", f"{len(self.rows)} finite numbers", self.bound)
        if self.start_at and len(self.start_at) != len(self.rows):
            raise InvalidInput("DualGradient.start_at", f"{len(self.rows)} prices", len(self.start_at))
        if not all(p >= 0 and math.isfinite(p) for p in self.start_at):
            raise InvalidInput("DualGradient.start_at", "finite prices of at least 0", self.start_at)

    def start(self, replicas: int) -> DualState:
        """Initial prices in regime 0."""
        d = len(self.rows)
        first = np.array(self.start_at or (0.0,) * d, float)
        return DualState(np.tile(first, (replicas, 1)), np.zeros((replicas, d)), np.zeros(replicas))

    def price(self, state: DualState) -> tuple[Floats, Floats]:
        """Minus the dual prices, `->(k,d),()`, with k = d readings only where optimism differs by row."""
        q, o = -state.price, (state.price * self.bound).sum(1)  # no matrix product: it would round by the batch's size
        return (q[:, :, None] * np.eye(len(self.rows)) if self._by_row else q[:, None, :]), o

    def acted(self, state: DualState, decision: Decision, estimate: Estimate) -> None:
        """Step on the optimistic estimate, if that is the way."""
        if self.on == "optimistic":
            counted = decision.rounds * decision.steered
            v = estimate(np.full((len(counted), len(self.rows)), -1.0)) * counted[:, None]
            _step(state.price, state.regime, self._sizes, self.bound, counted, v)

    def learned(self, state: DualState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Step on the observed rows, if that is the way, and see whether the regime is over, `(),(d)`."""
        if decision.steered.all():
            self.enter(state, rounds, v)
        else:
            self.enter(state, rounds * decision.steered, v * decision.steered[:, None])

    def enter(self, state: DualState, rounds: Floats, v: Floats) -> None:
        """Enter (rounds, v) into the books, `(),(d)`."""
        if self.on == "observed":
            _step(state.price, state.regime, self._sizes, self.bound, rounds, v)
        if len(self._limits) > 1:
            _advance(state.price, state.excess, state.regime, self._limits, self.step.reset, self.bound, rounds, v)

    @cached_property
    def _by_row(self) -> bool:
        return self.optimism == "row" and self.rows.reads_learned

    @cached_property
    def _sizes(self) -> Floats:
        return np.array(self.step.sizes, float)

    @cached_property
    def _limits(self) -> Floats:
        return np.array(self.step.limits, float)
