"""Charts of pages: numbers with intervals, bars against a limit, and courses with bands; each in two widths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evenhand.report.drawing import (
    LETTER,
    NARROW,
    Frame,
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
from evenhand.report.intervals import BOUNDS, Interval

HUES = 7  # classes of colours
_TALL = 200.0  # of courses
_TONES = {1: "more", 0: "even", -1: "less"}


class Bar(NamedTuple):
    """A bar with its name, and the words beside it."""

    name: str
    value: float
    words: str
    hue: int = 0


class Course(NamedTuple):
    """A number over another one, with the ends of its intervals."""

    name: str
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    hue: int = 0


class Step(NamedTuple):
    """A line of an outline; one with a colour has a dot."""

    depth: int  # of the lines that it belongs to
    words: str
    note: str = ""
    hue: int | None = None


def outline(steps: Sequence[Step]) -> Svg:
    """Draw lines that belong to each other, each below the one that it belongs to.

    >>> outline([Step(0, "age < 40"), Step(1, "letter", "31 %", 0)]).count("dot h0")
    2
    """
    about = "; ".join(f"{z.words} {z.note}".strip() for z in steps)

    def draw(width: float) -> Svg:
        parts, above = list[str](), dict[int, float]()
        for i, z in enumerate(steps):
            x, y = 24.0 * z.depth + 8.0, 26.0 * i + 15.0
            above[z.depth] = y
            if z.depth:
                parts.append(line("grid", x - 16.0, above[z.depth - 1] + 9.0, x - 16.0, y))
                parts.append(line("grid", x - 16.0, y, x - 4.0, y))
            if z.hue is not None:
                parts.append(f'<circle class="dot h{z.hue % HUES}" cx="{x + 4.0:.1f}" cy="{y:.1f}" r="4.5"/>')
                x += 14.0
            parts.append(text(x, y + 4.0, shorten(z.words, width - x - LETTER * (len(z.note) + 1)), "label"))
            parts.append(text(width, y + 4.0, z.note, "label", "end"))
        return svg(about, width, 26.0 * len(steps) + 4.0, parts)

    return two_widths(draw)


def intervals(found: Sequence[Interval]) -> Svg:
    """Draw a dot per number with its interval, against 0; an interval that leaves out 0 is coloured.

    Bounds are dashed, and may go beyond the ends of the chart.

    >>> intervals([Interval("a", 1.0, 0.5, 1.5), Interval("b", 0.0, -1.0, 1.0)]).count("dot more")
    2
    """
    about, shown = "; ".join(f"{z.name}: {z.text}" for z in found), [z for z in found if math.isfinite(z.mean)]
    sure = [x for z in shown if z.kind != BOUNDS for x in (z.low, z.high) if x is not None]
    low, high = _range([0.0, *sure, *(z.mean for z in shown)])
    at_x = ticks(low, high)

    def draw(width: float) -> Svg:
        rows = _Rows(width, [z.name for z in shown], 8 * LETTER)
        at = rows.frame(low, high)
        parts = [line("grid", at.x(x), at.top, at.x(x), at.bottom) for x in at_x]
        parts += [line("total", at.x(0.0), at.top, at.x(0.0), at.bottom), *axes(at, with_texts(at_x), [])]
        for i, z in enumerate(shown):
            y, tone = rows.middle(i), _TONES[z.sign]
            if z.low is not None and z.high is not None and math.isfinite(z.low + z.high):
                reach = "reach bounds" if z.kind == BOUNDS else "reach"
                first, last = (at.x(min(max(x, low), high)) for x in (z.low, z.high))
                parts.append(line(f"{reach} {tone}", first, y, last, y))
            parts.append(f'<circle class="dot {tone}" cx="{at.x(z.mean):.1f}" cy="{y:.1f}" r="4.5"/>')
            parts.append(text(width, y + 4, f"{round(z.mean, 4) + 0.0:+.4f}", "label", "end"))
        return svg(about, width, rows.height, [*parts, *rows.names()])

    return two_widths(draw)


def bars(found: Sequence[Bar], limit: float | None = None) -> Svg:
    """Draw a bar per number from 0 on, and a line at a limit.

    >>> bars([Bar("targeted", 0.5, "50 %")], limit=1.0).count('class="total"')
    2
    """
    about, shown = "; ".join(f"{z.name}: {z.words}" for z in found), [z for z in found if math.isfinite(z.value)]
    high = max([0.0, *(z.value for z in shown), *([] if limit is None else [limit])]) or 1.0

    def draw(width: float) -> Svg:
        rows = _Rows(width, [z.name for z in shown], LETTER * (1 + max([len(z.words) for z in shown], default=0)), 6.0)
        at, parts = rows.frame(0.0, high), []
        for i, z in enumerate(shown):
            y = rows.middle(i)
            parts.append(box("ground", at.left, y - 7, at.right - at.left, 14))
            parts.append(box(f"bar h{z.hue % HUES}", at.left, y - 7, at.x(z.value) - at.left, 14))
            parts.append(text(width, y + 4, z.words, "label", "end"))
        if limit is not None:
            parts.append(line("total", at.x(limit), at.top, at.x(limit), at.bottom))
        return svg(about, width, rows.height, [*parts, *rows.names()])

    return two_widths(draw)


def fractions(names: Sequence[str], parts: Mapping[str, Sequence[float | None]]) -> Svg:
    """Draw the fraction that every name has of each of several totals, a colour per total; None is left out."""
    return bars(
        [
            Bar(name, part, f"{part:.1%}", hue)
            for i, name in enumerate(names)
            for hue, each in enumerate(parts.values())
            if (part := each[i]) is not None
        ],
        limit=1.0,
    )


def keys(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return names with the numbers of their colours; nothing for a single one.

    >>> keys(["a", "b"]), keys(["a"])
    ((('a', 0), ('b', 1)), ())
    """
    each = tuple((name, hue) for hue, name in enumerate(names))
    return each if len(each) > 1 else ()


