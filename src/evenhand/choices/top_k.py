"""The k best candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import TIE, fits, nothing_played, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.checked import checked
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@inlined
def _least(worth: Floats, playable: Bools, best: Floats) -> float:
    """The least worth that a play can have, or tie with, by insertion into the best worths so far, `(A),(A),(k)->()`.

    Without limits only the k best can be played, and what ties with one of them ties with the last or is above it.
    An insertion passes through all k places, as to stop on the way is a branch that processors cannot foresee.
    """
    best[:] = -np.inf
    for a in range(len(worth)):
        if playable[a] and worth[a] > best[-1]:
            for i in range(len(best) - 1, 0, -1):
                best[i] = max(best[i], min(best[i - 1], worth[a]))
            best[0] = max(best[0], worth[a])
    return float(best[-1] - TIE * abs(best[-1]))


@kernel
def top(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, k: int, u: Floats
) -> tuple[Ints, Floats, Floats]:
    """The best candidates that fit together, `(K,A),(K,A),(A),(A,d),(d),(1)->(k),(k),(A)`.

    One number draws all ties: what is left of it after a draw is again uniform. A worth of minus infinity marks what
    was played or no longer fits; loops over candidates then have no branches that processors cannot foresee.
    """
    plays, propensities, lottery = nothing_played(playable, k)
    worth, best, left, limited = np.empty(mean.shape[2]), np.empty(k), left.copy(), left.shape[1] > 0
    names, free = np.empty(len(worth), np.int64), np.empty(len(worth))
    for r in range(len(mean)):
        worth[:] = 0.0
        for i in range(mean.shape[1]):
            for a in range(len(worth)):
                worth[a] += mean[r, i, a] + bonus[r, i, a]
        least, few = -np.inf if limited else _least(worth, playable[r], best), 0
        for a in range(len(worth)):
            names[few], free[few] = a, worth[a]
            few += playable[r, a] and worth[a] >= least
        luck = u[r, 0]
        for i in range(k):
            edge, count, chosen = -np.inf, 0, 0
            for j in range(few):
                edge = free[j] if free[j] > edge else edge
            if edge == -np.inf:
                break
            edge -= TIE * abs(edge)
            for j in range(few):
                count += free[j] >= edge
                chosen = j if free[j] >= edge else chosen
            if i == 0:
                for j in range(few):
                    if free[j] >= edge:
                        lottery[r, names[j]] = 1.0 / count
            skip = int(luck * count)
            luck = luck * count - skip
            if count > 1:
                for j in range(few):
                    if free[j] >= edge:
                        chosen = j if skip == 0 else chosen
                        skip -= 1
            plays[r, i], free[chosen] = names[chosen], -np.inf
            propensities[r, i] = 1.0 / count
            if limited and i + 1 < k:
                use_up(worst, left, r, plays[r, i])
                for j in range(few):
                    if not fits(worst, left, r, names[j]):
                        free[j] = -np.inf
    return plays, propensities, lottery


@checked
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
        return Pick(*made, np.zeros(len(offer.playable)))
