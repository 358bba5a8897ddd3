"""Lipschitz constants of objectives whose outcomes have different units."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm, dual_order, length, widest
from evenhand.core.types import Floats
from evenhand.objectives.base import Objective


@runtime_checkable
class Steep(Protocol):
    """An objective that knows its Lipschitz constant in any units."""

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """Compute the least known L with |f(y) - f(z)| <= L ||(y - z) / unit||, `(m)->`; infinite if there is none."""


def steepness(objective: Objective, unit: Floats, norm: Norm = "euclidean") -> float:
    """Compute an L with |f(y) - f(z)| <= L ||(y - z) / unit||, `(m)->`; from `lipschitz` if nothing else is known.

    >>> import numpy as np
    >>> from evenhand.objectives import Linear
    >>> steepness(Linear({"euros": 3.0, "hours": 4.0}), np.ones(2))
    5.0
    >>> steepness(Linear({"cents": 0.03, "hours": 4.0}), np.array([100.0, 1.0]))
    5.0
    """
    if isinstance(objective, Steep):
        return objective.steepness(unit, norm)
    return objective.lipschitz * float(unit.max()) * widest(len(unit), norm)


def slope_norm(slope: Floats, norm: Norm) -> float:
    """Compute the dual norm of a slope, `(m)->`.

    >>> import numpy as np
    >>> slope_norm(np.array([3.0, -4.0]), "euclidean"), slope_norm(np.array([3.0, -4.0]), "sup")
    (5.0, 7.0)
    """
    return float(length(slope, dual_order(norm)))


def widths(low: Floats, high: Floats) -> Floats:
    """Compute the length of every range, 1 if it is 0 or infinite, `(m),(m)->(m)`."""
    return np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)


def worth_of_an_outcome(objective: Objective, low: Floats, high: Floats) -> float:
    """Compute the largest gain of f by one outcome from its slope near the ranges' middle; 1 if flat, `(m),(m)->`.

    The point is beside the middle, where functions of ranks have no kink. For `GeneralizedGini` of outcomes in [0, 1]
    it is the largest weight.

    >>> from evenhand.objectives import GeneralizedGini
    >>> round(worth_of_an_outcome(GeneralizedGini(("a", "b"), (1.0, 0.3)), np.zeros(2), np.full(2, 100.0)), 9)
    100.0
    """
    width = widths(low, high)
    finite = np.isfinite(low) & np.isfinite(high)
    middle = 0.5 * (np.where(finite, low, 0.0) + np.where(finite, high, 0.0))
    beside = middle + 0.1 * width * np.linspace(-0.5, 0.5, len(width))
    try:
        return float((np.abs(objective.supergradient(beside)) * width).max()) or 1.0
    except InvalidInput:  # outside of the domain, as ranges are unknown
        return 1.0
