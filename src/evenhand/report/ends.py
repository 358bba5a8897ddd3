"""Names at the ends of curves, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.numerics.isotonic import pool
from evenhand.report import style
from evenhand.report.style import Axes, ConnectionPatch, Look, ScaledTranslation

ROOM = 1.5  # inches of a name
_TALL = style.CAPTION * 1.25 / 72.0  # inches of a line of text
_AWAY = 0.22  # inches between the axes and the names
_EARLY = 0.85  # of the width of the axes: curves that end before it are led to their names by dots


class End(NamedTuple):
    """The name and the look of a curve, and its last point; NaN if it has none."""

    name: str
    look: Look
    x: float = float("nan")
    y: float = float("nan")


def fit(names: Sequence[str], inches: float) -> bool:
    """Say whether names fit below one another beside axes of a height."""
    return _TALL * sum(len(_wrap(name).split("\n")) for name in names) <= inches


def width(names: Sequence[str]) -> float:
    """Measure the inches that the widest name takes beside axes, with an edge."""
    return (
        _AWAY
        + style.EDGE
        + max(style.width_of(line, style.CAPTION) for name in names for line in _wrap(name).split("\n"))
    )


def of(names: Sequence[str], looks: Sequence[Look], at: Sequence[Any], values: Sequence[Floats]) -> list[End]:
    """Return the ends of curves over some places."""
    found = []
    for name, look, x, y in zip(names, looks, at, values, strict=True):
        known = np.flatnonzero(np.isfinite(y))
        found.append(End(name, look, float(x[known[-1]]), float(y[known[-1]])) if len(known) else End(name, look))
    return found


def write(axes: Axes, ends: Sequence[End], inches: float) -> None:
    """Write the names of curves beside axes with their final limits, each with a line from the end of its curve.

    Args:
        axes: of a height in inches.
        ends: of curves; one beyond the limits is named at their edge.
        inches: the height.
    """
    if not ends:
        return
    corner = axes.transAxes.inverted()
    shown = [np.clip(np.nan_to_num(corner.transform(axes.transData.transform((e.x, e.y)))), 0.0, 1.0) for e in ends]
    order = sorted(range(len(ends)), key=lambda i: -shown[i][1])
    names = [_wrap(ends[i].name) for i in order]
    tall = np.array([_TALL * len(name.split("\n")) / inches for name in names])
    beside = axes.transAxes + ScaledTranslation(_AWAY, 0.0, axes.figure.dpi_scale_trans)
    for i, name, y in zip(order, names, spread(np.array([shown[i][1] for i in order]), tall), strict=True):
        look = ends[i].look
        weight = "bold" if look.width == style.MAIN else "normal"
        axes.text(1.0, y, name, transform=beside, va="center", fontsize=style.CAPTION, fontweight=weight)
        line = ConnectionPatch(tuple(shown[i]), (1.0, y), axes.transAxes, beside, shrinkB=2.0, color=look.color)
        if shown[i][0] < _EARLY:  # no part of the curve
            line.set(linewidth=0.8, linestyle=":")
        else:
            line.set(linewidth=min(look.width, 2.0), linestyle=(0.0, look.dashes) if look.dashes else "-")
        line.set_clip_on(False)
        axes.add_artist(line)


def spread(at: Floats, tall: Floats) -> Floats:
    """Move descending positions apart as far as texts centred at them need, `(n),(n)->(n)`.

    Equation: minimises the sum of squares of moves, subject to distances of the mean height of two neighbours, and to
    texts between 0 and 1 where all fit.

    >>> spread(np.array([0.5, 0.5, 0.1]), np.full(3, 0.2)).round(9).tolist()
    [0.6, 0.4, 0.1]
    >>> spread(np.array([1.0, 1.0]), np.full(2, 0.2)).round(9).tolist()
    [0.9, 0.7]
    """
    below = np.cumsum(np.concatenate([[0.0], (tall[1:] + tall[:-1]) / 2]))
    depth = -(at + below)  # with the distances added, places need only fall
    pool(depth, np.empty(len(at)), np.empty(len(at), np.int64))
    return np.asarray(np.clip(-depth, tall[-1] / 2 + below[-1], 1.0 - tall[0] / 2) - below)


def _wrap(name: str) -> str:
    return style.wrap(name, ROOM, style.CAPTION)
