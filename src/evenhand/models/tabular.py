"""Models without features: a mean per arm, and one that predicts 0 and learns nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import distinct
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts, number
from evenhand.models.base import ROUND, Gain, Lesson, WithoutLuck, Worth, flat

_NOTHING, _UNCLEAR = -1, -2  # instead of an arm: all features are 0, or they are not one-hot


@dataclass
class TabularState:
    """Sums and counts by arm, and the outcomes' ranges."""

    total: Floats  # (R, A, M) of outcomes, scaled to [0, 1]
    count: Floats  # (R, A)
    inverse: Floats  # (R A, 1, 1) of N + 1, which widths read
    low: Floats  # (M,)
    high: Floats  # (M,)


@kernel
def _arms(x: Floats) -> Ints:
    """Find the position of the 1 in every candidate's features, `(A,n)->(A)`."""
    arms = np.full(x.shape[:2], _NOTHING)
    for r in range(x.shape[0]):
        entries, own, flat = 0, 0, x[r].ravel()
        for i in range(len(flat)):
            entries += flat[i] != 0.0
        for a in range(min(x.shape[1], x.shape[2])):
            own += x[r, a, a] == 1.0
        if own == x.shape[1] and entries == own:  # every candidate is the arm of its own place, as most often
            for a in range(x.shape[1]):
                arms[r, a] = a
            continue
        for a in range(x.shape[1]):
            for i in range(x.shape[2]):
                if x[r, a, i] != 0.0:
                    arms[r, a] = i if x[r, a, i] == 1.0 and arms[r, a] == _NOTHING else _UNCLEAR
    return arms


@kernel
def _value(
    total: Floats, count: Floats, inverse: Floats, confidence: float, low: Floats, high: Floats, arms: Ints, w: Floats
) -> tuple[Floats, Floats]:
    candidates, each = arms.shape[1], w.shape[2] > 1
    mean = np.zeros((len(count), w.shape[1], candidates))
    bonus = np.zeros((len(count), w.shape[1], candidates))
    per_play, least, known = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    center, above, below = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    for r in range(len(count)):
        own = arms[r if len(arms) > 1 else 0]
        for a in range(candidates):
            known[a] = 1.0 if own[a] >= 0 else 0.0
            per_play[a] = 1.0 / (count[r, max(own[a], 0)] + 1.0)
            least[a] = confidence * inverse[r * count.shape[1] + max(own[a], 0), 0, 0]
        for m in range(w.shape[3]):
            bottom, top = low[m], high[m]
            for a in range(candidates):  # by itself, so that the compiler takes several at once in the next loop
                center[a] = total[r, max(own[a], 0), m] * per_play[a]
            for a in range(candidates):
                half = 2.0 * (top - bottom) * (math.sqrt(least[a] * center[a]) + least[a])
                here = bottom + (top - bottom) * center[a]
                up, down = here + half, here - half
                center[a] = known[a] * here
                above[a] = known[a] * ((up if up < top else top) - here)
                below[a] = known[a] * ((down if down > bottom else bottom) - here)
            for k in range(w.shape[1]):
                if each:
                    for a in range(candidates):
                        price = w[r, k, a, m]
                        mean[r, k, a] += price * center[a]
                        bonus[r, k, a] += price * (above[a] if price > 0.0 else below[a])
                elif w[r, k, 0, m] != 0.0:
                    price = w[r, k, 0, m]
                    favoured = above if price > 0.0 else below
                    for a in range(candidates):
                        mean[r, k, a] += price * center[a]
                        bonus[r, k, a] += price * favoured[a]
    return mean, bonus


@kernel
def _sample(total: Floats, count: Floats, low: Floats, high: Floats, arms: Ints, w: Floats, z: Floats) -> Floats:
    """Worth under v + z / sqrt(N + 1), `(arms,M),(arms),(M),(M),(A),(K,1|A,M),(U,arms M)->(K,A)`."""
    worth = np.zeros((len(count), w.shape[1], arms.shape[1]))
    each, size, outcomes = w.shape[2] > 1, arms.shape[1] // z.shape[1], w.shape[3]
    for r in range(len(count)):
        for a in range(arms.shape[1]):
            arm, own, unit = arms[r if len(arms) > 1 else 0, a], a if each else 0, a // size
            if arm < 0:
                continue
            n = count[r, arm] + 1.0
            for m in range(outcomes):
                drawn = total[r, arm, m] / n + z[r, unit, arm * outcomes + m] / math.sqrt(n)
                drawn = low[m] + (high[m] - low[m]) * drawn
                for k in range(w.shape[1]):
                    worth[r, k, a] += w[r, k, own, m] * drawn
    return worth


@kernel
def _update(
    total: Floats, count: Floats, inverse: Floats, low: Floats, high: Floats, arms: Ints, y: Floats, seen: Bools
) -> None:
    for r in range(len(arms)):
        for p in range(arms.shape[1]):
            if arms[r, p] < 0 or not seen[r, p].all():
                continue
            count[r, arms[r, p]] += 1.0
            inverse[r * count.shape[1] + arms[r, p], 0, 0] = 1.0 / (count[r, arms[r, p]] + 1.0)
            for m in range(y.shape[2]):
                total[r, arms[r, p], m] += (y[r, p, m] - low[m]) / (high[m] - low[m])


