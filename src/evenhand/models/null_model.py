"""A model that predicts 0 and learns nothing, for policies that ignore values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.models.base import ROUND, Lesson, WithoutLuck, Worth


@dataclass(frozen=True)
class NullState:
    """An empty state."""


class NullView(NamedTuple):
    """The view of a model that predicts 0 and learns nothing."""

    n_features: int  # which no kernel reads: Numba cannot hand over a tuple without fields

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        shape = len(x), w.shape[1], x.shape[1]
        return np.zeros(shape), np.zeros(shape)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        """Learn nothing."""


@checked
@dataclass(frozen=True)
class NullModel(WithoutLuck):
    """Values every candidate at 0.

    >>> worth = NullModel(n_features=2).value(NullState(), np.ones((1, 3, 2)), np.ones((1, 1, 1, 1)), np.zeros((1, 0)))
    >>> worth.mean.tolist()
    [[[0.0, 0.0, 0.0]]]
    """

    n_features: int
    n_outcomes: int = 1

    def of_features(self, features: int) -> NullModel:
        """Return the same model of the first so many features."""
        return replace(self, n_features=features)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> NullState:
        return NullState()

    def value(self, state: NullState, x: Floats, w: Floats, u: Floats) -> Worth:
        shape = (len(x), w.shape[1], x.shape[1])
        return Worth(np.zeros(shape), np.zeros(shape))

    def update(self, state: NullState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Learn nothing."""

    def view(self, state: NullState) -> NullView:
        return NullView(self.n_features)
