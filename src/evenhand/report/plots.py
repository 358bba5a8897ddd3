"""Pictures of traces and of sweeps. This is the one module that imports matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.core.types import Floats
from evenhand.objectives import Objective
from evenhand.report.quantities import Course, quantities

try:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
except ImportError as error:  # pragma: no cover
    raise MissingExtra("plots", "plot") from error


BANDS = "bands: two standard errors of the mean over the replicas"


class Panel(NamedTuple):
    """One quantity over the rounds, with horizontal lines to compare it with."""

    title: str
    value: Callable[[Any], Floats]  # of what is drawn, such as a `Trace`, -> (G, R)
    lines: Mapping[str, float]
    zoom: bool = False  # start the vertical axis where the curves settle


class Curve(NamedTuple):
    """One system along a sweep: where it was run, and one value per replica there."""

    name: str
    at: Sequence[float]
    values: Floats  # (G, R)
    look: str = ""  # colour and dashes as matplotlib writes them, such as "C0--"; the next colour by default


def panels_of(run: Course) -> list[Panel]:
    """The objective, measures and constraints of a run's problem; twice where what arrived is not all."""
    single = len(run.problem.objective.outcomes) == 1
    panels = []
    for q in quantities(run):
        if q.limit is None:
            panels.append(Panel(f"average {q.name}" if single else q.name, q.value, {}, zoom=True))
        else:
            panels.append(Panel(q.name, q.value, {"limit": q.limit}))
    return panels


def over_rounds(traces: Sequence[Course], panels: Sequence[Panel] | None = None, columns: int = 3) -> list[Axes]:
    """Each panel over the rounds for every trace, with bands of two standard errors of the mean over its replicas.

    Traces of interrupted runs are named as such, and nothing is drawn beyond the point that they reached.
    """
    if panels is None:
        panels = panels_of(next((t for t in traces if t.under_way.any()), traces[0]))
    columns = min(len(panels), columns)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.4 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, panel in zip(grid, panels, strict=False):
        _draw(axes, panel, traces)
    figure.suptitle("\n".join([f"{t.policy}: {t.interrupted}" for t in traces if t.interrupted] + [BANDS]), fontsize=9)
    handles, labels = grid[0].get_legend_handles_labels()
    if len(traces) > 1 or len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
    return list(grid[: len(panels)])


def _draw(axes: Axes, panel: Panel, traces: Sequence[Course]) -> None:
    shown: list[Floats] = []
    for i, trace in enumerate(traces):
        values, color = panel.value(trace), f"C{i % 10}"
        mean = values.mean(1)
        axes.plot(trace.times, mean, color=color, label=trace.policy, lw=1.2 + 1.5 * (1.0 - (i + 1) / len(traces)))
        if values.shape[1] > 1:
            band = 2 * values.std(1, ddof=1) / np.sqrt(values.shape[1])
            axes.fill_between(trace.times, mean - band, mean + band, color=color, alpha=0.2, lw=0)
        shown.append(mean[trace.times >= 0.1 * trace.times[-1]])
    for style, (name, level) in zip(("--", ":", "-."), panel.lines.items(), strict=False):
        axes.axhline(level, color="black", ls=style, lw=1, label=name)
    settled = np.concatenate([*shown, np.array(list(panel.lines.values()), float)])
    settled = settled[np.isfinite(settled)] if np.isfinite(settled).any() else np.zeros(1)
    pad = 0.1 * (settled.max() - settled.min()) or 0.05
    axes.set_ylim(settled.min() - pad if panel.zoom else min(0.0, settled.min()), settled.max() + pad)
    limit = f" (dashed: {next(iter(panel.lines))})" if len(panel.lines) == 1 else ""
    axes.set_title(panel.title + limit, fontsize=10)
    axes.set_xlabel("round")
    axes.grid(alpha=0.25)


