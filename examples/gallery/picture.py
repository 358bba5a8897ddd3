"""The pictures of the gallery: a sentence above, one drawing with names beside its lines, and a caption below."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from evenhand.report import scales, style
from evenhand.report.plots import save

WIDTH, HEIGHT = 5.6, 3.3  # inches


def drawing(x: str, y: str = ""):
    """Return the axes of a picture."""
    _, (axes,) = style.sheet(1, 1, WIDTH, HEIGHT)
    style.labels(axes, x, y, WIDTH, HEIGHT)
    return axes


def lines(axes, x: Sequence[float], curves: Mapping[str, np.ndarray], limit: Mapping[str, float] | None = None) -> None:
    """Draw curves, the main one first, and a level, each with its name at its end."""
    ends, shades = {}, (*style.PALETTE[:3], style.INK)
    for i, (name, y) in enumerate(curves.items()):
        axes.plot(x, y, color=shades[i], lw=style.MAIN if i == 0 else style.OTHER, zorder=3 if i == 0 else 2)
        ends[name] = float(y[-1]), shades[i]
    for name, y in (limit or {}).items():
        axes.axhline(y, color=style.LEVEL, lw=1.0, ls="--", zorder=1)
        ends[name] = y, style.LEVEL
    axes.set_xlim(x[0], x[-1])
    low, high = axes.get_ylim()
    places = _apart([y for y, _ in ends.values()], [name.count("\n") + 1 for name in ends], 0.08 * (high - low))
    for place, (name, (_, shade)) in zip(np.minimum(places, places - places.max() + high), ends.items(), strict=True):
        at, weight = (x[-1], place), "bold" if name == next(iter(curves)) else "normal"
        text = {"va": "center", "color": shade, "fontweight": weight, "fontsize": style.LABEL}
        axes.annotate(name, at, (6.0, 0.0), textcoords="offset points", annotation_clip=False, **text)
    for axis in (axes.xaxis, axes.yaxis):
        scales.linear(axis)


def _apart(places: Sequence[float], tall: Sequence[int], room: float) -> np.ndarray:
    """Move the places of names apart until each has room for its lines of text."""
    at, order = np.array(places, float), np.argsort(places, kind="stable")
    for _ in range(200):
        for a, b in pairwise(order):
            lacking = room * (tall[a] + tall[b]) / 2.0 - (at[b] - at[a])
            if lacking > 0.0:
                at[a], at[b] = at[a] - lacking / 2.0, at[b] + lacking / 2.0
    return at


def rows(axes, names: Sequence[str], values: Sequence[Sequence[float]], main: int = 0) -> None:
    """Draw a row per name with a filled dot, and a hollow one beside it where there are two numbers."""
    for i, each in enumerate(values):
        shade = style.PALETTE[0] if i == main else style.INK
        axes.plot(each, [i] * len(each), color=shade, lw=style.MAIN, zorder=2)
        axes.plot(each[0], i, "o", color=shade, ms=9, zorder=3)
        axes.plot(each[1:], [i] * len(each[1:]), "o", color=shade, mfc="white", mew=2, ms=9, zorder=3)
    axes.set_yticks(range(len(names)), names, fontsize=style.LABEL)
    axes.get_yticklabels()[main].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.1)
    scales.linear(axes.xaxis)


def finish(axes, name: str, headline: str, caption: str) -> None:
    """Write the sentence, of one line or two, and the caption, and save the picture."""
    style.finish(axes.figure, caption, headline=headline)
    print(f"\n{headline.replace(chr(10), ' ')}\npicture: {save([axes], Path('out') / 'gallery' / f'{name}.png')}")
