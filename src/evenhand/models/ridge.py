"""Ridge regression of several outcomes with confidence ellipsoids, on features or on products of two blocks of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import counts
from evenhand.core.views import view_of
from evenhand.models._shared import check_sizes, ends, linear_parts, optimism, unit
from evenhand.models.base import ROUND, Gain, Lesson, WithoutLuck, Worth, flat
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.bilinear import absorb_runs, products, run_worth, scratch
from evenhand.numerics.newton import cholesky
from evenhand.numerics.precision import absorb, dot, fresh, quadratic


@dataclass
class RidgeState:
    """Sufficient statistics of every replica, or of every action of it, and the outcomes' ranges."""

    inverse: Floats  # (R, n, n) of V = ridge I + sum x x^T
    theta: Floats  # (R, M, n)
    log_det: Floats  # (R,) of V / ridge
    count: Floats  # (R,)
    low: Floats  # (M,)
    high: Floats  # (M,)


def fresh_state(rows: int, n: int, n_outcomes: int, ridge: float, low: Floats, high: Floats) -> RidgeState:
    """Return the state before any data, `(M),(M)->`."""
    theta, none = np.zeros((rows, n_outcomes, n)), np.zeros(rows)
    return RidgeState(fresh(rows, n, ridge), theta, none, none.copy(), low, high)


@kernel
def _value(
    theta: Floats, inverse: Floats, radius: Floats, low: Floats, high: Floats, clipped: bool, x: Floats, w: Floats
) -> tuple[Floats, Floats]:
    """Mean worth and optimism; where candidates lead with the index of an action, it says which row they read."""
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, n, actions = w.shape[2] > 1, theta.shape[2], len(theta) // len(x)
    lead, product = x.shape[2] - n, np.empty(n)
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own, z = a if each else 0, x[r, a, lead:]
            row = r * actions + int(x[r, a, 0]) if lead > 0 else r
            half = radius[row] * math.sqrt(quadratic(z, inverse[row], product)) if radius[row] > 0.0 else 0.0
            for m in range(w.shape[3]):
                center, wide = dot(z, theta[row, m]), half * unit(low[m], high[m])
                least, most = ends(clipped, low[m], high[m])
                for k in range(w.shape[1]):
                    mean[r, k, a] += w[r, k, own, m] * center
                    bonus[r, k, a] += optimism(center, wide, least, most, w[r, k, own, m])
    return mean, bonus


@kernel
def drawn_worth(theta: Floats, inverse: Floats, low: Floats, high: Floats, x: Floats, w: Floats, z: Floats) -> Floats:
    """Worth under theta_m + unit_m root(V^-1) z_m, `(M,n),(n,n),(M),(M),(A,n),(K,1|A,M),(U,Mn)->(K,A)`."""
    outcomes, n = theta.shape[1:]
    worth, drawn = np.zeros((len(x), w.shape[1], x.shape[1])), np.empty((outcomes, n))
    each, size = w.shape[2] > 1, x.shape[1] // z.shape[1]
    for r in range(len(x)):
        root = inverse[r].copy()
        cholesky(root)
        for a in range(x.shape[1]):
            own, block = a if each else 0, a // size
            if a % size == 0:
                for m in range(outcomes):
                    for i in range(n):
                        drawn[m, i] = theta[r, m, i]
                        for j in range(i + 1):
                            drawn[m, i] += unit(low[m], high[m]) * root[i, j] * z[r, block, m * n + j]
            for m in range(outcomes):
                center = dot(x[r, a], drawn[m])
                for k in range(w.shape[1]):
                    worth[r, k, a] += w[r, k, own, m] * center
    return worth


@kernel
def _update(theta: Floats, inverse: Floats, log_det: Floats, count: Floats, x: Floats, y: Floats, seen: Bools) -> None:
    n, actions = theta.shape[2], len(theta) // len(x)
    lead, gain = x.shape[2] - n, np.empty(n)
    for r in range(len(x)):
        for p in range(x.shape[1]):
            if not seen[r, p].all():
                continue
            z, row = x[r, p, lead:], r * actions + int(x[r, p, 0]) if lead > 0 else r
            square = absorb(inverse[row], z, gain)
            log_det[row] += math.log1p(square)
            count[row] += 1.0
            for m in range(y.shape[2]):
                miss = (y[r, p, m] - dot(z, theta[row, m])) / (1.0 + square)
                for i in range(n):
                    theta[row, m, i] += miss * gain[i]


class _RidgeView(NamedTuple):
    theta: Floats
    inverse: Floats
    log_det: Floats
    observations: Floats
    low: Floats
    high: Floats
    clipped: bool
    width: Any

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        radius = self.width.radius(self.observations, self.log_det)
        return _value(self.theta, self.inverse, radius, self.low, self.high, self.clipped, x, w)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        _update(self.theta, self.inverse, self.log_det, self.observations, x, y, seen)


