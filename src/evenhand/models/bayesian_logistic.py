"""Logistic regression that estimates its own penalty, and explores without constants to set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.models._shared import (
    check_binary,
    check_exploration,
    check_sizes,
    count_round,
    logistic_parts,
    optimism,
    wider,
    without_data,
)
from evenhand.models.base import AFFORDABLE, AHEAD, ROUND, Gain, Lesson, WithoutLuck, Worth
from evenhand.models.links import logistic_curvature
from evenhand.models.observations import Arrays, Past, fold_older, keeps_all, lacks_room, latest, no_past, older
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import (
    LEAST,
    STRONG,
    affordable,
    clip_penalty,
    doubt,
    future_observations,
    log_volume,
    reach,
    shared,
)
from evenhand.numerics.likelihood import LOGISTIC, add_losses, add_quadratic
from evenhand.numerics.low_rank import are_few, fit_few
from evenhand.numerics.newton import fit, invert, sigmoid
from evenhand.numerics.precision import FAINT, absorb, blank, dot

BELIEVED = 2.0**2  # variance of a log-odds before any data: an observation at even odds is worth as much
_PASSES = 2


@dataclass
class BayesianLogisticState:
    """The posterior, and the observations that are kept.

    With coefficients by action, fields that are marked so have A rows per replica, and all others have one.
    """

    inverse: Floats  # (R A, n, n) of H = ridge I + sum p (1 - p) x x^T
    theta: Floats  # (R A, n)
    ridge: Floats  # (R,) 0 before the first fit
    count: Floats  # (R,) observations
    fitted: Floats  # (R,) observations at the last fit
    rounds: Floats  # (R,) rounds in which something was seen
    taught: Floats  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    affordable: Floats = field(metadata=AFFORDABLE)  # (R, A) plays of each action that budgets can pay for, or (R, 0)
    size: Floats  # (R,) sum of |x|^2
    total: Floats  # (R, 2, n) sums of x and of |x|
    past: Past  # of R A rows
    origin: Floats  # (R A, n) theta before any data
    base: Floats  # (R A, n) theta at the last fit
    spread: Floats  # (1,) variance of log-odds before any data
    ends: Floats  # (2, 1) of the range
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy

    @property
    def known(self) -> Estimates:
        sums = self.size, self.total
        arrays = self.inverse, self.theta, self.ridge, self.count, self.fitted, *sums, self.origin, self.base
        believed = self.spread.item()
        return Estimates(*arrays, believed, prior_threshold(believed), self.past.arrays)

    def begin(self, rows: Ints) -> None:
        """Set appended actions to the common penalty's belief about an action without data, `(rows)->`."""
        without_data(rows, self.ridge, self.inverse)

    def widen(self, first: int) -> None:
        """Set features without data to the penalty's belief about them."""
        wider(first, self.ridge, self.inverse)


class Estimates(NamedTuple):
    """The estimates, and what they are made from; a replica has A rows of those that are marked so."""

    inverse: Floats  # (R A, n, n)
    theta: Floats  # (R A, n)
    ridge: Floats  # (R,)
    seen: Floats  # (R,) observations
    fitted: Floats  # (R,)
    size: Floats  # (R,)
    total: Floats  # (R, 2, n)
    origin: Floats  # (R A, n)
    base: Floats  # (R A, n)
    believed: float
    strong: float | None  # as from `prior_threshold`
    past: Arrays  # of R A rows


