"""The section on the latest decisions."""

from __future__ import annotations

from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Link, Section, Table, label, moment


def latest(now: Readings) -> Section:
    """Show the latest decisions, each with a link to its page if there is a server."""
    rows = [
        (
            Link(str(z.id), f"decisions/{z.id}/page") if now.linked else str(z.id),
            z.key,
            ", ".join(label(name) for name in z.actions),
            ", ".join("–" if p is None else f"{p:.3f}" for p in z.probabilities),
            z.state,
            moment(z.at),
        )
        for z in now.tally.recent.lines()
    ]
    head = ("number", "key", "action", "probability", "state", "decided (UTC)")
    tables = [Table(head, rows, texts=True)]
    words = "" if rows else "No decision yet."
    card = Card(name="last", title="The last 20, the newest first", summary=words, tables=tables, wide=True)
    return Section(name="latest", title="Latest decisions", cards=[card])
