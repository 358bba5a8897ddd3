"""Dot charts of groups' values against their allowed range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.texts import amount
from evenhand.report.drawing import (
    LETTER,
    NARROW,
    Frame,
    Svg,
    axes,
    box,
    line,
    shorten,
    svg,
    text,
    ticks,
    two_widths,
    with_texts,
)

_ROW = 24.0
_LABEL = 80.0  # for the names of groups, in a narrow chart


def dots(about: str, values: Sequence[tuple[str, float]], low: float, high: float, middle: float | None) -> Svg:
    """Draw a line per group with a dot at its value: round within the allowed range, square in another colour outside.

    Args:
        about: a description of the chart.
        values: the groups' values by name, NaN if missing; an infinite one is written, and has no dot.
        low, high: the allowed range; infinite where it has no end.
        middle: the value that all are compared with, if any.

    >>> drawn = dots("two groups", [("town", 0.2), ("land", 0.4)], 0.1, 0.3, 0.2)
    >>> drawn.count("<circle"), drawn.count("<rect")
    (2, 4)
    """
    height = _ROW * len(values) + 30.0
    numbers = [z for z in (low, high, middle, *(v for _, v in values)) if z is not None and math.isfinite(z)]
    least, most = min(numbers, default=0.0), max(numbers, default=0.0)
    room = 0.15 * (most - least) or 0.15 * abs(most) or 1.0
    least, most = least - room, most + room
    written = LETTER * max([len(_format(v)) for _, v in values], default=1)
    slack = 1e-9 * max(abs(low) if math.isfinite(low) else 0.0, abs(high) if math.isfinite(high) else 0.0, 1.0)

    def draw(width: float) -> Svg:
        label = _LABEL * width / NARROW
        at = Frame(
            width=width,
            left=label,
            right=width - written - 10.0,
            top=4.0,
            bottom=height - 22.0,
            low_x=least,
            high_x=most,
            low_y=0.0,
            high_y=1.0,
        )
        left, right = at.x(low), at.x(high)
        parts = [box("band", left, at.top, right - left, at.bottom - at.top)]
        parts += [line("edge", at.x(z), at.top, at.x(z), at.bottom) for z in (low, high) if math.isfinite(z)]
        if middle is not None:
            parts.append(line("plan", at.x(middle), at.top, at.x(middle), at.bottom))
        parts += axes(at, with_texts(ticks(least, most, 4)), [])
        for i, (name, value) in enumerate(values):
            y = at.top + (i + 0.5) * _ROW
            parts.append(line("grid", at.left, y, at.right, y))
            parts.append(text(0.0, y + 4, shorten(name, label - 8), "label"))
            parts.append(text(width, y + 4, _format(value), "label", "end"))
            if not math.isfinite(value):
                continue
            if low - slack <= value <= high + slack:
                parts.append(f'<circle class="kept" cx="{at.x(value):.1f}" cy="{y:.1f}" r="5"/>')
            else:
                parts.append(box("missed", at.x(value) - 5, y - 5, 10, 10))
        return svg(about, width, height, parts)

    return two_widths(draw)


def _format(value: float) -> str:
    return "–" if math.isnan(value) else amount(value)
