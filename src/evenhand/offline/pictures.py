"""The pictures of a curve, with bands and differences, and of a list, with the shares of its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.types import Floats
from evenhand.offline.curve_page import Drawn, headline
from evenhand.offline.lines import Line
from evenhand.offline.plans import Averages
from evenhand.offline.scores import Estimate
from evenhand.report import ends, style
from evenhand.report.style import Artist, Axes

WIDTH = 5.6  # of a panel of a list, in inches
WIDE, TALL = 4.6, 3.4  # of a panel of a curve without names beside it
INSIDE = 1.1  # inches of its height that its title and labels take


def draw(curve: Drawn) -> list[Axes]:
    """Draw a curve, and the differences below it, with names at the ends of lines, or else in a legend."""
    names = [line.name for line in curve.lines]
    looks = style.looks(names, names[0], ())
    panels = 2 if len(names) > 1 else 1
    beside = ends.fit(names, TALL - INSIDE)
    figure, axes = style.sheet(panels, 1, WIDE + (ends.width(names) if beside else 0.0), TALL)
    for i, (line, look) in enumerate(zip(curve.lines, looks, strict=True)):
        _band(axes[0], curve.budgets, line.value, look, filled=i == 0)
        if i:
            _band(axes[1], curve.budgets, line.less, look, filled=len(names) <= 3)
    style.title(axes[0], f"{curve.objective} per case, by {curve.spent} allowed per case", WIDE)
    style.labels(axes[0], f"{curve.spent} per case at most", f"{curve.objective} per case", WIDE, TALL)
    if panels > 1:
        axes[1].axhline(0.0, color=style.LEVEL, lw=1.0)
        style.title(axes[1], f"what {names[0]} brings beyond the others", WIDE)
        style.labels(axes[1], f"{curve.spent} per case at most", f"{curve.objective} per case", WIDE, TALL)
    for panel in axes:
        if curve.budgets[0] <= curve.stated <= curve.budgets[-1]:
            panel.axvline(curve.stated, color=style.GREY, lw=1.0, ls=":")
    if beside:
        for panel, lines, read in zip(axes, (curve.lines, curve.lines[1:]), (_values, _less), strict=False):
            those = looks[len(looks) - len(lines) :]
            found = ends.of([z.name for z in lines], those, len(lines) * [curve.budgets], [read(z) for z in lines])
            ends.write(panel, found, TALL - INSIDE)
    caption = f"bands: 95 % at each budget alone, for the population behind the {curve.rows:,} rows of the log"
    caption += "; dotted: the budget of the file"
    legend: dict[str, Artist] | None = None if beside else {n: z.line() for n, z in zip(names, looks, strict=True)}
    style.finish(figure, caption, legend, headline=headline(curve))
    return axes


def draw_shares(shares: Mapping[str, float], parities: Sequence[Averages], headline: str) -> list[Axes]:
    """Draw the share of cases with each action, and the averages of groups under a parity."""
    panels = {"share of cases": shares} | {f"{z.outcome} per case, by {z.by}": z.averages for z in parities}
    figure, axes = style.sheet(len(panels), len(panels), WIDTH, 1.5 + 0.34 * max(map(len, panels.values())))
    for panel, (name, bars) in zip(axes, panels.items(), strict=True):
        panel.barh(range(len(bars)), list(bars.values()), 0.6, color=style.PALETTE[0])
        panel.set_yticks(range(len(bars)), [style.wrap(z, 2.0, style.LABEL) for z in bars], fontsize=style.LABEL)
        panel.set_ylim(len(bars) - 0.4, -0.6)
        for label in panel.get_yticklabels():
            label.set_parse_math(False)
        style.title(panel, name, WIDTH)
    style.finish(figure, headline=headline)
    return axes


def _values(line: Line) -> Floats:
    return np.array([z.value for z in line.value])


def _less(line: Line) -> Floats:
    return np.array([z.value for z in line.less])


def _band(axes: Axes, budgets: Sequence[float], values: Sequence[Estimate], look: style.Look, *, filled: bool) -> None:
    mean = [z.value for z in values]
    axes.plot(budgets, mean, color=look.color, lw=look.width)
    style.set_dashes(axes.lines[-1], look.dashes)
    low, high = np.array([z.interval for z in values]).T
    if filled:
        axes.fill_between(budgets, low, high, color=look.color, alpha=0.15, lw=0)
    else:
        axes.vlines(budgets, low, high, color=look.color, lw=0.6, alpha=0.6)
