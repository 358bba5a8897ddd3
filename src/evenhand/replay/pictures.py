"""The picture of a replay: what each system brings, what it used of budgets, and what groups got under each limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from evenhand.core.faces import amount
from evenhand.logs.settings import BLIND
from evenhand.problem.constraints import by_group
from evenhand.problem.constraints.base import OneOutcome
from evenhand.problem.problem import Problem
from evenhand.replay.measures import (
    MOST,
    SERVED,
    Cell,
    Difference,
    Digest,
    Measure,
    Run,
    limits,
    names,
    summed,
    title,
    used,
)
from evenhand.replay.tables import Tables
from evenhand.report import forest, rows, scales, style
from evenhand.report.forest import Panel, Uses
from evenhand.report.intervals import Interval
from evenhand.report.plots import save
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


PAIRS = "by pairs of runs on the same cases"


def draw_several(
    cells: Sequence[Cell], beyond: Mapping[str, Sequence[Difference | None]], objective: str, headline: str
) -> list[Axes]:
    """Draw a panel of differences per recipe that others are compared with, and one of what was used and served."""
    names, panels = [cell.name for cell in cells], []
    for other, found in beyond.items():
        intervals = [None if d is None else d.named(name) for name, d in zip(names, found, strict=True)]
        known = any(d is not None and d.low is not None for d in intervals)
        below = f"bars: 95 %, {PAIRS}" if known else PAIRS
        panels.append(Panel(f"{objective} per round beyond {other}", below, intervals))
    budgets = [name for name in cells[0].measures if name.endswith(" of budget")]
    parts = {n: [c.digest(n).mean if n in c.measures else None for c in cells] for n in (*budgets, SERVED)}
    served = {SERVED: parts.pop(SERVED)}
    uses = Uses("used and served", "part of the budget, or of the rounds", parts, served)
    return forest.draw(names, panels, uses, headline)


def draw_spans(replay: Drawn, path: Path) -> Path | None:
    """Draw a bar per span of what the system under test used or reached; None without spans.

    Thin lines reach from the least to the most of all runs.
    """
    first, found = replay.runs[0], summed(replay.problem)
    drawn = [(s, u) for s in found if s.spans is not None and (u := used(first.trace, s)) is not None]
    if not drawn:
        return None
    figure, panels = style.sheet(len(drawn), 1, 6.4, 3.2, shared="none")
    for axes, (s, use) in zip(panels, drawn, strict=True):
        assert s.spans is not None
        spans = names(replay.problem, s)[:MOST]
        use, allowance, at = np.where(np.isfinite(use), use, np.nan)[:, :MOST], limits(s)[:MOST], np.arange(len(spans))
        mean = use[: replay.shuffles].mean(0)
        axes.bar(at, mean, 0.7, color=style.PALETTE[0])
        reach = np.maximum([mean - use.min(0), use.max(0) - mean], 0.0)
        axes.errorbar(at, mean, yerr=reach, fmt="none", color=style.INK, lw=1)
        axes.hlines(allowance, at - 0.45, at + 0.45, color=style.PALETTE[1])
        starts = [span.split(" to ")[0] for span in spans]
        axes.set_xticks(at, starts, rotation=90 if len(starts) > 4 else 0, fontsize=style.LABEL)
        style.title(axes, f"{title(s)}, by its start", 6.0)
        style.labels(axes, "", s.constraint.label if s.outcome is None else s.outcome, 6.0, 3.0)
    told = "bars are means over shuffles, thin lines reach over all runs, coloured lines are limits"
    style.finish(figure, f"{first.name}: {told}")
    return save(panels, path)
