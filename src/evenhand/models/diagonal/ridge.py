"""Ridge regression without covariances: its cost is that of the features that a case has, out of any number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative
from evenhand.models._shared import linear_parts
from evenhand.models.base import ROUND, ColumnGain, Gain, Lesson, Note, WithoutLuck, Worth, flat
from evenhand.models.bayesian_ridge import worth_at
from evenhand.models.diagonal import block as joint, posterior
from evenhand.models.diagonal.block import Block, absorb_block, adopt, renew
from evenhand.models.diagonal.posterior import DiagonalState, check_rows
from evenhand.models.diagonal.prediction import (
    Cells,
    Known,
    directions,
    first_best,
    move_to,
    open_directions,
    penalty,
    place_of,
    predict,
    square_of,
    width,
)
from evenhand.models.prior import Prior
from evenhand.numerics.evidence import BELIEVED, affordable, first, future_observations, reach
from evenhand.numerics.precision import FAINT


@kernel
def _value(known: Known, cells: Cells, sigma: Floats, ends: Floats, scale: float, w: Floats) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(C,k),(K,1|C,M)->(K,C),(K,C)`."""
    mean = np.zeros((w.shape[0], w.shape[1], cells.z.shape[1]))
    bonus = np.zeros((w.shape[0], w.shape[1], cells.z.shape[1]))
    outcomes, k, each = w.shape[3], cells.z.shape[2], w.shape[2] > 1
    center, precision, gain = np.empty(outcomes), np.empty(k), np.empty(cells.inner.z.shape[2])
    for r in range(len(cells.z)):
        more = future_observations(known.seen[r], known.rounds[r], known.taught[r], known.horizon[r], known.ahead[r])
        n, f = directions(known.touched[r], known.novel[r], more), known.factor[r]
        for a in range(cells.z.shape[1]):
            z, own = cells.z[r, a], a if each else 0
            square = square_of(cells, r, a)
            if not square > FAINT:
                continue
            rho = penalty(known.chosen[r], known.size[r], known.seen[r], square)
            total, apart = predict(f, cells, (r, a), rho, precision, center, gain, -1)
            variance = width(z, precision, cells.expected[r, a], (total, apart), 1.0)
            some = affordable(more, n, known.affordable, (r, a, cells.z.shape[1]))
            half = scale * reach(variance, some, n)
            for j in range(w.shape[1]):
                mean[r, j, a], bonus[r, j, a] = worth_at(w[r, j, own], center, sigma[r], ends, half)
    return mean, bonus


@kernel
def _learn(
    known: Known,
    cells: Cells,
    scales: Floats,
    losses: Floats,
    missed: Floats,
    y: Floats,
    seen: Bools,
    weight: float,
) -> tuple[Floats, Floats]:
    """Learn one play per replica, `(1,k),(G),(R,G),(R,G,M,M),(1,M),(1,M)->(1,k),(1,k,M)`; returns what sums grow by."""
    k, outcomes = cells.z.shape[2], y.shape[2]
    information, moment = np.zeros((len(y), 1, k)), np.zeros((len(y), 1, k, outcomes))
    precision, center, gain = np.empty(k), np.empty(outcomes), np.empty(cells.inner.z.shape[2])
    slope = np.empty(outcomes)
    for r in range(len(y)):
        z, f = cells.z[r, 0], known.factor[r]
        square = square_of(cells, r, 0)
        if not (seen[r, 0].all() and square > FAINT):
            continue
        known.seen[r] += weight
        known.size[r] += weight * square
        own = place_of(scales, known.chosen[r])
        if renew(cells.inner.sums, scales, r, known.size[r] / known.seen[r], known.seen[r], f):
            adopt(cells.inner.sums, own, r, f)
        for g in range(len(scales)):
            rho = penalty(scales[g], known.size[r], known.seen[r], square)
            total, _ = predict(f, cells, (r, 0), rho, precision, center, gain, g)
            losses[r, g] += math.log1p(weight * total)
            for m in range(outcomes):
                for j in range(outcomes):
                    both = (y[r, 0, m] - center[m]) * (y[r, 0, j] - center[j])
                    missed[r, g, m, j] += weight * both / (1.0 + weight * total)
        rho, new = penalty(known.chosen[r], known.size[r], known.seen[r], square), 0.0
        total, apart = predict(f, cells, (r, 0), rho, precision, center, gain, own)
        for i in range(k):
            if z[i] != 0.0:
                rest = 1.0 + weight * max(total - z[i] * z[i] / precision[i], 0.0)
                new += 1.0 if cells.information[r, 0, i] == 0.0 else 0.0
                information[r, 0, i] = weight * (z[i] * z[i]) / rest / f
                for m in range(outcomes):
                    off = f * cells.moment[r, 0, i, m] / precision[i]
                    moment[r, 0, i, m] = weight * z[i] * (y[r, 0, m] - center[m] + z[i] * off) / rest / f
        for m in range(outcomes):
            slope[m] = weight * (y[r, 0, m] - center[m]) / (1.0 + weight * total)
        new += absorb_block(cells.inner, r, own, weight, apart, slope, gain, f)
        open_directions(known, cells.inner.sums, r, new, apart, weight)
    return information, moment


