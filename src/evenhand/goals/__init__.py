"""Goals: at any time an affine function of the outcomes, which moves as it learns; or a limit that holds always."""

from evenhand.goals.base import Estimate, Learns, Limits, Priced, StepsAhead
from evenhand.goals.dual import Doubling, DualGradient, Steady, Step
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.linear import Linear

__all__ = [
    "Doubling",
    "DualGradient",
    "Estimate",
    "HardBudget",
    "Learns",
    "Limits",
    "Linear",
    "Priced",
    "Steady",
    "Step",
    "StepsAhead",
]
