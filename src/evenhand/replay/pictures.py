"""The picture of a replay: the objective of each system, and the outcomes of groups under each constraint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.base import OneOutcome
from evenhand.problem.problem import Problem
from evenhand.replay.measures import Digest, Measure, Run
from evenhand.report import scales, style
from evenhand.report.quantities import objective_name
from evenhand.report.style import Artist, Axes, Line2D

WIDTH = 5.2  # of a panel, in inches
NAME = 2.2  # inches of a system's name
MARKERS = "Dos^vP"  # of groups: a marker for every lap of the colours


class Drawn(Protocol):
    """What is drawn of a replay."""

    @property
    def problem(self) -> Problem: ...

    @property
    def runs(self) -> tuple[Run, ...]: ...

    @property
    def missing(self) -> tuple[str, ...]: ...

    @property
    def shuffles(self) -> int: ...

    @property
    def measured(self) -> Mapping[str, Mapping[str, tuple[Measure, Digest]]]: ...


def draw(replay: Drawn) -> list[Axes]:
    """Draw one panel for the objective and one per constraint on groups."""
    compared = list(by_group(replay.problem.subject_to))
    names = [style.wrap(run.name, NAME, style.LABEL) for run in replay.runs]
    tall = sum(max(0.55, 0.25 + 0.17 * len(name.split("\n"))) for name in names) + 1.5
    figure, panels = style.sheet(1 + len(compared), 1 + len(compared), WIDTH, tall, shared="y")
    legend: dict[str, Artist] = {}
    _objective(panels[0], replay)
    for axes, (c, by) in zip(panels[1:], compared, strict=True):
        _rates(axes, replay, c, by, legend)
    panels[0].set_yticks(range(len(replay.runs)), names, fontsize=style.LABEL)
    for label in panels[0].get_yticklabels():
        label.set_parse_math(False)
    panels[0].set_ylim(len(replay.runs) - 0.4, -0.6)
    style.finish(figure, "\n".join(_caption(replay)), legend)
    return panels


def _caption(replay: Drawn) -> list[str]:
    lines = [f"INTERRUPTED: nothing is known of {'; '.join(replay.missing)}"] if replay.missing else []
    known = any(d.se for run in replay.runs for _, d in (replay.measured[run.name][objective_name(replay.problem)],))
    bars = (
        "two standard errors to either side, for the population behind the log" if known else "none, nothing resampled"
    )
    shuffles = "a single shuffle" if replay.shuffles == 1 else f"{replay.shuffles} shuffles"
    lines.append(f"large dots: means over {shuffles}; bars: {bars}")
    if list(by_group(replay.problem.subject_to)):
        lines.append("small dots: single runs, shuffled and resampled")
    return lines


def _objective(axes: Axes, replay: Drawn) -> None:
    name, means, ends = objective_name(replay.problem), [], []
    for i, run in enumerate(replay.runs):
        _, d = replay.measured[run.name][name]
        bar = 2 * (d.se or 0.0)
        axes.errorbar(d.mean, i, xerr=bar, fmt="o", color=style.INK, capsize=3, ms=6 if i == 0 else 5, lw=2 - (i > 0))
        means.append(np.array([d.mean - bar, d.mean + bar]))
        ends.append(d.mean)
    scale = scales.limits(means)
    axes.set_xlim(*scales.pad(scale.low, scale.high))
    for i, place, marker in [*((i, 1.0, ">") for i in scale.above), *((i, 0.0, "<") for i in scale.below)]:
        axes.plot([place], [i], marker, color=style.INK, ms=8, clip_on=False, transform=axes.get_yaxis_transform())
    off = [f"off the scale: {replay.runs[i].name} ({ends[i]:.3g})" for i in (*scale.above, *scale.below)]
    style.title(axes, "\n".join([f"{name} per round", *off]), WIDTH - 0.5 * NAME)
    style.labels(axes, "per round", "", WIDTH - NAME, 3.0)
    scales.linear(axes.xaxis)


def _limit(replay: Drawn, c: OneOutcome) -> float:
    return next(s.limit for s in replay.problem.stated if s.constraint is c)


def _rates(axes: Axes, replay: Drawn, c: OneOutcome, by: str, legend: dict[str, Artist]) -> None:
    groups, limit = next(g.names for g in replay.problem.groups if g.name == by), _limit(replay, c)
    shown = []
    for i, run in enumerate(replay.runs):
        found = replay.measured[run.name]
        if c.worst == "high":
            middle = found[f"{c.outcome} per round"][1].mean
            area = axes.fill_betweenx([i - 0.4, i + 0.4], middle - limit, middle + limit, color="0.85")
            legend.setdefault(f"average ± {limit:g}", area)
        else:
            (line,) = axes.plot([limit, limit], [i - 0.4, i + 0.4], color="0.6")
            legend.setdefault(f"at least {limit:g}", line)
        for j, group in enumerate(groups):
            m, d = found[f"{c.outcome} rate {by}={group}"]
            place = i + 0.5 * (j - (len(groups) - 1) / 2) / max(len(groups) - 1, 1)
            color, shape = style.look(j).color, MARKERS[j // len(style.PALETTE) % len(MARKERS)]
            axes.plot(m.values, np.full(len(m.values), place), ".", ms=3, alpha=0.4, color=color)
            axes.plot(d.mean, place, shape, ms=5, color=color, mec="black", mew=0.8)
            legend.setdefault(
                f"{by}: {group}", Line2D([], [], color=color, marker=shape, ms=5, mec="black", mew=0.8, ls="none")
            )
            shown.append(m.values)
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, -0.05) if min(v.min(initial=0.0) for v in shown) >= 0.0 else low, high)
    style.title(axes, f"{c.outcome} per case, by {by}", WIDTH)
    style.labels(axes, f"{c.outcome} per case", "", WIDTH, 3.0)
    scales.linear(axes.xaxis)
