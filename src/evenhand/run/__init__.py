"""Runs of policies: the loop, its records, and the optimum to compare them with."""

from evenhand.core import registry
from evenhand.run.checkpoint import Checkpoints as Checkpoints
from evenhand.run.comparison import Comparison as Comparison, compare as compare
from evenhand.run.optimum import (
    opt as opt,
    opt_without_contexts as opt_without_contexts,
    price_bound as price_bound,
)
from evenhand.run.optimum_of_satisfaction import opt_satisfaction as opt_satisfaction
from evenhand.run.python_environment import Stepped as Stepped
from evenhand.run.python_policy import Wrapped as Wrapped
from evenhand.run.simulation import play as play, simulate as simulate
from evenhand.run.sweeps import Sweep as Sweep, sweep as sweep
from evenhand.run.theory import Theory as Theory, theory as theory
from evenhand.run.trace import Trace as Trace

__all__ = registry.public(__name__)
