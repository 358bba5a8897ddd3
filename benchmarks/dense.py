"""A decision and its update by names, of dense cases: `resolving` with its default, beside the matrices it reads."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from evenhand.core.kernel import kernels
from evenhand.problem import Numeric, Outcome, Problem
from evenhand.recipes import resolving
from evenhand.report.summary import table

ACTIONS, SIZES, ROUNDS = 10, (50, 300, 1000), 200


def dense_table(rounds: int = ROUNDS) -> str:
    """Milliseconds of a core, fits included, of outcomes that are amounts and of those that are 0 or 1."""
    rows = []
    for n in SIZES:
        inverses = np.ones((ACTIONS, n, n))
        floor = min(_seconds(lambda z=inverses: z.sum()) for _ in range(5))
        for high in (1.0, 2.0):
            with kernels("compiled"):
                early, late, longest = _cost(n, high, rounds)
            kind = "0 or 1" if high == 1.0 else "amounts"
            cells = (floor, early, late, longest)
            rows.append([f"{n} features, {kind}", *(f"{1e3 * z:.2f}" for z in cells)])
    return table(["", "sum of inverses", "rounds 1-20", f"21-{rounds}", "longest"], rows)


def _cost(n: int, high: float, rounds: int) -> tuple[float, float, float]:
    """The seconds of a round among the first 20, of one after them, and of the longest."""
    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(n)]
    x, worth = rng.uniform(-1.0, 1.0, (rounds, n)), rng.normal(size=(n, ACTIONS)) / n**0.5
    chance = 1.0 / (1.0 + np.exp(-2.0 * x @ worth))
    y = (rng.random(chance.shape) < chance) if high == 1.0 else high * chance
    policy = resolving(
        Problem(
            actions=tuple(f"arm {a}" for a in range(ACTIONS)),
            features=tuple(Numeric(name, -1, 1) for name in names),
            outcomes=(Outcome("gain", 0.0, high),),
            maximize="gain",
            horizon=100_000,
        )
    )
    for turn in range(2):  # the first one compiles
        state, seconds = policy.start(), []
        for t in range(rounds if turn else 3):
            case = dict(zip(names, x[t].tolist(), strict=True))
            start = time.process_time()
            decision = policy.act(state, policy.encode(case))
            policy.observe(state, decision, {"gain": float(y[t, decision.plays[0, 0]])})
            seconds.append(time.process_time() - start)
    return float(np.mean(seconds[:20])), float(np.mean(seconds[20:])), max(seconds)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
