"""Logistic regression that estimates its own penalty, and explores without constants to set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole
from evenhand.models._shared import check_binary, check_exploration, check_sizes, optimism
from evenhand.models.base import AHEAD, ROUNDS, TAUGHT, Worth
from evenhand.models.past import Arrays, Past, fold_older, no_past
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import STRONG, ahead, log_volume, reach, within
from evenhand.numerics.likelihood import LOGISTIC, add_losses, add_quadratic
from evenhand.numerics.newton import fit, invert, sigmoid
from evenhand.numerics.precision import absorb, blank, dot, quadratic

_BELIEVED = 2.0**2  # variance of a log-odds before any data: an observation at even odds is worth as much
_PASSES = 2


@dataclass
class BayesianLogisticState:
    """The posterior, and what is kept of the observations."""

    inverse: Floats  # (R, n, n) of H = ridge I + sum p (1 - p) x x^T
    theta: Floats  # (R, n)
    ridge: Floats  # (R,) 0 before the first fit
    count: Floats  # (R,) observations
    fitted: Floats  # (R,) observations at the last fit
    rounds: Floats = field(metadata=ROUNDS)  # (R,) rounds in which something was seen
    taught: Floats = field(metadata=TAUGHT)  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    size: Floats  # (R,) sum of |x|^2
    past: Past
    origin: Floats  # (R, n) theta before any data
    spread: Floats  # (1,) variance of log-odds before any data
    ends: Floats  # (2, 1) of the range
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy


@kernel
def _value(
    theta: Floats,
    inverse: Floats,
    count: Floats,
    rounds: Floats,
    taught: Floats,
    horizon: Floats,
    part: Floats,
    scale: float,
    blocks: int,
    believed: float,
    ends: Floats,
    x: Floats,
    w: Floats,
) -> tuple[Floats, Floats]:
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, product = w.shape[2] > 1, np.empty(x.shape[2])
    for r in range(len(x)):
        more = ahead(count[r], rounds[r], taught[r], horizon[r], part[r])
        for a in range(x.shape[1]):
            if blank(x[r, a]):
                continue
            own, center = a if each else 0, sigmoid(dot(x[r, a], theta[r]))
            variance = center * (1.0 - center)
            square = variance * (quadratic(x[r, a], inverse[r], product) if count[r] > 0.0 else believed)
            half = scale * math.sqrt(variance) * reach(square, more, blocks * x.shape[2])
            for k in range(w.shape[1]):
                mean[r, k, a] = w[r, k, own, 0] * center
                bonus[r, k, a] = optimism(center, half, ends[0, 0], ends[1, 0], w[r, k, own, 0])
    return mean, bonus


@kernel
def _climb(
    past: Arrays,
    first: int,
    size: float,
    count: float,
    ridge: float,
    origin: Floats,
    believed: float,
    theta: Floats,
    inverse: Floats,
) -> float:
    """Climb from a penalty to a maximum of the evidence; return the penalty, with the shapes of `_fit`."""
    x, y, kept, weight, anchor, slope, curve = past
    blocks, n = theta.shape
    scale, total = size / count, float(blocks * n)
    root = np.empty((n, n))
    rho = ridge if ridge > 0.0 else scale / believed
    for step in range(_PASSES):
        rho = within(rho, size)
        for b in range(blocks):
            r = first + b
            s = int(kept[r])
            older = anchor[r], slope[r] - rho * origin[b], curve[r]  # which centres the penalty
            fit(LOGISTIC, x[r, :s], y[r, :s], weight[r, :s], older, theta[b], root, rho, 1e-4)
            invert(root, inverse[b])
        if step + 1 < _PASSES:
            free, squares = total, 0.0
            for b in range(blocks):
                for i in range(n):
                    squares += (theta[b, i] - origin[b, i]) ** 2
                    free -= rho * inverse[b, i, i]
            spread = (believed + scale * squares) / (1.0 + min(max(free, 0.0), total))
            rho = scale / spread
    return rho


@kernel
def _evidence(
    past: Arrays,
    first: int,
    scale: float,
    rho: float,
    origin: Floats,
    believed: float,
    theta: Floats,
    inverse: Floats,
) -> float:
    """ln of the evidence of a fit times the density of what is believed, up to a constant; shapes as for `_fit`."""
    x, y, kept, weight, anchor, slope, curve = past
    blocks, n = theta.shape
    gradient, hessian, nonzero = np.zeros(n), np.zeros((n, n)), np.empty(n, np.int64)
    spread, loss = scale / rho, 0.0
    for b in range(blocks):
        r = first + b
        s = int(kept[r])
        loss = add_quadratic(anchor[r], slope[r], curve[r], theta[b], loss, gradient, hessian)
        loss = add_losses(LOGISTIC, x[r, :s], y[r, :s], weight[r, :s], theta[b], loss, gradient, hessian, nonzero)
        for i in range(n):
            loss += float(0.5 * rho * (theta[b, i] - origin[b, i]) ** 2)
    volume = blocks * n * math.log(rho) + log_volume(inverse)
    return float(0.5 * (volume - math.log(spread) - believed / spread) - loss)


@kernel
def _fit(
    past: Arrays,
    first: int,
    size: float,
    count: float,
    ridge: float,
    origin: Floats,
    believed: float,
    theta: Floats,
    inverse: Floats,
) -> float:
    """Maximise the evidence of a replica by Laplace's approximation; return its penalty.

    `(),(),(),(B,n),()->(B,n),(B,n,n),()`. Its B blocks of features are the replicas from `first` on. As in
    `numerics.evidence.fit`, a narrow prior has it climbed from the penalty that is believed by default, too.
    """
    wide = theta.copy(), np.empty_like(inverse)
    rho = _climb(past, first, size, count, ridge, origin, believed, theta, inverse)
    if believed < _BELIEVED:
        scale = size / count
        other = _climb(past, first, size, count, scale / _BELIEVED, origin, believed, *wide)
        known = _evidence(past, first, scale, rho, origin, believed, theta, inverse)
        if _evidence(past, first, scale, other, origin, believed, *wide) > known + STRONG:
            theta[:], inverse[:] = wide
            return other
    return rho


@kernel
def _update(
    inverse: Floats,
    theta: Floats,
    ridge: Floats,
    count: Floats,
    fitted: Floats,
    rounds: Floats,
    size: Floats,
    origin: Floats,
    believed: float,
    past: Arrays,
    growth: float,
    room: int,
    blocks: int,
    weight: float,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    """Absorb plays; what the blocks of a replica have in common is that of the first, which the others repeat."""
    gain = np.empty(x.shape[2])
    past_x, past_y, kept, weights = past[:4]
    for first in range(0, len(x), blocks):
        some, own = False, slice(first, first + blocks)
        for r in range(first, first + blocks):
            for p in range(x.shape[1]):
                if not seen[r, p, 0]:
                    continue
                some = True
                if blank(x[r, p]):
                    continue
                if kept[r] >= room:  # what is folded is folded at an estimate that knows it
                    books = size[first], count[first], ridge[first]
                    ridge[first] = _fit(past, first, *books, origin[own], believed, theta[own], inverse[own])
                    fitted[first] = count[first]
                    fold_older(past, r, LOGISTIC, theta[r])
                s = int(kept[r])
                past_x[r, s] = x[r, p]
                past_y[r, s] = y[r, p, 0]
                weights[r, s] = weight
                kept[r] += 1.0
                count[first] += weight
                size[first] += weight * dot(x[r, p], x[r, p])
                if ridge[first] > 0.0:
                    center = sigmoid(dot(x[r, p], theta[r]))
                    absorb(inverse[r], math.sqrt(weight * center * (1.0 - center)) * x[r, p], gain)
        if some:
            rounds[first] += weight
        if count[first] > fitted[first] and count[first] >= growth * fitted[first]:
            books = size[first], count[first], ridge[first]
            ridge[first] = _fit(past, first, *books, origin[own], believed, theta[own], inverse[own])
            fitted[first] = count[first]
        if some:
            for r in range(first + 1, first + blocks):
                ridge[r], count[r], fitted[r] = ridge[first], count[first], fitted[first]
                rounds[r], size[r] = rounds[first], size[first]


@named("X5", source="evenhand's own: MacKay 1992 (The evidence framework applied to classification networks)")
@dataclass(frozen=True, kw_only=True)
class BayesianLogistic:
    """Logistic regression that estimates its penalty, and explores by its posterior: nothing has to be tuned.

    Equation: theta minimises sum [log(1 + exp(u)) - y u] + rho/2 |theta|^2, u = x.theta; H is the Hessian there, and
    rho = g / |theta|^2 with g = n - rho tr H^-1 effective parameters, where one observation at even odds counts as
    believed beforehand. With p = sigmoid(u), the bonus is scale sqrt(p (1 - p)) sqrt(q ln(1 + (m q / n)^2)),
    q = p (1 - p) x^T H^-1 x, and m the observations to come, as for `BayesianRidge`. It is clipped to
    the outcome's range. Nothing depends on the units of features. The latest `room` observations are kept; older ones
    are folded into a quadratic, as in `GeneralizedLinear`.

    Args:
        n_features: n. A candidate whose features are all 0, such as doing nothing, has outcome 0, and teaches nothing.
        prior: what is believed of theta before any data, in log-odds: the penalty is on theta minus its prior mean.
        scale: of the bonus; 0 is greedy.
        growth: fit again when there are this many times as many observations.
        room: the most observations that are kept, at least 2.

    Raises:
        InvalidInput: n_features below 1, a scale below 0, a growth that is not above 1, or room for less than 2.

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
    room: int = 2000
    blocks: int = field(default=1, init=False, repr=False)  # so many consecutive replicas are one, see `in_blocks`

    def __post_init__(self) -> None:
        check_sizes("BayesianLogistic", self.n_features, 1)
        check_exploration("BayesianLogistic", self.scale, self.growth)
        whole("BayesianLogistic.room", self.room, 2)

    def in_blocks(self, blocks: int) -> BayesianLogistic:
        """The model of which so many consecutive replicas are one.

        They have coefficients for a block of features each, and rho, N and t in common. n in the bonus then counts the
        features of all blocks. No argument says how many blocks there are: replicas that do not belong together would
        be mixed up.
        """
        whole("blocks", blocks, 1)
        same = replace(self)
        object.__setattr__(same, "blocks", blocks)
        return same

    @property
    def n_outcomes(self) -> int:
        """One outcome; use `Stacked` for more."""
        return 1

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BayesianLogisticState:
        """The state before any data, `(1),(1)->state`; the outcome's range must lie within [0, 1]."""
        check_binary("BayesianLogistic", low, high)
        n, origin = self.n_features, self.prior.origin(n_replicas, self.blocks, 1, self.n_features)[:, 0].copy()
        return BayesianLogisticState(
            inverse=np.zeros((n_replicas, n, n)),
            theta=origin.copy(),
            ridge=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            fitted=np.zeros(n_replicas),
            rounds=np.zeros(n_replicas),
            taught=np.zeros(n_replicas),
            ahead=np.ones(n_replicas),
            size=np.zeros(n_replicas),
            past=no_past(n_replicas, n, self.room),
            origin=origin,
            spread=self.prior.variance(1, np.full(1, _BELIEVED)),
            ends=np.stack([low, high]),
            horizon=np.full(n_replicas, float(horizon)),
        )

    def value(self, state: BayesianLogisticState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth and optimism, `(A,n),(K,1|A,1),()->(K,A),(K,A)`."""
        s, scale = state, float(self.scale)
        books, believed = (s.count, s.rounds, s.taught, s.horizon, s.ahead), s.spread.item()
        return Worth(*_value(s.theta, s.inverse, *books, scale, self.blocks, believed, s.ends, x, w))

    def update(self, state: BayesianLogisticState, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Append plays whose outcome was seen; refit if the history grew enough, `(P,n),(P,1),(P,1),(K,1|P,1)`."""
        self.weigh(state, x, y, seen, w, 1.0)

    def weigh(self, state: BayesianLogisticState, x: Floats, y: Floats, seen: Bools, w: Floats, weight: float) -> None:
        """`update` by plays each of which counts as `weight` observations and rounds."""
        s, settings = state, (float(self.growth), self.room, self.blocks, float(weight))
        s.past.make_room(x.shape[1], self.room)
        books = s.ridge, s.count, s.fitted, s.rounds, s.size, s.origin, s.spread.item()
        _update(s.inverse, s.theta, *books, s.past.arrays, *settings, x, y, seen)
