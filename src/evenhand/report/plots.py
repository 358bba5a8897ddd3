"""Pictures of traces and sweeps in the style of `style`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.files import replacement
from evenhand.core.types import Floats
from evenhand.report import curves as draw, ends, scales, style
from evenhand.report.quantities import Course, quantities
from evenhand.report.style import Axes as Axes, Figure as Figure, Look

WIDTH, HEIGHT = 4.6, 3.4  # of a panel without names beside it, in inches
INSIDE = 1.1  # inches of a panel's height that its title and labels take
SETTLED = 0.1  # the first part of the rounds, which no scale depends on
DECADES = 1000.0  # from the first to the last round of a logarithmic axis, as averages of few rounds say little


class Panel(NamedTuple):
    """A panel with one quantity over the rounds and horizontal lines for comparison."""

    title: str
    value: Callable[[Any], Floats]  # of a course, such as a `Trace`, -> (G, R)
    lines: Mapping[str, float]
    zoom: bool = False  # start the vertical axis where the curves settle
    unit: str = "per round"  # of the vertical axis
    log: bool = False  # whether the vertical axis is logarithmic; nothing is left out of its scale
    within: tuple[float, float] | None = None  # the ends of the vertical axis, chosen by default


class Curve(NamedTuple):
    """One system along a sweep: the points, and one value per replica at each."""

    name: str
    at: Sequence[float]
    values: Floats  # (G, R)
    look: str = ""  # colour and dashes, such as "C0--"; the next colour by default


def panels_of(run: Course) -> list[Panel]:
    """List panels of the objective, measures and constraints of a run's problem; see `quantities`."""
    single = len(run.problem.objective.outcomes) == 1
    panels = []
    for q in quantities(run):
        if q.limit is None:
            panels.append(Panel(f"average {q.name}" if single else q.name, q.value, {}, zoom=True))
        else:
            panels.append(Panel(q.name, q.value, {"limit": q.limit}))
    return panels


def over_rounds(
    traces: Sequence[Course],
    panels: Sequence[Panel] | None = None,
    columns: int = 3,
    *,
    main: str = "",
    references: Sequence[str] = (),
    log_rounds: bool = False,
    headline: str = "",
) -> list[Axes]:
    """Draw each panel over the rounds for every trace, with bands of two standard errors of the mean.

    Curves have their names at their ends, or in a legend where these do not fit. Traces of interrupted runs are
    labelled as such and end at the point that they reached.

    Args:
        traces: one curve each.
        panels: the panels, by default those of `panels_of`.
        columns: the number of panels side by side.
        main: the policy with the thickest line; by default the first.
        references: policies to compare with, in grey.
        log_rounds: whether the axis of the rounds is logarithmic.
        headline: what is found, in a sentence.
    """
    if not traces:
        raise InvalidInput("traces", "at least one run to draw", "none")
    if panels is None:
        panels = panels_of(next((t for t in traces if t.under_way.any()), traces[0]))
    names = [t.policy for t in traces]
    names = [f"{n} ({names[: i + 1].count(n)})" if n in names[:i] else n for i, n in enumerate(names)]
    first = next((n for n in names if n not in references), names[0])
    looks = style.looks(names, main if main in names else first, references)
    beside = len(traces) > 1 and ends.fit(names, HEIGHT - INSIDE)
    figure, grid = style.sheet(len(panels), columns, WIDTH + (ends.width(names) if beside else 0.0), HEIGHT)
    coincide = False
    for axes, panel in zip(grid, panels, strict=True):
        found, means = _draw(axes, panel, traces, looks)
        coincide |= found
        if log_rounds:
            begin, end = float(min(t.times[0] for t in traces)), float(max(t.times[-1] for t in traces))
            scales.logarithmic(axes, "x", [max(begin, end / DECADES), end])
        else:
            scales.linear(axes.xaxis, whole=True)
            axes.set_xlim(left=0.0)
        if beside:
            ends.write(axes, ends.of(names, looks, [t.times for t in traces], means), HEIGHT - INSIDE)
    notes = [f"{t.policy}: {t.interrupted}" for t in traces if t.interrupted]
    notes.append(draw.caption([t.under_way.shape[1] for t in traces], "mean", coincide))
    legend = {name: look.line() for name, look in zip(names, looks, strict=True)}
    shown = legend if len(traces) > 1 and not beside else None
    style.finish(figure, "\n".join(notes), shown, headline=headline)
    return grid


