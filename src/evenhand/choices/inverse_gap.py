"""Inverse-gap weighting: the better a candidate looks, the likelier it is played."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick
from evenhand.choices.random import draw
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints


@kernel
def _rate(scale: float, power: float, t: float) -> float:
    return scale if power == 0.0 else scale * (t + 1.0) ** power


@dataclass(frozen=True)
class Gamma:
    """A learning rate scale * (t + 1)^power in decided round t, t counted from 0.

    Power 0 is a fixed rate, power 1/2 the schedule of FW-SquareCB's experiments.

    Raises:
        InvalidInput: a scale that is not positive, or a power outside [0, 1].

    >>> Gamma(2.0, 0.5).at(3.0)
    4.0
    """

    scale: float
    power: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise InvalidInput("Gamma.scale", "a finite number above 0", self.scale)
        if not 0 <= self.power <= 1:
            raise InvalidInput("Gamma.power", "a number in [0, 1]", self.power)

    def at(self, t: float) -> float:
        """The rate in round t."""
        return float(_rate(self.scale, self.power, t))


@kernel
def _draw(
    mean: Floats, playable: Bools, scale: float, power: float, t: Floats, u: Floats
) -> tuple[Ints, Floats, Floats]:
    """Inverse-gap probabilities over what is playable, and a draw, `(K,A),(A),(),(1)->(1),(A),()`."""
    p = np.zeros(playable.shape)
    worth = np.empty(playable.shape[1])
    for r in range(len(playable)):
        gamma = _rate(scale, power, t[r])
        best, count = -1, 0
        for a in range(len(worth)):
            worth[a] = 0.0
            for k in range(mean.shape[1]):
                worth[a] += mean[r, k, a]
            if playable[r, a]:
                count += 1
                if best < 0 or worth[a] > worth[best]:
                    best = a
        rest = 0.0
        for a in range(len(worth)):
            if playable[r, a] and a != best:
                p[r, a] = 1.0 / (count + gamma * (worth[best] - worth[a]))
                rest += p[r, a]
        if best >= 0:
            p[r, best] = 1.0 - rest
    plays, _ = draw(p, playable, u[:, 0])
    return plays, p, np.ones(len(playable))


@dataclass(frozen=True)
class InverseGap:
    """Play candidate a with probability 1 / (A + gamma (best - worth of a)), the best one with what is left.

    Equation: p_a = 1 / (A + gamma (l_b - l_a)) for a != b = argmax l, p_b = 1 - sum of the others, with A the number of
    *playable* candidates; as each p_a is at most 1/A, p_b is at least 1/A. Bonuses are not read: exploration comes from
    the draw.
    Source: Foster & Rakhlin 2020 (SquareCB); Han et al. 2022, Algorithm 1.

    Args:
        gamma: the learning rate; large ones exploit.

    >>> worth, playable = np.array([[[0.0, 1.0, 0.5]]]), np.ones((1, 3), bool)
    >>> InverseGap(Gamma(2.0)).pick(None, worth, 0 * worth, playable, np.zeros(1), np.array([[0.9]])).probabilities
    array([[0.2 , 0.55, 0.25]])
    """

    gamma: Gamma

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
        return Pick(*_draw(mean, playable, self.gamma.scale, self.gamma.power, t, u))