@kernel
def _choose(
    known: Known,
    block: Block,
    scales: Floats,
    doubts: Floats,
    losses: Floats,
    missed: Floats,
    zeros: Floats,
    sigma: Floats,
) -> None:
    """Choose the penalty of every replica that has data by its evidence, and estimate the noise at it, in place.

    The noise of an outcome is integrated out, with what is believed as one observation; observations in which an
    outcome is declared 0 have none.
    """
    outcomes = sigma.shape[1]
    evidence, noisy = np.empty(len(scales)), np.empty(outcomes)
    for r in range(len(sigma)):
        count = known.seen[r]
        for m in range(outcomes):
            noisy[m] = 1.0 + max(count - zeros[r, m], 0.0)
        for g in range(len(scales)):
            evidence[g] = doubts[g]
            for m in range(outcomes):
                part = (noisy[m] - 1.0) / count if count > 0.0 else 1.0
                evidence[g] -= 0.5 * (part * losses[r, g] + noisy[m] * math.log(BELIEVED + missed[r, g, m, m]))
        g = first_best(evidence)
        move_to(known, scales, block, r, g)
        total, all_noisy = 0.0, 0.0
        for m in range(outcomes):
            for j in range(outcomes):
                believed = BELIEVED if m == j else 0.0
                sigma[r, m, j] = (believed + missed[r, g, m, j]) / math.sqrt(noisy[m] * noisy[j])
            total += sigma[r, m, m] * noisy[m]
            all_noisy += noisy[m]
        for m in range(outcomes):
            if noisy[m] < 1.0 + count:  # an outcome of few actions is believed to be as noisy as the others
                rare = (1.0 + count - noisy[m]) / count
                sigma[r, m, m] += rare * (total / all_noisy - BELIEVED) / noisy[m]


