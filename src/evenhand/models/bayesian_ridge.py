"""Ridge regression that estimates its own penalty and noise, and explores without constants to set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole
from evenhand.models._shared import check_exploration, check_sizes
from evenhand.models.base import AHEAD, ROUNDS, TAUGHT, ZEROS, Worth
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import BELIEVED, ahead, first, fit, reach
from evenhand.numerics.precision import absorb, blank, dot, quadratic


@dataclass
class BayesianRidgeState:
    """Sufficient statistics, and the posterior; outcomes are in units of their ranges."""

    gram: Floats  # (R, n, n) sum of x x^T
    moment: Floats  # (R, M, n) sum of z x, z = y - origin.x
    squares: Floats  # (R, M, M) sum of z z^T
    inverse: Floats  # (R, n, n) of V = ridge I + gram
    theta: Floats  # (R, M, n)
    sigma: Floats  # (R, M, M) covariance of the noise
    ridge: Floats  # (R,) 0 before the first fit
    count: Floats  # (R,) observations
    zeros: Floats = field(metadata=ZEROS)  # (R, M) of these, in which an outcome was declared 0
    fitted: Floats  # (R,) observations at the last fit
    rounds: Floats = field(metadata=ROUNDS)  # (R,) rounds in which something was seen
    taught: Floats = field(metadata=TAUGHT)  # (R,) of these, rows that others played
    ahead: Floats = field(metadata=AHEAD)  # (R,) part of the horizon that is to come and can be paid for
    origin: Floats  # (R, M, n) theta before any data
    spreads: Floats  # (M,) variances of means before any data
    ends: Floats  # (2, M) of the ranges
    units: Floats  # (M,) lengths of the ranges, 1 where infinite
    horizon: Floats = field(metadata={"setting": True})  # (R,) a loaded state has that of its policy


@inlined
def priced(p: Floats, center: Floats, sigma: Floats, ends: Floats, half: float) -> tuple[float, float]:
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
    scale: float,
    blocks: int,
    spreads: Floats,
    ends: Floats,
    x: Floats,
    w: Floats,
) -> tuple[Floats, Floats]:
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    n, outcomes = x.shape[2], w.shape[3]
    product, center, each = np.empty(n), np.empty(outcomes), w.shape[2] > 1
    for r in range(len(x)):
        more = ahead(count[r], rounds[r], taught[r], horizon[r], part[r])
        for a in range(x.shape[1]):
            if blank(x[r, a]):
                continue
            own = a if each else 0
            square = quadratic(x[r, a], inverse[r], product) if count[r] > 0.0 else first(spreads)
            for m in range(outcomes):
                center[m] = dot(x[r, a], theta[r, m])
            half = scale * reach(square, more, n * blocks)
            for k in range(w.shape[1]):
                mean[r, k, a], bonus[r, k, a] = priced(w[r, k, own], center, sigma[r], ends, half)
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
    origin: Floats,
    spreads: Floats,
    growth: float,
    blocks: int,
    weight: float,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    """Absorb plays; what the blocks of a replica have in common is that of the first, which the others repeat."""
    n, outcomes = x.shape[2], y.shape[2]
    gain, line, z, root = np.empty(n), np.empty(n), np.empty(outcomes), math.sqrt(weight)
    for lead in range(0, len(x), blocks):
        some = False
        for r in range(lead, lead + blocks):
            for p in range(x.shape[1]):
                if not seen[r, p].all():
                    continue
                some = True
                if blank(x[r, p]):
                    continue
                count[lead] += weight
                for i in range(n):
                    line[i] = root * x[r, p, i]
                for m in range(outcomes):
                    z[m] = root * y[r, p, m] - dot(line, origin[r, m])
                for i in range(n):
                    if line[i] != 0.0:
                        for j in range(n):
                            gram[r, i, j] += line[i] * line[j]
                        for m in range(outcomes):
                            moment[r, m, i] += line[i] * z[m]
                for m in range(outcomes):
                    for j in range(outcomes):
                        squares[lead, m, j] += z[m] * z[j]
                if ridge[lead] > 0.0:
                    square = absorb(inverse[r], line, gain)
                    for m in range(outcomes):
                        miss = (root * y[r, p, m] - dot(line, theta[r, m])) / (1.0 + square)
                        for i in range(n):
                            theta[r, m, i] += miss * gain[i]
        if some:
            rounds[lead] += weight
        if count[lead] > fitted[lead] and count[lead] >= growth * fitted[lead]:
            own = slice(lead, lead + blocks)
            books = squares[lead], count[lead], zeros[lead], ridge[lead], spreads
            ridge[lead] = fit(gram[own], moment[own], *books, theta[own], inverse[own], sigma[lead])
            theta[own] += origin[own]
            fitted[lead] = count[lead]
            for r in range(lead + 1, lead + blocks):
                ridge[r], fitted[r], sigma[r] = ridge[lead], fitted[lead], sigma[lead]
        if some:
            for r in range(lead + 1, lead + blocks):
                count[r], rounds[r] = count[lead], rounds[lead]


def empty(
    n: int, n_replicas: int, low: Floats, high: Floats, horizon: int, prior: Prior, blocks: int = 1
) -> BayesianRidgeState:
    """The state before any data, `(M),(M)->`."""
    m, units = len(low), np.where(np.isfinite(high - low), high - low, 1.0)
    origin = prior.origin(n_replicas, blocks, m, n) / units[:, None]
    return BayesianRidgeState(
        gram=np.zeros((n_replicas, n, n)),
        moment=np.zeros((n_replicas, m, n)),
        squares=np.zeros((n_replicas, m, m)),
        inverse=np.zeros((n_replicas, n, n)),
        theta=origin.copy(),
        sigma=np.tile(BELIEVED * np.eye(m), (n_replicas, 1, 1)),
        ridge=np.zeros(n_replicas),
        count=np.zeros(n_replicas),
        zeros=np.zeros((n_replicas, m)),
        fitted=np.zeros(n_replicas),
        rounds=np.zeros(n_replicas),
        taught=np.zeros(n_replicas),
        ahead=np.ones(n_replicas),
        origin=origin,
        spreads=prior.variance(m, BELIEVED * units**2) / units**2,
        ends=np.stack([low, high]) / units,
        units=units,
        horizon=np.full(n_replicas, float(horizon)),
    )


@named("X5", source="evenhand's own: MacKay 1992 for the posterior, an index as in MOSS (Audibert & Bubeck 2009)")
@dataclass(frozen=True, kw_only=True)
class BayesianRidge:
    """Ridge regression that estimates its penalty and its noise, and explores by them: nothing has to be tuned.

    Equation: V = rho I + sum x x^T, theta_m = V^-1 sum y_m x; rho and the covariance Sigma of the noise maximise the
    evidence (`numerics.evidence.fit`). An outcome that is declared 0 under some candidates has no noise there, so that
    only its other observations count for its noise; a policy says which. At prices w the bonus of a candidate is
    scale sqrt(w^T Sigma w) sqrt(q ln(1 + (m q / n)^2)), q = x^T V^-1 x, at most up to the liked ends of the ranges.
    m = L (1 + N) / (1 + t) is the number of observations to come, if they go on at the rate of the N in the t rounds so
    far and of one in a round before. L counts the rounds to come, at most as many as budgets can pay for; a policy says
    so. Rows that were taught are in N and t, and leave L as it is. What is unlikely to pay back is not explored.

    Nothing depends on the units of outcomes or of features. Before any data, noise and means are believed to spread by
    a quarter of each outcome's range, and a range counts as one observation: one that is a thousand times too long is
    explored for too long.

    Args:
        n_features: n. A candidate whose features are all 0, such as doing nothing, has no bonus and teaches nothing.
        n_outcomes: M.
        prior: what is believed of theta before any data: V and the evidence are those of theta minus its prior mean.
        scale: of the bonus; 0 is greedy.
        growth: estimate rho and Sigma again when there are this many times as many observations; between two times the
            posterior is updated exactly at the present rho.

    Raises:
        InvalidInput: a count below 1, a scale below 0, or a growth that is not above 1.

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
    blocks: int = field(default=1, init=False, repr=False)  # so many consecutive replicas are one, see `in_blocks`

    def __post_init__(self) -> None:
        check_sizes("BayesianRidge", self.n_features, self.n_outcomes)
        check_exploration("BayesianRidge", self.scale, self.growth)

    def in_blocks(self, blocks: int) -> BayesianRidge:
        """The model of which so many consecutive replicas are one.

        They have coefficients for a block of features each, and rho, Sigma, N and t in common. n in the bonus then
        counts the features of all blocks. No argument says how many blocks there are: replicas that do not belong
        together would be mixed up.
        """
        whole("blocks", blocks, 1)
        same = replace(self)
        object.__setattr__(same, "blocks", blocks)
        return same

    def draws(self, candidates: int) -> int:
        """No luck."""
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BayesianRidgeState:
        """The state before any data, `(M),(M)->state`."""
        return empty(self.n_features, n_replicas, low, high, horizon, self.prior, self.blocks)

    def value(self, state: BayesianRidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Mean worth and optimism, `(A,n),(K,1|A,M),()->(K,A),(K,A)`."""
        s, scale = state, float(self.scale)
        books = s.count, s.rounds, s.taught, s.horizon, s.ahead
        return Worth(
            *_value(s.theta, s.inverse, s.sigma, *books, scale, self.blocks, s.spreads, s.ends, x, w * s.units)
        )

    def update(self, state: BayesianRidgeState, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Absorb plays whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`; O(n^2 + nM) each, O(n^3) per fit."""
        self.weigh(state, x, y, seen, w, 1.0)

    def weigh(self, state: BayesianRidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, weight: float) -> None:
        """`update` by plays each of which counts as `weight` observations and rounds."""
        s, settings = state, (float(self.growth), self.blocks, float(weight))
        books = s.ridge, s.count, s.zeros, s.fitted, s.rounds, s.origin, s.spreads
        sums = s.gram, s.moment, s.squares
        _update(*sums, s.inverse, s.theta, s.sigma, *books, *settings, x, y / s.units, seen)
