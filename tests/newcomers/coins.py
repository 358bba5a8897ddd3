"""Coins, one of which is thrown per round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Ints
from evenhand.environments._arms import ArmsWorld
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem


@named("Z6", source="a test")
@dataclass(frozen=True, kw_only=True)
class Coins:
    """Throws one of some coins per round, or none; there are no contexts.

    Equation: P(heads) = chances[a - 1], and 0 without a coin.

    >>> Coins(chances=(0.2, 0.7)).problem.actions
    ('nothing', 'coin 1', 'coin 2')
    """

    chances: tuple[float, ...]
    horizon: int = 1000

    @cached_property
    def problem(self) -> Problem:
        """The problem: as many heads as possible."""
        coins = tuple(f"coin {a + 1}" for a in range(len(self.chances)))
        heads = Outcome("heads", free=("nothing",))
        return Problem(actions=("nothing", *coins), outcomes=(heads,), maximize="heads", horizon=self.horizon)

    @property
    def n_features(self) -> int:
        return len(self.chances)

    def start(self, seed: int, replicas: Ints) -> ArmsWorld:
        return ArmsWorld(self.problem, np.array([0.0, *self.chances])[:, None], False, seed, replicas)