def _draw(axes: Axes, panel: Panel, traces: Sequence[Course], looks: Sequence[Look]) -> tuple[bool, list[Floats]]:
    """Draw a panel; returns whether curves coincide in it, and the curves."""
    means, shown, drawn = [], [], []
    for trace, look in zip(traces, looks, strict=True):
        values = panel.value(trace)
        means.append(values.mean(1))
        marker = "o" if len(trace.times) == 1 else ""
        drawn.append(draw.curve(axes, trace.policy, trace.times, means[-1], values, look, marker, 0.18))
        shown.append(means[-1][trace.times >= SETTLED * trace.times[-1]])
    shown += [np.array([level], float) for level in panel.lines.values()]
    scale = scales.limits(shown, next((i for i, look in enumerate(looks) if look.width == style.MAIN), 0))
    low, high = scales.pad(scale.low, scale.high)
    if not panel.zoom and scale.low >= 0.0:
        low = 0.0
        high = max(high, 1e-9) if scale.high > 0.0 else 0.05
    low, high = panel.within or (low, high)
    axes.set_ylim(low, high)
    scale = scale._replace(above=(), below=()) if panel.log else scales.within(scale, shown, low, high)
    for dashes, level in zip(((5.0, 2.0), (1.0, 1.5), (5.0, 1.5, 1.0, 1.5)), panel.lines.values(), strict=False):
        style.set_dashes(axes.axhline(level, color=style.LEVEL, lw=1.1, zorder=2.5), dashes)
    found = draw.alternate(drawn, shown[: len(traces)], 0.0 if panel.log else high - low)
    names = [*(t.policy for t in traces), *panel.lines]
    draw.arrows(axes, scale, names, shown, drawn)
    kinds = [f"{kind}: {name}" for kind, name in zip(("dashed", "dotted", "dash-dotted"), panel.lines, strict=False)]
    text = panel.title + (f" ({'; '.join(kinds)})" if kinds else "")
    style.title(axes, "\n".join([text, *draw.notes(scale, names, shown)]), WIDTH)
    style.labels(axes, "round", panel.unit, WIDTH, HEIGHT)
    if panel.log:
        scales.logarithmic(axes, "y", panel.within or [float(v) for values in shown for v in values])
    else:
        scales.linear(axes.yaxis, ticks=6)
    return found, means


def over_sweep(
    panels: Mapping[str, Sequence[Curve]],
    parameter: str,
    quantity: str,
    middle: Literal["mean", "median"] = "mean",
    *,
    main: str = "",
    log: Literal["", "x", "xy"] = "",
    headline: str = "",
    caption: str = "",
) -> list[Axes]:
    """Draw each panel's curves over a parameter, the panels below one another: means or medians, with bands.

    Bands are two standard errors of the mean. A name has the same look in all panels, which may show different
    systems; it stands at the end of its curve, or in a legend where names do not fit. The main one, by default the
    first, has the thickest line. `log` names the logarithmic axes; `headline` states what is found, and
    `caption` what lines and bands are, where they are no means over replicas.
    """
    if not any(panels.values()):
        raise InvalidInput("panels", "at least one curve to draw", "none")
    own: dict[str, str] = {}
    for curves in panels.values():
        for curve in curves:
            own.setdefault(curve.name, curve.look)
    names = list(own)
    looks = dict(zip(names, style.looks(names, main if main in own else names[0], (), own), strict=True))
    beside = len(names) > 1 and ends.fit(names, HEIGHT - INSIDE)
    figure, grid = style.sheet(len(panels), 1, WIDTH + (ends.width(names) if beside else 0.0), HEIGHT)
    coincide = False
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        found, middles = _sweep(axes, title, curves, looks, middle, "y" in log)
        coincide |= found
        style.labels(axes, parameter, quantity, WIDTH, HEIGHT)
        if "x" in log:
            scales.logarithmic(axes, "x", [float(x) for curve in curves for x in curve.at])
        else:
            scales.linear(axes.xaxis, ticks=6)
        if beside:
            mine = [c.name for c in curves]
            shown = ends.of(mine, [looks[n] for n in mine], [c.at for c in curves], middles)
            ends.write(axes, shown, HEIGHT - INSIDE)
    replicas = [c.values.shape[1] for curves in panels.values() for c in curves]
    legend = None if beside else {n: looks[n].line() for n in names}
    style.finish(figure, caption or draw.caption(replicas, middle, coincide), legend, headline=headline)
    return grid


def _sweep(
    axes: Axes, title: str, curves: Sequence[Curve], looks: Mapping[str, Look], middle: str, log: bool
) -> tuple[bool, list[Floats]]:
    """Draw a panel; returns whether curves coincide in it, and the curves."""
    shown, drawn = [], []
    for curve in curves:
        shown.append(curve.values.mean(1) if middle == "mean" else np.median(curve.values, 1))
        alpha = 0.15 if len(curves) < 7 else 0.08
        drawn.append(draw.curve(axes, curve.name, curve.at, shown[-1], curve.values, looks[curve.name], "o", alpha))
    names = [c.name for c in curves]
    main = next((i for i, n in enumerate(names) if looks[n].width == style.MAIN), 0)
    if log:
        scale = scales.limits([np.log(np.where(v > 0, v, np.nan)) for v in shown], main)
        scale = scale._replace(low=float(np.exp(scale.low)) / 1.5, high=float(np.exp(scale.high)) * 1.5)
        axes.set_ylim(scale.low, scale.high)
        scales.logarithmic(axes, "y")
    else:
        scale = scales.limits(shown, main)
        axes.set_ylim(*scales.pad(scale.low, scale.high))
        scales.linear(axes.yaxis, ticks=6)
    draw.arrows(axes, scale, names, shown, drawn)
    style.title(axes, "\n".join([title, *draw.notes(scale, names, shown)]), WIDTH)
    low, high = axes.get_ylim()
    return draw.alternate(drawn, shown, 0.0 if log else high - low), shown


def figure_of(axes: Sequence[Axes]) -> Figure:
    """Return the figure of some axes."""
    figure = axes[0].get_figure(root=True)
    if figure is None:
        raise InvalidInput("axes", "axes that belong to a figure", axes[0])
    return figure


def save(axes: Sequence[Axes], path: Path) -> Path:
    """Save the figure of some axes; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as part:
        figure_of(axes).savefig(part, dpi=130, format=path.suffix.removeprefix(".") or "png")
    return path
