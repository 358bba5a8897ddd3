"""Bar charts: a histogram of probabilities, the probabilities of one decision, and amounts above and below 0."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.report.drawing import (
    LETTER,
    NARROW,
    Svg,
    axes,
    box,
    brief,
    frame,
    line,
    shorten,
    svg,
    text,
    ticks,
    two_widths,
    with_texts,
)

_HEIGHT = 160.0
_ROW = 24.0
_LABEL, _SIGNED = 100.0, 130.0  # for names, in a narrow chart


def histogram(about: str, counts: Sequence[int]) -> Svg:
    """Draw a histogram of numbers from 0 to 1 with bins of equal width.

    >>> histogram("most are large", [0, 1, 3]).count("<rect")
    4
    """
    high = 1.05 * max([*counts, 1])
    ys = [y for y in ticks(0.0, high) if y == int(y)]

    def draw(width: float) -> Svg:
        at = frame(width, (0.0, 1.0), (0.0, high), _HEIGHT, [brief(y) for y in ys])
        wide = (at.right - at.left) / len(counts)
        parts = axes(at, with_texts([0.0, 0.25, 0.5, 0.75, 1.0]), with_texts(ys))
        for i, count in enumerate(counts):
            if count:
                top = min(at.y(count), at.bottom - 1.0)  # a single count stays visible
                parts.append(box("bar", at.left + i * wide + 0.75, top, wide - 1.5, at.bottom - top))
        return svg(about, width, _HEIGHT, parts)

    return two_widths(draw)


def bars(about: str, chances: Sequence[tuple[str, float, bool, str]]) -> Svg:
    """Draw a bar per action with its probability beside it; played actions have another colour.

    >>> bars("two actions", [("none", 0.25, False, "25%"), ("letter", 0.75, True, "75%")]).count("bar played")
    2
    """
    height = _ROW * len(chances) + 4.0

    def draw(width: float) -> Svg:
        left = _LABEL * width / NARROW
        room, parts = width - left - 7 * LETTER, []
        for i, (name, chance, played, words) in enumerate(chances):
            y = 2.0 + i * _ROW
            parts.append(text(0.0, y + 15, shorten(name, left - 8), "label strong" if played else "label"))
            parts.append(box("ground", left, y + 4, room, _ROW - 8))
            parts.append(box("bar played" if played else "bar", left, y + 4, room * chance, _ROW - 8))
            parts.append(text(width, y + 15, words, "label", "end"))
        return svg(about, width, height, parts)

    return two_widths(draw)


def signed_bars(about: str, amounts: Sequence[tuple[str, float, str]]) -> Svg:
    """Draw a bar per amount, to the right of a middle line where it is above 0 and to the left where it is below.

    >>> signed_bars("two parts", [("age", 0.25, "+0.25"), ("channel", -0.1, "-0.1")]).count("bar less")
    2
    """
    height, most = _ROW * len(amounts) + 4.0, max([abs(x) for _, x, _ in amounts], default=0.0) or 1.0

    def draw(width: float) -> Svg:
        left = _SIGNED * width / NARROW
        half = (width - left - 9 * LETTER) / 2
        middle, parts = left + half, []
        for i, (name, amount, words) in enumerate(amounts):
            y, long = 2.0 + i * _ROW, half * abs(amount) / most
            parts.append(text(0.0, y + 15, shorten(name, left - 8), "label"))
            parts.append(box("ground", left, y + 4, 2 * half, _ROW - 8))
            kind, start = ("bar", middle) if amount >= 0.0 else ("bar less", middle - long)
            parts.append(box(kind, start, y + 4, long, _ROW - 8))
            parts.append(text(width, y + 15, words, "label", "end"))
        parts.append(line("total", middle, 2.0, middle, height - 2.0))
        return svg(about, width, height, parts)

    return two_widths(draw)
