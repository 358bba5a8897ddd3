"""The k best candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import TIE, fits, nothing_played, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@inlined
def _least(worth: Floats, playable: Bools, best: Floats) -> float:
    """The least worth that a play can have, or tie with, by insertion into the best worths so far, `(A),(A),(k)->()`.

    Without limits only the k best can be played, and what ties with one of them ties with the last or is above it.
    """
    best[:] = -np.inf
    for a in range(len(worth)):
        if playable[a] and worth[a] > best[-1]:
            i = len(best) - 1
            while i > 0 and worth[a] > best[i - 1]:
                best[i] = best[i - 1]
                i -= 1
            best[i] = worth[a]
    return float(best[-1] - TIE * abs(best[-1]))


@kernel
def top(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, k: int, u: Floats
) -> tuple[Ints, Floats, Floats]:
    """The best candidates that fit together, `(K,A),(K,A),(A),(A,d),(d),(1)->(k),(k),(A)`.

    One number draws all ties: what is left of it after a draw is again uniform.
    """
    plays, propensities, lottery = nothing_played(playable, k)
    worth, best, left, limited = np.empty(mean.shape[2]), np.empty(k), left.copy(), left.shape[1] > 0
    names, free = np.empty(len(worth), np.int64), np.empty(len(worth), np.bool_)
    for r in range(len(mean)):
        worth[:] = 0.0
        for i in range(mean.shape[1]):
            for a in range(len(worth)):
                worth[a] += mean[r, i, a] + bonus[r, i, a]
        least, few = -np.inf if limited else _least(worth, playable[r], best), 0
        for a in range(len(worth)):
            if playable[r, a] and worth[a] >= least:
                names[few], free[few] = a, True
                few += 1
        luck = u[r, 0]
        for i in range(k):
            edge, count = -np.inf, 0
            for j in range(few):
                if free[j] and worth[names[j]] > edge:
                    edge = worth[names[j]]
            edge -= TIE * abs(edge)
            for j in range(few):
                if free[j] and worth[names[j]] >= edge:
                    count += 1
            if count == 0:
                break
            skip = int(luck * count)
            luck = luck * count - skip
            for j in range(few):
                if free[j] and worth[names[j]] >= edge:
                    if i == 0:
                        lottery[r, names[j]] = 1.0 / count
                    if skip == 0:
                        plays[r, i], free[j] = names[j], False
                    skip -= 1
            propensities[r, i] = 1.0 / count
            if limited and i + 1 < k:
                use_up(worst, left, r, plays[r, i])
                for j in range(few):
                    free[j] = free[j] and fits(worst, left, r, names[j])
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
        made = top(worth.mean, worth.bonus, offer.playable, offer.worst, offer.left, self.k, u)
        return Pick(*made, forced=np.zeros(len(offer.playable)))