def over_sweep(
    panels: Mapping[str, Sequence[Curve]], parameter: str, quantity: str, middle: Literal["mean", "median"] = "mean"
) -> list[Axes]:
    """Each panel's curves over a parameter: means or medians, in bands of two standard errors of the mean.

    A name has one look in all panels, which may show different systems.
    """
    figure = Figure(figsize=(5.2 * len(panels), 4.2), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    looks: dict[str, str] = {}
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        for curve in curves:
            look = looks.setdefault(curve.name, curve.look or f"C{len(looks) % 10}")
            _draw_curve(axes, curve._replace(look=look), middle, 0.15 if len(curves) < 7 else 0.06)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(parameter)
        axes.set_ylabel(quantity)
        axes.grid(alpha=0.25)
    figure.suptitle(BANDS, fontsize=9)
    named = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=3, frameon=False)
    return list(grid)


def _draw_curve(axes: Axes, curve: Curve, middle: Literal["mean", "median"], alpha: float) -> None:
    mean = curve.values.mean(1)
    shown = mean if middle == "mean" else np.median(curve.values, 1)
    (line,) = axes.plot(curve.at, shown, curve.look, label=curve.name, marker=".", lw=1.4)
    if curve.values.shape[1] > 1:
        band = 2 * curve.values.std(1, ddof=1) / np.sqrt(curve.values.shape[1])
        axes.fill_between(curve.at, mean - band, mean + band, color=line.get_color(), alpha=alpha, lw=0)


def in_plane(paths: Mapping[str, Floats], region: Floats, names: tuple[str, str]) -> list[Axes]:
    """Averages of two outcomes over the rounds, `(G,2)` each, and the outline of where they are to be, `(n,2)`.

    Every path has a panel of its own; a dot marks its end.
    """
    columns = min(3, len(paths))
    rows = -(-len(paths) // columns)
    figure = Figure(figsize=(3.0 * columns, 3.0 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (title, path) in zip(grid, paths.items(), strict=False):
        axes.fill(*region.T, color="C2", alpha=0.2, lw=0)
        axes.plot(*region.T, color="C2", lw=1)
        axes.plot(*path.T, color="C0", lw=1)
        axes.plot(*path[-1], "o", color="C3", ms=5)
        axes.set_title(title, fontsize=9)
        axes.set_aspect("equal")
        axes.grid(alpha=0.25)
    for axes in grid[len(paths) :]:
        axes.remove()
    figure.supxlabel(f"average {names[0]}", fontsize=9)
    figure.supylabel(f"average {names[1]}", fontsize=9)
    return list(grid[: len(paths)])


def preferences(objectives: Mapping[str, Objective], points: int = 81) -> list[Axes]:
    """What objectives of two outcomes prefer: level lines over the unit square, and slopes, which are the prices."""
    columns = min(3, len(objectives))
    rows = -(-len(objectives) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.5 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    ticks = np.linspace(0.01, 1.0, points)
    square = np.stack(np.meshgrid(ticks, ticks), -1)
    for axes, (title, objective) in zip(grid, objectives.items(), strict=False):
        axes.contour(ticks, ticks, objective.value(square), levels=14, cmap="viridis", linewidths=1)
        at = np.array([[x, y] for x in (0.2, 0.5, 0.8) for y in (0.2, 0.5, 0.8) if x != y])
        slope = objective.supergradient(at)
        slope /= np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-12)
        axes.quiver(*at.T, *slope.T, color="C3", width=0.008, scale=12)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(objective.outcomes[0])
        axes.set_ylabel(objective.outcomes[1])
        axes.set_aspect("equal")
    for axes in grid[len(objectives) :]:
        axes.remove()
    return list(grid[: len(objectives)])


def save(axes: Sequence[Axes], path: Path) -> Path:
    """Save the figure that some axes belong to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = axes[0].get_figure(root=True)
    if figure is None:
        raise InvalidInput("axes", "axes that belong to a figure", axes[0])
    figure.savefig(path, dpi=130)
    return path
