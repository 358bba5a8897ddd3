"""Logistic regression without covariances: its cost is that of the features that a case has, out of any number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.row_pairs import Packed
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import nonnegative
from evenhand.models._shared import check_binary, logistic_parts, optimism
from evenhand.models.base import ROUND, ColumnGain, Gain, Lesson, Note, WithoutLuck, Worth
from evenhand.models.bayesian_logistic import BELIEVED
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
from evenhand.numerics.evidence import affordable, future_observations, reach
from evenhand.numerics.newton import sigmoid
from evenhand.numerics.precision import FAINT, dot

_STEPS = 60
_MODERATE = math.pi / 8.0  # of a variance of log-odds: what it takes from them on average (MacKay 1992)


@kernel
def _value(known: Known, cells: Cells, ends: Floats, scale: float, w: Floats) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(C,k),(K,1|C,1)->(K,C),(K,C)`."""
    mean = np.zeros((w.shape[0], w.shape[1], cells.z.shape[1]))
    bonus = np.zeros((w.shape[0], w.shape[1], cells.z.shape[1]))
    k, each = cells.z.shape[2], w.shape[2] > 1
    precision, odds, gain = np.empty(k), np.empty(1), np.empty(cells.inner.z.shape[2])
    for r in range(len(cells.z)):
        more = future_observations(known.seen[r], known.rounds[r], known.taught[r], known.horizon[r], known.ahead[r])
        n, f = directions(known.touched[r], known.novel[r], more), known.factor[r]
        for a in range(cells.z.shape[1]):
            z, own = cells.z[r, a], a if each else 0
            square = square_of(cells, r, a)
            if not square > FAINT:
                continue
            rho = penalty(known.chosen[r], known.size[r], known.seen[r], square)
            total, apart = predict(f, cells, (r, a), rho, precision, odds, gain, -1)
            center = sigmoid(odds[0])
            curve = center * (1.0 - center)
            variance = curve * width(z, precision, cells.expected[r, a], (total, apart), curve)
            some = affordable(more, n, known.affordable, (r, a, cells.z.shape[1]))
            half = scale * math.sqrt(curve) * reach(variance, some, n)
            for j in range(w.shape[1]):
                mean[r, j, a] = w[r, j, own, 0] * center
                bonus[r, j, a] = optimism(center, half, ends[0, 0], ends[1, 0], w[r, j, own, 0])
    return mean, bonus


@kernel
def log_odds_after(before: float, variance: float, y: float, weight: float) -> float:
    """The most probable log-odds after an outcome: those u at which (u - before) / variance = weight (y - p(u))."""
    low = before - variance * weight * (1.0 - y)
    high = before + variance * weight * y
    u = before
    for _ in range(_STEPS):
        p = sigmoid(u)
        over = u - before - variance * weight * (y - p)
        low, high = (low, u) if over > 0.0 else (u, high)
        step = over / (1.0 + variance * weight * (p * (1.0 - p)))
        if abs(step) <= 1e-12 * (1.0 + abs(u)):
            break
        u = u - step if low < u - step < high else 0.5 * (low + high)
    return u


@kernel
def _learn(
    known: Known, cells: Cells, scales: Floats, losses: Floats, y: Floats, seen: Bools, weight: float
) -> tuple[Floats, Floats]:
    """Learn one play per replica, `(1,k),(G),(R,G),(1,1),(1,1)->(1,k),(1,k,1)`; returns what sums grow by."""
    k = cells.z.shape[2]
    information, moment = np.zeros((len(y), 1, k)), np.zeros((len(y), 1, k, 1))
    precision, odds, gain = np.empty(k), np.empty(1), np.empty(cells.inner.z.shape[2])
    slopes = np.empty(1)
    for r in range(len(y)):
        z, f = cells.z[r, 0], known.factor[r]
        square = square_of(cells, r, 0)
        if not (seen[r, 0, 0] and square > FAINT):
            continue
        known.seen[r] += weight
        known.size[r] += weight * square
        own = place_of(scales, known.chosen[r])
        if renew(cells.inner.sums, scales, r, known.size[r] / known.seen[r], known.seen[r], f):
            adopt(cells.inner.sums, own, r, f)
        for g in range(len(scales)):
            rho = penalty(scales[g], known.size[r], known.seen[r], square)
            total, _ = predict(f, cells, (r, 0), rho, precision, odds, gain, g)
            u = odds[0] / math.sqrt(1.0 + _MODERATE * total)
            losses[r, g] += weight * (max(u, 0.0) + math.log1p(math.exp(-abs(u))) - y[r, 0, 0] * u)
        rho, new = penalty(known.chosen[r], known.size[r], known.seen[r], square), 0.0
        total, apart = predict(f, cells, (r, 0), rho, precision, odds, gain, own)
        p = sigmoid(log_odds_after(odds[0], total, y[r, 0, 0], weight))
        curve, slope = weight * (p * (1.0 - p)), weight * (y[r, 0, 0] - p)
        for i in range(k):
            if z[i] != 0.0:
                more = curve * (z[i] * z[i]) / (1.0 + curve * max(total - z[i] * z[i] / precision[i], 0.0))
                new += 1.0 if cells.information[r, 0, i] == 0.0 else 0.0
                information[r, 0, i] = more / f
                off = f * cells.moment[r, 0, i, 0] / precision[i]
                moment[r, 0, i, 0] = (more * off + (precision[i] + more) * (z[i] * slope / precision[i])) / f
        slopes[0] = slope
        new += absorb_block(cells.inner, r, own, curve, apart, slopes, gain, f)
        open_directions(known, cells.inner.sums, r, new, apart, weight)
    return information, moment


