"""Runs in compiled blocks of rounds beside the ordinary loop and plain loops; ratios of one run."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks import plain_ranking
from benchmarks.drawn import own_coefficients
from benchmarks.plain_linucb import ARMS, FEATURES, WIDTH, PlainDisjoint
from evenhand.environments import Court
from evenhand.environments.base import Environment
from evenhand.models import BayesianRidge, Fixed, PerAction, Ridge
from evenhand.policy.policy import Policy
from evenhand.recipes import pgd, resolving, ucb
from evenhand.report.summary import table
from evenhand.run.simulation import simulate


def blocks_table(times: int = 4) -> str:
    """Microseconds of a core per round and replica: process time, the least of several runs in turn."""
    rows: list[list[str]] = []
    for title, rounds, ways in (_linucb(), _rankings(5), _rankings(10), _court(), _plans()):
        seconds = _fastest(ways, times)
        first = next(iter(seconds.values()))
        rows += [[f"{title}: {name}", f"{1e6 * s / rounds:.1f}", f"{first / s:.1f}"] for name, s in seconds.items()]
    return table(["", "microseconds", "times faster"], rows)


Ways = dict[str, Callable[[], object]]


def _both(policy: Policy, world: Environment, replicas: int = 1) -> Ways:
    def run(compiled: bool) -> Callable[[], object]:
        return lambda: simulate(policy, world, replicas=replicas, progress=False, compiled=compiled)

    return {"ordinary loop": run(False), "compiled blocks": run(True)}


def _linucb(rounds: int = 3000) -> tuple[str, int, Ways]:
    world = own_coefficients(rounds, ARMS, FEATURES)
    model = PerAction(inner=Ridge(n_features=FEATURES, width=Fixed(WIDTH)), actions=ARMS)

    def plain() -> None:
        model, x, y = PlainDisjoint(), world.features[:, 0, 1:], world.outcomes
        for t in range(rounds):
            a = model.act(x[t])
            model.learn(a, x[t], y[t, a])

    ways = _both(ucb(world.problem, model, warmup=0), world) | {"NumPy loop without books": plain}
    return f"LinUCB, own coefficients, A = n = {ARMS}", rounds, ways


def _rankings(factors: int, rounds: int = 4000) -> tuple[str, int, Ways]:
    world = plain_ranking.ranking(50, factors, rounds)
    plain = {"one loop with sums alone": lambda: plain_ranking.run(world, rounds)}
    return f"rankings, m = 50, n = {factors**2}", rounds, _both(plain_ranking.policy(world), world) | plain


def _court(rounds: int = 4000) -> tuple[str, int, Ways]:
    court = Court(horizon=rounds)
    policy = pgd(court.problem, Ridge(n_features=5, width=Fixed(0.1)), hard=True, warmup=50)
    return "court, pgd with hard budgets", rounds, _both(policy, court)


def _plans(rounds: int = 10_000) -> tuple[str, int, Ways]:
    court = Court(horizon=rounds)
    policy = resolving(court.problem, BayesianRidge(n_features=court.n_features))
    return "court, resolving with hard budgets", rounds, _both(policy, court)


def _fastest(ways: Ways, times: int) -> dict[str, float]:
    """Seconds of a core of the fastest of some runs, after one that compiles."""
    best = dict.fromkeys(ways, float("inf"))
    for i in range(times + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if i:
                best[name] = min(best[name], time.process_time() - start)
    return best


if __name__ == "__main__":
    print(blocks_table())
