"""Replays: build an environment from a problem file and a log, and run policies on it."""

from evenhand.core import registry
from evenhand.logs.draft import Draft as Draft, draft as draft
from evenhand.logs.log import Log as Log, read_log as read_log
from evenhand.replay.comparison import Replays as Replays
from evenhand.replay.execution import Execution as Execution, Runs as Runs
from evenhand.replay.measures import Run as Run
from evenhand.replay.report import Replay as Replay
from evenhand.replay.run import replay_log as replay_log, replay_several as replay_several

__all__ = registry.public(__name__)
