"""Models side by side: each predicts its own outcomes from its own features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.models.base import Model


@dataclass
class StackedState:
    """The states of the parts."""

    parts: list[Any]


@dataclass(frozen=True)
class Stacked:
    """Several models, the outcomes of one after those of the other.

    Equation: value = sum over parts of their values at their own prices; optimism adds up likewise.

    Args:
        parts: the models, in the order of the outcomes they predict.
        shared: whether all parts read the same features; otherwise each reads its own, one block after the other.

    Raises:
        InvalidInput: no parts, or parts of unequal size that are to share their features.

    >>> from evenhand.models.ridge import Ridge
    >>> Stacked((Ridge(n_features=3), Ridge(n_features=3, n_outcomes=2))).n_outcomes
    3
    """

    parts: tuple[Model, ...]
    shared: bool = True

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInput("Stacked.parts", "at least one model", self.parts)
        if self.shared and len({p.n_features for p in self.parts}) > 1:
            raise InvalidInput("Stacked.parts", "equal numbers of features", [p.n_features for p in self.parts])

    @property
    def n_features(self) -> int:
        """All features that the parts read."""
        return self.parts[0].n_features if self.shared else sum(p.n_features for p in self.parts)

    @property
    def n_outcomes(self) -> int:
        """All outcomes that the parts predict."""
        return sum(p.n_outcomes for p in self.parts)

    def start(self, n_replicas: int, low: Floats, high: Floats) -> StackedState:
        """The parts' states before any data, `(M),(M)->state`."""
        return StackedState([p.start(n_replicas, low[m], high[m]) for p, _, m in self._cut()])

    def value(self, state: StackedState, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """The sum of the parts' worth and optimism, `(A,n),(K,M)->(K,A),(K,A)`."""
        parts = zip(self._cut(), state.parts, strict=True)
        values = [p.value(s, _block(x, n), _block(w, m)) for (p, n, m), s in parts]
        return sum(v[0] for v in values), sum(v[1] for v in values)  # type: ignore[return-value]

    def update(self, state: StackedState, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """Hand every part its own features and outcomes, `(P,n),(P,M),(),(K,M)`."""
        for (p, n, m), s in zip(self._cut(), state.parts, strict=True):
            p.update(s, _block(x, n), _block(y, m), rounds, _block(w, m))

    def _cut(self) -> Iterator[tuple[Model, slice, slice]]:
        i = j = 0
        for p in self.parts:
            yield p, slice(i, i + p.n_features), slice(j, j + p.n_outcomes)
            i, j = (i if self.shared else i + p.n_features), j + p.n_outcomes


def _block(z: Floats, columns: slice) -> Floats:
    return np.ascontiguousarray(z[..., columns])
