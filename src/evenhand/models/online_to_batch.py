"""Online-to-batch conversion: the average of the predictions of an oracle's iterates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.models._copies import copy_where
from evenhand.models._shared import refuse_luck
from evenhand.models.base import COPIES, ROUND, Averageable, Lesson, Model, WithoutLuck, Worth, Wraps
from evenhand.models.links import priced


@dataclass
class OnlineToBatchState:
    """The inner state, and the mean parameters or some copies of earlier ones."""

    inner: Any
    count: Ints  # (R,) iterates so far
    mean: Floats  # (R, M, n) of the parameters of all iterates; (R, 0, 0) if the oracle is not linear
    stride: Ints  # (R,) one in so many iterates is kept
    kept: Ints  # (R,) how many are kept
    past: list[Any] = field(metadata=COPIES)  # of inner states


@named("S3", source="online-to-batch conversion: Han et al. 2022, Appendix B.1, equation (8)")
@dataclass(frozen=True, kw_only=True)
class OnlineToBatch(Wraps, WithoutLuck):
    """Predict the average of the predictions of an inner oracle's iterates, each taken just before an observation.

    Equation: f(x) = sum over i = 1..t of f_i(x) / t, f_i the oracle that has learned from i - 1 rounds; f_1 at first.
    Its expected square error is at most the regret per round (Lemma B.1), however bad the last iterate is.
    For an oracle that is linear in its parameters (`Averageable`: `Glmtron` and `Gradient` with the identity link) that
    is the prediction at the mean parameter, which is kept exactly. For all others every `stride`-th iterate is kept.
    When `snapshots` are kept, every other one is dropped and the stride doubles, so that from then on the average is
    over at least half of `snapshots`. Predictions and bonuses are averaged per candidate, never parameters. A round
    counts as an iterate if all outcomes of one of its plays were seen.

    Args:
        inner: an oracle whose state is arrays.
        snapshots: how many iterates are kept at most, an even number of at least 2; a prediction asks each of them.

    Raises:
        InvalidInput: an odd number of snapshots; an inner model with luck of its own, as the average of several draws
            is not a draw; from `start`, an inner model whose state cannot be copied.

    >>> from evenhand.models.oracles import Gradient
    >>> model = OnlineToBatch(inner=Gradient(n_features=1, step=1.0, power=0.0))
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for _ in range(4):  # iterates 0, 1, 1, 1
    ...     model.update(state, one, one, one > 0, price)
    >>> model.value(state, one, price, luck).mean.item()
    0.75
    """

    inner: Model
    snapshots: int = 16

    def __post_init__(self) -> None:
        if self.snapshots < 2 or self.snapshots % 2:
            raise InvalidInput("OnlineToBatch.snapshots", "an even number of at least 2", self.snapshots)
        refuse_luck("OnlineToBatch", self.inner)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> OnlineToBatchState:
        inner = self.inner.start(n_replicas, low, high, horizon)
        if getattr(inner, "unsaveable", ""):
            raise InvalidInput("OnlineToBatch.inner", "a model whose state is arrays", inner.unsaveable)
        linear = self._linear
        past = [] if linear else [self.inner.start(n_replicas, low, high, horizon) for _ in range(self.snapshots)]
        mean = np.zeros_like(linear.parameters(inner)) if linear else np.zeros((n_replicas, 0, 0))
        zero, one = np.zeros(n_replicas, np.int64), np.ones(n_replicas, np.int64)
        return OnlineToBatchState(inner, zero.copy(), mean, one, zero, past)

    def value(self, state: OnlineToBatchState, x: Floats, w: Floats, u: Floats) -> Worth:
        first = self.inner.value(state.inner, x, w, u)
        started = (state.count > 0)[:, None, None]
        if self._linear:
            mean, bonus = priced(0, state.mean, x, w)
        else:
            mean, bonus = np.zeros(first.mean.shape), np.zeros(first.bonus.shape)
            share = 1.0 / np.maximum(state.kept, 1)
            for s in range(int(state.kept.max())):
                weight = np.where(s < state.kept, share, 0.0)[:, None, None]
                here = self.inner.value(state.past[s], x, w, u)
                mean += weight * here.mean
                bonus += weight * here.bonus
        return Worth(np.where(started, mean, first.mean), np.where(started, bonus, first.bonus))

    def update(
        self, state: OnlineToBatchState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Record the present iterate where it is about to learn, then update it, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        learns, linear = np.asarray(seen.all(2)).any(1), self._linear
        if linear:
            share = np.where(learns, 1.0 / (state.count + 1.0), 0.0)[:, None, None]
            state.mean += share * (linear.parameters(state.inner) - state.mean)
        else:
            due = learns & (state.count % state.stride == 0)
            full = due & (state.kept == self.snapshots)
            if full.any():
                for s in range(1, self.snapshots // 2):
                    copy_where(state.past[2 * s], state.past[s], full)
                state.kept[full] //= 2
                state.stride[full] *= 2
                due &= state.count % state.stride == 0  # always holds, as `snapshots` is even
            for s in np.unique(state.kept[due]).tolist():
                copy_where(state.inner, state.past[s], due & (state.kept == s))
            state.kept[due] += 1
        state.count[learns] += 1
        self.inner.update(state.inner, x, y, seen, w, lesson)

    @cached_property
    def _linear(self) -> Averageable | None:
        return self.inner if isinstance(self.inner, Averageable) and self.inner.is_linear else None
