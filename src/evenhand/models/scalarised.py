"""Ridge regression of the priced worth of outcomes, in dimension n times M."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models._shared import check_sizes, optimism
from evenhand.models.base import ROUND, Lesson, WithoutLuck, Worth
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.precision import absorb, dot, fresh, total


@dataclass
class ScalarisedState:
    """Sufficient statistics of one scalar regression."""

    inverse: Floats  # (R, M n, M n) of V = ridge I + sum of kron(g, x) kron(g, x)^T
    theta: Floats  # (R, M n)
    log_det: Floats  # (R,) of V / ridge
    count: Floats  # (R,)
    units: Floats  # (M,) lengths of the outcomes' ranges, 1 where infinite: the regression is on y / units
    low: Floats  # (M,) ends of the ranges over units
    high: Floats  # (M,)


@kernel
def _price(theta: Floats, inverse: Floats, wide: bool, g: Floats, worth: Floats, half: Floats, form: Floats) -> None:
    """Contract the estimate with prices g, and V^-1 from both sides, `(Mn),(Mn,Mn),(),(M)->(n),(n,Mn),(n,n)`."""
    n, outcomes = len(worth), len(g)
    worth[:] = 0.0
    half[:] = 0.0
    form[:] = 0.0
    for m in range(outcomes):
        if g[m] != 0.0:
            for i in range(n):
                worth[i] += g[m] * theta[m * n + i]
    if not wide:
        return
    for m in range(outcomes):
        if g[m] != 0.0:
            for i in range(n):
                row = inverse[m * n + i]
                for j in range(n * outcomes):
                    half[i, j] += g[m] * row[j]
    for m in range(outcomes):
        if g[m] != 0.0:
            for i in range(n):
                for j in range(n):
                    form[i, j] += g[m] * half[i, m * n + j]


@kernel
def _worths(low: Floats, high: Floats, g: Floats) -> tuple[float, float]:
    """The least and the most that outcomes within their ranges can be worth at prices g, `(M),(M),(M)->(),()`."""
    least, most = 0.0, 0.0
    for m in range(len(g)):
        if g[m] != 0.0:
            least += min(g[m] * low[m], g[m] * high[m])
            most += max(g[m] * low[m], g[m] * high[m])
    return least, most


@kernel
def _value(
    theta: Floats, inverse: Floats, radius: Floats, low: Floats, high: Floats, clipped: bool, x: Floats, w: Floats
) -> tuple[Floats, Floats]:
    """Worth; V^-1 is first contracted with g from both sides, so that a candidate costs n^2 instead of (nM)^2."""
    n, outcomes = x.shape[2], w.shape[3]
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    worth, half, form = np.empty(n), np.empty((n, n * outcomes)), np.empty((n, n))
    each = w.shape[2] > 1
    for r in range(len(x)):
        wide = radius[r] > 0.0
        for k in range(w.shape[1]):
            for a in range(x.shape[1]):
                if a == 0 or each:
                    _price(theta[r], inverse[r], wide, w[r, k, a], worth, half, form)
                mean[r, k, a] = dot(x[r, a], worth)
                if wide:
                    square = 0.0
                    for i in range(n):
                        if x[r, a, i] != 0.0:
                            square += x[r, a, i] * dot(x[r, a], form[i])
                    bonus[r, k, a] = radius[r] * math.sqrt(max(square, 0.0))
                if clipped:
                    least, most = _worths(low, high, w[r, k, a if each else 0])
                    bonus[r, k, a] = optimism(mean[r, k, a], bonus[r, k, a], least, most, 1.0)
    return mean, bonus


@kernel
def _update(
    theta: Floats, inverse: Floats, log_det: Floats, count: Floats, x: Floats, y: Floats, seen: Bools, w: Floats
) -> None:
    n, outcomes = x.shape[2], y.shape[2]
    extended, gain, g = np.empty(n * outcomes), np.empty(n * outcomes), np.empty(outcomes)
    each = w.shape[2] > 1
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if p == 0 or each:
                for m in range(outcomes):
                    g[m] = total(w[r, :, p, m])
            if not seen[r, p].all():
                continue
            target = 0.0
            for m in range(outcomes):
                target += g[m] * y[r, p, m]
                for i in range(n):
                    extended[m * n + i] = g[m] * x[r, p, i]
            square = absorb(inverse[r], extended, gain)
            log_det[r] += math.log1p(square)
            count[r] += 1.0
            miss = (target - dot(extended, theta[r])) / (1.0 + square)
            for i in range(len(gain)):
                theta[r, i] += miss * gain[i]


@named("C2", source="Do et al. 2023, Algorithm 3 (FW-LinUCB)")
@dataclass(frozen=True, kw_only=True)
class Scalarised(WithoutLuck):
    """One ridge regression of the worth g.y of linear outcomes at the prices g of each round.

    Equation: x~ = kron(g, x), V = ridge I + sum x~ x~^T, theta~ = V^-1 sum (g.y) x~; worth theta~.x~ +-
    radius ||x~||_{V^-1}. The extended features of candidates are never formed: g is contracted first.
    Outcomes are in units of their ranges (of 1 where infinite), and prices in the inverse of these.
    The ellipsoid around theta~ bounds the worth itself, and an outcome whose price is 0 is not learned; `Ridge` learns
    each outcome separately. As printed, bounds are not clipped; `clipped=True` ends them at the most that outcomes
    within their ranges can be worth at g, as `Ridge` does for each outcome by default.

    Args:
        ridge: the penalty, above 0, in units of squared prices as in the source: the objective's unit matters.
        width: the radius; for `SelfNormalised` the noise is that of g.y and the norm that of all parameters together;
            `Ellipsoid` has the alpha_t of the source (its equation 76).
        clipped: whether the bound on a worth ends at the most that outcomes within their ranges can be worth.

    >>> model = Scalarised(n_features=1, n_outcomes=2)
    >>> state = model.start(1, np.zeros(2), np.ones(2), 100)
    >>> one, y, g = np.ones((1, 1, 1)), np.array([[[1.0, 0.7]]]), np.array([[[[1.0, 0.0]]]])
    >>> model.update(state, one, y, y > 0, g)
    >>> model.value(state, one, g, np.zeros((1, 0))).mean.item()
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    clipped: bool = False

    def __post_init__(self) -> None:
        check_sizes("Scalarised", self.n_features, self.n_outcomes, self.ridge)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> ScalarisedState:
        size = self.n_features * self.n_outcomes
        units = np.where(np.isfinite(high - low), high - low, 1.0)
        return ScalarisedState(
            inverse=fresh(n_replicas, size, self.ridge),
            theta=np.zeros((n_replicas, size)),
            log_det=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            units=units,
            low=low / units,
            high=high / units,
        )

    def value(self, state: ScalarisedState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute the mean worth and optimism, `(A,n),(K,1|A,M),()->(K,A),(K,A)`.

        It costs O(K (n^2 M^2 + A n^2)), and O(K A n^2 M^2) with prices per candidate.
        """
        radius = self.width.radius(state.count, state.log_det, self.ridge)
        low, high = state.low, state.high
        return Worth(*_value(state.theta, state.inverse, radius, low, high, self.clipped, x, w * state.units))

    def update(
        self, state: ScalarisedState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Absorb the worth of plays at the prices of all readings together, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        y, w = y / state.units, w * state.units
        _update(state.theta, state.inverse, state.log_det, state.count, x, y, seen, w)
