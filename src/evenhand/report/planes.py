"""Pictures of two outcomes: paths of averages towards a region, and level lines of objectives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.types import Floats
from evenhand.objectives import Objective
from evenhand.report import scales, style
from evenhand.report.style import Axes

COLUMNS = 2  # which a narrow screen can show
PATHS = "line: averages over the rounds; dot: at the end; shaded: where they are to be"
PREFERENCES = (
    "lines: averages that are equally good, from dark to light the better; arrows: slopes, what the outcomes are worth"
)


def in_plane(paths: Mapping[str, Floats], region: Floats, names: tuple[str, str], headline: str = "") -> list[Axes]:
    """Draw averages of two outcomes over the rounds, `(G,2)` each, and the outline of their target region, `(n,2)`.

    Every path has its own panel; a dot marks its end.
    """
    figure, grid = style.sheet(len(paths), COLUMNS, 2.9, 3.1, shared="xy", square=True)
    for axes, (title, path) in zip(grid, paths.items(), strict=True):
        axes.fill(*region.T, color=style.GREY, alpha=0.25, lw=0)
        axes.plot(*region.T, color=style.GREY, lw=1)
        axes.plot(*path.T, color=style.PALETTE[0], lw=1.2)
        axes.plot(*path[-1], "o", color=style.PALETTE[0], mec="black", ms=6)
        style.title(axes, title, 1.7 + style.BESIDE, 9.0)
    ends = []
    for i in range(2):
        scale = scales.limits([np.concatenate([p[:, i] for p in paths.values()]), region[:, i]])
        ends.append(scales.pad(scale.low, scale.high))
    half = max(high - low for low, high in ends) / 2  # equal ranges make all panels square
    for axes in grid:
        axes.set_xlim(sum(ends[0]) / 2 - half, sum(ends[0]) / 2 + half)
        axes.set_ylim(sum(ends[1]) / 2 - half, sum(ends[1]) / 2 + half)
        axes.set_aspect("equal")
        scales.linear(axes.xaxis, ticks=4)
        scales.linear(axes.yaxis, ticks=4)
    figure.supylabel(
        style.wrap(f"average {names[1]}", float(figure.get_size_inches()[1]) - 0.5, style.LABEL), fontsize=style.LABEL
    )
    # a headline of one space makes room above, as titles of square panels may leave the sheet by points
    style.finish(figure, f"average {names[0]}\n{PATHS}", headline=headline or " ")
    return grid


def preferences(objectives: Mapping[str, Objective], points: int = 81, headline: str = "") -> list[Axes]:
    """Draw objectives of two outcomes: level lines over the unit square, and their gradients, which are the prices.

    `headline` states what is to be seen.
    """
    figure, grid = style.sheet(len(objectives), COLUMNS, 2.9, 2.9, square=True)
    ticks = np.linspace(0.01, 1.0, points)
    square = np.stack(np.meshgrid(ticks, ticks), -1)
    for axes, (title, objective) in zip(grid, objectives.items(), strict=True):
        axes.contour(ticks, ticks, objective.value(square), levels=14, cmap="viridis", linewidths=1)
        at = np.array([[x, y] for x in (0.2, 0.5, 0.8) for y in (0.2, 0.5, 0.8) if x != y])
        slope = objective.supergradient(at)
        length = np.linalg.norm(slope, axis=1)
        steep = length > 1e-9  # no arrow where the objective is flat
        slope = slope[steep] / length[steep, None]
        if steep.any():
            axes.quiver(*at[steep].T, *slope.T, color=style.PALETTE[1], width=0.008, scale=12)
        style.title(axes, title, 2.5 + style.BESIDE, style.LABEL)
        style.labels(axes, objective.outcomes[0], objective.outcomes[1], 2.9, 2.9)
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.0)
        scales.linear(axes.xaxis)
        scales.linear(axes.yaxis)
        axes.set_aspect("equal")
    style.finish(figure, PREFERENCES, headline=headline)
    return grid
