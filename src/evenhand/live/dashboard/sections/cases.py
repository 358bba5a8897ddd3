"""The section on cases: how many came, and values that are out of range."""

from __future__ import annotations

from evenhand.live.dashboard.charts import bars
from evenhand.live.dashboard.counts import LATEST
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Key, Section, Table, percent
from evenhand.live.fold.cases import ranged_features
from evenhand.policy.status import CasePeriod


def cases(now: Readings) -> Section | None:
    """Show cases beside their forecast, and values out of range; None without a forecast and ranges."""
    cards = [card for card in (_traffic(now.status.traffic), _clipped(now)) if card is not None]
    return Section(name="cases", title="Cases", cards=cards) if cards else None


def _traffic(periods: tuple[CasePeriod, ...]) -> Card | None:
    """Show a bar per period, which is full at the largest number."""
    if not periods:
        return None
    most, now = max(1.0, *(z.came for z in periods), *(z.expected for z in periods)), periods[-1]
    words = f"{now.came:,.0f} cases since {now.start}, of {now.expected:,.0f} that are expected until {now.end}."
    lines = [
        (f"{z.start} to {z.end}", f"{z.came:,.0f}", f"{z.expected:,.0f}" if z.expected else "closed") for z in periods
    ]
    return Card(
        name="traffic",
        title="Cases and their forecast",
        summary=words,
        chart=bars(words, [(z.start, z.came / most, not z.over, f"{z.came:,.0f}/{z.expected:,.0f}") for z in periods]),
        keys=[Key("bar", "past"), Key("played", "now")],
        tables=[Table(("period", "came", "expected"), lines)],
    )


def _clipped(now: Readings) -> Card | None:
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
    return Card(name="clipped", title="Values out of range", summary=words, tables=[table])
