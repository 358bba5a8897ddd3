"""The picture of the ends of runs: the gain and use of each policy, with its worst replica beside the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.report import scales, style
from evenhand.report.limits import exceeds
from evenhand.report.style import Artist, Axes, Figure, Line2D

_MEAN, _WORST, _OVER = "mean ± 2 standard errors", "worst replica", "worst replica, beyond the limit"
_LIMIT, _BEST = "limit", "optimum"
WIDTH, NAME = 5.8, 1.9  # inches of a sheet, and of the names at its left
ROW, AROUND = 0.3, 1.05  # inches of a row, and of the title and the labels of a panel
_FREE = 2.6  # inches that names and notes leave to titles


class Column(NamedTuple):
    """A number of every policy and replica.

    Args:
        title: what it is.
        below: its unit.
        values: by policy, `(R)`.
        worst: which replica is the worst.
        limit: that a policy should keep, None if there is none.
        best: the most that is possible, None if that is not known.
    """

    title: str
    below: str
    values: Sequence[Floats]
    worst: Literal["low", "high"]
    limit: float | None = None
    best: float | None = None

    def n_beyond(self, i: int) -> int:
        """Count the replicas of a policy that are beyond the limit."""
        return 0 if self.limit is None else int(exceeds(self.values[i], self.limit, self.worst).sum())

    def runs(self, i: int) -> int:
        """Count the replicas of a policy that have a number."""
        return int(np.isfinite(self.values[i]).sum())

    def mean(self, i: int) -> float:
        """Average the replicas of a policy that have a number, NaN if none has."""
        found = self.values[i][np.isfinite(self.values[i])]
        return float(found.mean()) if len(found) else float("nan")


def runs(count: int) -> str:
    """Write a number of runs."""
    return f"{count} run" if count == 1 else f"{count} runs"


def draw(
    names: Sequence[str], columns: Sequence[Column], headline: str, main: str = "", caption: str = ""
) -> list[Axes]:
    """Draw a panel per column with a line per policy; the main policy is in the first colour."""
    figure, sheet = _sheet(names, len(columns), main)
    legend: dict[str, Artist] = {_MEAN: Line2D([], [], color=style.GREY, marker="o", lw=2)}
    for axes, column in zip(sheet, columns, strict=True):
        for i, name in enumerate(names):
            legend |= _line(axes, i, column, style.PALETTE[0] if name == main else style.GREY)
        if column.limit is not None:
            legend[_LIMIT] = axes.axvline(column.limit, color=style.LEVEL, lw=1.0)
        if column.best is not None:
            legend[_BEST] = axes.axvline(column.best, color=style.LEVEL, lw=1.0, ls=":")
        scales.linear(axes.xaxis)
        _entitle(axes, column.title, column.below)
    style.finish(figure, caption, legend, headline=headline)
    return sheet


def _line(axes: Axes, i: int, column: Column, color: str) -> Mapping[str, Artist]:
    """Draw a policy's mean and its worst replica; returns the legend."""
    values = column.values[i][np.isfinite(column.values[i])]
    if not len(values):
        return {}
    error = 2.0 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    axes.errorbar(values.mean(), i, xerr=error, fmt="o", color=color, capsize=3, ms=7, lw=2, zorder=3)
    over = column.n_beyond(i)
    if len(values) == 1 and not over:
        return {}
    worst = values.max() if column.worst == "high" else values.min()
    mark, label = (style.PALETTE[1], _OVER) if over else (color, _WORST)
    axes.plot(worst, i, "x" if over else "|", color=mark, ms=8 if over else 9, mew=2, zorder=4)
    if len(values) > 1:
        axes.plot([values.mean(), worst], [i, i], color=mark, lw=0.8, alpha=0.6, zorder=2)
    if over:
        said = f"{over} of {runs(len(column.values[i]))}"  # beside the panel, where no mark can be
        at, where, red = (1.02, i), ("axes fraction", "data"), style.PALETTE[1]
        axes.annotate(said, at, xycoords=where, va="center", fontsize=style.TICK, color=red, annotation_clip=False)
    own = Line2D(
        [], [], color=style.PALETTE[1] if over else style.GREY, marker="x" if over else "|", ms=8, mew=2, ls="none"
    )
    return {label: own}


def _sheet(names: Sequence[str], panels: int, main: str = "") -> tuple[Figure, list[Axes]]:
    """Make a sheet of panels with a row per name; the main name is bold."""
    wrapped = [style.wrap(name, NAME, style.LABEL) for name in names]
    tall = ROW * sum(max(1.0, 0.6 * len(name.split("\n"))) for name in wrapped) + AROUND
    figure, every = style.sheet(panels, 1, WIDTH, tall, shared="y")
    for axes in every:
        axes.set_yticks(range(len(wrapped)), wrapped, fontsize=style.LABEL)
        for label, name in zip(axes.get_yticklabels(), names, strict=True):
            label.set_parse_math(False)
            label.set_fontweight("bold" if name == main else "normal")
    every[0].set_ylim(len(wrapped) - 0.4, -0.6)
    return figure, every


def _entitle(axes: Axes, title: str, below: str) -> None:
    """Write the title of a panel, and what its numbers are below it."""
    style.title(axes, title, _FREE + style.BESIDE)
    style.labels(axes, below, "", _FREE + style.BESIDE, 3.0)
