"""The k best candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import add_up, fits, nothing_played, tied, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@kernel
def _top(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, k: int, u: Floats
) -> tuple[Ints, Floats, Floats]:
    """The best candidates that fit together, `(K,A),(K,A),(A),(A,d),(d),(1)->(k),(k),(A)`.

    One number draws all ties: what is left of it after a draw is again uniform.
    """
    plays, propensities, lottery = nothing_played(playable, k)
    worth, free, left = add_up(mean + bonus), playable.copy(), left.copy()
    for r in range(len(mean)):
        luck = u[r, 0]
        for i in range(k):
            _, edge, count = tied(worth, free, r)
            if count == 0:
                break
            skip = int(luck * count)
            luck = luck * count - skip
            for a in range(len(worth[r])):
                if free[r, a] and worth[r, a] >= edge:
                    if i == 0:
                        lottery[r, a] = 1.0 / count
                    if skip == 0:
                        plays[r, i] = a
                    skip -= 1
            propensities[r, i] = 1.0 / count
            if i + 1 < k:
                free[r, plays[r, i]] = False
                use_up(worst, left, r, plays[r, i])
                for a in range(len(worth[r])):
                    free[r, a] = free[r, a] and fits(worst, left, r, a)
    return plays, propensities, lottery


@dataclass(frozen=True)
class TopK:
    """The k candidates of highest optimistic value, best first; k = 1 is the argmax.

    Ties are drawn uniformly, so that the order of the candidates does not matter. Worths tie if they differ by less
    than 1e-9 of the best one. A candidate that does not fit beside the better ones is skipped.

    Raises:
        InvalidInput: k is below 1.

    >>> worth = Worth(np.array([[[0.1, 0.3, 0.2]]]), np.zeros((1, 1, 3)), random=False)
    >>> costs, budget = np.array([[[0.5], [1.0], [1.0]]]), np.array([[1.5]])
    >>> offer = Offer(np.ones((1, 3), bool), worst=costs, left=budget)
    >>> TopK(2).pick(None, worth, offer, np.zeros(1), np.zeros((1, 1))).plays  # candidate 2 does not fit beside 1
    array([[1, 0]])
    """

    k: int = 1
    reads_bonus: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("TopK.k", self.k, 1)

    @property
    def n_plays(self) -> int:
        """k, the number of plays."""
        return self.k

    def draws(self, candidates: int) -> int:
        """One uniform number, for ties."""
        return 1

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        """Choose the best, `(K,A),(K,A),(A),(A,d),(d),(),(1)->(k),(k),(A),()`."""
        made = _top(worth.mean, worth.bonus, offer.playable, offer.worst, offer.left, self.k, u)
        return Pick(*made, forced=np.zeros(len(offer.playable)))
