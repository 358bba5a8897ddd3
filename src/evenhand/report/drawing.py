"""The elements of charts in SVG: a frame with scales, grid lines, ticks and texts that stay within it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

NARROW, BROAD = 310.0, 720.0  # shown at about as many pixels, so that texts in charts are as large as the page's
LETTER = 7.2  # an upper estimate of the width of a character at the size of the ticks


class Svg(str):
    """A drawing, which templates insert as it is: its texts are escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The plotting area in pixels, and the numbers at its edges."""

    width: float  # of the whole chart
    left: float
    right: float
    top: float
    bottom: float
    low_x: float
    high_x: float
    low_y: float
    high_y: float

    def x(self, value: float) -> float:
        """Return the horizontal position of a number, clipped to the frame."""
        part = (value - self.low_x) / ((self.high_x - self.low_x) or 1.0)
        return self.left + min(max(part, 0.0), 1.0) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the vertical position of a number, clipped to the frame."""
        part = (value - self.low_y) / ((self.high_y - self.low_y) or 1.0)
        return self.bottom - min(max(part, 0.0), 1.0) * (self.bottom - self.top)

    def points(self, pairs: Iterable[tuple[float, float]]) -> str:
        """Return the points of a polyline through pairs of numbers."""
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in pairs)


def frame(
    width: float, xs: tuple[float, float], ys: tuple[float, float], height: float, y_texts: Sequence[str]
) -> Frame:
    """Make a frame that leaves room for ticks: below for x, to the left for y."""
    longest = max(map(len, y_texts), default=0)
    left = 10.0 + LETTER * longest
    right = width - 2.5 * LETTER
    low_x, high_x = xs
    low_y, high_y = ys
    return Frame(
        width=width,
        left=left,
        right=right,
        top=10.0,
        bottom=height - 22.0,
        low_x=low_x,
        high_x=high_x,
        low_y=low_y,
        high_y=high_y,
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Choose round numbers from low to high, at most about `most` of them.

    >>> ticks(0, 1000), ticks(0.2, 0.31), ticks(0, 0)
    ([0.0, 200.0, 400.0, 600.0, 800.0, 1000.0], [0.2, 0.25, 0.3], [0.0])
    """
    if not high > low:
        return [low + 0.0]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * z for z in (1.0, 2.0, 5.0, 10.0) if power * z >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) for i in range(first, last + 1)]


def brief(x: float) -> str:
    """Format a number in few characters.

    >>> [brief(x) for x in (0.0, 0.25, 80, 999.7, 1500, 250_000, 3e6, 2e15)]
    ['0', '0.25', '80', '1k', '1.5k', '250k', '3M', '2e+15']
    """
    x = float(f"{x:.3g}")
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit <= abs(x) < 1e3 * unit:
            return f"{x / unit:.3g}{letter}"
    return f"{x:.3g}"


def with_texts(numbers: Sequence[float]) -> list[tuple[float, str]]:
    """Pair numbers with their texts.

    >>> with_texts([0.0, 2000.0])
    [(0.0, '0'), (2000.0, '2k')]
    """
    return [(x, brief(x)) for x in numbers]


def text(x: float, y: float, words: str, kind: str = "tick", anchor: str = "start") -> str:
    """Draw a text on one line.

    >>> text(1, 2, "<b>")
    '<text class="tick" x="1.0" y="2.0" text-anchor="start">&lt;b&gt;</text>'
    """
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def shorten(words: str, room: float) -> str:
    """Shorten a text to the given width; the table beside the chart has it whole.

    >>> shorten("a long name", 40)
    'a lo…'
    """
    most = max(int(room / LETTER), 1)
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw a straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def box(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Draw a rectangle."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"/>'


def axes(at: Frame, xs: Sequence[tuple[float, str]], ys: Sequence[tuple[float, str]]) -> list[str]:
    """Draw grid lines at numbers of y with their texts, and the texts of numbers of x."""
    found = [line("grid", at.left, at.y(y), at.right, at.y(y)) for y, _ in ys]
    found += [text(at.left - 6, at.y(y) + 3.5, written, anchor="end") for y, written in ys]
    last = -math.inf
    for x, words in xs:
        half = LETTER * len(words) / 2
        here = max(at.x(x), half)
        if here - half > last + LETTER and here + half <= at.width:
            found.append(text(here, at.bottom + 15, words, anchor="middle"))
            last = here + half
    return found


def two_widths(draw: Callable[[float], Svg]) -> Svg:
    """Draw a chart in two widths, of which the style sheet shows the one that fits its place.

    >>> two_widths(lambda width: svg("nothing", width, 20.0, [])).count("<svg")
    2
    """
    return Svg(f'{draw(NARROW)}<div class="broad">{draw(BROAD)}</div>')


def broad(chart: str) -> tuple[str, float]:
    """Return the broad one of the two drawings of `two_widths`, and its height.

    >>> broad(two_widths(lambda width: svg("nothing", width, 20.0, [])))[1]
    20.0
    """
    drawing = chart.partition('<div class="broad">')[2].removesuffix("</div>")
    view = drawing.partition('viewBox="')[2].partition('"')[0]
    return drawing, float(view.split()[3])


def svg(words: str, width: float, height: float, parts: Iterable[str]) -> Svg:
    """Wrap a drawing as a chart with its description in words.

    >>> svg("a < b", 10, 5, [])
    '<svg class="chart" role="img" aria-label="a &lt; b" viewBox="0 0 10 5"></svg>'
    """
    view = f'viewBox="0 0 {width:g} {height:g}"'
    return Svg(f'<svg class="chart" role="img" aria-label="{escape(words)}" {view}>{"".join(parts)}</svg>')
