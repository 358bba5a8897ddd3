"""Experiments, one folder each: `__init__` declares the options and imports nothing heavy, `study` does the work."""

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
