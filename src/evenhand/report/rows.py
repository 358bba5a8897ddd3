"""Sheets whose panels stand below one another and have a row per name, so that a narrow screen shows them."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.report import style
from evenhand.report.style import Axes, Figure

WIDTH, NAME = 5.8, 1.9  # inches of a sheet, and of the names at its left
ROW, AROUND = 0.3, 1.05  # inches of a row, and of the title and the labels of a panel
_FREE = 2.6  # inches that names and notes leave to titles


def sheet(names: Sequence[str], panels: int, main: str = "") -> tuple[Figure, list[Axes]]:
    """Make a sheet of panels with a row per name; the main name is bold.

    >>> figure, (first, second) = sheet(["a", "b"], 2, main="b")
    >>> [label.get_text() for label in second.get_yticklabels()]
    ['a', 'b']
    """
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


def entitle(axes: Axes, title: str, below: str) -> None:
    """Write the title of a panel, and what its numbers are below it."""
    style.title(axes, title, _FREE + style.BESIDE)
    style.labels(axes, below, "", _FREE + style.BESIDE, 3.0)