@named("K6", source="linear modelling: Agrawal & Devanur 2016; widths: Abbasi-Yadkori et al. 2011, Theorem 2")
@dataclass(frozen=True, kw_only=True)
class Ridge(WithoutLuck):
    """Ridge regression of every outcome on one set of features, exact after each observation.

    Equation: V = ridge I + sum x x^T, theta_m = V^-1 sum y_m x, interval x.theta_m +- unit_m radius ||x||_{V^-1},
    clipped to the outcome's range; unit_m is the length of that range, or 1 if it is infinite, so that widths do not
    depend on the units of outcomes. Predictions themselves are not clipped.
    Deviation: LinUCB (Abbasi-Yadkori et al. 2011; Do et al. 2023, Algorithms 1, 3 and 5) does not clip;
    `clipped=False` is as printed. A clipped bound is valid wherever the bound is, and a width that is large makes
    candidates tie at the end of the range, where an unclipped one prefers those that are least known.

    Args:
        ridge: the penalty, above 0; V starts at ridge I.
        width: the radius, in units of each outcome's range; `Fixed(0)` (the default) means no optimism.
        clipped: whether intervals end at the outcome's range; if not, the bonus is the radius times ||x||_{V^-1}.

    >>> model = Ridge(n_features=1, ridge=1.0)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()  # (sum x y) / (ridge + sum x x)
    0.5
    """

    n_features: int
    n_outcomes: int = 1
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    clipped: bool = True
    fades: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_sizes("Ridge", self.n_features, self.n_outcomes, self.ridge)

    def of_features(self, features: int) -> Ridge:
        """Return the same model of the first so many features."""
        return replace(self, n_features=features)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> RidgeState:
        return self.start_by_action(n_replicas, low, high, horizon, 1)

    def start_by_action(self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int) -> RidgeState:
        return fresh_state(n_replicas * actions, self.n_features, self.n_outcomes, self.ridge, low, high)

    def value(self, state: RidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        s, radius = state, self.width.radius(state.count, state.log_det, self.ridge)
        return Worth(*_value(s.theta, s.inverse, radius, s.low, s.high, self.clipped, x, w))

    def contributions(self, state: RidgeState, x: Floats, w: Floats) -> Floats:
        return linear_parts(state.theta, x, w)

    def update(self, state: RidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Absorb plays whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`; O(n^2 + nM) each."""
        _update(state.theta, state.inverse, state.log_det, state.count, x, y, seen)

    def gains(self, state: RidgeState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, x, flat)

    def view(self, state: RidgeState) -> _RidgeView | None:
        s, width = state, view_of(self.width, self.ridge)
        if width is None:
            return None
        return _RidgeView(s.theta, s.inverse, s.log_det, s.count, s.low, s.high, self.clipped, width)

    def fade(self, state: RidgeState, keep: Floats, ahead: Floats) -> None:
        """V becomes ridge I + keep (V - ridge I), and sums of y x are multiplied, `(),()->`; O(n^3 + n^2 M)."""
        s, keep = state, np.repeat(keep, len(state.theta) // len(keep))
        for r in np.flatnonzero(keep < 1.0).tolist():  # those that are due
            v, none = np.linalg.inv(s.inverse[r]), self.ridge * np.eye(self.n_features)
            faded = none + keep[r] * (v - none)
            inverse = np.linalg.inv(faded)
            s.theta[r] = keep[r] * s.theta[r] @ v @ inverse
            s.inverse[r] = 0.5 * (inverse + inverse.T)
            s.log_det[r] = np.linalg.slogdet(faded / self.ridge)[1]
            s.count[r] *= keep[r]

    @property
    def n_parameters(self) -> int:
        return self.n_outcomes * self.n_features

    def sample(self, state: RidgeState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Compute the worth under draws from N(theta_m, unit_m^2 V^-1), `(A,n),(K,1|A,M),(U,Mn)->(K,A)`; O(n^3)."""
        return drawn_worth(state.theta, state.inverse, state.low, state.high, x, w, z)


@kernel
def bilinear_worth(
    theta: Floats,
    inverse: Floats,
    radius: Floats,
    span: tuple[Floats, Floats],
    clipped: bool,
    x: Floats,
    w: Floats,
    r: int,
) -> tuple[Floats, Floats]:
    """V^-1 is contracted once per run of equal u; after that a candidate costs s^2 + s M."""
    count, outcomes, (low, high) = x.shape[1], theta.shape[1], span
    mean, bonus = np.zeros((len(x), w.shape[1], count)), np.zeros((len(x), w.shape[1], count))
    work = scratch(count, r, x.shape[2] - r, outcomes)
    center, square = work.center, work.square
    for b in range(len(x)):
        first = 0
        while first < count:
            last = run_worth(theta[b], inverse[b], x[b], r, first, radius[b] > 0.0, work)
            size = last - first
            for a in range(size):
                square[a] = radius[b] * math.sqrt(max(square[a], 0.0))
            for m in range(outcomes):
                wide, (least, most) = unit(low[m], high[m]), ends(clipped, low[m], high[m])
                for k in range(w.shape[1]):
                    for a in range(size):
                        price = w[b, k, first + a if w.shape[2] > 1 else 0, m]
                        mean[b, k, first + a] += price * center[m, a]
                        half_width = square[a] * wide
                        bonus[b, k, first + a] += optimism(center[m, a], half_width, least, most, price)
            first = last
    return mean, bonus


class _BilinearView(NamedTuple):
    theta: Floats
    inverse: Floats
    log_det: Floats
    observations: Floats
    low: Floats
    high: Floats
    clipped: bool
    n_user_features: int
    width: Any

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        radius = self.width.radius(self.observations, self.log_det)
        span, r = (self.low, self.high), self.n_user_features
        return bilinear_worth(self.theta, self.inverse, radius, span, self.clipped, x, w, r)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        absorb_runs(self.theta, self.inverse, self.log_det, self.observations, x, y, seen, self.n_user_features)


@named(
    "C5", source="values u^T Theta v of users and items: Do et al. 2023, Section 5; shared contractions: evenhand's own"
)
@dataclass(frozen=True, kw_only=True)
class Bilinear(WithoutLuck):
    """Ridge regression of every outcome on u^T Theta v, with features u of the user and v of the item.

    Equation: `Ridge` on flatten(u v^T), in n = r s dimensions. Candidates have the features (u, v), side by side.
    Deviation: as in `Ridge`, intervals end at the outcome's range, where the paper's Algorithms 1 and 5 do not clip;
    `clipped=False` is as printed.
    Consecutive candidates with the same u share the contraction V^-1 (u x I): a run of A of them costs n^2 + A s^2
    operations, where `Ridge` takes A n^2. In the same way, the plays of a run are absorbed in one pass over V^-1.

    Args:
        n_user_features: r, the length of u.
        n_item_features: s, the length of v.
        ridge, width, clipped: as for `Ridge`.

    >>> model = Bilinear(n_user_features=1, n_item_features=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> play = np.array([[[2.0, 0.0, 0.5]]])  # u = (2), v = (0, 0.5)
    >>> model.update(state, play, one, one > 0, price)
    >>> model.value(state, play, price, luck).mean.item()
    0.5
    """

    n_user_features: int
    n_item_features: int
    n_outcomes: int = 1
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    clipped: bool = True

    def __post_init__(self) -> None:
        counts(self, {"n_user_features": 1, "n_item_features": 1})
        check_sizes("Bilinear", self.n_features, self.n_outcomes, self.ridge)

    @property
    def n_features(self) -> int:
        return self.n_user_features + self.n_item_features

    @property
    def n_parameters(self) -> int:
        return self.n_outcomes * self.n_user_features * self.n_item_features

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> RidgeState:
        n = self.n_user_features * self.n_item_features
        return fresh_state(n_replicas, n, self.n_outcomes, self.ridge, low, high)

    def value(self, state: RidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute mean and optimism, `(A,r+s),(K,1|A,M),()->(K,A),(K,A)`; O(n^2 + A (s^2 + s M)) for a run of u."""
        radius = self.width.radius(state.count, state.log_det, self.ridge)
        span, r = (state.low, state.high), self.n_user_features
        return Worth(*bilinear_worth(state.theta, state.inverse, radius, span, self.clipped, x, w, r))

    def update(self, state: RidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Absorb plays whose outcomes are all seen, `(P,r+s),(P,M),(P,M),(K,1|P,M)`; O(n^2 P + n M P) per round."""
        absorb_runs(state.theta, state.inverse, state.log_det, state.count, x, y, seen, self.n_user_features)

    def view(self, state: RidgeState) -> _BilinearView | None:
        s, width = state, view_of(self.width, self.ridge)
        if width is None:
            return None
        arrays = s.theta, s.inverse, s.log_det, s.count, s.low, s.high
        return _BilinearView(*arrays, self.clipped, self.n_user_features, width)

    def gains(self, state: RidgeState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, products(x, self.n_user_features), flat)

    def sample(self, state: RidgeState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Compute the worth under drawn parameters as in `Ridge.sample`, `(A,r+s),(K,1|A,M),(U,Mn)->(K,A)`; O(n^3)."""
        flattened = products(x, self.n_user_features)
        return drawn_worth(state.theta, state.inverse, state.low, state.high, flattened, w, z)
