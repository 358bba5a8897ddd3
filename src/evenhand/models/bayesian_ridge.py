"""Ridge regression that estimates its own penalty and noise, and explores without constants to set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models._shared import check_exploration, check_sizes, count_round, linear_parts, wider, without_data
from evenhand.models.base import AFFORDABLE, AHEAD, ROUND, ZEROS, Gain, Lesson, WithoutLuck, Worth, flat
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import (
    BELIEVED,
    LEAST,
    Fit,
    Sums,
    affordable,
    doubt,
    first,
    fit,
    future_observations,
    reach,
)
from evenhand.numerics.precision import absorb, blank, dot


@dataclass
class BayesianRidgeState:
    """Sufficient statistics, and the posterior; outcomes are in units of their ranges.

    With coefficients by action there are A rows per replica of what is marked so, and one of all else.
    """

    gram: Floats  # (R A, n, n) sum of x x^T
    moment: Floats  # (R A, M, n) sum of z x, z = y - origin.x
    squares: Floats  # (R, M, M) sum of z z^T
    inverse: Floats  # (R A, n, n) of V = ridge I + gram
    theta: Floats  # (R A, M, n)
    sigma: Floats  # (R, M, M) covariance of the noise
    ridge: Floats  # (R,) 0 before the first fit
    count: Floats  # (R,) observations
    zeros: Floats = field(metadata=ZEROS)  # (R, M) of these, in which an outcome was declared 0
    fitted: Floats  # (R,) observations at the last fit
    rounds: Floats  # (R,) rounds in which something was seen
    taught: Floats  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    affordable: Floats = field(metadata=AFFORDABLE)  # (R, A) plays of each action that budgets can pay for, or (R, 0)
    origin: Floats  # (R A, M, n) theta before any data
    spreads: Floats  # (M,) variances of means before any data
    ends: Floats  # (2, M) of the ranges
    units: Floats  # (M,) lengths of the ranges, 1 where infinite
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy

    @property
    def estimates(self) -> Estimates:
        made = self.gram, self.moment, self.squares, self.inverse, self.theta, self.sigma
        return Estimates(*made, self.ridge, self.count, self.zeros, self.fitted, self.origin, self.spreads)

    def begin(self, rows: Ints) -> None:
        """Set appended actions to the common penalty's belief about an action without data, `(rows)->`."""
        without_data(rows, self.ridge, self.inverse)

    def widen(self, first: int) -> None:
        """Set features without data to the penalty's belief about them."""
        wider(first, self.ridge, self.inverse)


def empty(
    n: int, n_replicas: int, low: Floats, high: Floats, horizon: int, prior: Prior, actions: int = 1
) -> BayesianRidgeState:
    """Return the state before any data, `(M),(M)->`."""
    m, rows, units = len(low), n_replicas * actions, np.where(np.isfinite(high - low), high - low, 1.0)
    origin = prior.origin(n_replicas, actions, m, n) / units[:, None]
    return BayesianRidgeState(
        gram=np.zeros((rows, n, n)),
        moment=np.zeros((rows, m, n)),
        squares=np.zeros((n_replicas, m, m)),
        inverse=np.zeros((rows, n, n)),
        theta=origin.copy(),
        sigma=np.tile(BELIEVED * np.eye(m), (n_replicas, 1, 1)),
        ridge=np.zeros(n_replicas),
        count=np.zeros(n_replicas),
        zeros=np.zeros((n_replicas, m)),
        fitted=np.zeros(n_replicas),
        rounds=np.zeros(n_replicas),
        taught=np.zeros(n_replicas),
        ahead=np.ones(n_replicas),
        affordable=np.zeros((n_replicas, 0)),
        origin=origin,
        spreads=prior.variance(m, BELIEVED * units**2) / units**2,
        ends=np.stack([low, high]) / units,
        units=units,
        horizon=np.full(n_replicas, float(horizon)),
    )


class Estimates(NamedTuple):
    """The arrays of a state that a fit reads and writes."""

    gram: Floats
    moment: Floats
    squares: Floats
    inverse: Floats
    theta: Floats
    sigma: Floats
    ridge: Floats
    n_seen: Floats
    zeros: Floats
    fitted: Floats
    origin: Floats
    spreads: Floats


