"""Logistic regression of a binary outcome by penalised maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models._shared import check_binary, check_sizes, optimism, unit
from evenhand.models.base import Worth
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.newton import fit_logistic, sigmoid
from evenhand.numerics.precision import absorb, dot, fresh, quadratic


@dataclass
class LogisticState:
    """The estimate, its precision and the whole history, whose arrays double in size when they are full."""

    inverse: Floats  # (R, n, n) of V = ridge I + sum x x^T
    theta: Floats  # (R, n)
    log_det: Floats  # (R,) of V / ridge
    count: Floats  # (R,) observations
    fitted: Floats  # (R,) observations at the last fit
    root: Floats  # (R, n, n) whose lower half is the Cholesky factor of the Hessian of the last fit
    x: Floats  # (R, room, n)
    y: Floats  # (R, room)
    low: Floats  # (1,)
    high: Floats  # (1,)


@kernel
def _value(
    theta: Floats, inverse: Floats, radius: Floats, low: Floats, high: Floats, x: Floats, w: Floats
) -> tuple[Floats, Floats]:
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, product = w.shape[2] > 1, np.empty(x.shape[2])
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own = a if each else 0
            half = radius[r] * math.sqrt(quadratic(x[r, a], inverse[r], product)) if radius[r] > 0.0 else 0.0
            center = sigmoid(dot(x[r, a], theta[r]))
            for k in range(w.shape[1]):
                mean[r, k, a] = w[r, k, own, 0] * center
                bonus[r, k, a] = optimism(center, half * unit(low[0], high[0]), low[0], high[0], w[r, k, own, 0])
    return mean, bonus


@kernel
def _sample(theta: Floats, root: Floats, x: Floats, w: Floats, z: Floats) -> Floats:
    """Worth under theta + L^-T z, L L^T the precision, `(n),(n,n),(A,n),(K,1|A,1),(U,n)->(K,A)`."""
    n = x.shape[2]
    worth, drawn = np.zeros((len(x), w.shape[1], x.shape[1])), np.empty(n)
    each, size = w.shape[2] > 1, x.shape[1] // z.shape[1]
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own, unit = a if each else 0, a // size
            if a % size == 0:
                for i in range(n - 1, -1, -1):
                    drawn[i] = z[r, unit, i]
                    for j in range(i + 1, n):
                        drawn[i] -= root[r, j, i] * drawn[j]
                    drawn[i] /= root[r, i, i]
                for i in range(n):
                    drawn[i] += theta[r, i]
            center = sigmoid(dot(x[r, a], drawn))
            for k in range(w.shape[1]):
                worth[r, k, a] = w[r, k, own, 0] * center
    return worth


@kernel
def _update(
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    count: Floats,
    fitted: Floats,
    root: Floats,
    data_x: Floats,
    data_y: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
    rule: tuple[float, float, float],
) -> None:
    gain = np.empty(x.shape[2])
    ridge, growth, tolerance = rule
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p, 0]:
                continue
            log_det[r] += math.log1p(absorb(inverse[r], x[r, p], gain))
            s = int(count[r])
            data_x[r, s] = x[r, p]
            data_y[r, s] = y[r, p, 0]
            count[r] += 1.0
        if count[r] > fitted[r] and count[r] >= growth * fitted[r]:
            s = int(count[r])
            fit_logistic(data_x[r, :s], data_y[r, :s], theta[r], root[r], ridge, tolerance)
            fitted[r] = count[r]


@named("K6", source="Li & Stoltz 2022 and Faury et al. 2020 (Logistic-UCB1), as in Chzhen et al. 2023, Appendix G.1")
@dataclass(frozen=True, kw_only=True)
class Logistic:
    """Logistic regression of one outcome in [0, 1], refitted each time the history has grown by a given factor.

    Equation: theta minimises sum [log(1 + exp(u)) - y u] + ridge/2 |theta|^2, u = x.theta; interval
    sigmoid(u) +- unit radius ||x||_{V^-1}, V = ridge I + sum x x^T, clipped to the outcome's range; unit is its length.
    Deviations: the paper prints sigmoid as 1/(1 + e^u) and omits a logarithm in the likelihood (typos). It uses
    ridge 0, for which the estimate need not exist; use a tiny ridge instead. It refits every round, as `growth=1` does.

    Args:
        n_features: n.
        ridge: the penalty, above 0.
        width: the radius, in units of the outcome's range; `Fixed(0)` (the default) means no optimism.
        growth: refit when the history is at least this many times as long as at the last fit; 1 refits every time.
        tolerance: squared Newton decrement below which a fit takes its last step.

    Raises:
        InvalidInput: n_features below 1, a ridge or tolerance that is not positive, or a growth below 1.

    >>> model = Logistic(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> round(model.value(state, one, price, luck).mean.item(), 4)  # solves 1 - sigmoid(theta) = theta
    0.5989
    """

    n_features: int
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    growth: float = 1.1
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        check_sizes("Logistic", self.n_features, 1, self.ridge)
        if not (math.isfinite(self.growth) and self.growth >= 1):
            raise InvalidInput("Logistic.growth", "a factor of at least 1", self.growth)
        if not 0 < self.tolerance < 1:
            raise InvalidInput("Logistic.tolerance", "a number in (0, 1)", self.tolerance)

    @property
    def n_outcomes(self) -> int:
        """One outcome; use `Stacked` for more."""
        return 1

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> LogisticState:
        """The state before any data, `(1),(1)->state`; the outcome's range must lie within [0, 1]."""
        check_binary("Logistic", low, high)
        return LogisticState(
            inverse=fresh(n_replicas, self.n_features, self.ridge),
            theta=np.zeros((n_replicas, self.n_features)),
            log_det=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            fitted=np.zeros(n_replicas),
            root=np.tile(math.sqrt(self.ridge) * np.eye(self.n_features), (n_replicas, 1, 1)),
            x=np.zeros((n_replicas, 256, self.n_features)),
            y=np.zeros((n_replicas, 256)),
            low=low,
            high=high,
        )

    def value(self, state: LogisticState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth and optimism, `(A,n),(K,1|A,1),()->(K,A),(K,A)`."""
        radius = self.width.radius(state.count, state.log_det, self.ridge)
        return Worth(*_value(state.theta, state.inverse, radius, state.low, state.high, x, w))

    def update(self, state: LogisticState, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Append plays whose outcome was seen; refit if the history grew enough, `(P,n),(P,1),(P,1),(K,1|P,1)`."""
        while state.count.max() + x.shape[1] > state.y.shape[1]:
            state.x = np.concatenate([state.x, np.zeros_like(state.x)], 1)
            state.y = np.concatenate([state.y, np.zeros_like(state.y)], 1)
        s = state
        rule = float(self.ridge), float(self.growth), float(self.tolerance)
        _update(s.theta, s.inverse, s.log_det, s.count, s.fitted, s.root, s.x, s.y, x, y, seen, rule)

    @property
    def n_parameters(self) -> int:
        """n."""
        return self.n_features

    def sample(self, state: LogisticState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Worth under parameters drawn from N(theta, H^-1), `(A,n),(K,1|A,1),(U,n)->(K,A)`.

        H = ridge I + sum mu' x x^T, mu' = mu (1 - mu), is the Hessian of the objective at the last Newton step of the
        last fit, over the observations of that fit (Laplace's approximation: Chapelle & Li 2011). The V of the widths
        lacks the factor mu' <= 1/4: once data outweigh the ridge, its draws would be at most about half as wide.
        """
        return _sample(state.theta, state.root, x, w, z)
