"""The picture of several recipes within several budgets: differences with intervals, and the budgets that were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.replay.cells import SERVED, Cell, Difference
from evenhand.report import scales, style
from evenhand.report.style import Artist, Axes, Line2D

WIDTH, NAME = 5.0, 2.0  # inches of a panel, and of the names beside the first
HEADLINE = 11.5  # points
PAIRS = "by pairs of runs on the same rows"


def draw(
    cells: Sequence[Cell], beyond: Mapping[str, Sequence[Difference | None]], objective: str, headline: str
) -> list[Axes]:
    """Draw a panel of differences per recipe that others are compared with, and one of what was used and served."""
    names = [style.wrap(cell.name, NAME, style.LABEL) for cell in cells]
    tall = 0.34 * sum(len(name.split("\n")) for name in names) + 1.5
    figure, panels = style.sheet(len(beyond) + 1, len(beyond) + 1, WIDTH, tall, shared="y")
    for axes, (other, differences) in zip(panels, beyond.items(), strict=False):
        _differences(axes, differences)
        style.title(axes, f"{objective} per round beyond {other}", WIDTH)
        known = any(d is not None and d.low is not None for d in differences)
        style.labels(axes, f"bars: 95 %, {PAIRS}" if known else PAIRS, "", WIDTH, tall)
    legend = _used(panels[-1], cells)
    style.title(panels[-1], "used and served", WIDTH)
    style.labels(panels[-1], "part of the budget, or of the rounds", "", WIDTH, tall)
    panels[0].set_yticks(range(len(cells)), names, fontsize=style.LABEL)
    panels[0].set_ylim(len(cells) - 0.4, -0.6)
    style.finish(figure, headline, legend)
    width = figure.get_size_inches()[0] - 2 * style.EDGE
    figure.suptitle(style.wrap(headline, width, HEADLINE), fontsize=HEADLINE, color="black")
    style.literal(figure)
    return panels


def _differences(axes: Axes, differences: Sequence[Difference | None]) -> None:
    axes.axvline(0.0, color=style.LEVEL, lw=1.0)
    for i, d in enumerate(differences):
        if d is not None:
            reach = 0.0 if d.high is None else d.high - d.mean
            color = style.PALETTE[0] if d.told > 0 else style.PALETTE[1] if d.told < 0 else style.GREY
            axes.errorbar(d.mean, i, xerr=reach, fmt="o", color=color, capsize=3, ms=5, lw=2)
    scales.linear(axes.xaxis)


def _used(axes: Axes, cells: Sequence[Cell]) -> dict[str, Artist]:
    """Draw how much of each budget was used, and how many rounds were served; returns the legend."""
    legend: dict[str, Artist] = {}
    names = [name for name in cells[0].measures if name.endswith(" of budget")]
    axes.axvline(1.0, color=style.LEVEL, lw=1.0)
    for j, name in enumerate([*names, SERVED]):
        color, tall = (style.INK if name == SERVED else style.look(j).color), 0.7 / len(names) if names else 0.7
        for i, cell in enumerate(cells):
            if name == SERVED:
                axes.plot(cell.digest(name).mean, i, "d", color=color, ms=6)
            elif name in cell.measures:
                axes.barh(i - 0.35 + (j + 0.5) * tall, cell.digest(name).mean, tall, color=color, alpha=0.6)
        legend[name] = Line2D([], [], color=color, marker="d" if name == SERVED else "s", ls="none")
    axes.set_xlim(-0.02, max(1.05, axes.get_xlim()[1]))
    scales.linear(axes.xaxis)
    return legend
