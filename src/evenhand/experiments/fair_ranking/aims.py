"""The objectives of Do et al. 2023: the users' utility plus beta times an objective of the items' exposures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, Moreau, Objective, WeightedSum

CLICK = "click"
SMOOTHING = Moreau(1.0)  # the paper's beta_0 = 1
POWER = 0.5
OFFSET = 1e-3  # bounds the slope of the welfare for items that were never exposed


class Aim(NamedTuple):
    """An objective f = utility + beta f_item."""

    name: str
    beta: float
    of_items: Objective
    smoothing: Moreau | None

    @property
    def objective(self) -> WeightedSum:
        return WeightedSum(((1.0, Linear({CLICK: 1.0})), (self.beta, self.of_items)))


def inequality(exposures: Sequence[str], beta: float = 1.0) -> Aim:
    """Return the objective of equation 2: f_item is minus the mean absolute difference of exposures."""
    return Aim("eq. 2", beta, GeneralizedGini.difference(exposures), SMOOTHING)


def aim(name: str, exposures: Sequence[str]) -> Aim:
    """Return an objective of Section 5 and Appendix B.1 by name, at the paper's beta.

    >>> aim("gini welfare", ("a", "b")).objective.outcomes
    ('click', 'a', 'b')
    """
    m = len(exposures)
    if name == "eq. 2":
        return inequality(exposures)
    if name == "gini welfare":
        weights = tuple((m - j) / m for j in range(m))
        return Aim(name, 0.5, GeneralizedGini(tuple(exposures), weights), SMOOTHING)
    if name == "equal exposure":
        return Aim(name, 0.5, EqualExposure(tuple(exposures)), SMOOTHING)
    return Aim(name, 0.5, AlphaFair.welfare(exposures, POWER, OFFSET), None)
