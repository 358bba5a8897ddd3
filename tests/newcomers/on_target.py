"""An objective that is to meet a target."""

import math
from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats


@named("Z3", source="a test")
@dataclass(frozen=True)
class OnTarget:
    """Minus the squared distance of the averages from a target.

    Equation: f(z) = -sum_j (z_j - target)^2.

    >>> float(OnTarget(("a", "b")).value(np.array([0.5, 0.0])))
    -0.25
    """

    outcomes: tuple[str, ...]
    target: float = 0.5

    @property
    def smooth(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float:
        return math.inf

    def check(self, z: Floats, place: str) -> None:
        """Any point will do."""

    def value(self, z: Floats) -> Floats:
        return np.asarray(-((np.asarray(z) - self.target) ** 2).sum(-1))

    def supergradient(self, z: Floats) -> Floats:
        return -2.0 * (np.asarray(z) - self.target)
