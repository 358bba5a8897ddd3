"""Pictures of traces and sweeps in the style of `style`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import bdtr

from evenhand.core.errors import InvalidInput
from evenhand.core.files import replacement
from evenhand.core.texts import amount
from evenhand.core.types import Floats
from evenhand.core.validate import file
from evenhand.report import ends, scales, style
from evenhand.report.quantities import Course, quantities
from evenhand.report.style import Axes as Axes, Figure as Figure, Look

WIDTH, HEIGHT = 4.6, 3.4  # of a panel without names beside it, in inches
INSIDE = 1.1  # inches of a panel's height that its title and labels take
SETTLED = 0.1  # the first part of the rounds, which no scale depends on
COINCIDE = "alternating colours: curves that coincide"
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
    notes.append(_caption([t.under_way.shape[1] for t in traces], "mean", coincide))
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
        drawn.append(_curve(axes, trace.policy, trace.times, means[-1], _around_mean(values), look, marker, 0.18))
        shown.append(means[-1][trace.times >= SETTLED * trace.times[-1]])
    shown += [np.array([level], float) for level in panel.lines.values()]
    scale = scales.limits(shown, next((i for i, look in enumerate(looks) if look.width == style.MAIN), 0))
    low, high = scales.pad(scale.low, scale.high)
    if not panel.zoom and scale.low >= 0.0:
        low = 0.0
        high = max(high, 1e-9) if scale.high > 0.0 else 0.05
    low, high = panel.within or (low, high)
    axes.set_ylim(low, high)
    scale = scale._replace(above=(), below=()) if panel.log else scales.extend(scale, shown, low, high)
    for dashes, level in zip(((5.0, 2.0), (1.0, 1.5), (5.0, 1.5, 1.0, 1.5)), panel.lines.values(), strict=False):
        style.set_dashes(axes.axhline(level, color=style.LEVEL, lw=1.1, zorder=2.5), dashes)
    found = _alternate(drawn, shown[: len(traces)], 0.0 if panel.log else high - low)
    names = [*(t.policy for t in traces), *panel.lines]
    _arrows(axes, scale, names, shown, drawn)
    kinds = [f"{kind}: {name}" for kind, name in zip(("dashed", "dotted", "dash-dotted"), panel.lines, strict=False)]
    text = panel.title + (f" ({'; '.join(kinds)})" if kinds else "")
    style.title(axes, "\n".join([text, *_notes(scale, names, shown)]), WIDTH)
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

    Bands are two standard errors of the mean, or 95 % intervals of the median by ranks, which six replicas are
    enough for. A name has the same look in all panels, which may show different systems; it stands at the end of its
    curve, or in a legend where names do not fit. The main one, by default the first, has the thickest line. `log`
    names the logarithmic axes; `headline` states what is found, and `caption` what lines and bands are, where they are
    no means over replicas.
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
    style.finish(figure, caption or _caption(replicas, middle, coincide), legend, headline=headline)
    return grid


def _sweep(
    axes: Axes, title: str, curves: Sequence[Curve], looks: Mapping[str, Look], middle: str, log: bool
) -> tuple[bool, list[Floats]]:
    """Draw a panel; returns whether curves coincide in it, and the curves."""
    shown, drawn = [], []
    for curve in curves:
        shown.append(curve.values.mean(1) if middle == "mean" else np.median(curve.values, 1))
        band = _around_mean(curve.values) if middle == "mean" else _around_median(curve.values)
        alpha = 0.15 if len(curves) < 7 else 0.08
        drawn.append(_curve(axes, curve.name, curve.at, shown[-1], band, looks[curve.name], "o", alpha))
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
    _arrows(axes, scale, names, shown, drawn)
    style.title(axes, "\n".join([title, *_notes(scale, names, shown)]), WIDTH)
    low, high = axes.get_ylim()
    return _alternate(drawn, shown, 0.0 if log else high - low), shown


def _caption(replicas: Sequence[int], middle: str, coincide: bool) -> str:
    """Write the caption that explains lines and bands."""
    most = max(replicas)
    many = f"{most} replicas" if min(replicas) == most else f"{min(replicas)} to {most} replicas"
    bands = "mean ± 2 standard errors of it" if middle == "mean" else "95 % intervals of the median"
    lines = f"lines: {middle} over {many}; bands: {bands}"
    return (lines if most > 1 else "a single replica, thus no bands") + (f"; {COINCIDE}" if coincide else "")


def _curve(
    axes: Axes,
    name: str,
    at: Any,
    middle: Floats,
    band: tuple[Floats, Floats] | None,
    look: Look,
    marker: str,
    alpha: float,
) -> Any:
    """Draw a line and the band around it, if any."""
    (line,) = axes.plot(at, middle, label=name, color=look.color, lw=look.width, marker=marker, ms=4.0)
    style.set_dashes(line, look.dashes)
    line.set_zorder(1.9 if look.width == style.MAIN else 2.0)  # thin lines remain visible on the thick one
    if band is not None:
        axes.fill_between(at, *band, color=look.color, alpha=alpha, lw=0, zorder=1.5, label=_band(line))
    return line


def _around_mean(values: Floats) -> tuple[Floats, Floats] | None:
    """Two standard errors around means over replicas, None for a single one, `(T,R)->(T),(T)`."""
    if values.shape[1] < 2:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        mean, band = values.mean(1), 2 * values.std(1, ddof=1) / np.sqrt(values.shape[1])
        band = np.where(np.isfinite(band) & (band < scales.HUGE), band, np.nan)
    return mean - band, mean + band


def _around_median(values: Floats) -> tuple[Floats, Floats] | None:
    """Intervals of medians over replicas by ranks, None where there are too few for 95 %, `(T,R)->(T),(T)`."""
    many = values.shape[1]
    below = int((bdtr(np.arange(many), many, 0.5) < 0.025).sum())  # ranks that the median exceeds in 97.5 % of samples
    if below < 1:
        return None
    order = np.sort(values, 1)
    return order[:, below - 1], order[:, -below]


def _band(line: Any) -> str:
    """Return the label of a curve's band; the leading _ keeps it out of legends."""
    return f"_band {id(line)}"


def _alternate(lines: Sequence[Any], values: Sequence[Floats], height: float) -> bool:
    """Give coinciding curves interleaved dashes; returns whether there are any."""
    places = scales.twins(values, height)
    for line, (place, many) in zip(lines, places, strict=True):
        if many > 1:
            scales.interleave(line, place, many)
            for band in (b for b in line.axes.collections if b.get_label() == _band(line)):
                band.set_alpha(band.get_alpha() / many)  # the bands overlap
    return any(many > 1 for _, many in places)


def _notes(scale: scales.Limits, names: Sequence[str], values: Sequence[Floats]) -> list[str]:
    """List one line per curve that the scale leaves out."""
    return [f"off the scale: {names[i]} ({amount(_last(values[i]), 3)})" for i in (*scale.above, *scale.below)]


def _arrows(
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


def figure_of(axes: Sequence[Axes], path: Path | str | None = None) -> Figure:
    """Return the figure of some axes, and save it where a path is given."""
    if path is not None:
        save(axes, file("path", path))
    figure = axes[0].get_figure(root=True)
    if figure is None:
        raise InvalidInput("axes", "axes that belong to a figure", axes[0])
    return figure


def save(axes: Sequence[Axes], path: Path) -> Path:
    """Save the figure of some axes; the file appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    true_type = style.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42})  # as publishers refuse fonts of Type 3
    with replacement(path) as part, true_type:
        figure_of(axes).savefig(part, dpi=130, format=path.suffix.removeprefix(".") or "png")
    return path
