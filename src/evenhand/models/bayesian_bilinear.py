"""Ridge regression on outer products of two blocks of features that estimates its own penalty and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import counts
from evenhand.models._shared import check_exploration, check_sizes, count_round
from evenhand.models.base import ROUND, Gain, Lesson, WithoutLuck, Worth, flat
from evenhand.models.bayesian_ridge import BayesianRidgeState, Estimates, empty, refit, worth_at
from evenhand.models.prior import Prior
from evenhand.numerics.bilinear import absorb_runs, products, run_worth, scratch
from evenhand.numerics.evidence import affordable, first, future_observations, reach
from evenhand.numerics.precision import FAINT, dot

_CLOSE = 1e-100  # x^T V^-1 x below which x may be 0


@kernel
def _value(
    theta: Floats,
    inverse: Floats,
    sigma: Floats,
    count: Floats,
    rounds: Floats,
    taught: Floats,
    horizon: Floats,
    part: Floats,
    plays: Floats,
    scale: float,
    spreads: Floats,
    ends: Floats,
    x: Floats,
    w: Floats,
    r: int,
) -> tuple[Floats, Floats]:
    candidates, outcomes, s, each = x.shape[1], w.shape[3], x.shape[2] - r, w.shape[2] > 1
    mean, bonus = np.zeros((len(x), w.shape[1], candidates)), np.zeros((len(x), w.shape[1], candidates))
    work, center = scratch(candidates, r, s, outcomes), np.empty(outcomes)
    means, square = work.center, work.square
    for b in range(len(x)):
        more, begin, known = (
            future_observations(count[b], rounds[b], taught[b], horizon[b], part[b]),
            0,
            inverse[b, 0, 0] > 0.0,
        )
        most = np.inf if count[b] > 0.0 else first(spreads)
        while begin < candidates:
            last = run_worth(theta[b], inverse[b], x[b], r, begin, known, work)
            length = dot(x[b, begin, :r], x[b, begin, :r])
            for a in range(last - begin):
                if not known or square[a] < _CLOSE:  # seldom, as this costs as much as the rest
                    v = x[b, begin + a, r:]
                    if not length * dot(v, v) > FAINT:  # such as doing nothing: worth 0, for sure
                        continue
                for m in range(outcomes):
                    center[m] = means[m, a]
                some = affordable(more, r * s, plays, (b, begin + a, candidates))
                half = scale * reach(min(max(square[a], 0.0), most) if known else most, some, r * s)
                own = begin + a if each else 0
                for k in range(w.shape[1]):
                    mean[b, k, begin + a], bonus[b, k, begin + a] = worth_at(w[b, k, own], center, sigma[b], ends, half)
            begin = last
    return mean, bonus


@kernel
def _add(
    sums: Estimates, rounds: Floats, taught: Floats, x: Floats, y: Floats, seen: Bools, r: int, lesson: Lesson
) -> None:
    """Add plays to the sums; those of consecutive plays with the same u are sums over v, times u."""
    gram, moment, squares = sums.gram, sums.moment, sums.squares
    plays, s, outcomes = x.shape[1], x.shape[2] - r, y.shape[2]
    inner, cross, line = np.empty((s, s)), np.empty((outcomes, s)), np.empty(r * s)
    for b in range(len(x)):
        some, first = False, 0
        while first < plays:
            u, last, used = x[b, first, :r], first, False
            inner[:] = 0.0
            cross[:] = 0.0
            while last == first or (last < plays and (x[b, last, :r] == u).all()):
                v = x[b, last, r:]
                if seen[b, last].all():
                    some = True
                    if dot(u, u) * dot(v, v) > FAINT:  # nothing is learned from a candidate without features
                        sums.n_seen[b] += lesson.weight
                        used = True
                        for i in range(s):
                            for j in range(s):
                                inner[i, j] += v[i] * v[j]
                            for m in range(outcomes):
                                cross[m, i] += y[b, last, m] * v[i]
                        for m in range(outcomes):
                            for j in range(outcomes):
                                squares[b, m, j] += y[b, last, m] * y[b, last, j]
                last += 1
            for i in range(s if used else 0):  # what was not seen may be NaN
                for h in range(r):
                    for j in range(s):
                        line[h * s + j] = u[h] * inner[i, j]
                for g in range(r):
                    for m in range(outcomes):
                        moment[b, m, g * s + i] += u[g] * cross[m, i]
                    row = gram[b, g * s + i]
                    for j in range(r * s):
                        row[j] += u[g] * line[j]
            first = last
        if some:
            count_round(lesson, b, rounds, taught)


@kernel
def _update(
    gram: Floats,
    moment: Floats,
    squares: Floats,
    inverse: Floats,
    theta: Floats,
    sigma: Floats,
    ridge: Floats,
    count: Floats,
    zeros: Floats,
    fitted: Floats,
    origin: Floats,
    spreads: Floats,
    rounds: Floats,
    taught: Floats,
    growth: float,
    x: Floats,
    y: Floats,
    beyond: Floats,
    seen: Bools,
    r: int,
    share: Floats,
    weight: float,
    others: bool,
) -> None:
    made = inverse, theta, sigma
    s = Estimates(gram, moment, squares, *made, ridge, count, zeros, fitted, origin, spreads)
    _add(s, rounds, taught, x, beyond, seen, r, Lesson(share, weight, others))
    unused = np.zeros(len(x))  # the inverse is 0 before the first fit, and then nothing is absorbed
    absorb_runs(theta, inverse, unused, unused, x, y, seen, r)
    refit(s, growth)


@named("X5", source="evenhand's own: `BayesianRidge` on the values u^T Theta v of users and items")
@dataclass(frozen=True, kw_only=True)
class BayesianBilinear(WithoutLuck):
    """`BayesianRidge` on the products of two blocks of features: u of the user, and v of the item.

    Equation: `BayesianRidge` on flatten(u v^T), in n = r s dimensions; candidates have the features (u, v), side by
    side, and share work as in `Bilinear`. Nothing has to be tuned.

    Args:
        n_user_features: r, the length of u.
        n_item_features: s, the length of v.
        prior: the belief about Theta before any data, flattened.
        scale, growth: as for `BayesianRidge`.

    >>> model = BayesianBilinear(n_user_features=1, n_item_features=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 1000)
    >>> play, one, price = np.array([[[2.0, 0.0, 0.5]]]), np.ones((1, 1, 1)), np.ones((1, 1, 1, 1))
    >>> for y in (0.5, 0.6, 0.4, 0.5):
    ...     model.update(state, play, np.full((1, 1, 1), y), one > 0, price)
    >>> mean, bonus, *_ = model.value(state, play, price, np.zeros((1, 0)))
    >>> round(mean.item(), 2), round(bonus.item(), 2)
    (0.48, 0.22)
    """

    n_user_features: int
    n_item_features: int
    n_outcomes: int = 1
    prior: Prior = Prior()  # noqa: RUF009, immutable
    scale: float = 1.0
    growth: float = 1.3
    weighs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts(self, {"n_user_features": 1, "n_item_features": 1})
        check_sizes("BayesianBilinear", self.n_features, self.n_outcomes)
        check_exploration("BayesianBilinear", self.scale, self.growth)

    @property
    def n_features(self) -> int:
        return self.n_user_features + self.n_item_features

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BayesianRidgeState:
        return empty(self.n_user_features * self.n_item_features, n_replicas, low, high, horizon, self.prior)

    def value(self, state: BayesianRidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute mean and optimism, `(A,r+s),(K,1|A,M),()->(K,A),(K,A)`; O(n^2 + A (s^2 + s M)) for a run of u."""
        s, scale, r = state, float(self.scale), self.n_user_features
        books = s.count, s.rounds, s.taught, s.horizon, s.ahead, s.affordable
        return Worth(*_value(s.theta, s.inverse, s.sigma, *books, scale, s.spreads, s.ends, x, w * s.units, r))

    def gains(self, state: BayesianRidgeState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, products(x, self.n_user_features), flat, first(state.spreads))

    def update(
        self, state: BayesianRidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Absorb plays whose outcomes are all seen, `(P,r+s),(P,M),(P,M),(K,1|P,M)`.

        O(n^2 P + n M P) per round of equal u, and O(n^3) per fit.
        """
        s, y, r = state, y / state.units, self.n_user_features
        if lesson.weight != 1.0:  # squares of both are then weighted
            root = math.sqrt(lesson.weight)
            x, y = np.concatenate([root * x[:, :, :r], x[:, :, r:]], 2), root * y
        beyond = y
        if s.origin.any():
            origin = s.origin.reshape(len(x), -1, r, self.n_item_features)
            beyond = y - np.einsum("rpi,rmij,rpj->rpm", x[:, :, :r], origin, x[:, :, r:])
        sums, made = (s.gram, s.moment, s.squares), (s.inverse, s.theta, s.sigma)
        books = s.ridge, s.count, s.zeros, s.fitted, s.origin, s.spreads, s.rounds, s.taught
        _update(*sums, *made, *books, float(self.growth), x, y, beyond, seen, r, *lesson)
