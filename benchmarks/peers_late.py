"""Whether a round costs the same late and early: the last tenth of a run over the second, for every recipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers_recipes import Pair, every
from benchmarks.peers_turns import Spread, spread
from evenhand.report.summary import table
from evenhand.run.simulation import play

REPLICAS = 4


def measured(horizon: int, times: int, of: Callable[[int], dict[str, Pair]] = every) -> list[dict[str, Any]]:
    """Return a row per recipe: microseconds of a round of all replicas, and late over early, run by run."""
    for policy, world in of(max(100, horizon // 10)).values():  # compiles
        _tenths(policy, world)
    pairs = of(horizon)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in pairs}
    for _ in range(times):
        for name, (policy, world) in pairs.items():
            runs[name].append(_tenths(policy, world))
    return [
        {
            "recipe": name,
            "horizon": horizon,
            "replicas": REPLICAS,
            "early_microseconds": spread(Spread.of([1e6 * early for early, _ in each])),
            "late_over_early": spread(Spread.of([late / early for early, late in each])),
        }
        for name, each in runs.items()
    ]


def _tenths(policy: Any, world: Any) -> tuple[float, float]:
    """Seconds of a core per round in the second and the last tenth, the world included."""
    horizon, state = policy.problem.horizon, policy.start(replicas=REPLICAS)
    tenth, marks = horizon // 10, dict[int, float]()
    for r in play(policy, state, world.start(0, state.replicas), range(horizon)):
        if r.step in (tenth - 1, 2 * tenth - 1, horizon - tenth - 1, horizon - 1):
            marks[r.step] = time.process_time()
    first, second, third, last = marks.values()
    return (second - first) / tenth, (last - third) / tenth


def text(rows: list[dict[str, Any]]) -> str:
    cells = [
        [
            r["recipe"],
            Spread(*r["early_microseconds"].values()).text(0),
            Spread(*r["late_over_early"].values()).text(2),
        ]
        for r in sorted(rows, key=lambda r: -r["late_over_early"]["median"])
    ]
    return table(["", "microseconds a round, early", "late over early"], cells)
