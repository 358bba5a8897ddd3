"""Upper bounds as an objective, which decreases with the distance beyond them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.core.validate import numbers
from evenhand.objectives.base import check_finite, each, flat, outcome_names, total


@named("B5", source="Agrawal & Devanur 2014, Lemma 5.5: the distance to a convex set, here to an orthant")
@dataclass(frozen=True)
class ExcessPenalty:
    """Minus the Euclidean distance of average outcomes from the set where each is within its bound.

    Equation: f(z) = -||(z - bounds)_+||_2. Its Moreau envelope is the smooth distance of the source, beta being eta.

    Args:
        outcomes: what is bounded; the distance is in their units, so units decide which bound matters more.
        bounds: one per outcome.

    Raises:
        InvalidInput: no names, names twice, or not one finite bound per outcome.

    >>> within = ExcessPenalty(("hours", "money"), (0.8, 0.6))
    >>> within.value(np.array([[0.9, 0.1], [0.8, 0.6]]))
    array([-0.1,  0. ])
    >>> within.supergradient(np.array([0.9, 0.1]))
    array([-1.,  0.])
    """

    outcomes: tuple[str, ...]
    bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", outcome_names("ExcessPenalty", self.outcomes))
        m = len(self.outcomes)
        b = numbers("ExcessPenalty.bounds", self.bounds, m, f"{m} finite numbers, one per outcome")
        object.__setattr__(self, "bounds", tuple(b.tolist()))

    @property
    def smooth(self) -> bool:
        """False: it has a kink on the boundary."""
        return False

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0

    @property
    def whole_space(self) -> bool:
        """True."""
        return True

    def check(self, z: Floats, place: str) -> None:
        """Refuse averages that are not finite, `(m)->`."""
        check_finite(self.outcomes, z, place)

    def value(self, z: Floats) -> Floats:
        """Minus the distance, `(m)->()`."""
        return (0.0 - self._beyond(flat(z))[1]).reshape(z.shape[:-1])

    def supergradient(self, z: Floats) -> Floats:
        """The unit direction back to the bounds, 0 within them, `(m)->(m)`."""
        excess, far = self._beyond(flat(z))
        return np.asarray(0.0 - excess / np.where(far > 0.0, far, math.inf)[:, None]).reshape(z.shape)

    def prox(self, z: Floats, beta: Floats | float) -> Floats:
        """Move towards the bounds by beta, but not past them, `(m),()->(m)`."""
        rows = flat(z)
        excess, far = self._beyond(rows)
        step = each(beta, z)
        back = rows - (step / np.where(far > step, far, math.inf))[:, None] * excess
        return np.where((far > step)[:, None], back, np.minimum(rows, self._b)).reshape(z.shape)

    def envelope_gradient(self, z: Floats, beta: Floats | float) -> Floats:
        """The direction back to the bounds, shorter than 1 within beta of them, `(m),()->(m)`."""
        excess, far = self._beyond(flat(z))
        return np.asarray(0.0 - excess / np.maximum(far, each(beta, z))[:, None]).reshape(z.shape)

    def intercept(self, slope: Floats) -> Floats:
        """-slope.bounds: the support function h(phi) of {z <= bounds} at phi = -slope >= 0, `(m)->()`."""
        return (0.0 - total(flat(slope) * self._b)).reshape(slope.shape[:-1])

    def _beyond(self, rows: Floats) -> tuple[Floats, Floats]:
        """By how much each bound is exceeded, and the distance, `(m)->(m),()`."""
        excess = np.maximum(rows - self._b, 0.0)
        return excess, np.sqrt(total(excess * excess))

    @cached_property
    def _b(self) -> Floats:
        return np.array(self.bounds, float)
