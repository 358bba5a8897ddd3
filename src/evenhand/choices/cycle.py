"""A choice that plays the candidates in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices._shared import empty_plays, fits, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@kernel
def _next(playable: Bools, worst: Floats, left: Floats, t: Floats, n_plays: int) -> tuple[Ints, Floats, Floats]:
    """The next P candidates, from t P mod A on, that are playable and fit together, `(A),(A,d),(d),()->(P),(P),(A)`."""
    plays, propensities, lottery = empty_plays(playable, n_plays)
    candidates, left = playable.shape[1], left.copy()
    for r in range(len(t)):
        made, first = 0, int(t[r]) * n_plays
        for i in range(candidates):
            a = (first + i) % candidates
            if made < n_plays and playable[r, a] and fits(worst, left, r, a):
                plays[r, made] = a
                made += 1
                use_up(worst, left, r, a)
        if made > 0:
            lottery[r, plays[r, 0]] = 1.0
    return plays, propensities, lottery


@checked
@dataclass(frozen=True)
class Cycle:
    """Play candidate t mod A in round t, or the next one that is playable.

    With several plays, it takes the next P candidates, from t P mod A on, that are playable and fit together. If every
    candidate is always playable and fits, all are played equally often.

    Args:
        n_plays: P, how many are played.

    Raises:
        InvalidInput: `n_plays` is below 1.

    >>> worth = Worth(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> [Cycle(2).pick(None, worth, offer, np.full(1, t), np.zeros((1, 0))).plays.tolist() for t in range(3)]
    [[[0, 1]], [[2, 0]], [[1, 2]]]
    """

    n_plays: int = 1
    reads_bonus = False

    def __post_init__(self) -> None:
        whole("Cycle.n_plays", self.n_plays, 1)

    def draws(self, candidates: int) -> int:
        return 0

    def start(self, n_replicas: int) -> None: ...

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        made = _next(offer.playable, offer.worst, offer.left, t, self.n_plays)
        return Pick(*made, forced=np.ones(len(t)))