@kernel
def _choose(known: Known, block: Block, scales: Floats, doubts: Floats, losses: Floats) -> None:
    """Choose the penalty of every replica by its evidence, in place."""
    evidence = np.empty(len(scales))
    for r in range(len(losses)):
        for g in range(len(scales)):
            evidence[g] = doubts[g] - losses[r, g]
        move_to(known, scales, block, r, first_best(evidence))


@named("X5", source="evenhand's own: assumed density filtering (Opper 1998), diagonal as in Graepel et al. 2010")
@dataclass(frozen=True, kw_only=True)
class DiagonalLogistic(WithoutLuck):
    """Logistic regression that knows each coefficient apart from all others: a case costs as much as it has features.

    Equation: as `BayesianLogistic`, with a diagonal H and the penalties of `DiagonalRidge`: an outcome moves
    coefficients to the most probable ones, and adds its curvature p (1 - p) there, as `posterior` says. Nothing
    is fitted again, so that no observations are kept.

    Args:
        n_features: n, of rows that are not packed.
        packed: the size of packed rows (`core.row_pairs`), which a candidate then consists of; None for ordinary ones.
        prior: as for `BayesianLogistic`, of the columns.
        scale: of the bonus, at least 0; 0 is greedy.
        block: the number of first columns whose covariances are known (`block`).
        rank: how many directions that cases have in common are learned at most (`directions`), with covariances; 64 by
            default where packed rows have more than eight pairs and there is no block, 0 elsewhere.

    >>> model = DiagonalLogistic(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 1000)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for y in (1.0, 1.0, 0.0, 1.0):
    ...     model.update(state, one, np.full((1, 1, 1), y), one > 0, price)
    >>> round(model.value(state, one, price, luck).mean.item(), 2)
    0.69
    """

    n_features: int = 0
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
            self, "n_features", check_rows("DiagonalLogistic", self.n_features, self.packed, self.block, self.rank)
        )
        nonnegative("DiagonalLogistic.scale", self.scale)

    @property
    def n_outcomes(self) -> int:
        """One; `Stacked` has more."""
        return 1

    @property
    def reads_packed(self) -> bool:
        """Whether candidates are packed rows."""
        return self.packed is not None

    def of_features(self, features: int) -> DiagonalLogistic:
        """Return the same model of the first so many features; refuse for packed rows, which have them all."""
        own = min(self.block, features)
        return replace(self, n_features=features, prior=self.prior.of_features(features), block=own)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> DiagonalState:
        """Return the state before any data, `(1),(1)->state`; the outcome's range must lie within [0, 1]."""
        return self.start_by_action(n_replicas, low, high, horizon, 1)

    def start_by_action(self, n_replicas: int, low: Floats, high: Floats, horizon: int, actions: int) -> DiagonalState:
        """Actions have rho, N and t in common."""
        check_binary("DiagonalLogistic", low, high)
        believed = self.prior.variance(1, np.full(1, BELIEVED)).item()
        sizes, columns = (n_replicas, actions, horizon), posterior.columns_of(self.n_features, self.packed)
        own = posterior.sizes(self.n_features, self.packed, self.block, self.rank)
        return posterior.start(columns, (low, high), np.ones(1), (self.prior, BELIEVED, believed), sizes, own)

    def value(self, state: DiagonalState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Cost: O(k) per candidate of k features."""
        s, cells = state, posterior.read(state, x, self.n_features, self.packed)
        return Worth(*_value(posterior.known(s), cells, s.ends, float(self.scale), w))

    def update(
        self, state: DiagonalState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Learn plays whose outcome is seen, one after another, `(P,n),(P,1),(P,1),(K,1|P,1)`; O(k) each."""
        s, known, weight = state, posterior.known(state), float(lesson.weight)
        for cells, own in posterior.plays(s, x, seen, self.n_features, self.packed):
            told = np.ascontiguousarray(y[:, own]), np.ascontiguousarray(seen[:, own])
            posterior.add(s, cells, *_learn(known, cells, s.scales, s.losses, *told, weight))
        posterior.count_rounds(s, seen, lesson)
        _choose(known, joint.arrays(s.block), s.scales, s.doubts, s.losses)

    def gains(self, state: DiagonalState, x: Floats) -> Iterator[Gain | ColumnGain]:
        yield from posterior.gains(state, x, (self.n_features, self.packed), partial(_curvature, state))

    def fade(self, state: DiagonalState, keep: Floats, ahead: Floats) -> None:
        """Multiply the sums and counts, and choose the penalty again, `(),()->`."""
        if posterior.fade(state, keep, ahead):
            _choose(posterior.known(state), joint.arrays(state.block), state.scales, state.doubts, state.losses)

    def notes(self, state: DiagonalState, replica: int) -> tuple[Note, ...]:
        return (posterior.note(state, replica),)

    def contributions(self, state: DiagonalState, x: Floats, w: Floats) -> Floats:
        return posterior.contributions(state, x, w, (self.n_features, self.packed), _attribute)


def _curvature(state: DiagonalState, z: Floats) -> Floats:
    """The block's curvature at a mean, `(R A,b)->(R A)`."""
    assert state.block is not None
    theta, first = state.block.theta[:, :, 0].copy(), posterior.stated_columns(state)
    theta[:, :first] += state.origin[:, :first, 0]  # as of the columns apart, that of what directions span is left out
    centers = np.array([sigmoid(dot(own, t)) for own, t in zip(z, theta, strict=True)])
    return posterior.given(state, centers * (1.0 - centers))


def _attribute(theta: Floats, x: Floats, w: Floats) -> Floats:
    return logistic_parts(theta[:, 0], x, w)
