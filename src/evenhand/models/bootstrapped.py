"""The bootstrap as a posterior: members learn from resampled data, and one of them is drawn in every round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts
from evenhand.models._shared import check_blocks, refuse_luck
from evenhand.models.base import ROUND, Lesson, Model, Worth, Wraps

# P(Poisson(1) <= k), k = 0, 1, ...: the remaining probability is below the spacing of uniform numbers.
_POISSON = np.cumsum([math.exp(-1.0) / math.factorial(k) for k in range(19)])


@dataclass
class BootstrappedState:
    """The members' states, and the number of observations so far."""

    members: list[Any]
    count: Ints  # (R,)


@named(
    "T2",
    source="Eckles & Kaptein 2014 and Osband & Van Roy 2015 (bootstrapped Thompson sampling), on the online bootstrap "
    "of Oza & Russell 2001",
)
@dataclass(frozen=True, kw_only=True)
class Bootstrapped(Wraps):
    """Copies of any model that learn from resampled data; each round values candidates by one drawn copy.

    Equation: observation i enters member b w_ib ~ Poisson(1) times; mean = the average of the members' means, bonus =
    the mean of a member that is drawn uniformly, minus it.
    It makes any scikit-learn estimator explore: `Bootstrapped(inner=Sklearn(estimator=...))`.

    A bootstrap of a long history draws each observation about Poisson(1) times, so each w_ib is drawn once and never
    changes when more data arrive (Oza & Russell). Observations are repeated, not weighted: this is exact for every
    estimator, including those that take no weights or count rows. w_ib depends only on (i, b), where i counts a
    replica's own observations, so a replica learns the same in a batch and alone; replicas differ by their data and by
    the members they draw. Without data all members agree, so a warm-up (`Staged`) must come first. Each member sees
    fewer distinct observations, so an estimator without a penalty should wait for more of them (`min_observations`).

    All candidates of a block share one member, as in `Sampled`. Without luck the bonus is 0. A round calls `value` and
    `update` of the inner model once per member; the optimism of the inner model is not used.

    Args:
        inner: any model that uses no luck.
        members: B, at least 2.
        n_blocks: how many members are drawn per round, one per consecutive block of candidates, at least 1.

    Raises:
        InvalidInput: an inner model with luck of its own, or a number out of its range; from `value`, candidates that
            do not divide into blocks.

    >>> from evenhand.models.ridge import Ridge
    >>> model = Bootstrapped(inner=Ridge(n_features=1), members=4)
    >>> state, one = model.start(1, np.zeros(1), np.ones(1), 100), np.ones((1, 1, 1))
    >>> for _ in range(3):
    ...     model.update(state, one, one, one > 0, one[None])
    >>> [model.value(state, one, one[None], np.array([[u]])).bonus.item() != 0.0 for u in (0.1, 0.9)]
    [True, True]
    """

    inner: Model
    members: int = 10
    n_blocks: int = 1

    def __post_init__(self) -> None:
        refuse_luck("Bootstrapped", self.inner)
        counts(self, {"members": 2, "n_blocks": 1})

    def draws(self, candidates: int) -> int:
        return self.n_blocks

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> BootstrappedState:
        members = [self.inner.start(n_replicas, low, high, horizon) for _ in range(self.members)]
        return BootstrappedState(members, np.zeros(n_replicas, np.int64))

    def value(self, state: BootstrappedState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Return the members' average, and the drawn bonus, `(A,n),(K,1|A,M),(draws)->(K,A),(K,A)`."""
        each = np.stack([self.inner.value(member, x, w, u[:, :0]).mean for member in state.members])
        mean = np.zeros(each.shape[1:])
        for one in each:  # one by one, because the order of a sum over an axis depends on its shape
            mean += one / self.members
        if u.shape[1] == 0:
            return Worth(mean, np.zeros(mean.shape))
        check_blocks("Bootstrapped", self.n_blocks, x.shape[1])
        drawn = np.repeat((self.members * u).astype(np.int64), x.shape[1] // self.n_blocks, 1)
        bonus = np.take_along_axis(each, drawn[None, :, None, :], 0)[0] - mean
        return Worth(mean, bonus, random=True)

    def update(
        self, state: BootstrappedState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Pass each observation to every member as often as that member drew it, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        told = np.asarray(seen.any(2))
        first = state.count[:, None] + np.cumsum(told, 1) - told
        times = np.where(told[:, :, None], _times(first, self.members), 0)
        state.count += told.sum(1)
        for b, member in enumerate(state.members):
            most = int(times[:, :, b].max())
            if most > 0:
                drawn = (np.arange(most) < times[:, :, b, None]).reshape(len(x), -1, 1)
                features, outcomes, told_of = np.repeat(x, most, 1), np.repeat(y, most, 1), np.repeat(seen, most, 1)
                prices = np.repeat(w, most, 2) if w.shape[2] > 1 else w
                self.inner.update(member, features, outcomes, told_of & drawn, prices, lesson)


def _times(number: Ints, members: int) -> Ints:
    """Return the number of draws of numbered observations by each member, `(P)->(P,B)`, the same in every replica."""
    u = uniform(0, Stream.BOOTSTRAP, number.ravel(), np.zeros(1), members)
    return np.searchsorted(_POISSON, u, side="right").reshape(*number.shape, members)
