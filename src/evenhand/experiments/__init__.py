"""Experiments, a folder each: `__init__` has its options and imports nothing heavy; what it runs is beside it."""

from evenhand.experiments.experiment import (
    Case,
    Experiment,
    Point,
    Run,
    Section,
    Session,
    discover,
    find,
)
from evenhand.experiments.options import option

__all__ = ["Case", "Experiment", "Point", "Run", "Section", "Session", "discover", "find", "option"]
