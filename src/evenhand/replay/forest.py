"""The picture of several recipes within several budgets: differences with intervals, and the budgets that were used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.replay.cells import Cell, Difference
from evenhand.replay.measures import SERVED
from evenhand.report import forest
from evenhand.report.forest import Panel, Uses
from evenhand.report.style import Axes

PAIRS = "by pairs of runs on the same cases"


def draw(
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
