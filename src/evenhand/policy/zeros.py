"""The declared zeros among a model's observations, so that it does not take them for outcomes without noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.policy.marks import marked


class NoZeros(NamedTuple):
    """For problems without declared zeros, and models that do not count them."""

    replicas: int

    @kernel
    def tell_zeros(self, plays: Ints, seen: Bools) -> None:
        """Tell nobody."""


class ZerosView(NamedTuple):
    """The kernels' view of declared zeros, and of the arrays of a model that count them."""

    declared: Floats
    zeros: tuple[Floats, ...]

    @kernel
    def tell_zeros(self, plays: Ints, seen: Bools) -> None:
        for zeros in self.zeros:
            each = len(zeros) // len(plays)
            for r in range(len(plays)):
                for p in range(plays.shape[1]):
                    if plays[r, p] >= 0 and seen[r, p].all():
                        for i in range(each):
                            for m in range(zeros.shape[1]):
                                zeros[r * each + i, m] += self.declared[plays[r, p], m]


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

    def view(self, state: object, replicas: int) -> ZerosView | NoZeros:
        """Return the kernels' view of this and of a model's state."""
        if not self._some:
            return NoZeros(replicas)
        told = tuple(z for z in marked(state, "zeros") if z.shape[1] == self._counts.shape[1])
        return ZerosView(self._counts, told) if told else NoZeros(replicas)

    @cached_property
    def _some(self) -> bool:
        return bool(self._counts.any())

    @cached_property
    def _counts(self) -> Floats:
        """1 where an outcome is declared 0 beside others that are not, `->(A,M)`."""
        return np.asarray((self.free & ~self.free.all(1, keepdims=True)).astype(float))
