"""The pictures of the gallery: a sentence above, one drawing with labels beside its lines, and a caption below."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.report import scales, style
from evenhand.report.plots import save

WIDTH, HEIGHT = 6.6, 3.6  # inches


def drawing(x: str, y: str):
    """Return the axes of a picture."""
    _, (axes,) = style.sheet(1, 1, WIDTH, HEIGHT)
    style.labels(axes, x, y, WIDTH, HEIGHT)
    return axes


def color(i: int) -> str:
    """Return the colour of the i-th curve: the first is that of the main policy, and the last baselines are grey."""
    return (*style.PALETTE[:3], style.GREY)[min(i, 3)]


def lines(axes, x: Sequence[float], curves: Mapping[str, np.ndarray]) -> None:
    """Draw curves, the main one first, each with its name at its end."""
    for i, y in enumerate(curves.values()):
        axes.plot(x, y, color=color(i), lw=style.MAIN if i == 0 else style.OTHER, zorder=3 if i == 0 else 2)
    low, high = axes.get_ylim()
    ends = [float(np.asarray(y)[np.isfinite(y)][-1]) for y in curves.values()]
    at = np.array(ends)
    order = np.argsort(at)
    room = 0.07 * (high - low) * max(name.count("\n") + 1 for name in curves)
    for _ in range(100):  # until no label lies on another one
        for a, b in zip(order[:-1], order[1:], strict=True):
            lacking = room - (at[b] - at[a])
            if lacking > 0.0:
                at[a], at[b] = at[a] - lacking / 2.0, at[b] + lacking / 2.0
    for i, name in enumerate(curves):
        label(axes, name, x[-1], at[i], i)
    for axis in (axes.xaxis, axes.yaxis):
        scales.linear(axis)
    axes.set_xlim(x[0], x[-1])


def label(axes, name: str, x: float, y: float, i: int, shift=(6.0, 0.0), side: str = "left") -> None:
    """Write a name beside a point, in the colour of its curve, shifted by some points."""
    axes.annotate(
        name,
        (x, y),
        shift,
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=style.LABEL,
        color=color(i) if i < 3 else style.INK,
        fontweight="bold" if i == 0 else "normal",
        annotation_clip=False,
    )


def limit(axes, y: float, name: str) -> None:
    """Draw a level with its name above its beginning."""
    axes.axhline(y, color=style.LEVEL, lw=1.0, ls="--", zorder=1)
    where = axes.get_yaxis_transform()
    axes.annotate(
        name, (0.01, y), (0, 3), xycoords=where, textcoords="offset points", fontsize=style.TICK, color=style.LEVEL
    )


def finish(axes, name: str, headline: str, caption: str) -> None:
    """Write the sentence and the caption, and save the picture."""
    style.finish(axes.figure, caption, headline=headline)
    print(f"\n{headline}\npicture: {save([axes], Path('out') / 'gallery' / f'{name}.png')}")


def rows_of_dots(axes, names: Sequence[str], values: Sequence[Sequence[float]], ends: Sequence[str]) -> None:
    """Draw a row per name, the main one first, with dots that are named and connected."""
    for i, each in enumerate(values):
        axes.plot(each, [i] * len(each), "o-", color=color(3 if i == len(names) - 1 else i), ms=8, lw=style.MAIN)
        for end, x in zip(ends, each, strict=True):
            side = "right" if x == min(each) else "left"
            label(axes, end, x, i, 3, (-9.0 if side == "right" else 9.0, 0.0), side)
    axes.set_yticks(range(len(names)), names, fontsize=style.LABEL)
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.2)
    scales.linear(axes.xaxis)
