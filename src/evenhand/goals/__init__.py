"""Goals: each prices outcomes by an affine function, which may change over time, or is a limit that always holds."""

from evenhand.core import registry
from evenhand.goals.base import (
    Cancels as Cancels,
    Compares as Compares,
    Estimates as Estimates,
    Learns as Learns,
    Limits as Limits,
    Plans as Plans,
    Priced as Priced,
    StepsAhead as StepsAhead,
)
from evenhand.goals.comparison import Compared as Compared
from evenhand.goals.dual import DualGradient as DualGradient, DualHedge as DualHedge
from evenhand.goals.fenchel import Fenchel as Fenchel
from evenhand.goals.frank_wolfe import FrankWolfe as FrankWolfe, objective_goal as objective_goal
from evenhand.goals.hard_budget import HardBudget as HardBudget
from evenhand.goals.hard_credit import HardCredit as HardCredit
from evenhand.goals.hard_limits import hard_limits as hard_limits
from evenhand.goals.hard_spans import HardSpans as HardSpans
from evenhand.goals.linear_reward import Intervals as Intervals, LinearReward as LinearReward
from evenhand.goals.lyapunov import Lyapunov as Lyapunov
from evenhand.goals.mirrors import Descent as Descent, Entropic as Entropic, PowerBall as PowerBall
from evenhand.goals.primal import Primal as Primal
from evenhand.goals.resolving import Resolving as Resolving
from evenhand.goals.steps import Doubling as Doubling, Falling as Falling, Steady as Steady, Step as Step
from evenhand.goals.two_stage import TwoStage as TwoStage

__all__ = registry.public(__name__)
