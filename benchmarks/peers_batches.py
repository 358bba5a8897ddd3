"""Replica-rounds per second against the number of replicas that are run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers_case import Case
from benchmarks.peers_evenhand import linucb
from benchmarks.peers_turns import Spread, Way, by_turns, spread
from evenhand.environments import Court
from evenhand.environments.base import Environment
from evenhand.models import Fixed, Ridge
from evenhand.policy.policy import Policy
from evenhand.recipes import pgd
from evenhand.report.summary import table
from evenhand.run.simulation import simulate

REPLICAS = (1, 10, 100, 1000)


def measured(effort: int, times: int, replicas: tuple[int, ...] = REPLICAS) -> list[dict[str, Any]]:
    """Return a row per world, number of replicas and kind of loop; `effort` replica-rounds at least, 100 rounds."""
    rows: list[dict[str, Any]] = []
    for size in replicas:
        horizon = max(100, effort // size)
        case, court = Case(10, 10, horizon), Court(horizon=horizon)
        runs: dict[str, tuple[Policy, Environment]] = {
            "LinUCB, A = 10, n = 10": (linucb(case), case.world),
            "court, pgd with hard budgets": (
                pgd(court.problem, Ridge(n_features=5, width=Fixed(0.1)), hard=True, warmup=min(50, horizon // 2)),
                court,
            ),
        }
        ways: dict[str, Way] = {}
        for name, (policy, world) in runs.items():
            ways[f"{name}: ordinary loop"] = _way(policy, world, size, False)
            ways[f"{name}: compiled blocks"] = _way(policy, world, size, True)
        for name, each in by_turns(ways, times).items():
            speed = Spread.of([horizon * size / s for s in each])
            rows.append({"way": name, "replicas": size, "rounds": horizon, "per_second": spread(speed)})
    return rows


def _way(policy: Policy, world: Environment, replicas: int, compiled: bool) -> Way:
    def prepare() -> Callable[[], object]:
        return lambda: simulate(policy, world, replicas=replicas, progress=False, compiled=compiled)

    return prepare


def text(rows: list[dict[str, Any]]) -> str:
    cells = [[r["way"], f"{r['replicas']:,}", Spread(*r["per_second"].values()).text(0)] for r in rows]
    return table(["", "replicas", "replica-rounds per second"], cells)
