"""Limits of axes, texts of ticks, and detection of coinciding curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.report.style import (  # raises MissingExtra without matplotlib
    Axes,
    Axis,
    FuncFormatter,
    Line2D,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    set_dashes,
)

FLATTENS = 2.5  # a curve that shrinks the range of all others by this factor is left out of the scale
SAME = 0.005  # as a part of the height of the axes: closer curves look like one
HUGE = 1e200  # the largest number on an axis


class Limits(NamedTuple):
    """The limits of an axis, and the indices of curves beyond them."""

    low: float
    high: float
    above: tuple[int, ...]
    below: tuple[int, ...]


def limits(values: Sequence[Floats], main: int = 0) -> Limits:
    """Choose limits that keep most curves legible if a few are far away; the main curve is always within them.

    At most every fourth curve is left out, and none of fewer than three. A spike of a curve is cut off.

    >>> few = [np.array([0.4, 0.5]), np.array([0.45]), np.array([0.42]), np.array([9.0])]
    >>> limits(few)
    Limits(low=0.4, high=0.5, above=(3,), below=())
    """
    spans = {i: s for i, v in enumerate(values) if (s := _span(v)) is not None}
    every, dropped = dict(spans), 0
    while len(spans) > 2 and dropped < max(1, len(every) // 4):
        low, high = _union(spans)
        rest = {i: _union({j: s for j, s in spans.items() if j != i}) for i in spans if i != main}
        i = min(rest, key=lambda k: rest[k][1] - rest[k][0])
        lower, higher = rest[i]
        if (high - low) <= FLATTENS * (higher - lower) or higher == lower:
            break
        del spans[i]
        dropped += 1
    low, high = _union(spans) if spans else (0.0, 1.0)
    return Limits(
        low,
        high,
        tuple(i for i, s in every.items() if i not in spans and s[1] > high),
        tuple(i for i, s in every.items() if i not in spans and s[1] <= high),
    )


def extend(scale: Limits, values: Sequence[Floats], low: float, high: float) -> Limits:
    """Update a scale for axes that reach further: curves that they show are no longer beyond it."""

    def hidden(i: int) -> bool:
        span = _span(values[i])
        return span is not None and (span[0] > high or span[1] < low)

    above, below = (tuple(i for i in which if hidden(i)) for which in (scale.above, scale.below))
    return Limits(low, high, above, below)


def _span(values: Floats) -> tuple[float, float] | None:
    """Return the range of values without a few extreme outliers."""
    v = values[np.isfinite(values) & (np.abs(values) < HUGE)]
    if not v.size:
        return None
    low, high = np.quantile(v, (0.05, 0.95))
    reach = 2.0 * (high - low)
    v = v[(v >= low - reach) & (v <= high + reach)] if reach > 0 else v
    return float(v.min()), float(v.max())


def _union(spans: dict[int, tuple[float, float]]) -> tuple[float, float]:
    return min(s[0] for s in spans.values()), max(s[1] for s in spans.values())


def pad(low: float, high: float) -> tuple[float, float]:
    """Widen a range by a margin on both sides, also around a single number."""
    margin = 0.08 * (high - low)
    if margin <= 1e-9 * max(abs(low), abs(high)):
        margin = 0.1 * abs(high) or 0.05
    return low - margin, high + margin


def twins(curves: Sequence[Floats], height: float) -> list[tuple[int, int]]:
    """Return for each curve its place among those that look like it, and their number.

    >>> twins([np.array([0.5, 1.0]), np.array([0.0, 0.0]), np.array([0.5, 1.001])], height=1.0)
    [(0, 2), (0, 1), (1, 2)]
    """
    groups: list[list[int]] = []
    for i, curve in enumerate(curves):
        for group in groups:
            first = curves[group[0]]
            if first.shape == curve.shape and np.allclose(first, curve, rtol=0, atol=SAME * height, equal_nan=True):
                group.append(i)
                break
        else:
            groups.append([i])
    places = {i: (j, len(group)) for group in groups for j, i in enumerate(group)}
    return [places[i] for i in range(len(curves))]


def interleave(line: Line2D, place: int, many: int) -> None:
    """Give a line dashes that interleave with those of its twins, and markers of distinct sizes."""
    width = line.get_linewidth()
    on = 7.0 / width  # dashes are in line widths
    set_dashes(line, (on, on * (many - 1)), on * place)
    size = line.get_markersize()
    line.set_markersize(size + min(3.0, 12.0 / (many - 1)) * (many - 1 - place))
    line.set_zorder(2.0 + 0.01 * place)


def linear(axis: Axis, *, whole: bool = False, ticks: int = 5) -> None:
    """Label a linear axis with few round numbers, as many digits as needed, and separated thousands."""
    axis.set_major_locator(MaxNLocator(nbins=ticks, integer=whole, min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(lambda v, _: number(v, list(axis.get_majorticklocs()))))


def number(v: float, ticks: Sequence[float]) -> str:
    """Format a tick in the precision that the ticks need.

    >>> number(0.5, [0.475, 0.5, 0.525]), number(20_000.0, [0.0, 20_000.0]), number(2e9, [0.0, 2e9])
    ('0.500', '20,000', '2e+09')
    """
    steps = np.diff(np.asarray(ticks, float))
    step, top = float(steps.min(initial=math.inf)), max(abs(float(t)) for t in (*ticks, v))
    if not math.isfinite(step) or step <= 0 or top <= 0:
        return f"{v:g}"
    v = 0.0 if abs(v) < 1e-6 * step else v
    if 1e-3 <= top < 1e6:
        return f"{v:,.{_digits(step)}f}".replace("-", "\N{MINUS SIGN}")
    return f"{v:.{_digits(step / 10.0 ** math.floor(math.log10(top)))}e}".replace("-", "\N{MINUS SIGN}") if v else "0"


def _digits(step: float) -> int:
    return next((d for d in range(12) if abs(round(step, d) - step) <= 1e-6 * step), 12)


def logarithmic(axes: Axes, which: Literal["x", "y"], over: Sequence[float] = ()) -> None:
    """Make an axis logarithmic, with labels such as 0.01, 10 and 10k in place of powers."""
    known = [v for v in over if 0.0 < v < HUGE]
    if over:
        low, high = (min(known) / 1.2, max(known) * 1.2) if known else (1.0, 10.0)
        (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(abs(z) for z in (axes.get_xlim() if which == "x" else axes.get_ylim()))
    narrow = low > 0 and math.log10(high / low) < 2.2
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda v, _: power(v)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())


def power(v: float) -> str:
    """Format a tick of a logarithmic axis.

    >>> power(0.01), power(20.0), power(5_000_000.0)
    ('0.01', '20', '5M')
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if v >= unit:
            return f"{v / unit:g}{name}"
    return f"{v:g}"
