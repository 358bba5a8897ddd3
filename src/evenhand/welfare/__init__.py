"""Welfare: concave satisfaction of arms within a round, and oracles that allocate an arm to each user."""

from evenhand.core import registry
from evenhand.welfare.base import Allocation as Allocation, Oracle as Oracle, Round as Round
from evenhand.welfare.continuous_greedy import ContinuousGreedy as ContinuousGreedy
from evenhand.welfare.curves import (
    Capped as Capped,
    Curve as Curve,
    Curves as Curves,
    Linear as Linear,
    Logarithmic as Logarithmic,
    PerArm as PerArm,
    Piecewise as Piecewise,
    Power as Power,
    satisfaction as satisfaction,
    tabulated as tabulated,
)
from evenhand.welfare.exact import Exact as Exact
from evenhand.welfare.greedy import Greedy as Greedy
from evenhand.welfare.linear_program import bound as bound
from evenhand.welfare.measure import Satisfaction as Satisfaction, satisfaction_of as satisfaction_of
from evenhand.welfare.priced import Priced as Priced, certificate as certificate
from evenhand.welfare.proportional import Anyone as Anyone, Proportional as Proportional
from evenhand.welfare.rounded import Rounded as Rounded
from evenhand.welfare.sequential import Sequential as Sequential

__all__ = registry.public(__name__)
