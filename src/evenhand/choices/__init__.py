"""Choices turn values into plays and probabilities."""

from evenhand.choices.allocate import Allocate
from evenhand.choices.base import Choice, Follows, Pick
from evenhand.choices.cycle import Cycle
from evenhand.choices.epsilon_greedy import EpsilonGreedy
from evenhand.choices.fair_learn import FairLearn
from evenhand.choices.gibbs import Gibbs
from evenhand.choices.gradient_lottery import GradientLottery
from evenhand.choices.greedy_ratio import GreedyRatio
from evenhand.choices.inverse_gap import InverseGap, Rate
from evenhand.choices.linear_program import LinearProgram
from evenhand.choices.lottery import Lottery
from evenhand.choices.optimistic_program import OptimisticProgram
from evenhand.choices.random import Random
from evenhand.choices.schedules import OracleRate, Schedule
from evenhand.choices.staged import Staged
from evenhand.choices.top_k import TopK
from evenhand.choices.unbiased import Unbiased

__all__ = [
    "Allocate",
    "Choice",
    "Cycle",
    "EpsilonGreedy",
    "FairLearn",
    "Follows",
    "Gibbs",
    "GradientLottery",
    "GreedyRatio",
    "InverseGap",
    "LinearProgram",
    "Lottery",
    "OptimisticProgram",
    "OracleRate",
    "Pick",
    "Random",
    "Rate",
    "Schedule",
    "Staged",
    "TopK",
    "Unbiased",
]
