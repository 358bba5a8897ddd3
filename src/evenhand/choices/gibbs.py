"""The more a candidate is worth, the likelier it is played: a soft argmax that can mix where prices leave a tie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick, optimistic
from evenhand.choices.random import draw
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def _draw(mean: Floats, bonus: Floats, playable: Bools, temperature: float, u: Floats) -> tuple[Ints, Floats, Floats]:
    """Draw in proportion to exp((worth - best worth) / temperature), `(K,A),(K,A),(A),(),(1)->(1),(A),()`."""
    p = np.zeros(playable.shape)
    for r in range(len(playable)):
        best = -np.inf
        for a in range(playable.shape[1]):
            if playable[r, a]:
                p[r, a] = optimistic(mean[r], bonus[r], a)
                best = max(best, p[r, a])
        for a in range(playable.shape[1]):
            if playable[r, a]:
                p[r, a] = math.exp((p[r, a] - best) / temperature)
    plays, p = draw(p, playable, u[:, 0])
    return plays, p, np.ones(len(playable))


@dataclass(frozen=True)
class Gibbs:
    """Play candidate a with probability proportional to exp(worth of a / temperature).

    Equation: p = argmax over lotteries p of p.worth + temperature H(p), H the entropy: within temperature ln A of the
    best candidate's optimistic worth, and the argmax itself as the temperature falls to 0.

    Args:
        temperature: in units of worth, above 0.

    Raises:
        InvalidInput: a temperature that is not a positive number.

    >>> worth, playable = np.array([[[0.0, 1.0, 1.0]]]), np.ones((1, 3), bool)
    >>> Gibbs(0.01).pick(None, worth, 0 * worth, playable, np.zeros(1), np.array([[0.9]])).probabilities.round(3)
    array([[0. , 0.5, 0.5]])
    """

    temperature: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InvalidInput("Gibbs.temperature", "a finite number above 0", self.temperature)

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
        return Pick(*_draw(mean, bonus, playable, self.temperature, u))
