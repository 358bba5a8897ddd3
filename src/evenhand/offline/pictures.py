"""The pictures of a curve, with bands and differences, and of a list, with the shares of its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.offline.curve_page import Drawn
from evenhand.offline.scores import Z
from evenhand.offline.used import Averages
from evenhand.report import style
from evenhand.report.style import Artist, Axes

WIDTH, HEIGHT = 5.6, 3.8  # of a panel, in inches


def draw(curve: Drawn) -> list[Axes]:
    """Draw a curve, and the differences beside it."""
    names = [line.name for line in curve.lines]
    looks = style.looks(names, names[0], ())
    panels = 2 if len(names) > 1 else 1
    figure, axes = style.sheet(panels, panels, WIDTH, HEIGHT)
    legend: dict[str, Artist] = {}
    for i, (line, look) in enumerate(zip(curve.lines, looks, strict=True)):
        _band(axes[0], curve.budgets, line.value, look, filled=i == 0)
        legend[line.name] = look.line()
        if i:
            _band(axes[1], curve.budgets, line.less, look, filled=len(names) <= 3)
    style.title(axes[0], f"{curve.objective} per case, by {curve.spent} allowed per case", WIDTH)
    style.labels(axes[0], f"{curve.spent} per case at most", f"{curve.objective} per case", WIDTH, HEIGHT)
    if panels > 1:
        axes[1].axhline(0.0, color=style.LEVEL, lw=1.0)
        style.title(axes[1], f"what {names[0]} brings beyond the others", WIDTH)
        style.labels(axes[1], f"{curve.spent} per case at most", f"{curve.objective} per case", WIDTH, HEIGHT)
    for panel in axes:
        if curve.budgets[0] <= curve.stated <= curve.budgets[-1]:
            panel.axvline(curve.stated, color=style.GREY, lw=1.0, ls=":")
    caption = f"bands: 95 % at each budget alone, for the population behind the {curve.rows:,} rows of the log"
    caption += "; dotted: the budget of the file"
    style.finish(figure, caption, legend)
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


def _band(
    axes: Axes, budgets: Sequence[float], values: Sequence[tuple[float, float]], look: style.Look, *, filled: bool
) -> None:
    mean, se = np.array(values).T
    axes.plot(budgets, mean, color=look.color, lw=look.width)
    style.set_dashes(axes.lines[-1], look.dashes)
    low, high = mean - Z * se, mean + Z * se
    if filled:
        axes.fill_between(budgets, low, high, color=look.color, alpha=0.15, lw=0)
    else:
        axes.errorbar(budgets, mean, yerr=Z * se, fmt="none", ecolor=look.color, elinewidth=0.6, alpha=0.6)
