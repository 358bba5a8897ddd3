"""The declared zeros among a model's observations, so that it does not take them for outcomes without noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy.marks import marked


@dataclass(frozen=True, eq=False)
class Zeros:
    """Counts, in arrays of a model's state marked as `models.base.ZEROS`, the observations of outcomes declared 0.

    A play all of whose outcomes are declared to be 0 is not counted: as a rule it does nothing and has no features, and
    then a model does not count it as an observation either.

    Args:
        free: under which actions each learned outcome is declared 0, `(A,M)`.
    """

    free: Bools

    def tell(self, state: object, plays: Ints, seen: Bools, weight: float = 1.0) -> None:
        """Count plays that the model is about to learn from, each `weight` times, `(P),(P,M)->`."""
        if not self._some:
            return
        learned = (plays >= 0) & seen.all(2)
        found = weight * (self._counts[np.maximum(plays, 0)] * learned[:, :, None]).sum(1)
        for zeros in marked(state, "zeros"):
            if zeros.shape[1] == found.shape[1]:  # a part of `Stacked` has other outcomes
                zeros += np.repeat(found, len(zeros) // len(found), 0)

    @cached_property
    def _some(self) -> bool:
        return bool(self._counts.any())

    @cached_property
    def _counts(self) -> Floats:
        """1 where an outcome is declared 0 beside others that are not, `->(A,M)`."""
        return np.asarray((self.free & ~self.free.all(1, keepdims=True)).astype(float))