@kernel
def refit(s: Estimates, growth: float) -> None:
    """Maximise the evidence again in the replicas that are due."""
    actions = len(s.theta) // len(s.ridge)
    for r in range(len(s.ridge)):
        if s.n_seen[r] > s.fitted[r] and s.n_seen[r] >= growth * s.fitted[r]:
            own = slice(r * actions, (r + 1) * actions)
            sums = Sums(s.gram[own], s.moment[own], s.squares[r], s.n_seen[r], s.zeros[r])
            s.ridge[r] = fit(sums, s.ridge[r], s.spreads, Fit(s.theta[own], s.inverse[own], s.sigma[r]))
            for row in range(r * actions, (r + 1) * actions):
                for m in range(s.theta.shape[1]):
                    for i in range(s.theta.shape[2]):
                        s.theta[row, m, i] += s.origin[row, m, i]
            s.fitted[r] = s.n_seen[r]


@inlined
def worth_at(p: Floats, center: Floats, sigma: Floats, ends: Floats, half: float) -> tuple[float, float]:
    """Mean and bonus at prices p, `(M),(M),(M,M),(2,M),()->(),()`, where means are `half` noises wide."""
    mean, variance, far = 0.0, 0.0, 0.0
    for m in range(len(p)):
        if p[m] != 0.0:
            mean += p[m] * center[m]
            far += p[m] * ((ends[1, m] if p[m] > 0.0 else ends[0, m]) - center[m])
            for j in range(len(p)):
                variance += p[m] * p[j] * sigma[m, j]
    return mean, min(half * math.sqrt(max(variance, 0.0)), far)


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
) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(A,n),(K,1|A,M)->(K,A),(K,A)`."""
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    n, outcomes, actions = theta.shape[2], w.shape[3], len(theta) // len(x)
    lead, product, center, each = x.shape[2] - n, np.empty(n), np.empty(outcomes), w.shape[2] > 1
    for r in range(len(x)):
        more = future_observations(count[r], rounds[r], taught[r], horizon[r], part[r])
        for a in range(x.shape[1]):
            z, own = x[r, a, lead:], a if each else 0
            if blank(z):
                continue
            row = r * actions + int(x[r, a, 0]) if lead > 0 else r
            square = doubt(z, inverse[row], count[r], first(spreads), product)
            for m in range(outcomes):
                center[m] = dot(z, theta[row, m])
            some = affordable(more, n * actions, plays, (r, a, x.shape[1]))
            half = scale * reach(square, some, n * actions)
            for k in range(w.shape[1]):
                mean[r, k, a], bonus[r, k, a] = worth_at(w[r, k, own], center, sigma[r], ends, half)
    return mean, bonus


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
    rounds: Floats,
    taught: Floats,
    origin: Floats,
    spreads: Floats,
    growth: float,
    x: Floats,
    y: Floats,
    seen: Bools,
    share: Floats,
    weight: float,
    others: bool,
) -> None:
    """Absorb plays, those of an action after those of the one before it."""
    s = Estimates(gram, moment, squares, inverse, theta, sigma, ridge, count, zeros, fitted, origin, spreads)
    _absorb(s, (rounds, taught), growth, x, y, seen, Lesson(share, weight, others))


@kernel
def _absorb(
    s: Estimates, counts: tuple[Floats, Floats], growth: float, x: Floats, y: Floats, seen: Bools, lesson: Lesson
) -> None:
    """Absorb plays of a lesson."""
    gram, moment, squares, inverse, theta, _, ridge, count, _, _, origin, _ = s
    n, outcomes, actions = theta.shape[2], y.shape[2], len(theta) // len(x)
    weight = lesson.weight
    lead, root, z = x.shape[2] - n, math.sqrt(weight), np.empty(outcomes)
    gain, line = np.empty(n), np.empty(n)
    for r in range(len(x)):
        some = False
        for a in range(actions):
            row = r * actions + a
            for p in range(x.shape[1]):
                if (lead > 0 and x[r, p, 0] != a) or not seen[r, p].all():
                    continue
                some = True
                if blank(x[r, p, lead:]):
                    continue
                count[r] += weight
                for i in range(n):
                    line[i] = root * x[r, p, lead + i]
                for m in range(outcomes):
                    z[m] = root * y[r, p, m] - dot(line, origin[row, m])
                for i in range(n):
                    if line[i] != 0.0:
                        for j in range(n):
                            gram[row, i, j] += line[i] * line[j]
                        for m in range(outcomes):
                            moment[row, m, i] += line[i] * z[m]
                for m in range(outcomes):
                    for j in range(outcomes):
                        squares[r, m, j] += z[m] * z[j]
                if ridge[r] > 0.0:
                    square = absorb(inverse[row], line, gain)
                    for m in range(outcomes):
                        miss = (root * y[r, p, m] - dot(line, theta[row, m])) / (1.0 + square)
                        for i in range(n):
                            theta[row, m, i] += miss * gain[i]
        if some:
            count_round(lesson, r, counts[0], counts[1])
    refit(s, growth)


@kernel
def _fade(s: Estimates, counts: tuple[Floats, Floats], keep: Floats, growth: float) -> None:
    """Multiply all sums; what is less than `LEAST` of an observation is nothing; `(),()->`."""
    rounds, taught = counts
    n, outcomes, actions = s.theta.shape[2], s.theta.shape[1], len(s.theta) // len(s.ridge)
    for r in range(len(s.ridge)):
        part = keep[r]
        if part >= 1.0:
            continue
        if s.n_seen[r] * part < LEAST:
            part = 0.0
        s.n_seen[r] *= part
        rounds[r] *= part
        taught[r] *= part
        s.fitted[r] = 0.0  # so that it is due
        for m in range(outcomes):
            s.zeros[r, m] *= part
            for j in range(outcomes):
                s.squares[r, m, j] *= part
        for row in range(r * actions, (r + 1) * actions):
            for i in range(n):
                for j in range(n):
                    s.gram[row, i, j] *= part
                for m in range(outcomes):
                    s.moment[row, m, i] *= part
        if s.n_seen[r] == 0.0:
            s.ridge[r] = 0.0
            for m in range(outcomes):
                for j in range(outcomes):
                    s.sigma[r, m, j] = BELIEVED if m == j else 0.0
            for row in range(r * actions, (r + 1) * actions):
                for i in range(n):
                    for j in range(n):
                        s.inverse[row, i, j] = 0.0
                    for m in range(outcomes):
                        s.theta[row, m, i] = s.origin[row, m, i]
    refit(s, growth)


class _BayesianRidgeView(NamedTuple):
    estimates: Estimates
    rounds: Floats
    taught: Floats
    horizon: Floats
    ahead: Floats
    affordable: Floats
    ends: Floats
    units: Floats
    share: Floats
    scale: float
    growth: float

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        price, s = np.empty_like(w), self.estimates
        for r in range(w.shape[0]):
            for k in range(w.shape[1]):
                for a in range(w.shape[2]):
                    for m in range(w.shape[3]):
                        price[r, k, a, m] = w[r, k, a, m] * self.units[m]
        books = s.n_seen, self.rounds, self.taught, self.horizon, self.ahead, self.affordable
        return _value(s.theta, s.inverse, s.sigma, *books, self.scale, s.spreads, self.ends, x, price)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        z = np.empty_like(y)
        for r in range(y.shape[0]):
            for p in range(y.shape[1]):
                for m in range(y.shape[2]):
                    z[r, p, m] = y[r, p, m] / self.units[m]
        counts = self.rounds, self.taught
        _absorb(self.estimates, counts, self.growth, x, z, seen, Lesson(self.share, 1.0, False))


@named("X5", source="evenhand's own: MacKay 1992 for the posterior, an index as in MOSS (Audibert & Bubeck 2009)")
@dataclass(frozen=True, kw_only=True)
class BayesianRidge(WithoutLuck):
    """Ridge regression that estimates its penalty and its noise, and explores by them: nothing has to be tuned.

    Equation: V = rho I + sum x x^T, theta_m = V^-1 sum y_m x; rho and the covariance Sigma of the noise maximise the
    evidence (`numerics.evidence.fit`). An outcome that is declared 0 under some candidates has no noise there, so that
    only its other observations count for its noise; a policy says which. At prices w the bonus of a candidate is
    scale sqrt(w^T Sigma w) sqrt(q ln(1 + (m q / n)^2)), q = x^T V^-1 x, at most up to the liked ends of the ranges.
    m = L (1 + N) / (1 + t) is the number of future observations, if they go on at the rate of the N in the t rounds so
    far and of one in a round before. L counts the remaining rounds, at most as many as budgets can pay for; a policy
    says so. Rows that were taught are in N and t, and leave L as it is. m / n is at most the plays of the action that
    are left by what it is declared to use of budgets; a policy says so too. What is unlikely to pay back is not
    explored.

    Nothing depends on the units of outcomes or of features. Before any data, noise and means are believed to spread by
    a quarter of each outcome's range, and a range counts as one observation: one that is a thousand times too long is
    explored for too long.

    Args:
        n_features: n. A candidate whose features are all 0, such as doing nothing, has no bonus and teaches nothing.
        prior: the belief about theta before any data: V and the evidence are those of theta minus its prior mean.
        scale: of the bonus, at least 0; 0 is greedy.
        growth: above 1; estimate rho and Sigma again when there are this many times as many observations; between two
            times the posterior is updated exactly at the present rho.

    >>> model = BayesianRidge(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 1000)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for y in (0.5, 0.6, 0.4, 0.5):
    ...     model.update(state, one, np.full((1, 1, 1), y), one > 0, price)
    >>> mean, bonus, *_ = model.value(state, one, price, luck)
    >>> round(mean.item(), 2), round(bonus.item(), 2)
    (0.48, 0.23)
    """

    n_features: int
    n_outcomes: int = 1
    prior: Prior = Prior()  # noqa: RUF009, immutable
    scale: float = 1.0
    growth: float = 1.3
    weighs: ClassVar[bool] = True
    fades: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_sizes("BayesianRidge", self.n_features, self.n_outcomes)
        check_exploration("BayesianRidge", self.scale, self.growth)

    def of_features(self, features: int) -> BayesianRidge:
        """Return the same model of the first so many features."""
        return replace(self, n_features=features, prior=self.prior.of_features(features))

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BayesianRidgeState:
        return self.start_by_action(n_replicas, low, high, horizon, 1)

    def start_by_action(
        self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int
    ) -> BayesianRidgeState:
        """Actions have rho, Sigma, N and t in common, and n in the bonus counts the features of all of them."""
        return empty(self.n_features, n_replicas, low, high, horizon, self.prior, actions)

    def value(self, state: BayesianRidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        s, scale = state, float(self.scale)
        books = s.count, s.rounds, s.taught, s.horizon, s.ahead, s.affordable
        return Worth(*_value(s.theta, s.inverse, s.sigma, *books, scale, s.spreads, s.ends, x, w * s.units))

    def gains(self, state: BayesianRidgeState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, x, flat, first(state.spreads))

    def contributions(self, state: BayesianRidgeState, x: Floats, w: Floats) -> Floats:
        return linear_parts(state.theta, x, w * state.units)

    def update(
        self, state: BayesianRidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Absorb plays whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`; O(n^2 + nM) each, O(n^3) per fit."""
        s, made, growth = state, (state.inverse, state.theta, state.sigma), float(self.growth)
        books = s.ridge, s.count, s.zeros, s.fitted, s.rounds, s.taught, s.origin, s.spreads
        _update(s.gram, s.moment, s.squares, *made, *books, growth, x, y / s.units, seen, *lesson)

    def view(self, state: BayesianRidgeState) -> _BayesianRidgeView:
        s, scale, growth = state, float(self.scale), float(self.growth)
        books = s.rounds, s.taught, s.horizon, s.ahead, s.affordable, s.ends, s.units
        return _BayesianRidgeView(s.estimates, *books, ROUND.share, scale, growth)

    def fade(self, state: BayesianRidgeState, keep: Floats, ahead: Floats) -> None:
        """Multiply the sums and counts, and fit again, `(),()->`; the ranges' one observation stays whole."""
        s = state
        s.ahead[:] = ahead
        if (keep < 1.0).any():
            _fade(s.estimates, (s.rounds, s.taught), keep, float(self.growth))
