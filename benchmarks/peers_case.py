"""The bandit that evenhand and its peers play: a linear model with own coefficients per action."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.drawn import Drawn
from evenhand.problem import Numeric, Outcome, Problem


@dataclass(frozen=True, eq=False)
class Case:
    """Cases and outcomes that were drawn before: all play the same, and pay for no world."""

    actions: int
    features: int
    rounds: int

    @cached_property
    def x(self) -> np.ndarray:
        """Normal features of about unit length, `->(T,n)`."""
        return np.random.default_rng(1).normal(size=(self.rounds, self.features)) / self.features**0.5

    @cached_property
    def y(self) -> np.ndarray:
        """Whether each action brings 1 or 0, with a chance that is logistic in the features, `->(T,A)`."""
        rng = np.random.default_rng(2)
        worth = self.x @ rng.normal(size=(self.features, self.actions))
        return (rng.random(worth.shape) < 1.0 / (1.0 + np.exp(-2.0 * worth))).astype(float)

    @cached_property
    def luck(self) -> np.ndarray:
        """Uniform numbers, for peers that draw their action from chances, `->(T)`."""
        return np.random.default_rng(3).random(self.rounds)

    @cached_property
    def problem(self) -> Problem:
        most = 5.0 / self.features**0.5
        return Problem(
            actions=tuple(f"arm {a}" for a in range(self.actions)),
            features=tuple(Numeric(f"x{i}", -most, most) for i in range(self.features)),
            outcomes=(Outcome("gain"),),
            maximize="gain",
            horizon=self.rounds,
        )

    @cached_property
    def world(self) -> Drawn:
        """The same for `simulate`; every candidate is led by its action."""
        lead = np.tile(np.arange(self.actions)[None, :, None], (self.rounds, 1, 1)).astype(float)
        return Drawn(self.problem, np.concatenate([lead, np.repeat(self.x[:, None], self.actions, 1)], 2), self.y)
