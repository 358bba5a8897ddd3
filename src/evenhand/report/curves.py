"""Curves with bands, for all pictures over rounds and along sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.types import Floats
from evenhand.report import scales, style
from evenhand.report.style import Axes, Look

COINCIDE = "alternating colours: curves that coincide"


def caption(replicas: Sequence[int], middle: str, coincide: bool) -> str:
    """Write the caption that explains lines and bands."""
    most = max(replicas)
    many = f"{most} replicas" if min(replicas) == most else f"{min(replicas)} to {most} replicas"
    lines = f"lines: {middle} over {many}; bands: mean ± 2 standard errors of it"
    return (lines if most > 1 else "a single replica, thus no bands") + (f"; {COINCIDE}" if coincide else "")


def curve(axes: Axes, name: str, at: Any, middle: Floats, values: Floats, look: Look, marker: str, alpha: float) -> Any:
    """Draw a line and, with several replicas, a band around their mean."""
    (line,) = axes.plot(at, middle, label=name, color=look.color, lw=look.width, marker=marker, ms=4.0)
    style.set_dashes(line, look.dashes)
    line.set_zorder(1.9 if look.width == style.MAIN else 2.0)  # thin lines remain visible on the thick one
    if values.shape[1] > 1:
        with np.errstate(invalid="ignore", over="ignore"):
            mean, band = values.mean(1), 2 * values.std(1, ddof=1) / np.sqrt(values.shape[1])
            band = np.where(np.isfinite(band) & (band < scales.HUGE), band, np.nan)
        axes.fill_between(
            at, mean - band, mean + band, color=look.color, alpha=alpha, lw=0, zorder=1.5, label=_band(line)
        )
    return line


def _band(line: Any) -> str:
    """Return the label of a curve's band; the leading _ keeps it out of legends."""
    return f"_band {id(line)}"


def alternate(lines: Sequence[Any], values: Sequence[Floats], height: float) -> bool:
    """Give coinciding curves interleaved dashes; returns whether there are any."""
    places = scales.twins(values, height)
    for line, (place, many) in zip(lines, places, strict=True):
        if many > 1:
            scales.interleave(line, place, many)
            for band in (b for b in line.axes.collections if b.get_label() == _band(line)):
                band.set_alpha(band.get_alpha() / many)  # the bands overlap
    return any(many > 1 for _, many in places)


def notes(scale: scales.Limits, names: Sequence[str], values: Sequence[Floats]) -> list[str]:
    """List one line per curve that the scale leaves out."""
    ends = [(names[i], float(f"{_last(values[i]):.3g}")) for i in (*scale.above, *scale.below)]
    return [f"off the scale: {name} ({scales.number(end, [0.0, end])})" for name, end in ends]


def arrows(
    axes: Axes, scale: scales.Limits, names: Sequence[str], values: Sequence[Floats], lines: Sequence[Any]
) -> None:
    """Draw an arrow in the colour of each left-out curve at the edge beyond which it lies."""
    for place, marker, which in ((1.0, "^", scale.above), (0.0, "v", scale.below)):
        for j, i in enumerate(which):
            color = lines[i].get_color() if i < len(lines) else style.LEVEL
            at = 0.97 - 0.05 * j
            axes.plot([at], [place], marker, color=color, ms=8, clip_on=False, transform=axes.transAxes, zorder=3)


def _last(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if finite.size else float("nan")
