"""The picture of a comparison: differences with intervals, and what was used of limits, with a title that says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evenhand.report import rows, scales, style
from evenhand.report.intervals import BOUNDS, Interval
from evenhand.report.style import Artist, Axes, Line2D


class Panel(NamedTuple):
    """Differences of all systems to one system; None if there is none."""

    title: str
    below: str
    found: Sequence[Interval | None]


class Uses(NamedTuple):
    """Fractions of limits that every system used, by limit: as bars, except those drawn as marks."""

    title: str
    below: str
    bars: Mapping[str, Sequence[float | None]]
    marks: Mapping[str, Sequence[float | None]] = {}


def draw(names: Sequence[str], panels: Sequence[Panel], uses: Uses | None, headline: str) -> list[Axes]:
    """Draw a panel per comparison, and one of the use of limits."""
    figure, sheet = rows.sheet(names, len(panels) + (uses is not None))
    for axes, panel in zip(sheet, panels, strict=False):
        differences(axes, panel)
    legend = {} if uses is None else used(sheet[-1], uses)
    style.finish(figure, legend=legend, headline=headline)
    return sheet


def differences(axes: Axes, panel: Panel) -> None:
    """Draw a dot per difference with its interval, or a ring with bounds; those that leave out 0 are coloured."""
    axes.axvline(0.0, color=style.LEVEL, lw=1.0)
    for i, d in enumerate(panel.found):
        if d is not None:
            color = style.PALETTE[0] if d.told > 0 else style.PALETTE[1] if d.told < 0 else style.GREY
            if d.kind == BOUNDS and d.low is not None and d.high is not None:
                axes.plot([d.low, d.high], [i, i], ls=":", color=color, lw=2, scalex=False)
                axes.plot(d.mean, i, "o", mfc="none", color=color, ms=5)
                continue
            reach = [[d.mean - (d.mean if d.low is None else d.low)], [(d.mean if d.high is None else d.high) - d.mean]]
            axes.errorbar(d.mean, i, xerr=reach, fmt="o", color=color, capsize=3, ms=5, lw=2)
    scales.linear(axes.xaxis)
    rows.entitle(axes, panel.title, panel.below)


def used(axes: Axes, uses: Uses) -> dict[str, Artist]:
    """Draw how much of each limit was used; returns the legend."""
    legend: dict[str, Artist] = {}
    axes.axvline(1.0, color=style.LEVEL, lw=1.0)
    tall = 0.7 / len(uses.bars) if uses.bars else 0.7
    for j, (name, parts) in enumerate(uses.bars.items()):
        color = style.look(j).color
        for i, part in enumerate(parts):
            if part is not None:
                axes.barh(i - 0.35 + (j + 0.5) * tall, part, tall, color=color, alpha=0.6)
        legend[name] = Line2D([], [], color=color, marker="s", ls="none")
    for name, parts in uses.marks.items():
        for i, part in enumerate(parts):
            if part is not None:
                axes.plot(part, i, "d", color=style.INK, ms=6)
        legend[name] = Line2D([], [], color=style.INK, marker="d", ls="none")
    axes.set_xlim(-0.02, max(1.05, axes.get_xlim()[1]))
    scales.linear(axes.xaxis)
    rows.entitle(axes, uses.title, uses.below)
    return legend