@named("X5", source="evenhand's own: assumed density filtering (Opper 1998), diagonal as in Graepel et al. 2010")
@dataclass(frozen=True, kw_only=True)
class DiagonalRidge(WithoutLuck):
    """Ridge regression that knows each coefficient apart from all others: a case costs as much as it has features.

    Equation: as `BayesianRidge`, with a diagonal V: each observation leaves every coefficient at the variance of its
    exact posterior and forgets covariances (`posterior`). At prices w the bonus is that of `BayesianRidge`, with
    n the number of coefficients that have data or that the m observations to come will give some. Of features that
    never overlap, such as one level out of many, V is exact; where features are strongly correlated, means are worse
    than those of `BayesianRidge` and widths too small. The penalty is one of ten, by their evidence.

    Args:
        n_features: n, of rows that are not packed.
        n_outcomes: M.
        packed: the size of packed rows (`core.row_pairs`), which a candidate then consists of; None for ordinary ones.
        prior: as for `BayesianRidge`, of the columns.
        scale: of the bonus, at least 0; 0 is greedy.
        block: the number of first columns whose covariances are known (`block`).
        rank: how many directions that cases have in common are learned at most (`directions`), with covariances; 64 by
            default where packed rows have more than eight pairs and there is no block, 0 elsewhere.

    >>> model = DiagonalRidge(packed=Packed(columns=2**18, pairs=2))
    >>> state, price = model.start(1, np.zeros(1), np.ones(1), 1000), np.ones((1, 1, 1, 1))
    >>> case = np.array([[[0.0, 1.0, 71_204.0, 1.0]]])  # the intercept, and a level
    >>> for y in 5 * (0.5, 0.6, 0.4, 0.5):
    ...     model.update(state, case, np.full((1, 1, 1), y), np.ones((1, 1, 1), bool), price)
    >>> round(model.value(state, case, price, np.zeros((1, 0))).mean.item(), 2)
    0.5
    """

    n_features: int = 0
    n_outcomes: int = 1
    packed: Packed | None = None
    prior: Prior = Prior()  # noqa: RUF009, immutable
    scale: float = 1.0
    block: int = field(default=0, metadata={"new": True})
    rank: int | None = field(default=None, metadata={"new": True})
    weighs: ClassVar[bool] = True
    fades: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "n_features", check_rows("DiagonalRidge", self.n_features, self.packed, self.block, self.rank)
        )
        if self.n_outcomes < 1:
            raise InvalidInput("DiagonalRidge.n_outcomes", "at least 1", self.n_outcomes)
        nonnegative("DiagonalRidge.scale", self.scale)

    @property
    def reads_packed(self) -> bool:
        """Whether candidates are packed rows."""
        return self.packed is not None

    def of_features(self, features: int) -> DiagonalRidge:
        """Return the same model of the first so many features; refuse for packed rows, which have them all."""
        own = min(self.block, features)
        return replace(self, n_features=features, prior=self.prior.of_features(features), block=own)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> DiagonalState:
        return self.start_by_action(n_replicas, low, high, horizon, 1)

    def start_by_action(self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int) -> DiagonalState:
        """Actions have rho, Sigma, N and t in common."""
        m, units = len(low), np.where(np.isfinite(high - low), high - low, 1.0)
        spreads = self.prior.variance(m, BELIEVED * units**2) / units**2
        prior, columns = (self.prior, 1.0, first(spreads)), posterior.columns_of(self.n_features, self.packed)
        own = posterior.sizes(self.n_features, self.packed, self.block, self.rank)
        state = posterior.start(columns, (low, high), units, prior, (n_replicas, actions, horizon), own)
        state.sigma[:] = BELIEVED * np.eye(m)
        return state

    def value(self, state: DiagonalState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Cost: O(k M) per candidate of k features."""
        return self.worth(state, posterior.read(state, x, self.n_features, self.packed), w)

    def worth(self, state: DiagonalState, cells: Cells, w: Floats) -> Worth:
        """Compute mean and optimism by coefficients that were looked up, `(C,k),(K,1|C,M)->(K,C),(K,C)`."""
        s = state
        return Worth(*_value(posterior.known(s), cells, s.sigma, s.ends, float(self.scale), w * s.units))

    def update(
        self, state: DiagonalState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Learn plays whose outcomes are all seen, one after another, `(P,n),(P,M),(P,M),(K,1|P,M)`; O(k M) each."""
        s, known, weight = state, posterior.known(state), float(lesson.weight)
        for cells, own in posterior.plays(s, x, seen, self.n_features, self.packed):
            told = y[:, own] / s.units, np.ascontiguousarray(seen[:, own])
            posterior.add(s, cells, *_learn(known, cells, s.scales, s.losses, s.missed, *told, weight))
        posterior.count_rounds(s, seen, lesson)
        self._choose(s)

    def gains(self, state: DiagonalState, x: Floats) -> Iterator[Gain | ColumnGain]:
        def curvature(z: Floats) -> Floats:
            return posterior.given(state, flat(z))

        yield from posterior.gains(state, x, (self.n_features, self.packed), curvature)

    def fade(self, state: DiagonalState, keep: Floats, ahead: Floats) -> None:
        """Multiply the sums and counts, and choose the penalty again, `(),()->`."""
        if posterior.fade(state, keep, ahead):
            self._choose(state)

    def notes(self, state: DiagonalState, replica: int) -> tuple[Note, ...]:
        return (posterior.note(state, replica),)

    def contributions(self, state: DiagonalState, x: Floats, w: Floats) -> Floats:
        return posterior.contributions(state, x, w * state.units, (self.n_features, self.packed), linear_parts)

    def _choose(self, s: DiagonalState) -> None:
        _choose(posterior.known(s), joint.arrays(s.block), s.scales, s.doubts, s.losses, s.missed, s.zeros, s.sigma)
