"""Bar charts: a histogram of probabilities, and the probabilities of one decision."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from evenhand.live.dashboard.charts.frame import (
    LETTER,
    WIDTH,
    axes,
    box,
    brief,
    fitting,
    frame,
    labelled,
    svg,
    text,
    ticks,
)

_HEIGHT = 160.0
_ROW = 24.0
_LABEL = 100.0


def histogram(about: str, counts: Sequence[int]) -> Markup:
    """Draw a histogram of numbers from 0 to 1 with bins of equal width.

    >>> histogram("most are large", [0, 1, 3]).count("<rect")
    2
    """
    high = 1.05 * max([*counts, 1])
    ys = [y for y in ticks(0.0, high) if y == int(y)]
    at = frame((0.0, 1.0), (0.0, high), _HEIGHT, [brief(y) for y in ys])
    wide = (at.right - at.left) / len(counts)
    parts = axes(at, [0.0, 0.25, 0.5, 0.75, 1.0], labelled(ys))
    for i, count in enumerate(counts):
        if count:
            top = min(at.y(count), at.bottom - 1.0)  # a single count stays visible
            parts.append(box("bar", at.left + i * wide + 0.75, top, wide - 1.5, at.bottom - top))
    return svg(about, _HEIGHT, parts)


def bars(about: str, chances: Sequence[tuple[str, float, bool, str]]) -> Markup:
    """Draw a bar per action with its probability beside it; played actions have another colour.

    >>> bars("two actions", [("none", 0.25, False, "25%"), ("letter", 0.75, True, "75%")]).count("played")
    1
    """
    height = _ROW * len(chances) + 4.0
    room = WIDTH - _LABEL - 7 * LETTER
    parts = []
    for i, (name, chance, played, words) in enumerate(chances):
        y = 2.0 + i * _ROW
        parts.append(text(0.0, y + 15, fitting(name, _LABEL - 8), "label strong" if played else "label"))
        parts.append(box("ground", _LABEL, y + 4, room, _ROW - 8))
        parts.append(box("bar played" if played else "bar", _LABEL, y + 4, room * chance, _ROW - 8))
        parts.append(text(WIDTH, y + 15, words, "label", "end"))
    return svg(about, height, parts)
