"""Vovk's aggregating forecaster over a finite set of experts: linear functions, and covers of smooth ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, WithoutLuck, Worth


class ExpertSet(Protocol):
    """Each expert is a linear function plus a level, which may differ between the cells of the unit cube."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """The number of intervals of each of the n features; all 1 if there are no cells."""

    @property
    def slopes(self) -> Floats:
        """Parameters of the linear functions, `->(J,n)`, or `->(J,0)` for none."""

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        """Return the levels for outcomes within [low, high], `(M),(M)->(M,J)`."""


@checked
@dataclass(frozen=True, eq=False)
class Experts:
    """Any finite set of linear functions.

    Args:
        matrix: their parameters, `(J, n)`, in units of the outcomes.

    Raises:
        InvalidInput: no matrix, an empty one, or numbers that are not finite.

    >>> Experts(np.eye(2)).cuts
    (1, 1)
    """

    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or 0 in self.matrix.shape or not np.isfinite(self.matrix).all():
            raise InvalidInput("Experts.matrix", "finite numbers, one row per expert", self.matrix)

    @property
    def cuts(self) -> tuple[int, ...]:
        return (1,) * int(self.matrix.shape[1])

    @cached_property
    def slopes(self) -> Floats:
        return np.ascontiguousarray(self.matrix, float)

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        return np.zeros((len(low), len(self.matrix)))


@checked
@dataclass(frozen=True, kw_only=True)
class Cover:
    """All functions on [0, 1]^n that are constant in every cell of a grid, at one of finitely many levels.

    With N cuts per feature it comes within C (sqrt(n) / (2 N))^p + range / (2 levels) of every function of the Hoelder
    class |f(x) - f(z)| <= C |x - z|^p, p <= 1. Features are clipped to [0, 1]. The number of an arm can be one more
    feature, (a + 1/2) / K for a = 0..K-1, with K cuts: then each arm has a function of its own.

    Args:
        cuts: the number of intervals of each of the n features.
        levels: how many, evenly spaced over the outcome's range.

    >>> Cover(cuts=(2,), levels=4).levels_in(np.zeros(1), np.ones(1))
    array([[0.125, 0.375, 0.625, 0.875]])
    """

    cuts: tuple[int, ...]
    levels: int

    def __post_init__(self) -> None:
        if not self.cuts or min(*self.cuts, self.levels, 1) < 1:
            raise InvalidInput("Cover.cuts, levels", "at least one feature, and numbers of at least 1", self)

    @cached_property
    def slopes(self) -> Floats:
        return np.zeros((self.levels, 0))

    def levels_in(self, low: Floats, high: Floats) -> Floats:
        """Return the midpoints of equal parts of the range, `(M),(M)->(M,J)`."""
        return np.asarray(low[:, None] + (high - low)[:, None] * (np.arange(self.levels) + 0.5) / self.levels)

    @classmethod
    def hoelder(
        cls, *, n_features: int, horizon: int, smoothness: float = 1.0, constant: float = 1.0, arms: int = 1
    ) -> Self:
        """Return the cover whose size balances aggregation and approximation over a horizon, for f in a Hoelder class.

        Equation: N = (constant^2 T / arms)^(1 / (n + 2p)) cuts per feature and N^p / constant levels, both rounded up;
        on noisy outcomes of f the regret is then T^(n / (n + 2p)) up to logarithms, the paper's 1 - 2 / (2 + n/p).
        Source: Foster & Rakhlin 2020, Theorem 3; Han et al. 2022, Section 3.3, with metric entropy of eps^(-n/p).

        Args:
            n_features: n, without the number of the arm.
            horizon: T, the total number of observations.
            smoothness: p, in (0, 1]; piecewise constant functions gain nothing from more.
            constant: C, as a multiple of the outcome's range, above 0.
            arms: the number of arms; if more than 1, the first feature is the arm's number, (a + 1/2) / arms.

        Raises:
            InvalidInput: a number out of its range.

        >>> Cover.hoelder(n_features=1, horizon=1000, arms=8)
        Cover(cuts=(8, 5), levels=5)
        """
        if min(n_features, horizon, arms) < 1:
            raise InvalidInput("n_features, horizon, arms", "at least 1 each", (n_features, horizon, arms))
        if not (0 < smoothness <= 1 and math.isfinite(constant) and constant > 0):
            raise InvalidInput("smoothness, constant", "in (0, 1], and above 0", (smoothness, constant))
        exact = (constant**2 * horizon / arms) ** (1.0 / (n_features + 2.0 * smoothness))
        cuts = max(1, math.ceil(exact - 1e-9))  # 1e-9: do not round up a whole root
        levels = max(2, math.ceil(cuts**smoothness / constant - 1e-9))
        return cls(cuts=((arms,) if arms > 1 else ()) + (cuts,) * n_features, levels=levels)


@dataclass
class AggregationState:
    """Logarithms of weights, up to a constant per outcome and cell."""

    weight: Floats  # (R, M, cells, J)
    low: Floats  # (M,)
    high: Floats  # (M,)


@kernel
def cell_of(cuts: Ints, x: Floats) -> int:
    """The cell of the unit cube in which x lies, clipped to the cube, `(n),(n)->()`."""
    cell = 0
    for i in range(len(cuts)):
        cell = cell * cuts[i] + int(min(max(x[i] * cuts[i], 0.0), cuts[i] - 1.0))
    return cell


@kernel
def _opinions(levels: Floats, slopes: Floats, low: float, high: float, x: Floats, out: Floats) -> None:
    """Every expert's prediction of one outcome, clipped to its range, `(J),(J,n),(),(),(n)->(J)`."""
    for j in range(len(levels)):
        out[j] = levels[j]
        for i in range(slopes.shape[1]):
            out[j] += slopes[j, i] * x[i]
        out[j] = min(max(out[j], low), high)


