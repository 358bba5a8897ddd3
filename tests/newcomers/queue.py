"""The section on decisions that wait for their outcome."""

from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Section, Table


def queue(now: Readings) -> Section:
    """Show how many decisions wait for their outcome."""
    rows = [("decided", f"{now.status.rounds:,}"), ("waiting", f"{now.status.waiting:,}")]
    words = f"{now.status.waiting:,} of {now.status.rounds:,} rounds wait."
    card = Card(name="waiting", title="Waiting", summary=words, tables=[Table(("rounds", "number"), rows)])
    return Section(name="queue", title="Queue", cards=[card])