@kernel
def _climb(known: Estimates, r: int, ridge: float) -> float:
    """Climb from a penalty to a maximum of the evidence of a replica; return the penalty."""
    inverse, theta, origin, size = known.inverse, known.theta, known.origin, known.size[r]
    n, actions = theta.shape[1], len(theta) // len(known.size)
    first, scale, total = r * actions, size / known.seen[r], float(actions * n)
    root, slope = np.empty((n, n)), np.empty(n)
    rho = ridge if ridge > 0.0 else scale / known.believed
    for step in range(_PASSES):
        rho = clip_penalty(rho, size)
        for row in range(first, first + actions):
            if are_few(known.past[2][row], n) and keeps_all(known.past, row):
                fit_few(latest(known.past, row), origin[row], rho, 1e-4, theta[row], inverse[row])
                continue
            anchor, plain, curve = older(known.past, row)
            for i in range(n):
                slope[i] = plain[i] - rho * origin[row, i]  # which centres the penalty
            fit(LOGISTIC, latest(known.past, row), (anchor, slope, curve), theta[row], root, rho, 1e-4)
            invert(root, inverse[row])
        if step + 1 < _PASSES:
            free, squares = total, 0.0
            for row in range(first, first + actions):
                for i in range(n):
                    off = theta[row, i] - origin[row, i]
                    squares += off * off
                    free -= rho * inverse[row, i, i]
            spread = (known.believed + scale * squares) / (1.0 + min(max(free, 0.0), total))
            rho = scale / spread
    return rho


@kernel
def _evidence(known: Estimates, r: int, rho: float, theta: Floats, inverse: Floats) -> float:
    """ln of the evidence of a fit times the density of the prior, up to a constant, `(),(A,n),(A,n,n)->()`."""
    (actions, n), first, spread, loss = theta.shape, r * len(theta), known.size[r] / known.seen[r] / rho, 0.0
    gradient, hessian, nonzero = np.zeros(n), np.zeros((n, n)), np.empty(n, np.int64)
    for b in range(actions):
        anchor, slope, curve = older(known.past, first + b)
        loss = add_quadratic(anchor, slope, curve, theta[b], loss, gradient, hessian)
        loss = add_losses(LOGISTIC, latest(known.past, first + b), theta[b], loss, gradient, hessian, nonzero)
        for i in range(n):
            off = theta[b, i] - known.origin[first + b, i]
            loss += 0.5 * rho * (off * off)
    volume = actions * n * math.log(rho) + log_volume(inverse)
    return float(0.5 * (volume - math.log(spread) - known.believed / spread) - loss)


@kernel
def _wider(strong: float | None, known: Estimates, r: int, rho: float, before: Floats) -> float:
    """Climb from the default penalty too, and keep the estimate whose evidence says so; return its penalty."""
    if strong is None:
        return rho
    theta, inverse, rows = known.theta, known.inverse, len(before)
    n, first = theta.shape[1], r * rows
    made, inverted = np.empty((rows, n)), np.empty((rows, n, n))
    for b in range(rows):
        for i in range(n):
            made[b, i], theta[first + b, i] = theta[first + b, i], before[b, i]
            for j in range(n):
                inverted[b, i, j] = inverse[first + b, i, j]
    least = strong + _evidence(known, r, rho, made, inverted)
    other = _climb(known, r, known.size[r] / known.seen[r] / BELIEVED)
    if _evidence(known, r, other, theta[first : first + rows], inverse[first : first + rows]) > least:
        return other
    for b in range(rows):
        for i in range(n):
            theta[first + b, i] = made[b, i]
            for j in range(n):
                inverse[first + b, i, j] = inverted[b, i, j]
    return rho


@kernel
def fit_evidence(known: Estimates, r: int) -> None:
    """Maximise the evidence of a replica by Laplace's approximation.

    As in `numerics.evidence.fit`, a fit with a narrow prior also climbs from the default penalty.
    """
    rows = len(known.theta) // len(known.size)
    before = known.theta[r * rows : (r + 1) * rows].copy()
    rho = _climb(known, r, known.ridge[r])
    known.ridge[r] = _wider(known.strong, known, r, rho, before)
    known.fitted[r] = known.seen[r]
    for b in range(r * rows, (r + 1) * rows):
        for i in range(known.theta.shape[1]):
            known.base[b, i] = known.theta[b, i]


def prior_threshold(believed: float) -> float | None:
    """The gain in log evidence for which a prior is given up, None where it is not narrow: code for it is left out."""
    return STRONG if believed < BELIEVED else None


