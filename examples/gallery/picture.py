"""Tables and pictures of the gallery: numbers by column; a sentence, a drawing with names, and a caption below."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.report import ends, scales, style
from evenhand.report.plots import HEIGHT, INSIDE, WIDTH, save
from evenhand.report.tables import Table

LOOKS = (*(style.look(i) for i in range(3)), style.Look(style.GREY))
LEVEL = style.Look(style.LEVEL, style.STYLES["--"], 1.0)


def table(head: str, formats: str, rows: Sequence[Sequence]) -> None:
    """Print a name and numbers per row, under heads that are parted by bars; a format per column of numbers."""
    texts = [[name, *map(format, numbers, formats.split())] for name, *numbers in rows]
    print(Table(head.split(" | "), texts))


def drawing(x: str, y: str = "", beside: float = 1.0):
    """Return the axes of a picture, with inches of room beside them."""
    _, (axes,) = style.sheet(1, 1, WIDTH + beside, HEIGHT)
    style.labels(axes, x, y, WIDTH + beside, HEIGHT)
    return axes


def lines(over: str, x: Sequence[float], what: str, curves: Mapping[str, np.ndarray], limit: Mapping[str, float]):
    """Draw curves, the main one first, and a level, each with its name at its end; returns the axes."""
    names = [*curves, *limit]
    looks = [*LOOKS[: len(curves)], *[LEVEL] * len(limit)]
    looks[0] = looks[0]._replace(width=style.MAIN)
    values = [*map(np.asarray, curves.values()), *(np.full(len(x), y) for y in limit.values())]
    axes = drawing(over, what, ends.width(names))
    for y, look in zip(values, looks, strict=True):
        (line,) = axes.plot(x, y, color=look.color, lw=look.width, zorder=1.0 + look.width)
        style.set_dashes(line, look.dashes)
    for axis in (axes.xaxis, axes.yaxis):
        scales.linear(axis)
    axes.set_xlim(x[0], x[-1])
    ends.write(axes, ends.of(names, looks, [x] * len(names), values), HEIGHT - INSIDE)
    return axes


def bars(axes, names: Sequence[str], values: Sequence[float], rest: Sequence[float] = (), main: int = 0) -> None:
    """Draw a bar per name, and what is left of it, if anything, as a pale one behind it."""
    shades = [style.PALETTE[0] if i == main else style.GREY for i in range(len(names))]
    for whole, alpha in ((rest, 0.3), (values, 1.0)):
        axes.barh(range(len(whole)), whole, color=shades[: len(whole)], alpha=alpha, height=0.6, zorder=2)
    names = [f"{name}: {value:.3g}" for name, value in zip(names, values, strict=True)]
    axes.set_yticks(range(len(names)), names, fontsize=style.LABEL)
    axes.get_yticklabels()[main].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.5, -0.5)
    scales.linear(axes.xaxis)
    axes.set_xlim(0.0)


def points(axes, names: Sequence[str], x: Sequence[float], y: Sequence[float], main: int = 0) -> None:
    """Draw a dot per name, which stands beside it."""
    for i, (name, *at) in enumerate(zip(names, x, y, strict=True)):
        shade = style.PALETTE[0] if i == main else style.INK
        right = at[0] > (min(x) + max(x)) / 2
        axes.plot(*at, "o", color=shade, ms=9, zorder=3)
        axes.annotate(
            name,
            at,
            xytext=(-9 if right else 9, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
            color=shade,
            fontsize=style.LABEL,
            fontweight="bold" if i == main else "normal",
        )
    axes.margins(x=0.1, y=0.15)
    for axis in (axes.xaxis, axes.yaxis):
        scales.linear(axis)


def finish(axes, name: str, headline: str, caption: str) -> None:
    """Write the sentence, of one line or two, and the caption, and save the picture."""
    style.finish(axes.figure, caption, headline=headline)
    print(f"\n{headline.replace(chr(10), ' ')}\npicture: {save([axes], Path('out') / 'gallery' / f'{name}.png')}")
