"""Logs: turn a problem file and a CSV file into an environment, and replay policies on it."""

from evenhand.replay.measures import Run
from evenhand.replay.report import Replay
from evenhand.replay.run import replay_log

__all__ = ["Replay", "Run", "replay_log"]