@kernel
def _value(
    theta: Floats,
    inverse: Floats,
    total: Floats,
    count: Floats,
    rounds: Floats,
    taught: Floats,
    horizon: Floats,
    part: Floats,
    plays: Floats,
    scale: float,
    believed: float,
    ends: Floats,
    x: Floats,
    w: Floats,
) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(A,n),(K,1|A,1)->(K,A),(K,A)`."""
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    n, actions = theta.shape[1], len(theta) // len(x)
    lead, each, product = x.shape[2] - n, w.shape[2] > 1, np.empty(n)
    for r in range(len(x)):
        more = future_observations(count[r], rounds[r], taught[r], horizon[r], part[r])
        for a in range(x.shape[1]):
            z, own = x[r, a, lead:], a if each else 0
            if blank(z):
                continue
            row = r * actions + int(x[r, a, 0]) if lead > 0 else r
            center = sigmoid(dot(z, theta[row]))
            variance = center * (1.0 - center)
            square = doubt(z, inverse[row], count[r], believed, product)
            if lead > 0:
                square = shared(square, product, total[r])
            square *= variance
            some = affordable(more, actions * n, plays, (r, a, x.shape[1]))
            half = scale * math.sqrt(variance) * reach(square, some, actions * n)
            for k in range(w.shape[1]):
                mean[r, k, a] = w[r, k, own, 0] * center
                bonus[r, k, a] = optimism(center, half, ends[0, 0], ends[1, 0], w[r, k, own, 0])
    return mean, bonus


@kernel
def _update(
    inverse: Floats,
    theta: Floats,
    ridge: Floats,
    count: Floats,
    fitted: Floats,
    rounds: Floats,
    taught: Floats,
    size: Floats,
    total: Floats,
    origin: Floats,
    base: Floats,
    believed: float,
    strong: float | None,
    past: Arrays,
    growth: float,
    room: int,
    x: Floats,
    y: Floats,
    seen: Bools,
    share: Floats,
    weight: float,
    others: bool,
) -> None:
    """Absorb plays, those of an action after those of the one before it.

    Between fits theta is one Newton step from that of the last fit, where the curvature of all outcomes is taken too:
    so it knows each outcome, in whatever order they came.
    """
    known = Estimates(inverse, theta, ridge, count, fitted, size, total, origin, base, believed, strong, past)
    n, actions = theta.shape[1], len(theta) // len(x)
    lead, gain, line = x.shape[2] - n, np.empty(n), np.empty(n)
    past_x, past_y, kept, weights = past[:4]
    for r in range(len(x)):
        some, first = False, r * actions
        for a in range(actions):
            row = first + a
            for p in range(x.shape[1]):
                if (lead > 0 and x[r, p, 0] != a) or not seen[r, p, 0]:
                    continue
                z, some = x[r, p, lead:], True
                if blank(z):
                    continue
                if kept[row] >= room:  # what is folded is folded at an estimate that knows it
                    fit_evidence(known, r)
                    fold_older(past, row, LOGISTIC, theta[row])
                s = int(kept[row])
                for i in range(n):
                    past_x[row, s, i] = z[i]
                    total[r, 0, i] += weight * z[i]
                    total[r, 1, i] += weight * abs(z[i])
                past_y[row, s] = y[r, p, 0]
                weights[row, s] = weight
                kept[row] += 1.0
                count[r] += weight
                size[r] += weight * dot(z, z)
                if ridge[r] > 0.0:
                    u, v = dot(z, base[row]), dot(z, theta[row])
                    center = sigmoid(u)
                    root = math.sqrt(weight * center * (1.0 - center))
                    for i in range(n):
                        line[i] = root * z[i]
                    square = absorb(inverse[row], line, gain)
                    miss = weight * (y[r, p, 0] - center) / max(root, FAINT) - root * (v - u)
                    for i in range(n):
                        theta[row, i] += miss / (1.0 + square) * gain[i]
        if some:
            count_round(Lesson(share, weight, others), r, rounds, taught)
        if count[r] > fitted[r] and count[r] >= growth * fitted[r]:
            fit_evidence(known, r)


@kernel
def _fade(known: Estimates, rounds: Floats, taught: Floats, keep: Floats) -> None:
    """Multiply the weights of all observations, and fit again, `(),()->`; `LEAST` of one and less is nothing."""
    inverse, theta, ridge, count, fitted, size, total, origin, base, _, _, past = known
    n, actions = theta.shape[1], len(theta) // len(keep)
    kept, weight, slope, curve = past[2], past[3], past[5], past[6]
    for r in range(len(keep)):
        if keep[r] >= 1.0:
            continue
        part = keep[r] if count[r] * keep[r] >= LEAST else 0.0
        count[r] *= part
        rounds[r] *= part
        taught[r] *= part
        size[r] *= part
        total[r] *= part
        fitted[r] = count[r]
        first = r * actions
        for row in range(first, first + actions):
            for s in range(int(kept[row])):
                weight[row, s] *= part
            for i in range(n):
                slope[row, i] *= part
                for j in range(n):
                    curve[row, i, j] *= part
        if count[r] > 0.0:
            fit_evidence(known, r)
        else:
            ridge[r] = 0.0
            for row in range(first, first + actions):
                kept[row] = 0.0
                for i in range(n):
                    theta[row, i] = base[row, i] = origin[row, i]
                    for j in range(n):
                        inverse[row, i, j] = 0.0


class _BayesianLogisticView(NamedTuple):
    known: Estimates
    rounds: Floats
    taught: Floats
    horizon: Floats
    ahead: Floats
    affordable: Floats
    ends: Floats
    scale: float
    growth: float
    most: int

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        s = self.known
        books = s.seen, self.rounds, self.taught, self.horizon, self.ahead, self.affordable
        return _value(s.theta, s.inverse, s.total, *books, self.scale, s.believed, self.ends, x, w)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        s = self.known
        sums = s.size, s.total, s.origin, s.base
        books = s.inverse, s.theta, s.ridge, s.seen, s.fitted, self.rounds, self.taught, *sums
        settings = s.believed, s.strong, s.past, self.growth, self.most
        _update(*books, *settings, x, y, seen, np.ones(1), 1.0, False)

    @kernel
    def grows(self, d: Decision) -> bool:
        return lacks_room(self.known.past, d.plays.shape[1], self.most)


@named("X5", source="evenhand's own: MacKay 1992 (The evidence framework applied to classification networks)")
@dataclass(frozen=True, kw_only=True)
class BayesianLogistic(WithoutLuck):
    """Logistic regression that estimates its penalty, and explores by its posterior: nothing has to be tuned.

    Equation: theta minimises sum [log(1 + exp(u)) - y u] + rho/2 |theta|^2, u = x.theta; H is the Hessian there, and
    rho = g / |theta|^2 with g = n - rho tr H^-1 effective parameters, where one observation at even odds counts as
    believed beforehand. With p = sigmoid(u), the bonus is scale sqrt(p (1 - p)) sqrt(q ln(1 + (m q / n)^2)), q = p (1 -
    p) x^T H^-1 x, and m the future observations, as for `BayesianRidge`; with coefficients by action, less of q
    counts where cases differ (`numerics.evidence.shared`). It is clipped to the outcome's range. Nothing depends on the
    units of features. Between fits, theta and H follow each outcome by one Newton step from the last fit. The latest
    `buffer` observations are kept; older ones are folded into a quadratic, as in `GeneralizedLinear`.

    Args:
        n_features: n. A candidate whose features are all 0, such as doing nothing, has outcome 0, and teaches nothing.
        prior: the belief about theta before any data, in log-odds: the penalty is on theta minus its prior mean.
        scale: of the bonus, at least 0; 0 is greedy.
        growth: above 1; fit again when there are this many times as many observations.
        buffer: the most observations that are kept, at least 2.

    >>> model = BayesianLogistic(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 1000)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for y in (1.0, 1.0, 0.0, 1.0):
    ...     model.update(state, one, np.full((1, 1, 1), y), one > 0, price)
    >>> mean, bonus, *_ = model.value(state, one, price, luck)
    >>> round(mean.item(), 2), round(bonus.item(), 2)
    (0.68, 0.32)
    """

    n_features: int
    prior: Prior = Prior()  # noqa: RUF009, immutable
    scale: float = 1.0
    growth: float = 1.1
    buffer: int = 2000
    weighs: ClassVar[bool] = True
    fades: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_sizes("BayesianLogistic", self.n_features, 1)
        check_exploration("BayesianLogistic", self.scale, self.growth)
        whole("BayesianLogistic.buffer", self.buffer, 2)

    @property
    def n_outcomes(self) -> int:
        """One; `Stacked` has more."""
        return 1

    def of_features(self, features: int) -> BayesianLogistic:
        """Return the same model of the first so many features."""
        return replace(self, n_features=features, prior=self.prior.of_features(features))

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BayesianLogisticState:
        """Return the state before any data, `(1),(1)->state`; the outcome's range must lie within [0, 1]."""
        return self.start_by_action(n_replicas, low, high, horizon, 1)

    def start_by_action(
        self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int
    ) -> BayesianLogisticState:
        """Actions have rho, N and t in common, and n in the bonus counts the features of all of them."""
        check_binary("BayesianLogistic", low, high)
        n, rows = self.n_features, n_replicas * actions
        origin = self.prior.origin(n_replicas, actions, 1, n)[:, 0].copy()
        return BayesianLogisticState(
            inverse=np.zeros((rows, n, n)),
            theta=origin.copy(),
            ridge=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            fitted=np.zeros(n_replicas),
            rounds=np.zeros(n_replicas),
            taught=np.zeros(n_replicas),
            ahead=np.ones(n_replicas),
            affordable=np.zeros((n_replicas, 0)),
            size=np.zeros(n_replicas),
            total=np.zeros((n_replicas, 2, n)),
            past=no_past(rows, n, self.buffer),
            origin=origin,
            base=origin.copy(),
            spread=self.prior.variance(1, np.full(1, BELIEVED)),
            ends=np.stack([low, high]),
            horizon=np.full(n_replicas, float(horizon)),
        )

    def value(self, state: BayesianLogisticState, x: Floats, w: Floats, u: Floats) -> Worth:
        s, scale = state, float(self.scale)
        books = s.count, s.rounds, s.taught, s.horizon, s.ahead, s.affordable
        return Worth(*_value(s.theta, s.inverse, s.total, *books, scale, s.spread.item(), s.ends, x, w))

    def gains(self, state: BayesianLogisticState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, x, partial(logistic_curvature, state.theta), state.spread.item())

    def contributions(self, state: BayesianLogisticState, x: Floats, w: Floats) -> Floats:
        return logistic_parts(state.theta, x, w)

    def update(
        self, state: BayesianLogisticState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Append plays whose outcome was seen; refit if the history grew enough, `(P,n),(P,1),(P,1),(K,1|P,1)`."""
        s, believed, (share, weight, taught) = state, state.spread.item(), lesson
        s.past.make_room(x.shape[1], self.buffer)
        settings = believed, prior_threshold(believed), s.past.arrays, float(self.growth), self.buffer
        books = s.ridge, s.count, s.fitted, s.rounds, s.taught, s.size, s.total, s.origin, s.base
        _update(s.inverse, s.theta, *books, *settings, x, y, seen, share, weight, taught)

    def view(self, state: BayesianLogisticState) -> _BayesianLogisticView:
        s, settings = state, (float(self.scale), float(self.growth), self.buffer)
        return _BayesianLogisticView(s.known, s.rounds, s.taught, s.horizon, s.ahead, s.affordable, s.ends, *settings)

    def fade(self, state: BayesianLogisticState, keep: Floats, ahead: Floats) -> None:
        """Multiply the weights of kept observations and the quadratic of folded ones, and fit again, `(),()->`."""
        s = state
        s.ahead[:] = ahead
        if (keep < 1.0).any():
            _fade(s.known, s.rounds, s.taught, keep)
