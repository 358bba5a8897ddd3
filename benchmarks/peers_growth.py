"""How time per round and memory grow with each size: slopes on logarithmic scales, at the largest sizes."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import plain_ranking
from benchmarks.peers_turns import Spread, Way, by_turns, spread
from evenhand.environments import Matching, MultiObjective, PackingCovering
from evenhand.environments.base import Environment
from evenhand.models import Fixed, Logistic, Ridge
from evenhand.policy.policy import Policy
from evenhand.recipes import cab_ucb, fw_linucb, resolving
from evenhand.report.summary import table
from evenhand.run.simulation import simulate

Run = tuple[Policy, Environment, int]  # the last is the number of replicas


class Axis(NamedTuple):
    """One size of one recipe: its name, its values and the run at each."""

    recipe: str
    name: str
    values: tuple[int, ...]
    run: Callable[[int], Run]


def _frank_wolfe(arms: int = 20, n: int = 8, outcomes: int = 3, rounds: int = 200, replicas: int = 10) -> Run:
    world = MultiObjective(arms=arms, n_outcomes=outcomes, n_features=n, horizon=rounds)
    return fw_linucb(world.problem, Ridge(n_features=n, n_outcomes=outcomes, width=Fixed(0.1))), world, replicas


def _resolving(arms: int = 8, constraints: int = 4, rounds: int = 200, replicas: int = 10) -> Run:
    world = PackingCovering(arms=arms, costs=constraints // 2, goods=constraints - constraints // 2, horizon=rounds)
    model = Ridge(n_features=world.n_features, n_outcomes=len(world.problem.learned), width=Fixed(0.1))
    return resolving(world.problem, model), world, replicas


def _ranking(items: int = 50, factors: int = 4, rounds: int = 200, replicas: int = 10) -> Run:
    world = plain_ranking.ranking(items, factors, rounds)
    return plain_ranking.policy(world), world, replicas


def _allocation(users: int = 20, arms: int = 5, rounds: int = 60, replicas: int = 2) -> Run:
    world = Matching(users=users, arms=arms, horizon=rounds)
    model = Logistic(n_features=world.n_features, ridge=5.0, width=Fixed(0.5), clipped=False)
    return cab_ucb(world.problem, model), world, replicas


REPLICAS, ROUNDS = (1, 10, 100), (250, 1000, 4000)
AXES = (
    Axis("fw_linucb", "A", (25, 50, 100, 200), lambda z: _frank_wolfe(arms=z)),
    Axis("fw_linucb", "n", (10, 20, 40, 80), lambda z: _frank_wolfe(n=z)),
    Axis("fw_linucb", "M", (2, 8, 32), lambda z: _frank_wolfe(outcomes=z)),
    Axis("fw_linucb", "T", ROUNDS, lambda z: _frank_wolfe(rounds=z)),
    Axis("fw_linucb", "replicas", REPLICAS, lambda z: _frank_wolfe(rounds=100, replicas=z)),
    Axis("resolving", "A, n = 3 A", (4, 8, 16), lambda z: _resolving(arms=z)),
    Axis("resolving", "d, M = d + 1", (2, 4, 8, 16), lambda z: _resolving(constraints=z)),
    Axis("resolving", "T", (500, 1000, 2000), lambda z: _resolving(rounds=z)),
    Axis("resolving", "replicas", REPLICAS, lambda z: _resolving(rounds=60, replicas=z)),
    Axis("fw_linucb_rank", "A", (50, 100, 200, 400), lambda z: _ranking(items=z)),
    Axis("fw_linucb_rank", "root n", (3, 6, 12), lambda z: _ranking(factors=z, items=200)),
    Axis("fw_linucb_rank", "T", ROUNDS, lambda z: _ranking(rounds=z)),
    Axis("fw_linucb_rank", "replicas", REPLICAS, lambda z: _ranking(replicas=z)),
    Axis("cab_ucb", "N users", (10, 20, 40, 80), lambda z: _allocation(users=z)),
    Axis("cab_ucb", "A", (3, 6, 12), lambda z: _allocation(arms=z)),
)
TINY = (
    Axis("resolving", "T", (5, 10), lambda z: _resolving(rounds=z, replicas=1)),
    Axis("fw_linucb", "A", (2, 4), lambda z: _frank_wolfe(arms=z, rounds=5)),
)


def measured(times: int, axes: tuple[Axis, ...] = AXES) -> list[dict[str, Any]]:
    """Return a row per axis: microseconds per round of all replicas, kilobytes, and the slopes between the last two."""
    rows = []
    for axis in axes:
        runs = {value: axis.run(value) for value in axis.values}
        seconds = by_turns({str(value): _way(run) for value, run in runs.items()}, times)
        lengths = [policy.problem.horizon for policy, _, _ in runs.values()]
        costs = [[1e6 * s / n for s in each] for n, each in zip(lengths, seconds.values(), strict=True)]
        memory = [_peak(run) / 1e3 for run in runs.values()]
        step = math.log(axis.values[-1] / axis.values[-2])
        slopes = [math.log(b / a) / step for a, b in zip(costs[-2], costs[-1], strict=True)]
        rows.append(
            {
                "recipe": axis.recipe,
                "size": axis.name,
                "values": list(axis.values),
                "microseconds_a_round": [spread(Spread.of(each)) for each in costs],
                "kilobytes": [round(z, 1) for z in memory],
                "slope_of_time": spread(Spread.of(slopes)),
                "slope_of_memory": round(math.log(memory[-1] / memory[-2]) / step, 2),
            }
        )
    return rows


def _way(run: Run) -> Way:
    def prepare() -> Callable[[], object]:
        return lambda: _played(run)

    return prepare


def _played(run: Run) -> object:
    policy, world, replicas = run
    return simulate(policy, world, replicas=replicas, progress=False, compiled=False)


def _peak(run: Run) -> int:
    """Bytes that Python and NumPy hold at most during a run, its trace included; not what kernels hold inside."""
    tracemalloc.start()
    _played(run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def text(rows: list[dict[str, Any]]) -> str:
    head = ["", "size", "from, to", "microseconds a round", "slope of time", "MB", "of memory"]
    cells = []
    for r in rows:
        first, last = (r["microseconds_a_round"][i]["median"] for i in (0, -1))
        cells.append(
            [
                r["recipe"],
                r["size"],
                f"{r['values'][0]:,}, {r['values'][-1]:,}",
                f"{first:,.0f}, {last:,.0f}",
                Spread(*r["slope_of_time"].values()).text(2),
                f"{r['kilobytes'][0] / 1e3:.2f}, {r['kilobytes'][-1] / 1e3:.2f}",
                f"{r['slope_of_memory']:.2f}",
            ]
        )
    return table(head, cells, left=2)
