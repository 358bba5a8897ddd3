"""Ridge regression on the outer products of two blocks of features: of the user, and of the item."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import counts
from evenhand.core.views import view_of
from evenhand.models._shared import check_sizes, ends, optimism, unit
from evenhand.models.base import ROUND, Gain, Lesson, WithoutLuck, Worth, flat
from evenhand.models.ridge import RidgeState, drawn_worth, fresh_state
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.bilinear import absorb_runs, products, run_worth, scratch


@kernel
def bilinear_worth(
    theta: Floats,
    inverse: Floats,
    radius: Floats,
    span: tuple[Floats, Floats],
    clipped: bool,
    x: Floats,
    w: Floats,
    r: int,
) -> tuple[Floats, Floats]:
    """V^-1 is contracted once per run of equal u; after that a candidate costs s^2 + s M."""
    count, outcomes, (low, high) = x.shape[1], theta.shape[1], span
    mean, bonus = np.zeros((len(x), w.shape[1], count)), np.zeros((len(x), w.shape[1], count))
    work = scratch(count, r, x.shape[2] - r, outcomes)
    center, square = work.center, work.square
    for b in range(len(x)):
        first = 0
        while first < count:
            last = run_worth(theta[b], inverse[b], x[b], r, first, radius[b] > 0.0, work)
            size = last - first
            for a in range(size):
                square[a] = radius[b] * math.sqrt(max(square[a], 0.0))
            for m in range(outcomes):
                wide, (least, most) = unit(low[m], high[m]), ends(clipped, low[m], high[m])
                for k in range(w.shape[1]):
                    for a in range(size):
                        price = w[b, k, first + a if w.shape[2] > 1 else 0, m]
                        mean[b, k, first + a] += price * center[m, a]
                        half_width = square[a] * wide
                        bonus[b, k, first + a] += optimism(center[m, a], half_width, least, most, price)
            first = last
    return mean, bonus


class _BilinearView(NamedTuple):
    theta: Floats
    inverse: Floats
    log_det: Floats
    observations: Floats
    low: Floats
    high: Floats
    clipped: bool
    n_user_features: int
    width: Any

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        radius = self.width.radius(self.observations, self.log_det)
        span, r = (self.low, self.high), self.n_user_features
        return bilinear_worth(self.theta, self.inverse, radius, span, self.clipped, x, w, r)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        absorb_runs(self.theta, self.inverse, self.log_det, self.observations, x, y, seen, self.n_user_features)


@named(
    "C5", source="values u^T Theta v of users and items: Do et al. 2023, Section 5; shared contractions: evenhand's own"
)
@dataclass(frozen=True, kw_only=True)
class Bilinear(WithoutLuck):
    """Ridge regression of every outcome on u^T Theta v, with features u of the user and v of the item.

    Equation: `Ridge` on flatten(u v^T), in n = r s dimensions. Candidates have the features (u, v), side by side.
    Deviation: as in `Ridge`, intervals end at the outcome's range, where the paper's Algorithms 1 and 5 do not clip;
    `clipped=False` is as printed.
    Consecutive candidates with the same u share the contraction V^-1 (u x I): a run of A of them costs n^2 + A s^2
    operations, where `Ridge` takes A n^2. In the same way, the plays of a run are absorbed in one pass over V^-1.

    Args:
        n_user_features: r, the length of u.
        n_item_features: s, the length of v.
        ridge, width, clipped: as for `Ridge`.

    >>> model = Bilinear(n_user_features=1, n_item_features=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> play = np.array([[[2.0, 0.0, 0.5]]])  # u = (2), v = (0, 0.5)
    >>> model.update(state, play, one, one > 0, price)
    >>> model.value(state, play, price, luck).mean.item()
    0.5
    """

    n_user_features: int
    n_item_features: int
    n_outcomes: int = 1
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    clipped: bool = True

    def __post_init__(self) -> None:
        counts(self, {"n_user_features": 1, "n_item_features": 1})
        check_sizes("Bilinear", self.n_features, self.n_outcomes, self.ridge)

    @property
    def n_features(self) -> int:
        return self.n_user_features + self.n_item_features

    @property
    def n_parameters(self) -> int:
        return self.n_outcomes * self.n_user_features * self.n_item_features

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> RidgeState:
        n = self.n_user_features * self.n_item_features
        return fresh_state(n_replicas, n, self.n_outcomes, self.ridge, low, high)

    def value(self, state: RidgeState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute mean and optimism, `(A,r+s),(K,1|A,M),()->(K,A),(K,A)`; O(n^2 + A (s^2 + s M)) for a run of u."""
        radius = self.width.radius(state.count, state.log_det, self.ridge)
        span, r = (state.low, state.high), self.n_user_features
        return Worth(*bilinear_worth(state.theta, state.inverse, radius, span, self.clipped, x, w, r))

    def update(self, state: RidgeState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Absorb plays whose outcomes are all seen, `(P,r+s),(P,M),(P,M),(K,1|P,M)`; O(n^2 P + n M P) per round."""
        absorb_runs(state.theta, state.inverse, state.log_det, state.count, x, y, seen, self.n_user_features)

    def view(self, state: RidgeState) -> _BilinearView | None:
        s, width = state, view_of(self.width, self.ridge)
        if width is None:
            return None
        arrays = s.theta, s.inverse, s.log_det, s.count, s.low, s.high
        return _BilinearView(*arrays, self.clipped, self.n_user_features, width)

    def gains(self, state: RidgeState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, products(x, self.n_user_features), flat)

    def sample(self, state: RidgeState, x: Floats, w: Floats, z: Floats) -> Floats:
        """Compute the worth under drawn parameters as in `Ridge.sample`, `(A,r+s),(K,1|A,M),(U,Mn)->(K,A)`; O(n^3)."""
        flattened = products(x, self.n_user_features)
        return drawn_worth(state.theta, state.inverse, state.low, state.high, flattened, w, z)
