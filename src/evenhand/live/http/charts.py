"""Bars as SVG, which the server draws: styled by classes alone, and named for readers who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT = 400.0, 18.0


class Part(NamedTuple):
    """A part of a bar."""

    kind: str  # the class that colours it
    size: float


def bar(said: str, parts: Sequence[Part], whole: float, mark: float | None = None) -> str:
    """A bar of parts from left to right.

    Args:
        said: what it shows, in words.
        parts: in the unit of `whole`; what is below 0 is drawn as nothing.
        whole: what the full width stands for; parts that are larger together shrink.
        mark: where a line crosses the bar.

    >>> bar("half is spent", [Part("spent", 2)], 4).count("<rect")
    2
    """
    total = sum(max(part.size, 0.0) for part in parts)
    scale = _WIDTH / max(whole, total, mark or 0.0, 1e-300)
    drawn, at = [f'<rect class="ground" width="{_WIDTH:g}" height="{_HEIGHT:g}"/>'], 0.0
    for part in parts:
        width = max(part.size, 0.0) * scale
        if width > 0.0:
            drawn.append(f'<rect class="{escape(part.kind)}" x="{at:.2f}" width="{width:.2f}" height="{_HEIGHT:g}"/>')
        at += width
    if mark is not None:
        x = min(max(mark * scale, 1.0), _WIDTH - 1.0)
        drawn.append(f'<line class="mark" x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="{_HEIGHT:g}"/>')
    view = f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none"'
    return f'<svg class="bar" role="img" aria-label="{escape(said)}" {view}>{"".join(drawn)}</svg>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names its rows; every cell is escaped here.

    >>> table(["name", "count"], [["<b>", "1"]])
    '<table><tr><th>name</th><th>count</th></tr><tr><th>&lt;b&gt;</th><td>1</td></tr></table>'
    """
    lines = ["".join(f"<th>{escape(z)}</th>" for z in head)]
    lines += [f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(z)}</td>" for z in row[1:]) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
