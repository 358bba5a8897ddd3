"""The picture of a run: replica-rounds per second against the number of replicas, and what peers reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from benchmarks.peers_loops import LOOP, NUMPY
from benchmarks.peers_others import CONTEXTUAL, MABWISER, PARSED, RIVER
from evenhand.report.plots import save

DASHES = ("-", "--", "-.", ":", (0, (8, 2)), (0, (1, 4)))
BESIDE = (LOOP, NUMPY, PARSED, RIVER, CONTEXTUAL, MABWISER)


def save_beside(figures: Path) -> Path:
    """Draw figures that were written to JSON, beside them."""
    place = figures.with_suffix(".png")
    save(drawn(json.loads(figures.read_text())), place)
    return place


def drawn(found: dict[str, Any]) -> list[Any]:
    """Draw batches as lines and single rounds of peers as levels, with the quartiles as bars."""
    _, axes = plt.subplots(figsize=(9.0, 4.0), layout="constrained")
    names = list(dict.fromkeys(r["way"] for r in found["batches"]))
    for i, name in enumerate(names):
        rows = [r for r in found["batches"] if r["way"] == name]
        middle = [r["per_second"]["median"] for r in rows]
        reach = [
            [abs(r["per_second"]["median"] - r["per_second"][end]) for r in rows]
            for end in ("quartile_1", "quartile_3")
        ]
        look = "o-" if "blocks" in name else "s--"
        axes.errorbar([r["replicas"] for r in rows], middle, reach, fmt=f"C{i // 2}{look}", label=name)
    last = found["rounds"][-1]["actions"], found["rounds"][-1]["features"]
    size = (10, 10) if any((r["actions"], r["features"]) == (10, 10) for r in found["rounds"]) else last
    beside = [r for r in found["rounds"] if r["way"] in BESIDE and (r["actions"], r["features"]) == size]
    for row, dashes in zip(sorted(beside, key=lambda r: r["microseconds"]["median"]), DASHES, strict=False):
        speed = 1e6 / row["microseconds"]["median"]
        axes.axhline(speed, color="dimgray", linewidth=1.0, linestyle=dashes, label=f"{row['way']}: {speed:,.0f}")
    axes.set(xscale="log", yscale="log", xlabel="replicas at once", ylabel="replica-rounds per second of a core")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return [axes]
