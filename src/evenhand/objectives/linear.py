"""Weighted sums, the classical objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.norms import Norm
from evenhand.core.types import Floats
from evenhand.core.validate import number
from evenhand.objectives.base import check_finite, each, flat, total
from evenhand.objectives.steepness import slope_norm


@named("C7", source="the classical objective: a plain weighted sum")
@dataclass(frozen=True)
class Linear:
    """A weighted sum of average outcomes.

    Equation: f(z) = sum_i weight_i z_i, with z_i the average of outcome i per round.

    Raises:
        InvalidInput: the weights are not a mapping from names, are missing or not finite.

    >>> objective = Linear({"visit": 1.0, "spend": 0.1})
    >>> objective.outcomes, objective.weights["spend"]
    (('visit', 'spend'), 0.1)
    >>> objective.value(np.array([[0.5, 10.0], [0.25, 0.0]]))
    array([1.5 , 0.25])
    """

    weights: Mapping[str, float]
    smooth = True
    whole_space: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise InvalidInput("maximize", "a mapping from names of outcomes to weights", repr(self.weights))
        if not self.weights:
            raise InvalidInput("maximize", "at least one outcome with its weight", dict(self.weights))
        for name, weight in self.weights.items():
            if not isinstance(name, str):
                raise InvalidInput("maximize", "names of outcomes", repr(name))
            number(f"maximize[{name!r}]", weight, "a finite weight")

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(self.weights)

    @property
    def lipschitz(self) -> float:
        return float(np.linalg.norm(self._w))

    def check(self, z: Floats, place: str) -> None:
        check_finite(self.outcomes, z, place)

    def value(self, z: Floats) -> Floats:
        return total(flat(z) * self._w).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        return np.broadcast_to(self._w, z.shape).copy()

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Compute z + beta weights, `(m),()->(m)`."""
        return (flat(z) + each(beta, z)[:, None] * self._w).reshape(z.shape)

    def maximizer(self, theta: Floats, low: Floats | float = 0.0, high: Floats | float = 1.0) -> Floats:
        """Return the upper end if theta + weights is positive, else the lower end, `(m),(m),(m)->(m)`."""
        return np.where(theta + self._w > 0.0, high, low)

    def steepness(self, unit: Floats, norm: Norm) -> float:
        """Compute the dual norm of the weights per unit, `(m)->`."""
        return slope_norm(unit * self._w, norm)

    @cached_property
    def _w(self) -> Floats:
        return np.array(list(self.weights.values()), float)
