"""A choice that takes turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def _next(playable: Bools, t: Floats) -> tuple[Ints, Floats]:
    """Candidate t mod A, or the next one that is playable, `(A),()->(1),(A)`."""
    actions = playable.shape[1]
    plays, probabilities = np.full((len(playable), 1), -1), np.zeros(playable.shape)
    for r in range(len(playable)):
        for i in range(actions):
            a = (int(t[r]) + i) % actions
            if playable[r, a]:
                plays[r, 0], probabilities[r, a] = a, 1.0
                break
    return plays, probabilities


@dataclass(frozen=True)
class Cycle:
    """Play candidate t mod A in round t, or the next one that is playable.

    Where all are playable, each is played equally often.

    >>> none, playable = np.zeros((1, 1, 3)), np.ones((1, 3), bool)
    >>> [Cycle().pick(None, none, none, playable, np.full(1, t), np.zeros((1, 0))).plays.item() for t in range(4)]
    [0, 1, 2, 0]
    """

    @property
    def n_plays(self) -> int:
        """One candidate."""
        return 1

    @property
    def draws(self) -> int:
        """No luck is needed."""
        return 0

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Take turns, `(K,A),(K,A),(A),(),(0)->(1),(A),()`."""
        plays, probabilities = _next(playable, t)
        return Pick(plays, probabilities, np.zeros(len(playable)))
