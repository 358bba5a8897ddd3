"""Welfare: concave satisfaction of arms within a round, and oracles that allocate an arm to each user."""

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
from evenhand.welfare.greedy import Greedy
from evenhand.welfare.linear_program import bound
from evenhand.welfare.measure import Satisfaction, satisfaction_of
from evenhand.welfare.priced import Priced, certificate
from evenhand.welfare.proportional import Anyone, Proportional
from evenhand.welfare.rounded import Rounded
from evenhand.welfare.sequential import Sequential

__all__ = [
    "Allocation",
    "Anyone",
    "Capped",
    "ContinuousGreedy",
    "Curve",
    "Curves",
    "Exact",
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
    "Rounded",
    "Satisfaction",
    "Sequential",
    "bound",
    "certificate",
    "satisfaction",
    "satisfaction_of",
    "tabulated",
]
