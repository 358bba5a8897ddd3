"""Replays: build an environment from a problem file and a CSV log, and run policies on it."""

from evenhand.replay.comparing import Replays
from evenhand.replay.execution import Execution, Runs
from evenhand.replay.measures import Run
from evenhand.replay.report import Replay
from evenhand.replay.run import replay_log
from evenhand.replay.several import replay_several

__all__ = ["Execution", "Replay", "Replays", "Run", "Runs", "replay_log", "replay_several"]
