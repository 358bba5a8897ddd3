"""What a round without contexts costs, on a knapsack of many arms and budgets."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from evenhand.environments import BernoulliKnapsacks
from evenhand.models import Tabular
from evenhand.numerics.simplex import lotteries
from evenhand.policy.policy import Policy
from evenhand.recipes import bwcr, greedy_bwk, lin_cbwk, pd_bwk, ucb_bwcr, ucb_bwk
from evenhand.report.summary import table

ARMS, BUDGETS = 50, 10


def round_table(cost: Callable[[Policy, BernoulliKnapsacks, int], float]) -> str:
    """Microseconds per replica and round of runs of 1,000 rounds, the world and the trace included."""
    rows = []
    for recipe in (bwcr, pd_bwk, greedy_bwk, lin_cbwk, ucb_bwk, ucb_bwcr):
        rounds = 100 if recipe is ucb_bwcr else 1000
        world = BernoulliKnapsacks(arms=ARMS, resources=BUDGETS, horizon=rounds)
        policy = recipe(world.problem, Tabular(arms=ARMS, n_outcomes=BUDGETS + 1, confidence=0.5))
        cost(policy, world, 2)  # compiles
        rows.append([f"{policy.name}, 100 replicas", f"{cost(policy, world, 100):.1f}"])
    return table(["", "microseconds"], rows)


def program_table() -> str:
    """One linear program over the arms by the kernel, beside HiGHS."""
    rng = np.random.default_rng(0)
    worth, use, bound = rng.random((100, ARMS)), rng.random((100, BUDGETS, ARMS)), np.full(BUDGETS, 0.4)
    worth[:, 0], use[:, :, 0] = 0.0, 0.0
    everything, one = np.ones((100, ARMS), bool), np.ones((1, ARMS))
    lotteries(worth, use, bound, everything)  # compiles
    kernel_time = min(_seconds(lambda: lotteries(worth, use, bound, everything)) for _ in range(20)) / 100
    highs = min(_seconds(lambda: linprog(-worth[0], use[0], bound, one, [1.0])) for _ in range(20))
    ours = ["kernel simplex", f"{1e6 * kernel_time:.1f}", "1.0"]
    theirs = ["HiGHS", f"{1e6 * highs:.0f}", f"{highs / kernel_time:.0f}"]
    return table(["", "microseconds", "times slower"], [ours, theirs])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
