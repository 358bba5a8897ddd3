"""Pictures of two outcomes: paths of averages towards a region."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.core.types import Floats
from evenhand.report import scales, style
from evenhand.report.style import Axes

COLUMNS = 2  # which a narrow screen can show
PATHS = "line: averages over the rounds; dot: at the end; shaded: where they are to be"


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
