"""The picture of a replay: the objective of each system, and how evenly each shared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.problem.constraints import Parity
from evenhand.replay.measures import goal
from evenhand.replay.report import Replay
from evenhand.report.plots import Axes, Figure, save


def draw(replay: Replay, path: Path) -> Path:
    """Write one panel for the objective and one per parity constraint."""
    parities = [c for c in replay.problem.subject_to if isinstance(c, Parity)]
    figure = Figure(figsize=(5.2 * (1 + len(parities)), 0.5 * len(replay.runs) + 2.2), layout="constrained")
    panels = figure.subplots(1, 1 + len(parities), squeeze=False, sharey=True)[0]
    _objective(panels[0], replay)
    for axes, c in zip(panels[1:], parities, strict=True):
        _rates(axes, replay, c)
    panels[0].set_yticks(range(len(replay.runs)), [run.name for run in replay.runs])
    panels[0].invert_yaxis()
    return save(list(panels), path)


def _objective(axes: Axes, replay: Replay) -> None:
    name = goal(replay.problem)
    for i, run in enumerate(replay.runs):
        _, d = replay.measured[run.name][name]
        axes.errorbar(d.mean, i, xerr=2 * (d.se or 0.0), fmt="o", color=f"C{i}", capsize=3)
    axes.set_title(f"{name} per round, ± two standard errors", fontsize=10)
    axes.grid(alpha=0.25)


def _rates(axes: Axes, replay: Replay, c: Parity) -> None:
    groups = next(g.names for g in replay.problem.groups if g.name == c.by)
    for i, run in enumerate(replay.runs):
        found = replay.measured[run.name]
        middle = found[f"{c.outcome} per round"][1].mean
        label = f"average ± {c.tolerance:g}" if i == 0 else None
        axes.fill_betweenx([i - 0.4, i + 0.4], middle - c.tolerance, middle + c.tolerance, color="0.85", label=label)
        for j, group in enumerate(groups):
            m, d = found[f"{c.outcome} rate {c.by}={group}"]
            place = i + 0.5 * (j - (len(groups) - 1) / 2) / max(len(groups) - 1, 1)
            axes.plot(m.values, np.full(len(m.values), place), ".", ms=3, alpha=0.4, color=f"C{j}")
            axes.plot(d.mean, place, "D", ms=5, color=f"C{j}", mec="black", label=group if i == 0 else None)
    axes.set_title(f"{c.outcome} per case, by {c.by}: means, and a dot for every run", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="best")
