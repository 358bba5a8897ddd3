"""The picture of a replay: what each system brings, what it used of budgets, and what groups got under each limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from evenhand.core.faces import amount
from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.base import OneOutcome
from evenhand.problem.problem import Problem
from evenhand.replay.cells import Difference
from evenhand.replay.measures import SERVED, Digest, Measure, Run
from evenhand.replay.systems import BLIND
from evenhand.replay.tables import Tables
from evenhand.report import forest, rows, scales, style
from evenhand.report.forest import Panel, Uses
from evenhand.report.intervals import Interval
from evenhand.report.quantities import objective_name
from evenhand.report.style import Artist, Axes, Line2D

MARKERS = "Dos^vP"  # of groups: a marker for every lap of the colours


class Drawn(Protocol):
    """The pictures of a replay."""

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

    @property
    def served(self) -> Mapping[str, float]: ...

    @property
    def tables(self) -> Tables: ...

    def headline(self) -> str: ...

    def beyond(self, system: str) -> Interval | None: ...


def draw(replay: Drawn) -> list[Axes]:
    """Draw what each system brings beyond a blind lottery, what it used of budgets, and a panel per limit on groups."""
    compared, names = list(by_group(replay.problem.subject_to)), [run.name for run in replay.runs]
    budgets = replay.tables.used()
    figure, panels = rows.sheet(names, 1 + bool(budgets) + len(compared), names[0])
    forest.differences(panels[0], _objective(replay))
    legend: dict[str, Artist] = {}
    if budgets:
        limit = "budget: the line is all of it" if len(budgets) == 1 else "budgets: the line is all of one"
        served = {SERVED: [replay.measured[name][SERVED][1].mean for name in names]} if replay.served else {}
        title = "budgets used, and rounds served" if served else "budgets used"
        legend = forest.used(panels[1], Uses(title, f"part of the {limit}", budgets, served))
    for axes, (c, by) in zip(panels[1 + bool(budgets) :], compared, strict=True):
        _rates(axes, replay, c, by, legend)
    style.finish(figure, "\n".join(_caption(replay)), legend, headline=replay.headline())
    return panels


def _caption(replay: Drawn) -> list[str]:
    lines = [f"INTERRUPTED: nothing is known about {'; '.join(replay.missing)}"] if replay.missing else []
    known = any(d.se for run in replay.runs for _, d in (replay.measured[run.name][objective_name(replay.problem)],))
    bars = "95 %, for the population behind the log" if known else "none, nothing resampled"
    shuffles = "a single shuffle" if replay.shuffles == 1 else f"{replay.shuffles} shuffles"
    lines.append(f"large dots: means over {shuffles}; bars: {bars}")
    if list(by_group(replay.problem.subject_to)):
        lines.append("small dots: single runs, shuffled and resampled")
    return lines


def _objective(replay: Drawn) -> Panel:
    """Return the differences to the blind lottery or, where there is none, what each system brings."""
    name, systems = objective_name(replay.problem), [run.name for run in replay.runs]
    beyond = [replay.beyond(system) for system in systems]
    if any(beyond):
        return Panel(f"{name} per round beyond {BLIND}", "by pairs of runs on the same cases", beyond)
    each = ((system, replay.measured[system][name][1]) for system in systems)
    alone = [Difference.of(d, replay.tables.bootstrap).named(system) for system, d in each]
    return Panel(f"{name} per round", "per round", alone)


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
            legend.setdefault(f"average ± {amount(limit, 6)}", area)
        else:
            (line,) = axes.plot([limit, limit], [i - 0.4, i + 0.4], color="0.6")
            legend.setdefault(f"at least {amount(limit, 6)}", line)
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
    rows.entitle(axes, f"{c.outcome} per case, by {by}", f"{c.outcome} per case")
    scales.linear(axes.xaxis)
