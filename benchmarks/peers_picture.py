"""The picture of a run: replica-rounds per second against the number of replicas, and what peers reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers_loops import LOOP, NUMPY
from benchmarks.peers_others import CONTEXTUAL, MABWISER, PARSED, RIVER
from evenhand.report.plots import Curve, over_sweep, save

BESIDE = (LOOP, NUMPY, PARSED, RIVER, CONTEXTUAL, MABWISER)
BLOCKS = "compiled blocks"


def save_beside(figures: Path) -> Path:
    """Draw figures that were written to JSON, beside them."""
    place = figures.with_suffix(".png")
    save(drawn(json.loads(figures.read_text())), place)
    return place


def drawn(found: dict[str, Any]) -> list[Any]:
    """Draw batches as lines, a panel per problem, and single rounds of peers as levels beside those of LinUCB."""
    panels: dict[str, list[Curve]] = {}
    for row in found["batches"]:
        problem, _, way = row["way"].partition(": ")
        curves = panels.setdefault(problem, [])
        if way not in [curve.name for curve in curves]:
            rows = [r for r in found["batches"] if r["way"] == row["way"]]
            speeds = np.array([[r["per_second"]["median"]] for r in rows])
            curves.append(Curve(way, [r["replicas"] for r in rows], speeds))
    first = next(iter(panels.values()))
    first = [*first, *peers(found, first[0].at)]
    panels[next(iter(panels))] = first
    return over_sweep(
        panels,
        "replicas at once",
        "replica-rounds per second of a core",
        main=BLOCKS,
        log="xy",
        headline=headline(first),
        caption="medians of several turns; level: what a single run reaches without evenhand",
    )


def peers(found: dict[str, Any], at: list[float]) -> list[Curve]:
    """Return levels of single rounds of the size that batches have, or of the last one that was measured."""
    last = found["rounds"][-1]["actions"], found["rounds"][-1]["features"]
    size = (10, 10) if any((r["actions"], r["features"]) == (10, 10) for r in found["rounds"]) else last
    beside = [r for r in found["rounds"] if r["way"] in BESIDE and (r["actions"], r["features"]) == size]
    return [Curve(r["way"], [at[0], at[-1]], np.full((2, 1), 1e6 / r["microseconds"]["median"])) for r in beside]


def headline(curves: list[Curve]) -> str:
    """State how many rounds compiled blocks do with one replica, beside the fastest package and a bare loop."""
    speeds = {curve.name: float(curve.values[0, 0]) for curve in curves}
    packages = {name: speeds[name] for name in (PARSED, RIVER, CONTEXTUAL, MABWISER) if name in speeds}
    if not packages or LOOP not in speeds:
        return f"One run in compiled blocks does {speeds[BLOCKS]:,.0f} rounds a second"
    fastest = max(packages, key=lambda name: packages[name])
    ahead, behind = speeds[BLOCKS] / packages[fastest], speeds[LOOP] / speeds[BLOCKS]
    return (
        f"One run in compiled blocks does {ahead:.2g} times the rounds of {fastest}; "
        f"a bare compiled loop does {behind:.2g} times as many as it"
    )
