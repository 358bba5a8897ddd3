"""A model of one number."""

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.records import Worth
from evenhand.core.types import Bools, Floats


@named("Z2", source="a test")
@dataclass(frozen=True)
class SameForAll:
    """Values every candidate alike.

    Equation: E[y] = guess for every outcome.

    >>> SameForAll(n_features=3).n_outcomes
    1
    """

    n_features: int
    n_outcomes: int = 1
    guess: float = 0.5

    def draws(self, candidates: int) -> int:
        return 0

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> None:
        return None

    def value(self, state: None, x: Floats, w: Floats, u: Floats) -> Worth:
        mean = np.tile(self.guess * w.sum(-1), (1, 1, x.shape[1] // w.shape[2]))
        return Worth(mean, np.zeros(mean.shape))

    def update(self, state: None, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: object = None) -> None:
        """Learn nothing."""
