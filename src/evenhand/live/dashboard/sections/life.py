"""The section on the life of the campaign: who paused, resumed, ended, changed or restored it, when and why."""

from __future__ import annotations

from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Section, Table, duration, moment
from evenhand.live.log.events import Event, read
from evenhand.live.log.ids import Restored
from evenhand.live.log.life import SETTINGS


def life(now: Readings) -> Section | None:
    """Show the latest changes, the newest first, and the settings in force."""
    changes, settings = now.tally.changes, now.tally.life
    if not changes:
        return None
    head = ("event", "what", "when (UTC)", "by", "why")
    rows = [(str(e.seq), _what(e), moment(read(e).get("time", e.at)), read(e)["by"], read(e)["why"]) for e in changes]
    words = (
        f"Patience is {duration(settings.patience)}; decisions that expire are treated as {settings.on_expiry!r} says."
    )
    if settings.retention != "off":
        words += f" Cases and keys are {settings.retention_text}."
    tables = [Table(head, rows, texts=True)]
    card = Card(name="changes", title="The last 20 changes, the newest first", summary=words, tables=tables, wide=True)
    return Section(name="life", title="The life of the campaign", cards=[card])


def _what(event: Event) -> str:
    if event.kind == "restored":
        return f"restored: {Restored.of(event).gap}"
    body = read(event)
    new = [f"{name.replace('_', ' ')} {body[name]}" for name in SETTINGS if name in body]
    return f"{event.kind}: {', '.join(new)}" if new else event.kind
