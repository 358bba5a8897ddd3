"""The picture of a replay: the objective of each system, and how evenly each shared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.base import OneOutcome
from evenhand.replay.measures import goal
from evenhand.replay.report import Replay
from evenhand.report.plots import Axes, Figure, save


def draw(replay: Replay, path: Path) -> Path:
    """Write one panel for the objective and one per constraint on groups."""
    compared = list(by_group(replay.problem.subject_to))
    figure = Figure(figsize=(5.2 * (1 + len(compared)), 0.5 * len(replay.runs) + 2.2), layout="constrained")
    panels = figure.subplots(1, 1 + len(compared), squeeze=False, sharey=True)[0]
    _objective(panels[0], replay)
    for axes, (c, by) in zip(panels[1:], compared, strict=True):
        _rates(axes, replay, c, by)
    if replay.interrupted:
        figure.suptitle(f"INTERRUPTED: nothing is known of {'; '.join(replay.missing)}", fontsize=9)
    panels[0].set_yticks(range(len(replay.runs)), [run.name for run in replay.runs])
    panels[0].invert_yaxis()
    return save(list(panels), path)


def _objective(axes: Axes, replay: Replay) -> None:
    name = goal(replay.problem)
    for i, run in enumerate(replay.runs):
        _, d = replay.measured[run.name][name]
        axes.errorbar(d.mean, i, xerr=2 * (d.se or 0.0), fmt="o", color=f"C{i}", capsize=3)
    of = "two standard errors for the population behind the log"
    axes.set_title(f"{name} per round: mean over {replay.shuffles} shuffles,\n± {of}", fontsize=10)
    axes.grid(alpha=0.25)


def _rates(axes: Axes, replay: Replay, c: OneOutcome, by: str) -> None:
    groups, limit = next(g.names for g in replay.problem.groups if g.name == by), c.limit(replay.problem.horizon)
    for i, run in enumerate(replay.runs):
        found = replay.measured[run.name]
        if c.worst == "high":
            middle = found[f"{c.outcome} per round"][1].mean
            label = f"average ± {limit:g}" if i == 0 else None
            axes.fill_betweenx([i - 0.4, i + 0.4], middle - limit, middle + limit, color="0.85", label=label)
        else:
            axes.plot([limit, limit], [i - 0.4, i + 0.4], color="0.6", label=f"at least {limit:g}" if i == 0 else None)
        for j, group in enumerate(groups):
            m, d = found[f"{c.outcome} rate {by}={group}"]
            place = i + 0.5 * (j - (len(groups) - 1) / 2) / max(len(groups) - 1, 1)
            axes.plot(m.values, np.full(len(m.values), place), ".", ms=3, alpha=0.4, color=f"C{j}")
            axes.plot(d.mean, place, "D", ms=5, color=f"C{j}", mec="black", label=group if i == 0 else None)
    axes.set_title(f"{c.outcome} per case, by {by}: means, and a dot for every run", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="best")
