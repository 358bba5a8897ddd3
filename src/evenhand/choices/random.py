"""A choice that ignores values and draws playable candidates by fixed weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.choices._shared import draw
from evenhand.choices.base import DrawPerPlay, Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import numbers, whole


class _RandomView(NamedTuple):
    weights: Floats
    n_plays: int

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        weights = self.weights if self.weights.shape[1] > 0 else np.ones((1, offer.playable.shape[1]))
        made = draw(weights, offer.playable, offer.worst, offer.left, u, self.n_plays)
        return Pick(made[0], made[1], made[2], np.ones(len(made[0])), None)

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return self.weights.shape[1] not in (0, candidates)


@checked
@dataclass(frozen=True)
class Random(DrawPerPlay):
    """Draw playable candidates regardless of their values, uniformly or in proportion to fixed weights.

    Several plays are drawn one after the other without replacement, each in proportion to the weights of the candidates
    that are left and fit beside the earlier plays.
    Source: of several plays, the model of rankings by Plackett 1975 and Luce 1959.

    Args:
        weights: one per candidate, at least 0; None means the same for all. Candidates of weight 0 are played only
            if no other is left.
        n_plays: how many are drawn.

    Raises:
        InvalidInput: a weight that is negative, weights without a finite sum above 0, or `n_plays` below 1.

    >>> offer = Offer(np.array([[True, False, True]]), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> worth = Worth(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), random=False)
    >>> pick = Random((1.0, 1.0, 3.0), n_plays=2).pick(None, worth, offer, np.zeros(1), np.array([[0.7, 0.2]]))
    >>> pick.plays, pick.propensities, pick.lottery
    (array([[2, 0]]), array([[0.75, 1.  ]]), array([[0.25, 0.  , 0.75]]))
    """

    weights: tuple[float, ...] | None = None
    n_plays: int = 1
    reads_bonus = False

    def __post_init__(self) -> None:
        whole("Random.n_plays", self.n_plays, 1)
        if self.weights is not None:
            expected = "finite numbers of at least 0, not all 0"
            m = int(np.size(self.weights))
            w = numbers("Random.weights", self.weights, m, expected, lambda z: np.isfinite(z) & (z >= 0))
            with np.errstate(over="ignore"):
                total = w.sum()
            if not 0 < total < np.inf:
                raise InvalidInput("Random.weights", expected, self.weights)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        candidates = offer.playable.shape[1]
        weights = np.ones((1, candidates)) if self.weights is None else np.array([self.weights], float)
        if weights.shape[1] != candidates:
            raise InvalidInput("Random.weights", f"one per candidate, of which there are {candidates}", self.weights)
        made = draw(weights, offer.playable, offer.worst, offer.left, u, self.n_plays)
        return Pick(*made, forced=np.ones(len(offer.playable)))

    def view(self, state: None) -> _RandomView:
        return _RandomView(np.array([() if self.weights is None else self.weights], float), self.n_plays)
