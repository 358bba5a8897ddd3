"""The section on cases: how many came, whom they are about, and values that are out of range."""

from __future__ import annotations

from evenhand.live.dashboard.charts import bars
from evenhand.live.dashboard.counts import LATEST
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Key, Section, Table, percent
from evenhand.live.fold.cases import ranged_features
from evenhand.policy.status import CasePeriod
from evenhand.policy.units import UnitUse


def cases(now: Readings) -> Section | None:
    """Show cases beside their forecast, units and values out of range; None without a forecast, a unit and ranges."""
    each = (_traffic(now.status.traffic), _unit(now.status.unit), _clipped(now))
    cards = [card for card in each if card is not None]
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


def _unit(use: UnitUse | None) -> Card | None:
    """Show how often the caps of units were reached, and how often actions were kept; None without units."""
    if use is None:
        return None
    words = (
        f"{use.known:,} units are known, each by its {use.name!r}; there were {use.decisions:,} decisions for units."
    )
    rows = [(f"{z.outcome} at most {z.at_most:g} in {z.within}: reached", z.reached) for z in use.caps]
    rows += [(f"action kept for {use.sticky}", use.kept)] if use.sticky else []
    lines = [(text, f"{n:,}", percent(n / use.decisions if use.decisions else None)) for text, n in rows]
    table = Table(("", "decisions", "share"), lines, lines=True)
    return Card(name="unit", title=f"Caps and kept actions of each {use.name}", summary=words, tables=[table])


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
