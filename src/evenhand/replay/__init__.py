"""Replays: build an environment from a problem file and a CSV log, and run policies on it."""

from evenhand.replay.measures import Run
from evenhand.replay.report import Replay
from evenhand.replay.run import replay_log

__all__ = ["Replay", "Run", "replay_log"]
