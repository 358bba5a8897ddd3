"""The section on the switches of the campaign to other policies."""

from __future__ import annotations

from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Section, Table, moment


def changes(now: Readings) -> Section | None:
    """Show who switched the campaign to which policy, when and why; None if nobody did."""
    found = now.tally.switches
    if not found:
        return None
    rows = [
        (
            str(z.number),
            moment(z.at),
            z.policy,
            z.adoption.replace("the state", "its state"),
            z.by or "–",
            z.why or "–",
        )
        for z in reversed(found)
    ]
    head = ("event", "when (UTC)", "policy", "took over", "by", "why")
    tables = [Table(head, rows, texts=True)]
    card = Card(name="switches", title="Other policies, the newest first", tables=tables, wide=True)
    return Section(name="changes", title="Changes", cards=[card])
