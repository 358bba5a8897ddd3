"""Choices turn values into plays and probabilities."""

from evenhand.choices.allocate import Allocate as Allocate
from evenhand.choices.base import Choice as Choice, Follows as Follows, Pick as Pick
from evenhand.choices.cycle import Cycle as Cycle
from evenhand.choices.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from evenhand.choices.fair_learn import FairLearn as FairLearn
from evenhand.choices.floored import Floored as Floored
from evenhand.choices.gibbs import Gibbs as Gibbs
from evenhand.choices.gradient_lottery import GradientLottery as GradientLottery
from evenhand.choices.greedy_ratio import GreedyRatio as GreedyRatio
from evenhand.choices.held_out import HeldOut as HeldOut
from evenhand.choices.inverse_gap import (
    InverseGap as InverseGap,
    OracleRate as OracleRate,
    Rate as Rate,
    Schedule as Schedule,
)
from evenhand.choices.linear_program import LinearProgram as LinearProgram
from evenhand.choices.lottery import Lottery as Lottery
from evenhand.choices.optimistic_program import OptimisticProgram as OptimisticProgram
from evenhand.choices.random import Random as Random
from evenhand.choices.staged import Staged as Staged
from evenhand.choices.top_k import TopK as TopK
from evenhand.choices.unbiased import Unbiased as Unbiased
from evenhand.core import registry

__all__ = registry.public(__name__)