@checked
@dataclass(frozen=True, kw_only=True)
class Tabular(WithoutLuck):
    """An average per arm and outcome, with an interval that is narrow where the average is small.

    Equation: with N plays of an arm, v = sum y / (N + 1) and the interval v +- 2 rad(v, N + 1), clipped to [0, 1], with
    rad(v, N) = sqrt(c v / N) + c / N, c = confidence, all on outcomes whose range was scaled to [0, 1].
    Source: Agrawal & Devanur 2014, Appendix B.1, eq. 25 and 26, after Kleinberg et al. 2008 (Lemma B.1), for outcomes
    in [0, 1]. An arm that was never played has its mean at the lower end of the range; its interval is the whole
    range only if c is at least 1/2.

    Features say which arm a candidate is: 1 for that arm, 0 for the others (`environments.WithoutContexts` makes them).
    A candidate whose features are all 0 does nothing: its outcomes are 0, and are not learned.

    Args:
        arms: A, which is also the number of features.
        confidence: c, at least 0; the source calls it gamma. Theory asks for the order of ln(A T M / delta), about 16
            for 5 arms, 4 outcomes and 20,000 rounds, which explores for long. On `Lessons`, 1/2 to 1 did best; below
            0.3 some runs never again tried an arm that had looked bad early.

    Raises:
        InvalidInput: a count below 1, a confidence that is negative or not finite, or, at the start, an outcome without
            a finite range; in a run, features that are not one-hot.

    >>> model = Tabular(arms=2, confidence=0.01)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> x, one, price = np.eye(2)[None], np.ones((1, 1, 1)), np.ones((1, 1, 1, 1))
    >>> for _ in range(3):
    ...     model.update(state, x[:, 1:], one, one > 0, price)
    >>> model.value(state, x, price, np.zeros((1, 0))).mean  # sum / (N + 1)
    array([[[0.  , 0.75]]])
    """

    arms: int
    n_outcomes: int = 1
    confidence: float
    fades: ClassVar[bool] = True
    reads_once: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts(self, {"arms": 1, "n_outcomes": 1})
        expected = "a finite number of at least 0"
        number("Tabular.confidence", self.confidence, expected, lambda x: math.isfinite(x) and x >= 0)

    @property
    def n_features(self) -> int:
        return self.arms

    def of_actions(self, actions: int) -> Tabular:
        """Return the same model for so many arms."""
        return replace(self, arms=actions)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> TabularState:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidInput("Tabular", "outcomes with finite declared ranges", f"low={low}, high={high}")
        total = np.zeros((n_replicas, self.arms, self.n_outcomes))
        count, inverse = np.zeros((n_replicas, self.arms)), np.ones((n_replicas * self.arms, 1, 1))
        return TabularState(total, count, inverse, low, high)

    def value(self, state: TabularState, x: Floats, w: Floats, u: Floats) -> Worth:
        arms = _arms(distinct(x))
        _check(x, arms)
        s = state
        return Worth(*_value(s.total, s.count, s.inverse, self.confidence, s.low, s.high, arms, w))

    def gains(self, state: TabularState, x: Floats) -> Iterator[Gain]:
        """Yield a play of its arm for each, `(P,n)->`."""
        arms = np.maximum(_arms(x), 0)
        yield Gain(state, np.stack([arms, np.ones(arms.shape)], 2), flat)

    def update(self, state: TabularState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        arms = _arms(x)
        _check(x, np.where(np.asarray(seen.all(2)), arms, _NOTHING))
        _update(state.total, state.count, state.inverse, state.low, state.high, arms, y, seen)

    def fade(self, state: TabularState, keep: Floats, ahead: Floats) -> None:
        """Multiply sums and counts, `(),()->`."""
        state.total *= keep[:, None, None]
        state.count *= keep[:, None]
        state.inverse[:] = 1.0 / (state.count.reshape(-1, 1, 1) + 1.0)

    @property
    def n_parameters(self) -> int:
        return self.arms * self.n_outcomes

    def sample(self, state: TabularState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Compute the worth under independent draws from N(v, 1 / (N + 1)), `(A,n),(K,1|A,M),(U,arms M)->(K,A)`.

        On outcomes scaled to [0, 1]: Agrawal & Goyal 2013 (AISTATS), Algorithm 2, whose mean is the v of this model.
        Its bound holds for all outcomes in [0, 1], where Beta posteriors would need outcomes of 0 or 1.
        """
        arms = _arms(distinct(x))
        _check(x, arms)
        return _sample(state.total, state.count, state.low, state.high, arms, w, z)


def _check(x: Floats, arms: Ints) -> None:
    if (arms == _UNCLEAR).any():
        bad = x[tuple(np.argwhere(arms == _UNCLEAR)[0])]
        raise InvalidInput("features", "one-hot, for Tabular (WithoutContexts makes them so)", bad)


@dataclass(frozen=True)
class NullState:
    """An empty state."""


class NullView(NamedTuple):
    """The view of a model that predicts 0 and learns nothing."""

    n_features: int  # which no kernel reads: Numba cannot hand over a tuple without fields

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        shape = len(x), w.shape[1], x.shape[1]
        return np.zeros(shape), np.zeros(shape)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Learn nothing."""


@checked
@dataclass(frozen=True)
class NullModel(WithoutLuck):
    """Values every candidate at 0.

    >>> worth = NullModel(n_features=2).value(NullState(), np.ones((1, 3, 2)), np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
    >>> worth.mean.tolist()
    [[[0.0, 0.0, 0.0]]]
    """

    n_features: int
    n_outcomes: int = 1
    reads_packed: ClassVar[bool] = True

    def of_features(self, features: int) -> NullModel:
        """Return the same model of the first so many features."""
        return replace(self, n_features=features)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> NullState:
        return NullState()

    def value(self, state: NullState, x: Floats, w: Floats, u: Floats) -> Worth:
        shape = (len(x), w.shape[1], x.shape[1])
        return Worth(np.zeros(shape), np.zeros(shape))

    def update(self, state: NullState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Learn nothing."""

    def view(self, state: NullState) -> NullView:
        return NullView(self.n_features)
