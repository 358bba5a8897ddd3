"""A model that knows nothing and learns nothing, for policies that do not look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.types import Floats


@dataclass(frozen=True)
class BlankState:
    """Nothing to remember."""


@dataclass(frozen=True)
class Blank:
    """Values every candidate at 0.

    >>> mean, bonus = Blank(features=2).value(BlankState(), np.ones((1, 3, 2)), np.ones((1, 1, 1)))
    >>> mean.tolist()
    [[[0.0, 0.0, 0.0]]]
    """

    features: int
    outcomes: int = 1

    def start(self, replicas: int, low: Floats, high: Floats) -> BlankState:
        """An empty state."""
        return BlankState()

    def value(self, state: BlankState, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Zeros, `(A,n),(K,M)->(K,A),(K,A)`."""
        shape = (len(x), w.shape[1], x.shape[1])
        return np.zeros(shape), np.zeros(shape)

    def update(self, state: BlankState, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """Learn nothing."""
