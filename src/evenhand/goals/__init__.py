"""Goals: each prices outcomes by an affine function, which may change over time, or is a limit that always holds."""

from evenhand.goals.base import Cancels, Estimates, Learns, Limits, Plans, Priced, StepsAhead
from evenhand.goals.dual import DualGradient, DualHedge
from evenhand.goals.fenchel import Fenchel
from evenhand.goals.frank_wolfe import FrankWolfe
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.hard_limits import hard_limits
from evenhand.goals.hard_spans import HardSpans
from evenhand.goals.intervals import Intervals
from evenhand.goals.linear_reward import LinearReward
from evenhand.goals.lyapunov import Lyapunov
from evenhand.goals.mirrors import Descent, Entropic, PowerBall
from evenhand.goals.objective_goal import objective_goal
from evenhand.goals.primal import Primal
from evenhand.goals.resolving import Resolving
from evenhand.goals.steps import Doubling, Falling, Steady, Step
from evenhand.goals.two_stage import TwoStage

__all__ = [
    "Cancels",
    "Descent",
    "Doubling",
    "DualGradient",
    "DualHedge",
    "Entropic",
    "Estimates",
    "Falling",
    "Fenchel",
    "FrankWolfe",
    "HardBudget",
    "HardSpans",
    "Intervals",
    "Learns",
    "Limits",
    "LinearReward",
    "Lyapunov",
    "Plans",
    "PowerBall",
    "Priced",
    "Primal",
    "Resolving",
    "Steady",
    "Step",
    "StepsAhead",
    "TwoStage",
    "hard_limits",
    "objective_goal",
]
