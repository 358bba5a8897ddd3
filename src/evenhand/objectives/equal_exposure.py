"""Equal exposure: an objective that penalises differences between outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.objectives.base import check_finite, each, flat, outcome_names, total


@named("C7", source="Do et al. 2021; Do et al. 2023, eq. 15 (eq. expo)")
@dataclass(frozen=True)
class EqualExposure:
    """Minus the spread of average outcomes around their mean.

    Equation: f(z) = -(1/m) sqrt(sum_j (z_j - mean)^2), which is minus the standard deviation over sqrt(m). It
    ignores the level of the outcomes: add an objective that rewards it.

    Args:
        outcomes: the outcomes to compare, in the same units; at least two.

    Raises:
        InvalidInput: there are fewer than two names, or a name is repeated.

    Deviation: where all outcomes are equal, the gradient would be 0/0; it is 0, which is a supergradient.

    >>> EqualExposure(("a", "b")).value(np.array([0.0, 1.0])).item()
    -0.3535533905932738
    >>> EqualExposure(("a", "b")).supergradient(np.array([0.3, 0.3]))
    array([0., 0.])
    """

    outcomes: tuple[str, ...]
    smooth = False  # points of equal outcomes are kinks
    whole_space: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", outcome_names("EqualExposure", self.outcomes, least=2))

    @property
    def lipschitz(self) -> float:
        """The constant 1/m."""
        return 1.0 / len(self.outcomes)

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)

    def value(self, z: Floats) -> Floats:
        return (0.0 - _deviations(flat(z))[1] / len(self.outcomes)).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """Compute minus the direction of the deviations over m, `(m)->(m)`."""
        deviations, norm = _deviations(flat(z))
        scale = np.where(norm > 0.0, norm, math.inf) * len(self.outcomes)
        return np.asarray(0.0 - deviations / scale[:, None]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Shrink the norm of the deviations by beta/m, or to 0 if it is less, `(m),()->(m)`."""
        rows = flat(z)
        deviations, norm = _deviations(rows)
        shrink = np.minimum(1.0, each(beta, z) / len(self.outcomes) / np.where(norm > 0.0, norm, math.inf))
        return (rows - shrink[:, None] * deviations).reshape(z.shape)


def _deviations(rows: Floats) -> tuple[Floats, Floats]:
    """Compute deviations from the mean and their norm, `(m)->(m),()`; exactly 0 if all are equal, despite rounding."""
    shifted = rows - rows[:, :1]
    deviations = shifted - total(shifted)[:, None] / rows.shape[1]
    return deviations, np.sqrt(total(deviations * deviations))
