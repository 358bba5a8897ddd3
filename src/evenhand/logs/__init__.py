"""Logs: a problem file and a CSV file into an environment, and the replay of policies on it."""

from evenhand.logs.measures import Run
from evenhand.logs.report import Replay
from evenhand.logs.run import replay

__all__ = ["Replay", "Run", "replay"]
