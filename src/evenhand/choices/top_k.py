"""The k best candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import add_up, fits, nothing_played, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@kernel
def _insert(worth: Floats, a: int, best: Ints, found: int, room: int) -> int:
    """Insert a, of higher index than all in `best`, after its equals; return how many `best` has, at most `room`."""
    if found == room and worth[a] <= worth[best[room - 1]]:
        return found
    at = min(found, room - 1)
    while at > 0 and worth[best[at - 1]] < worth[a]:
        best[at] = best[at - 1]
        at -= 1
    best[at] = a
    return min(found + 1, room)


@kernel
def _top(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, k: int
) -> tuple[Ints, Floats, Floats]:
    """The best candidates that fit together, `(K,A),(K,A),(A),(A,d),(d)->(k),(k),(A)`.

    One pass finds the k best playable candidates. Only if some of them do not fit together, another pass looks for the
    best later candidates that still fit. Each pass plays the first one that it finds, so there are at most k passes.
    """
    plays, propensities, lottery = nothing_played(playable, k)
    worths, best, left = add_up(mean + bonus), np.empty(k, np.int64), left.copy()
    for r in range(len(mean)):
        worth = worths[r]
        made, last = 0, -1  # how many are played, and the one that was considered last
        while made < k:
            found, room = 0, k - made
            for a in range(len(worth)):
                if not playable[r, a]:
                    continue
                if last >= 0:
                    before = worth[a] > worth[last] or (worth[a] == worth[last] and a <= last)
                    if before or not fits(worst, left, r, a):
                        continue
                found = _insert(worth, a, best, found, room)
            for i in range(found):
                last = best[i]
                if fits(worst, left, r, last):
                    plays[r, made] = last
                    made += 1
                    use_up(worst, left, r, last)
            if found < room:
                break
        if made > 0:
            lottery[r, plays[r, 0]] = 1.0
    return plays, propensities, lottery


@dataclass(frozen=True)
class TopK:
    """The k candidates of highest optimistic value, best first; ties go to the lower index; k = 1 is the argmax.

    A candidate that does not fit beside the better ones is skipped.

    Raises:
        InvalidInput: k is below 1.

    >>> worth = Worth(np.array([[[0.1, 0.3, 0.2]]]), np.zeros((1, 1, 3)), random=False)
    >>> costs, budget = np.array([[[0.5], [1.0], [1.0]]]), np.array([[1.5]])
    >>> offer = Offer(np.ones((1, 3), bool), worst=costs, left=budget)
    >>> TopK(2).pick(None, worth, offer, np.zeros(1), np.zeros((1, 0))).plays  # candidate 2 does not fit beside 1
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
        """No luck is needed."""
        return 0

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        """Choose the best, `(K,A),(K,A),(A),(A,d),(d),(),(0)->(k),(k),(A),()`."""
        made = _top(worth.mean, worth.bonus, offer.playable, offer.worst, offer.left, self.k)
        return Pick(*made, forced=np.zeros(len(offer.playable)))
