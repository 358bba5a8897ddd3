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
from evenhand.welfare.measure import Satisfaction, satisfaction_of

__all__ = [
    "Allocation",
    "Capped",
    "Curve",
    "Curves",
    "Linear",
    "Logarithmic",
    "Oracle",
    "PerArm",
    "Piecewise",
    "Power",
    "Round",
    "Satisfaction",
    "satisfaction",
    "satisfaction_of",
    "tabulated",
]
