"""Goals: at any time an affine function of the outcomes, which moves as it learns; or a limit that holds always."""

from evenhand.goals.base import Cancels, Estimates, Learns, Limits, Plans, Priced, StepsAhead
from evenhand.goals.dual import Doubling, DualGradient, DualHedge, Steady, Step
from evenhand.goals.frank_wolfe import FrankWolfe
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.linear_reward import LinearReward
from evenhand.goals.primal import Primal
from evenhand.goals.resolving import Resolving
from evenhand.goals.two_stage import TwoStage

__all__ = [
    "Cancels",
    "Doubling",
    "DualGradient",
    "DualHedge",
    "Estimates",
    "FrankWolfe",
    "HardBudget",
    "Learns",
    "Limits",
    "LinearReward",
    "Plans",
    "Priced",
    "Primal",
    "Resolving",
    "Steady",
    "Step",
    "StepsAhead",
    "TwoStage",
]
