"""Welfare: concave satisfaction of arms within a round, and oracles that give each of many users one arm."""

from evenhand.welfare.base import Allocation, Oracle, Round
from evenhand.welfare.continuous_greedy import ContinuousGreedy
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
from evenhand.welfare.exact import Exact
from evenhand.welfare.linear_program import bound
from evenhand.welfare.rounded import Rounded

__all__ = [
    "Allocation",
    "Capped",
    "ContinuousGreedy",
    "Curve",
    "Curves",
    "Exact",
    "Linear",
    "Logarithmic",
    "Oracle",
    "PerArm",
    "Piecewise",
    "Power",
    "Round",
    "Rounded",
    "bound",
    "satisfaction",
    "tabulated",
]