def courses(about: str, over: Sequence[float], found: Sequence[Course], mark: float | None = None) -> Svg:
    """Draw numbers over another one with bands of their intervals, and a line at a mark.

    The first has a filled band; the others have one where there are three at most, and thin bars where there are more.

    >>> courses("it rises", [0, 1], [Course("a", [0, 1], [0, 0.9], [0, 1.1])], mark=0.5).count("<polygon")
    2
    """
    ends = [x for z in found for x in (*z.low, *z.high, *z.mean) if math.isfinite(x)]
    low, high = _range(ends or [0.0])
    at_x, at_y = ticks(over[0], over[-1]), ticks(low, high)

    def draw(width: float) -> Svg:
        at = frame(width, (over[0], over[-1]), (low, high), _TALL, [brief(y) for y in at_y])
        parts = axes(at, with_texts(at_x), with_texts(at_y))
        if low < 0.0 < high:
            parts.append(line("total", at.left, at.y(0.0), at.right, at.y(0.0)))
        if mark is not None and over[0] <= mark <= over[-1]:
            parts.append(line("mark", at.x(mark), at.top, at.x(mark), at.bottom))
        for i, z in reversed(list(enumerate(found))):  # the first on top
            hue = f"h{z.hue % HUES}"
            if i == 0 or len(found) <= 3:
                for reaches in _runs(over, z):
                    around = [*((x, high) for x, _, high in reaches), *((x, low) for x, low, _ in reversed(reaches))]
                    parts.append(f'<polygon class="fill {hue}" points="{at.points(around)}"/>')
            else:
                parts += _whiskers(at, over, z, hue)
            there = [(x, y) for x, y in zip(over, z.mean, strict=True) if math.isfinite(y)]
            parts.append(f'<polyline class="course {hue}" points="{at.points(there)}"/>')
            if len(there) == 1:
                ((x, y),) = there
                parts.append(f'<circle class="bar {hue}" cx="{at.x(x):.1f}" cy="{at.y(y):.1f}" r="4"/>')
        return svg(about, width, _TALL, parts)

    return two_widths(draw)


def _whiskers(at: Frame, over: Sequence[float], z: Course, hue: str) -> Iterable[str]:
    for x, low, high in itertools.chain.from_iterable(_runs(over, z)):
        yield line(f"whisker {hue}", at.x(x), at.y(low), at.x(x), at.y(high))


def _runs(over: Sequence[float], z: Course) -> list[list[tuple[float, float, float]]]:
    """The stretches of a course that have an interval, with its ends."""
    each = zip(over, z.low, z.high, strict=True)
    groups = itertools.groupby(each, key=lambda ends: all(map(math.isfinite, ends)))
    return [list(ends) for finite, ends in groups if finite]


def _range(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the least and the most of finite numbers, with some room."""
    finite = [x for x in numbers if math.isfinite(x)]
    low, high = min(finite), max(finite)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - (room if low else 0.0), high + (room if high else 0.0)


class _Rows:
    """Rows with a name each: beside the drawing where it is broad, above it where it is narrow."""

    def __init__(self, width: float, names: Sequence[str], words: float, foot: float = 22.0) -> None:
        self._narrow, self._names, self._width, self._words = width <= NARROW, names, width, words
        self._left = 4.0 if self._narrow else 0.36 * width
        self._step = 40.0 if self._narrow else 26.0
        self.height = self._step * max(len(names), 1) + 4.0 + foot
        self._bottom = self.height - foot

    def frame(self, low: float, high: float) -> Frame:
        """Return the frame of the drawing, between the names and the words."""
        ends = {"low_x": low, "high_x": high, "low_y": 0.0, "high_y": 1.0}
        right = self._width - self._words - 4.0
        return Frame(width=self._width, left=self._left, right=right, top=2.0, bottom=self._bottom, **ends)

    def middle(self, i: int) -> float:
        """Return the height of the middle of the drawing of a row."""
        return 2.0 + self._step * i + (27.0 if self._narrow else self._step / 2)

    def names(self) -> list[str]:
        """Draw the names."""
        room = self._width if self._narrow else self._left - 8.0
        up = -13.0 if self._narrow else 4.0
        return [text(0.0, self.middle(i) + up, shorten(name, room), "label") for i, name in enumerate(self._names)]
