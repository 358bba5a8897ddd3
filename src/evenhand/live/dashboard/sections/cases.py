"""The section on cases: values that are out of range."""

from __future__ import annotations

from evenhand.live.dashboard.counts import LATEST
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Section, Table, percent
from evenhand.live.fold.cases import ranged_features


def cases(now: Readings) -> Section | None:
    """Show how many values counted as others, by feature; None if features have no ranges."""
    names, clipped = ranged_features(now.campaign.encoder), now.tally.clipped
    if not names:
        return None
    lately = {name: (n, whole) for name, n, whole in clipped.latest()}
    rows = []
    for name in names:
        n, whole = lately.get(name, (0, 1))
        rows.append((name, f"{clipped.counts[name]:,}", percent(n / whole)))
    words = (
        "A number out of its range counts as the nearest end, and a text that is not a level as the level for others."
    )
    table = Table(("feature", "out of range", f"of the latest {LATEST:,}"), rows)
    card = Card(name="clipped", title="Values out of range", summary=words, tables=[table])
    return Section(name="cases", title="Cases", cards=[card])
