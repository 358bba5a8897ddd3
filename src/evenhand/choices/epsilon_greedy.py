"""Mostly the best candidate, now and then any."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from evenhand.choices.base import Pick, optimistic
from evenhand.choices.random import draw
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def _draw(mean: Floats, bonus: Floats, playable: Bools, epsilon: float, u: Floats) -> tuple[Ints, Floats, Floats]:
    """1 - epsilon for the best, epsilon shared by all that is playable, `(K,A),(K,A),(A),(),(1)->(1),(A),()`."""
    p = np.zeros(playable.shape)
    for r in range(len(playable)):
        best, most, count = -1, -np.inf, 0
        for a in range(playable.shape[1]):
            if playable[r, a]:
                count += 1
                worth = optimistic(mean[r], bonus[r], a)
                if best < 0 or worth > most:
                    best, most = a, worth
        for a in range(playable.shape[1]):
            if playable[r, a]:
                p[r, a] = epsilon / count + (1.0 - epsilon if a == best else 0.0)
    plays, p = draw(p, playable, u[:, 0])
    return plays, p, np.ones(len(playable))


@dataclass(frozen=True)
class EpsilonGreedy:
    """Play the candidate of highest optimistic value with probability 1 - epsilon, else any, each as likely.

    Equation: p_a = epsilon / A + (1 - epsilon) 1{a best}, A the number of playable candidates; of equals the first one.

    Args:
        epsilon: in [0, 1].

    Raises:
        InvalidInput: an epsilon out of range.

    >>> worth, playable = np.array([[[0.0, 1.0]]]), np.ones((1, 2), bool)
    >>> EpsilonGreedy(0.1).pick(None, worth, 0 * worth, playable, np.zeros(1), np.array([[0.5]])).probabilities
    array([[0.05, 0.95]])
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon <= 1):
            raise InvalidInput("EpsilonGreedy.epsilon", "a number in [0, 1]", repr(self.epsilon))

    @property
    def n_plays(self) -> int:
        """One candidate."""
        return 1

    @property
    def draws(self) -> int:
        """One uniform number."""
        return 1

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Draw, `(K,A),(K,A),(A),(),(1)->(1),(A),()`."""
        return Pick(*_draw(mean, bonus, playable, self.epsilon, u))