@kernel
def _potential(weight: Floats, opinion: Floats, rate: float, y: float) -> float:
    """log sum_j weight_j exp(-rate (y - opinion_j)^2), weights given by their logarithms."""
    top = -np.inf
    for j in range(len(weight)):
        top = max(top, weight[j] - rate * ((y - opinion[j]) * (y - opinion[j])))
    total = 0.0
    for j in range(len(weight)):
        total += math.exp(weight[j] - rate * ((y - opinion[j]) * (y - opinion[j])) - top)
    return top + math.log(total)


class _Experts(NamedTuple):
    """A set of experts for outcomes of given ranges."""

    cuts: Ints  # (n,)
    levels: Floats  # (M, J)
    slopes: Floats  # (J, n) or (J, 0)
    low: Floats  # (M,)
    high: Floats  # (M,)


@kernel
def _value(weight: Floats, experts: _Experts, x: Floats, w: Floats) -> Floats:
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    opinion = np.empty(weight.shape[3])
    each = w.shape[2] > 1
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own = a if each else 0
            cell = cell_of(experts.cuts, x[r, a])
            for m in range(len(experts.low)):
                low, high = experts.low[m], experts.high[m]
                span = high - low
                rate = 2.0 / (span * span)
                _opinions(experts.levels[m], experts.slopes, low, high, x[r, a], opinion)
                here = weight[r, m, cell]
                gap = _potential(here, opinion, rate, high) - _potential(here, opinion, rate, low)
                y = 0.5 * (low + high) + 0.25 * span * gap
                for k in range(w.shape[1]):
                    mean[r, k, a] += w[r, k, own, m] * min(max(y, low), high)
    return mean


@kernel
def _update(weight: Floats, experts: _Experts, x: Floats, y: Floats, seen: Bools) -> None:
    opinion = np.empty(weight.shape[3])
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            cell = cell_of(experts.cuts, x[r, p])
            for m in range(len(experts.low)):
                low, high = experts.low[m], experts.high[m]
                rate = 2.0 / ((high - low) * (high - low))
                _opinions(experts.levels[m], experts.slopes, low, high, x[r, p], opinion)
                for j in range(len(opinion)):
                    miss = y[r, p, m] - opinion[j]
                    weight[r, m, cell, j] -= rate * (miss * miss)


@named(
    "S3",
    source="aggregation (Vovk 1990, 1998) as an oracle: Foster & Rakhlin 2020, Theorem 3; Han et al. 2022, Table 1",
)
@dataclass(frozen=True, kw_only=True)
class Aggregation(WithoutLuck):
    """Exponential weights over experts that are fixed functions, one vector of weights per outcome.

    Equation: w_j = exp(-rate sum (y - e_j(x))^2), rate = 2 / (high - low)^2; the prediction is Vovk's substitution
    (low + high)/2 - (G(high) - G(low)) / (2 (high - low)), G(y) = -log(sum_j w_j exp(-rate (y - e_j(x))^2)) / rate, so
    that for every sequence of outcomes in the range the square loss is at most that of the best of J experts plus
    (high - low)^2 ln(J) / 2: a quarter of what the weighted mean at its exp-concave rate 1 / (2 (high - low)^2) pays.
    Experts' predictions are clipped to the range. In a `Cover`, a function's weight is a product over the cells, so one
    vector of weights per cell is enough: J = levels^cells experts take O(levels) time per prediction and
    O(cells levels) memory.

    Args:
        experts: a `Cover` or `Experts`.
        n_outcomes: M, each with weights of its own over the same experts.

    Raises:
        InvalidInput: no outcomes; from `start`, an outcome whose range is not finite.

    >>> from evenhand.models.aggregation import Experts
    >>> model = Aggregation(experts=Experts(np.array([[0.0], [1.0]])))
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> before = model.value(state, one, price, luck).mean.item()
    >>> model.update(state, one, one, one > 0, price)
    >>> round(before, 4), round(model.value(state, one, price, luck).mean.item(), 4)
    (0.5, 0.8313)
    """

    experts: ExpertSet
    n_outcomes: int = 1

    def __post_init__(self) -> None:
        check_sizes("Aggregation", self.n_features, self.n_outcomes)

    @property
    def n_features(self) -> int:
        return len(self.experts.cuts)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> AggregationState:
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()):
            raise InvalidInput("Aggregation", "outcomes with finite ranges", (low, high))
        count = self.experts.levels_in(low, high).shape[1]
        return AggregationState(np.zeros((n_replicas, self.n_outcomes, int(self._cuts.prod()), count)), low, high)

    def value(self, state: AggregationState, x: Floats, w: Floats, u: Floats) -> Worth:
        mean = _value(state.weight, self._within(state), x, w)
        return Worth(mean, np.zeros(mean.shape))

    def update(
        self, state: AggregationState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Update the weights by plays whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        _update(state.weight, self._within(state), x, y, seen)

    def _within(self, state: AggregationState) -> _Experts:
        levels = self.experts.levels_in(state.low, state.high)
        return _Experts(self._cuts, levels, self.experts.slopes, state.low, state.high)

    @cached_property
    def _cuts(self) -> Ints:
        return np.array(self.experts.cuts, np.int64)
