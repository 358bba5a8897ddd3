"""The sections of the page, a file each, in their order on it."""

from evenhand.live.dashboard.sections.actions import actions
from evenhand.live.dashboard.sections.base import Readings, Show
from evenhand.live.dashboard.sections.budgets import budgets
from evenhand.live.dashboard.sections.cases import cases
from evenhand.live.dashboard.sections.changes import changes
from evenhand.live.dashboard.sections.constraints import constraints
from evenhand.live.dashboard.sections.latest import latest
from evenhand.live.dashboard.sections.life import life
from evenhand.live.dashboard.sections.outcomes import outcomes

SECTIONS: tuple[Show, ...] = (budgets, constraints, actions, outcomes, cases, life, changes, latest)

__all__ = ["SECTIONS", "Readings"]
