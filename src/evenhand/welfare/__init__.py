"""Welfare: concave satisfaction of arms within a round, and oracles that give each of many users one arm."""

from evenhand.welfare.base import Allocation, Oracle, Round
from evenhand.welfare.curves import (
    Capped,
    Curve,
    Curves,
    Linear,
    Logarithmic,
    PerArm,
    Piecewise,
    Power,
    satisfaction,
    tabulated,
)
from evenhand.welfare.greedy import Greedy
from evenhand.welfare.measure import Satisfaction, satisfaction_of
from evenhand.welfare.priced import Priced, certificate
from evenhand.welfare.proportional import Anyone, Proportional
from evenhand.welfare.sequential import Sequential

__all__ = [
    "Allocation",
    "Anyone",
    "Capped",
    "Curve",
    "Curves",
    "Greedy",
    "Linear",
    "Logarithmic",
    "Oracle",
    "PerArm",
    "Piecewise",
    "Power",
    "Priced",
    "Proportional",
    "Round",
    "Satisfaction",
    "Sequential",
    "certificate",
    "satisfaction",
    "satisfaction_of",
    "tabulated",
]
