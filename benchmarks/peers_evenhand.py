"""evenhand's LinUCB, alone at the door and in a simulation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.peers_case import Case
from benchmarks.peers_turns import Way
from benchmarks.plain_linucb import WIDTH
from evenhand.core.records import Context
from evenhand.models import Fixed, PerAction, Ridge
from evenhand.policy.policy import Policy
from evenhand.recipes import resolving, ucb
from evenhand.run.simulation import simulate

ARRAYS, NAMES, BLOCKS = "evenhand, arrays", "evenhand, names", "evenhand, simulate"
PLANNER = "evenhand, resolving"


def linucb(case: Case, intercept: bool = False) -> Policy:
    """Return LinUCB with own coefficients per action; cases by name bring an intercept."""
    inner = Ridge(n_features=case.features + intercept, width=Fixed(WIDTH))
    model = PerAction(inner=inner, actions=case.actions)
    return ucb(case.problem, model, warmup=0)


def ways(case: Case, gains: dict[str, float]) -> dict[str, Way]:
    """Return `act` and `learn` on arrays, the same by name, and `simulate` with its trace, one replica each."""
    policy, by_name, count, world = linucb(case), linucb(case, intercept=True), case.actions, case.world
    same = np.zeros((1, count, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, count), bool)

    def arrays() -> Callable[[], None]:
        state, x, y = policy.start(), world.features[:, None], case.y[:, :, None, None, None]

        def run() -> None:
            total = 0.0
            for t in range(case.rounds):
                decision = policy.act(state, Context(x[t], *same))
                a = int(decision.plays[0, 0])
                policy.learn(state, decision, y[t, a])
                total += case.y[t, a]
            gains[ARRAYS] = total / case.rounds

        return run

    def names(policy: Policy = by_name, way: str = NAMES) -> Callable[[], None]:
        state, columns = policy.start(), [f"x{i}" for i in range(case.features)]
        cases = [dict(zip(columns, row, strict=True)) for row in case.x.tolist()]
        outcomes = [dict(zip(case.problem.actions, row, strict=True)) for row in case.y.tolist()]

        def run() -> None:
            total = 0.0
            for t, known in enumerate(cases):
                decision = policy.act(state, policy.encode(known))
                y = outcomes[t][decision.action]
                policy.observe(state, decision, {"gain": y})
                total += y
            gains[way] = total / case.rounds

        return run

    def blocks() -> Callable[[], None]:
        def run() -> None:
            trace = simulate(policy, world, replicas=1, progress=False, compiled=True)
            gains[BLOCKS] = float(trace.total("gain")[0]) / case.rounds

        return run

    planner = partial(names, resolving(case.problem), PLANNER)
    return {ARRAYS: arrays, NAMES: names, PLANNER: planner, BLOCKS: blocks}
