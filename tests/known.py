"""A model that knows what plays bring, for tests of goals and of replays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.core.records import Worth


@dataclass(frozen=True, eq=False)
class Known:
    """States the means that a function gives, `(A,n)->(A,M)`, and learns nothing."""

    means: Callable
    n_features: int
    n_outcomes: int = 1

    def start(self, replicas, low, high, horizon):
        return None

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        worth = (w * self.means(x)[:, None]).sum(3)
        return Worth(worth, np.zeros_like(worth))

    def update(self, state, x, y, seen, w, lesson=None):
        pass
