"""How steep an objective is, where each outcome has a unit of its own."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import numpy as np

from evenhand.core.types import Floats
from evenhand.objectives.base import Objective

Norm = Literal["euclidean", "sup"]  # of outcomes; slopes have the dual one, the sum of sizes for "sup"


@runtime_checkable
class Steep(Protocol):
    """Knows its Lipschitz constant in any units."""

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """The least known L with |f(y) - f(z)| <= L ||(y - z) / unit||, `(m)->`; infinite where there is none."""


def steepness(objective: Objective, unit: Floats, norm: Norm = "euclidean") -> float:
    """A constant L with |f(y) - f(z)| <= L ||(y - z) / unit||, `(m)->`; of `lipschitz` where nothing else is known.

    >>> from evenhand.objectives import Linear
    >>> steepness(Linear({"euros": 3.0, "hours": 4.0}), np.ones(2))
    5.0
    >>> steepness(Linear({"cents": 0.03, "hours": 4.0}), np.array([100.0, 1.0]))
    5.0
    """
    if isinstance(objective, Steep):
        return objective.steepness(unit, norm)
    spread = 1.0 if norm == "euclidean" else float(np.sqrt(len(unit)))
    return objective.lipschitz * float(unit.max()) * spread


def slope_norm(slope: Floats, norm: Norm) -> float:
    """The dual norm of a slope, `(m)->`.

    >>> slope_norm(np.array([3.0, -4.0]), "euclidean"), slope_norm(np.array([3.0, -4.0]), "sup")
    (5.0, 7.0)
    """
    return float(np.linalg.norm(slope, 2 if norm == "euclidean" else 1))
