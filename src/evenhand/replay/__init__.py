"""Replays: build an environment from a problem file and a log, and run policies on it."""

from evenhand.logs.draft import Draft, draft
from evenhand.logs.log import Log, read_log
from evenhand.replay.comparison import Replays
from evenhand.replay.execution import Execution, Runs
from evenhand.replay.measures import Run
from evenhand.replay.report import Replay
from evenhand.replay.run import replay_log, replay_several

__all__ = [
    "Draft",
    "Execution",
    "Log",
    "Replay",
    "Replays",
    "Run",
    "Runs",
    "draft",
    "read_log",
    "replay_log",
    "replay_several",
]
