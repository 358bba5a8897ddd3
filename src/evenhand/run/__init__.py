"""Runs of policies: the loop, its records, and the optimum to compare them with."""

from evenhand.run.checkpoint import Checkpoints
from evenhand.run.comparison import Comparison, compare
from evenhand.run.optimum import opt, opt_without_contexts
from evenhand.run.optimum_of_satisfaction import opt_satisfaction
from evenhand.run.simulation import play, simulate
from evenhand.run.sweeps import Sweep, sweep
from evenhand.run.trace import Trace

__all__ = [
    "Checkpoints",
    "Comparison",
    "Sweep",
    "Trace",
    "compare",
    "opt",
    "opt_satisfaction",
    "opt_without_contexts",
    "play",
    "simulate",
    "sweep",
]
