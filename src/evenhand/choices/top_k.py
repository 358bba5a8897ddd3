"""The k best candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick, optimistic
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def _top(mean: Floats, bonus: Floats, playable: Bools, k: int) -> tuple[Ints, Floats]:
    plays = np.full((len(mean), k), -1)
    probabilities = np.zeros((len(mean), mean.shape[2]))
    worth = np.empty(mean.shape[2])
    for r in range(len(mean)):
        for a in range(len(worth)):
            worth[a] = optimistic(mean[r], bonus[r], a)
        for p in range(k):
            best = -1
            for a in range(len(worth)):
                free = playable[r, a] and probabilities[r, a] == 0.0
                if free and (best < 0 or worth[a] > worth[best]):
                    best = a
            if best < 0:
                break
            plays[r, p] = best
            probabilities[r, best] = 1.0
    return plays, probabilities


@dataclass(frozen=True)
class TopK:
    """The k candidates of highest optimistic value, best first; ties go to the lower index; k = 1 is the argmax.

    >>> values = np.array([[[0.1, 0.3, 0.2]]])
    >>> TopK(2).pick(None, values, 0 * values, np.ones((1, 3), bool), np.zeros(1), np.zeros((1, 0))).plays
    array([[1, 2]])
    """

    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput("TopK.k", "a whole number of at least 1", self.k)

    @property
    def n_plays(self) -> int:
        """How many are chosen."""
        return self.k

    @property
    def draws(self) -> int:
        """No luck is needed."""
        return 0

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Choose the best, `(K,A),(K,A),(A),(),(0)->(k),(A),()`."""
        plays, probabilities = _top(mean, bonus, playable, self.k)
        return Pick(plays, probabilities, np.ones(len(mean)))
