"""Objectives: what a problem maximises, as a concave function of the average outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.errors import InvalidInput
from evenhand.system import system


@system("C7", source="the classical objective: a plain weighted sum")
@dataclass(frozen=True)
class Linear:
    """A weighted sum of average outcomes.

    Equation: f(z) = sum_i weight_i z_i, with z_i the average of outcome i per round.

    Raises:
        InvalidInput: no weights, or one that is not finite.

    >>> Linear({"visit": 1.0, "spend": 0.1}).weights["spend"]
    0.1
    """

    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.weights:
            raise InvalidInput("maximize", "at least one outcome with its weight", dict(self.weights))
        for name, weight in self.weights.items():
            if not math.isfinite(weight):
                raise InvalidInput(f"maximize[{name!r}]", "a finite weight", weight)
